"""Signs that a trace lacks something: neither driver nor perf says so, the recording's shape does.

What the driver does when it stops, and what that leaves in the file, is read off ``drivers/hwtracing/ptt/hisi_ptt.c`` (Linux 6.1 and 6.12)
and seen in recordings of it. A loss that leaves no sign stays unseen: where the CPU answers late the hardware overwrites its ring.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ptttool.analyses.empty_recording import causes_in
from ptttool.perfdata.model import (
    AUX_COLLISION,
    AUX_OVERWRITE,
    AUX_PARTIAL,
    AUX_TRUNCATED,
    AuxEvent,
    Contents,
)
from ptttool.recording.auxtrace import DMA_BUFFER, HISI_PTT
from ptttool.wording import counted

Severity = Literal["info", "warning", "failure"]

# The driver of Linux 6.1 was seen to spoil restarts, that of 6.12 not to; of the kernels between, no recording is known.
SPOILS_RESTARTS, COMMITS_EVERY_BUFFER = (6, 1), (6, 12)
# A stream that ends so shortly before the session's end was ended with it.
AT_THE_END = 500_000_000
# What another CPU's event has been seen to catch while a session was being ended: 64 to 9712 bytes.
SMALL_STREAM = 64 << 10

FLAG_WORDS = {
    AUX_TRUNCATED: "truncated: the AUX area was full",
    AUX_OVERWRITE: "overwrite: older data were overwritten",
    AUX_PARTIAL: "partial: gaps in the data",
    AUX_COLLISION: "collision: somebody else used the device",
}
# Codes of problems after which further AUX events may be in what was not read.
ENDED_EARLY = ("truncated", "damaged-record", "damaged-compression", "too-many")
KNOWN_FLAGS = AUX_TRUNCATED | AUX_OVERWRITE | AUX_PARTIAL | AUX_COLLISION


@dataclass(frozen=True)
class Finding:
    """One sign. ``code``: a stable word. ``text``: what is seen, what it probably means, what to do. ``causes``: what is possible."""

    code: str
    severity: Severity
    text: str
    causes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """For ``--json``."""
        return {"code": self.code, "severity": self.severity, "text": self.text, "causes": list(self.causes)}


@dataclass(frozen=True)
class Stream:
    """One CPU's AUX events in their order. ``cpu``: None where the recording does not tell."""

    cpu: int | None
    events: tuple[AuxEvent, ...]

    @property
    def name(self) -> str:
        """In words."""
        return "the AUX stream" if self.cpu is None else f"CPU {self.cpu}'s AUX stream"

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(event.size for event in self.events)

    @property
    def ended_full(self) -> bool:
        """The last event holds whole DMA buffers only: an ordinary stop leaves a part of one."""
        return self.events[-1].size % DMA_BUFFER == 0

    @property
    def begin(self) -> int | None:
        """Time of the first event."""
        return self.events[0].time

    @property
    def end(self) -> int | None:
        """Time of the last event."""
        return self.events[-1].time


def signs_of_loss(contents: Contents, *, session_end: int | None = None) -> list[Finding]:
    """The signs in a PTT recording that has been walked to its end; the worst first. Empty for other recordings and for raw dumps.

    ``session_end``: time of the session's last event in perf's clock, where it is known better than from the recording.
    """
    if contents.mode == "raw" or contents.auxtrace_type not in (None, HISI_PTT):
        return []
    if contents.auxtrace_type is None and not contents.aux_payloads:
        return []
    end = contents.last_time if session_end is None else session_end
    streams = streams_of(contents.aux_events)
    findings = [
        *_interrupted(contents),
        *_empty(contents),
        *_ends(contents, streams, end),
        *_restarts(contents, streams),
        *_flags(contents),
        *_gaps(streams),
        *_amounts(contents),
        *_lost_records(contents),
    ]
    order: dict[Severity, int] = {"failure": 0, "warning": 1, "info": 2}
    return sorted(findings, key=lambda finding: order[finding.severity])


def streams_of(events: Sequence[AuxEvent]) -> list[Stream]:
    """AUX events by CPU, empty ones left out, each CPU's by time where that is known; the streams by the time of their first event."""
    by_cpu: dict[int | None, list[AuxEvent]] = {}
    for event in events:
        if event.size:
            by_cpu.setdefault(event.cpu, []).append(event)
    streams = [Stream(cpu, tuple(sorted(of, key=lambda event: event.time or 0))) for cpu, of in by_cpu.items()]
    return sorted(streams, key=lambda stream: stream.begin or 0)


