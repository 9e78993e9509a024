"""AUX streams, one of each CPU, as the AUX events of a recording describe them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ptttool.perfdata.model import AuxEvent, Contents
from ptttool.recording.auxtrace import DMA_BUFFER

# Codes of problems after which further AUX events may be in what was not read.
_ENDED_EARLY = frozenset(("truncated", "damaged-record", "damaged-compression", "over-budget", "too-many"))


@dataclass(frozen=True)
class Stream:
    """The AUX events of one CPU, in their order.

    Attributes
    ----------
    cpu : int or None
        The CPU; None where the recording does not say.
    events : tuple of AuxEvent
        The events that hold bytes; at least one.
    """

    cpu: int | None
    events: tuple[AuxEvent, ...]

    @property
    def name(self) -> str:
        """Name for messages."""
        return "the AUX stream" if self.cpu is None else f"CPU {self.cpu}'s AUX stream"

    @cached_property
    def size(self) -> int:
        """Size in bytes."""
        return sum(event.size for event in self.events)

    @property
    def ended_full(self) -> bool:
        """Whether the last event holds whole DMA buffers only: an ordinary stop leaves a part of one."""
        return self.events[-1].size % DMA_BUFFER == 0

    @property
    def begin(self) -> int | None:
        """Time of the first event, in nanoseconds."""
        return self.events[0].time

    @property
    def end(self) -> int | None:
        """Time of the last event, in nanoseconds."""
        return self.events[-1].time


def streams_of(events: Sequence[AuxEvent]) -> list[Stream]:
    """Sort AUX events by CPU.

    Returns
    -------
    list of Stream
        By the time of their first event; the events of each by time, as far as that is known. Empty events are left out.
    """
    by_cpu: dict[int | None, list[AuxEvent]] = {}
    for event in events:
        if event.size:
            by_cpu.setdefault(event.cpu, []).append(event)
    streams = [Stream(cpu, tuple(sorted(of, key=lambda event: event.time or 0))) for cpu, of in by_cpu.items()]
    return sorted(streams, key=lambda stream: stream.begin or 0)


def successors_of(streams: Sequence[Stream]) -> Iterator[Stream | None]:
    """Yield for each stream the one that began next after it had ended; None where there is none or the time is not known.

    Parameters
    ----------
    streams : sequence of Stream
        The streams, as :func:`streams_of` returns them.
    """
    pairs = [(stream.begin, stream) for stream in streams if stream.begin is not None]
    begins = [begin for begin, _ in pairs]
    for stream in streams:
        at = len(pairs) if stream.end is None else bisect_left(begins, stream.end)
        if at < len(pairs) and pairs[at][1] is stream:
            at += 1
        yield pairs[at][1] if at < len(pairs) else None


def ended_early(contents: Contents) -> bool:
    """Return whether the file, or the reading of it, ended before perf's own end: then missing data are not a sign of anything."""
    return contents.interrupted or any(problem.code in _ENDED_EARLY for problem in contents.problems)
