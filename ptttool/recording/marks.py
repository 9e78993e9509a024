"""Offsets in AUX streams that AUX events mark: where bytes are missing, and where tracing was started."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from ptttool.perfdata.model import AUX_OVERWRITE, AUX_PARTIAL, AUX_TRUNCATED, AuxChunk, Contents, Mode
from ptttool.recording.opening import InputForm, Source, open_source

NO_CPU = -1
"""Stands for the CPU of events that name none."""
_FEW = 16


class Offsets:
    """Offsets in AUX streams, by CPU and ascending. Its lists grow when offsets are added."""

    def __init__(self) -> None:
        self._by_cpu: dict[int, list[int]] = {}
        self._all: list[int] | None = None  # of all CPUs; kept only once it has been asked for

    @property
    def by_cpu(self) -> Mapping[int, Sequence[int]]:
        """The offsets of each CPU that has any; :data:`NO_CPU` for events that name none."""
        return {cpu: offsets for cpu, offsets in self._by_cpu.items() if offsets}

    def add(self, cpu: int, offsets: Iterable[int]) -> None:
        """Add offsets of a CPU; those that are there already stay once."""
        new = sorted(set(offsets))
        _insert(self._by_cpu.setdefault(cpu, []), new)
        if self._all is not None:
            _insert(self._all, new)

    def of(self, chunk: AuxChunk) -> Sequence[int]:
        """Return the offsets of a chunk's AUX stream; those of all streams where the chunk names no CPU, since too many do no harm."""
        if chunk.cpu >= 0:
            return self._by_cpu.setdefault(chunk.cpu, [])
        if self._all is None:
            self._all = sorted({offset for each in self._by_cpu.values() for offset in each})
        return self._all


def _insert(ascending: list[int], new: Sequence[int]) -> None:
    """Add offsets that are ascending themselves. Many are merged: to make room for each of them would take quadratic time."""
    if not ascending or not new or new[0] > ascending[-1]:
        ascending.extend(new)
    elif len(new) > _FEW:
        ascending[:] = sorted({*ascending, *new})
    else:
        for offset in new:
            at = bisect_left(ascending, offset)
            if at == len(ascending) or ascending[at] != offset:
                ascending.insert(at, offset)


class Marks:
    """What the AUX events of a recording mark.

    Attributes
    ----------
    breaks : Offsets
        Offsets before which bytes are missing. PERF_AUX_FLAG_TRUNCATED: what follows the event's bytes was lost. PERF_AUX_FLAG_PARTIAL:
        there are gaps in them, at unknown offsets. PERF_AUX_FLAG_OVERWRITE: older trace was overwritten before them
        (``include/uapi/linux/perf_event.h`` of the Linux sources).
    begins : Offsets
        Offsets at which the bytes of AUX events begin. The trace unit was started at each of them: what it still held before was emptied
        into the event before.
    events : int
        Number of AUX events that have been looked at.
    """

    def __init__(self) -> None:
        self.breaks = Offsets()
        self.begins = Offsets()
        self.events = 0

    def update(self, contents: Contents) -> None:
        """Take in the AUX events of a recording that are new since the last time."""
        breaks: dict[int, list[int]] = {}
        begins: dict[int, list[int]] = {}
        for event in contents.aux_events[self.events :]:
            cpu = NO_CPU if event.cpu is None else event.cpu
            if event.flags & (AUX_TRUNCATED | AUX_PARTIAL):
                breaks.setdefault(cpu, []).append(event.offset + event.size)
            if event.flags & (AUX_PARTIAL | AUX_OVERWRITE):
                breaks.setdefault(cpu, []).append(event.offset)
            if event.size:
                begins.setdefault(cpu, []).append(event.offset)
        self.events = len(contents.aux_events)
        for by_cpu, offsets in ((breaks, self.breaks), (begins, self.begins)):
            for cpu, new in by_cpu.items():
                offsets.add(cpu, new)


def can_look_ahead(source: Source) -> bool:
    """Return whether the records can be read to the end before the AUX data are decoded."""
    return source.size is not None and source.path != "-" and source.contents.mode is not Mode.RAW


def all_contents(source: Source) -> Contents:
    """Return the contents of the whole recording: AUX events may come after the trace that they are about.

    Opens the file once more and reads the records, not the AUX data.

    Parameters
    ----------
    source : Source
        An open recording. It is not read any further.

    Returns
    -------
    Contents
        Of a pipe, and of a raw dump, what has come so far.
    """
    if not can_look_ahead(source):
        return source.contents
    with open_source(source.path, InputForm.PERF) as again:
        for _ in again.chunks():
            pass
        return again.contents