def ended_early(contents: Contents) -> bool:
    """The file ends, or its reading ended, before perf's own end: then what is missing is no sign of anything in the trace."""
    return contents.interrupted or any(problem.code in ENDED_EARLY for problem in contents.problems)


def _interrupted(contents: Contents) -> Iterator[Finding]:
    if contents.interrupted:
        yield Finding(
            "interrupted",
            "warning",
            "perf did not finish this file (its header holds no data size): it was killed, or the disk was full. What the device traced "
            "last is missing, up to 8 MiB and more, because perf writes in such steps; end a recording with Ctrl-C",
        )


def _empty(contents: Contents) -> Iterator[Finding]:
    if any(event.size for event in contents.aux_events) or any(payload.held for payload in contents.aux_payloads):
        return
    if contents.interrupted:
        text = "the recording holds no trace data: perf writes them at 8 MiB or at the end, and it did not come to either"
        yield Finding("empty-trace", "failure", text)
    elif not ended_early(contents):
        text = "the recording holds no trace data: nothing was traced, and neither driver nor perf said so"
        yield Finding("empty-trace", "failure", text, tuple(causes_in(contents)))


def _ends(contents: Contents, streams: list[Stream], end: int | None) -> Iterator[Finding]:
    """How each stream ended: with the session, or before it."""
    if not streams or ended_early(contents):
        return
    final = max(streams, key=lambda stream: stream.end or 0)
    for stream in streams:
        if stream.ended_full:
            successor = None if stream is final else _successor(stream, streams)
            yield _silent_end(stream, end) if successor is None else _hole(stream, successor)
        elif stream is not final and _took_over(stream, streams, end):
            yield Finding(
                "takeover",
                "warning",
                f"{stream.name} ended {_before(stream.end, end)}, and another CPU's event went on tracing: between the two TLPs "
                "are missing. That happens when a CPU goes offline; record on one CPU that stays (-C)",
            )
    small = [stream for stream in streams if stream is not streams[0] and stream.size <= SMALL_STREAM]
    if small and not streams[0].ended_full:
        names = ", ".join(f"{stream.name} ({stream.size} bytes)" for stream in small)
        yield Finding(
            "end-stream",
            "info",
            f"besides {streams[0].name} there is {names}: a leftover of the session's end under perf record -a, no loss",
        )


def _successor(stream: Stream, streams: list[Stream]) -> Stream | None:
    """The stream that began next after this one had ended."""
    if stream.end is None:
        return None
    later = [other for other in streams if other is not stream and other.begin is not None and other.begin >= stream.end]
    return min(later, key=lambda other: other.begin or 0, default=None)


def _took_over(stream: Stream, streams: list[Stream], end: int | None) -> bool:
    successor = _successor(stream, streams)
    if successor is None:
        return False
    if stream.end is None or end is None:
        return successor.size > SMALL_STREAM
    return end - stream.end > AT_THE_END


_LARGER = "record with a larger AUX area (--aux-size, perf's -m ,SIZE)"


def _silent_end(stream: Stream, end: int | None) -> Finding:
    return Finding(
        "silent-end",
        "warning",
        f"{stream.name} ends with a full buffer (its last AUX event is {_whole(stream)}), {_before(stream.end, end)}. The driver ends a "
        f"trace without a word when the AUX area has no room, so TLPs after that are probably missing: {_LARGER}, a narrower filter, or "
        "for a shorter time",
    )


def _hole(stream: Stream, successor: Stream) -> Finding:
    assert stream.end is not None
    assert successor.begin is not None
    return Finding(
        "hole",
        "warning",
        f"{stream.name} ended with a full AUX area (its last AUX event is {_whole(stream)}) and {successor.name} took over: between the "
        f"two there is a hole of up to {_seconds(successor.begin - stream.end)}, whose TLPs are missing: {_LARGER} or a narrower filter",
    )


def _whole(stream: Stream) -> str:
    count = stream.events[-1].size // DMA_BUFFER
    return "exactly 4 MiB" if count == 1 else f"exactly {count} × 4 MiB"


def _before(time: int | None, end: int | None) -> str:
    if time is None or end is None:
        return "how long before the session's end is not known"
    return f"{_seconds(max(0, end - time))} before the session's end"


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.3f} s"


def _restarts(contents: Contents, streams: list[Stream]) -> Iterator[Finding]:
    """Parts of buffers that are not the last event: the trace was stopped and started within the session."""
    cut = sum(event.size % DMA_BUFFER != 0 for stream in streams for event in stream.events[:-1])
    if not cut:
        return
    stopped = f"the trace was stopped and started again {cut} times" if cut > 1 else "the trace was stopped and started again once"
    release = _release(contents)
    if release is not None and release >= COMMITS_EVERY_BUFFER:
        yield Finding(
            "restarts", "info", f"{stopped} within the session (--control, -F, or a sampling event beside it): not all time is covered"
        )
        return
    kernel = "an older driver" if release is None else f"the driver of this kernel ({contents.features['osrelease']})"
    may = "then delivers" if release is not None and release <= SPOILS_RESTARTS else "may then deliver"
    yield Finding(
        "spoilt-restarts",
        "warning",
        f"{stopped} within the session, and {kernel} {may} memory that the device did not write: all-zero records and repeated ones, as "
        "seen with Linux 6.1. Record without --control, -F and sampling events beside the trace",
    )


def _release(contents: Contents) -> tuple[int, int] | None:
    found = re.match(r"(\d+)\.(\d+)", str(contents.features.get("osrelease", "")))
    return (int(found[1]), int(found[2])) if found else None


def _flags(contents: Contents) -> Iterator[Finding]:
    for bit, words in FLAG_WORDS.items():
        count = sum(event.flags & bit != 0 for event in contents.aux_events)
        if count:
            yield Finding("aux-flags", "warning", f"{counted(count, 'AUX event')} flagged {words}; TLPs are missing there")
    others = {event.flags & ~KNOWN_FLAGS for event in contents.aux_events} - {0}
    if others:
        shown = ", ".join(f"{flags:#x}" for flags in sorted(others)[:4])
        yield Finding("aux-flags", "info", f"AUX events have flags that mean nothing for this device: {shown}")


def _gaps(streams: list[Stream]) -> Iterator[Finding]:
    for stream in streams:
        if stream.cpu is None:  # may be several
            continue
        skipped = repeated = 0
        for before, after in zip(stream.events, stream.events[1:], strict=False):
            distance = after.offset - before.offset - before.size
            skipped += max(distance, 0)
            repeated += max(-distance, 0)
        if skipped:
            yield Finding(
                "aux-gap",
                "warning",
                f"{stream.name} skips {counted(skipped, 'byte')} between its AUX events: an event was lost, or the data were; "
                "TLPs may be missing",
            )
        if repeated:
            yield Finding(
                "aux-overlap",
                "warning",
                f"{stream.name} has {counted(repeated, 'byte')} announced twice: its AUX events overlap, the file is odd",
            )


def _amounts(contents: Contents) -> Iterator[Finding]:
    """AUX events announce what AUXTRACE records hold; the sums must agree."""
    announced = sum(event.size for event in contents.aux_events)
    held = sum(payload.held for payload in contents.aux_payloads)
    if announced > held and held:
        yield Finding(
            "aux-missing",
            "warning",
            f"the driver announced {counted(announced, 'byte')} of trace data and the file holds {held}: perf had no time or no room to "
            "save the rest, or the file was cut",
        )
    elif announced > held and not contents.interrupted:
        yield Finding(
            "empty-trace", "failure", f"the driver announced {counted(announced, 'byte')} of trace data, and the file holds none of them"
        )
    elif held > announced and not ended_early(contents) and announced:
        yield Finding(
            "aux-unannounced",
            "warning",
            f"the file holds {counted(held, 'byte')} of trace data and {announced} of them were announced: AUX events were lost, and with "
            "them what they say of the trace's end; the data are good",
        )


def _lost_records(contents: Contents) -> Iterator[Finding]:
    count = contents.records.get("LOST", 0)
    if count:
        yield Finding(
            "lost-records",
            "warning",
            f"perf was too slow for its own records ({counted(count, 'LOST record')}): AUX events may be missing, so this list may be, too",
        )
