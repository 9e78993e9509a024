"""Signs of loss in the AUX streams: how they end, whether tracing was restarted, gaps between AUX events."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from ptttool.analyses.budget import MAX_STREAM_SIGNS
from ptttool.analyses.loss.command import aux_size, perf_arguments
from ptttool.analyses.loss.streams import Stream, ended_early, successors_of
from ptttool.budget import CODE
from ptttool.capture.aux_area import size_words
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.cpus import format_cpus
from ptttool.machine.driver import driver_of
from ptttool.perfdata.model import Contents
from ptttool.recording.auxtrace import DMA_BUFFER
from ptttool.recording.identity import ptt_attribute
from ptttool.wording import counted

# Recordings show that the driver of Linux 6.1 corrupts restarts and that of 6.12 does not. Kernels between them are untested.
SPOILS_RESTARTS, COMMITS_EVERY_BUFFER = (6, 1), (6, 12)
# A stream that ends less than this before the session's end, in nanoseconds, ended with the session.
AT_THE_END = 500_000_000
# Largest stream that counts as a leftover: while a session ended, another CPU's event recorded 64 to 9712 bytes in tests.
SMALL_STREAM = 64 << 10

# Type and config of the event that perf adds by itself: PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY (include/uapi/linux/perf_event.h).
_DUMMY = (1, 9)

# Leftovers that a message names.
_NAMED = 16

_LARGER_AREA = "record with a larger AUX area (--aux-size, perf's -m ,SIZE)"


def signs_in_streams(
    contents: Contents, streams: Sequence[Stream], end: int | None, went_offline: Sequence[int] = ()
) -> Iterator[Diagnostic]:
    """Yield the signs in the AUX streams.

    Parameters
    ----------
    contents : Contents
        The recording.
    streams : sequence of Stream
        Its AUX streams.
    end : int or None
        Time of the session's end, in nanoseconds.
    went_offline : sequence of int
        CPUs that went offline while recording, where it is known.
    """
    if streams and not ended_early(contents):
        yield from _listed(_ends(contents, streams, end))
        yield from _end_streams(streams)
    yield from _restarts(contents, streams, went_offline)
    yield from _listed(_gaps(streams))


def _listed(signs: Iterator[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield as many signs as are listed."""
    yield from islice(signs, MAX_STREAM_SIGNS)
    if next(signs, None) is not None:
        message = f"more than {MAX_STREAM_SIGNS} signs of loss in AUX streams: the others are not listed"
        yield Diagnostic(Severity.WARNING, CODE, message, details={"limit": MAX_STREAM_SIGNS})


def _ends(contents: Contents, streams: Sequence[Stream], end: int | None) -> Iterator[Diagnostic]:
    """Yield signs for streams that ended before the session."""
    arguments = perf_arguments(contents)
    area = None if arguments is None else aux_size(arguments)
    final = max(streams, key=lambda stream: stream.end or 0)
    for stream, following in zip(streams, successors_of(streams), strict=True):
        successor = None if stream is final else following
        if stream.ended_full:
            if successor is not None:
                yield _hole(stream, successor)
            else:
                yield _silent_end(stream, end) if stream.size != area else _aux_full(stream, end, contents.features.get("osrelease"))
        elif successor is None:
            continue
        elif successor.size > SMALL_STREAM if stream.end is None or end is None else end - stream.end > AT_THE_END:
            # It ended before the session, so that its successor continued the trace.
            yield _takeover(stream, successor, end)


def _takeover(stream: Stream, successor: Stream, end: int | None) -> Diagnostic:
    return Diagnostic(
        Severity.WARNING,
        "takeover",
        f"{stream.name} ended {_before(stream.end, end)}, and another CPU's event continued the trace: TLPs between the two are missing. "
        "That happens when a CPU goes offline",
        hint="record on one CPU that stays online (-C)",
        where=stream.name,
        details={"cpu": stream.cpu, "next_cpu": successor.cpu, "before_end_ns": _distance(stream.end, end)},
    )


def _silent_end(stream: Stream, end: int | None) -> Diagnostic:
    return Diagnostic(
        Severity.WARNING,
        "silent-end",
        f"{stream.name} ends with a full buffer (its last AUX event is {_whole(stream)}), {_before(stream.end, end)}. The driver stops a "
        "trace without a message when the AUX area is full, so TLPs after that are probably missing",
        hint=f"{_LARGER_AREA}, with a narrower filter, or for a shorter time",
        where=stream.name,
        details={"cpu": stream.cpu, "last_event_bytes": stream.events[-1].size, "before_end_ns": _distance(stream.end, end)},
    )


def _aux_full(stream: Stream, end: int | None, release: object) -> Diagnostic:
    driver = driver_of(release if isinstance(release, str) else None)
    late = f"; this driver ends every trace there ({driver.reason})" if driver.commits_early is False else ""
    return Diagnostic(
        Severity.WARNING,
        "aux-full",
        f"the AUX area of {size_words(stream.size)} was full: {stream.name} ended there, {_before(stream.end, end)}. TLPs after that are "
        f"missing{late}",
        hint=f"{_LARGER_AREA}, with a narrower filter, or for a shorter time",
        where=stream.name,
        details={
            "cpu": stream.cpu,
            "aux_size": stream.size,
            "before_end_ns": _distance(stream.end, end),
            "commits_early": driver.commits_early,
        },
    )


def _hole(stream: Stream, successor: Stream) -> Diagnostic:
    gap = _distance(stream.end, successor.begin) or 0
    return Diagnostic(
        Severity.WARNING,
        "hole",
        f"{stream.name} ended with a full AUX area (its last AUX event is {_whole(stream)}) and {successor.name} took over: TLPs of up to "
        f"{_seconds(gap)} between the two are missing",
        hint=f"{_LARGER_AREA} or with a narrower filter",
        where=stream.name,
        details={"cpu": stream.cpu, "next_cpu": successor.cpu, "last_event_bytes": stream.events[-1].size, "gap_ns": gap},
    )


def _end_streams(streams: Sequence[Stream]) -> Iterator[Diagnostic]:
    first = streams[0]
    small = [stream for stream in streams[1:] if stream.size <= SMALL_STREAM]
    if small and not first.ended_full:
        names = ", ".join(f"{stream.name} ({stream.size} bytes)" for stream in small[:_NAMED])
        if len(small) > _NAMED:
            names += f" and {len(small) - _NAMED} more"
        yield Diagnostic(
            Severity.INFO,
            "end-stream",
            f"besides {first.name} there is {names}: a leftover of the session's end under perf record -a, not a loss",
            where=small[0].name,
            details={"cpu": first.cpu, "leftovers": [{"cpu": stream.cpu, "bytes": stream.size} for stream in small[:MAX_STREAM_SIGNS]]},
        )


def _restarts(contents: Contents, streams: Sequence[Stream], went_offline: Sequence[int]) -> Iterator[Diagnostic]:
    """Yield a sign if an event before the last one is not a whole buffer: tracing was stopped and started within the session."""
    cut = sum(event.size % DMA_BUFFER != 0 for stream in streams for event in stream.events[:-1])
    if not cut:
        return
    stopped = f"tracing was stopped and started again {cut} times" if cut > 1 else "tracing was stopped and started again once"
    release = _release(contents)
    causes = list(_causes_of_restarts(contents, streams, went_offline))
    details = {"restarts": cut, "kernel": contents.features.get("osrelease"), "causes": causes}
    # What perf was asked to do is no loss. Nobody asks for a CPU to go offline.
    severity = Severity.WARNING if all("offline" in cause for cause in causes) else Severity.INFO
    if release is not None and release >= COMMITS_EVERY_BUFFER:
        message = f"{stopped} within the session: TLPs between are missing"
        yield Diagnostic(severity, "restarts", message, details=details)
        return
    driver = "an older driver" if release is None else f"the driver of this kernel ({contents.features['osrelease']})"
    then = "then delivers" if release is not None and release <= SPOILS_RESTARTS else "may then deliver"
    yield Diagnostic(
        Severity.WARNING,
        "spoilt-restarts",
        f"{stopped} within the session, and {driver} {then} memory that the device did not write: all-zero and repeated records, as seen "
        "with Linux 6.1",
        hint="record without --control, without -F, and without sampling events beside the trace",
        details=details,
    )


def _causes_of_restarts(contents: Contents, streams: Sequence[Stream], went_offline: Sequence[int]) -> Iterator[str]:
    """Yield what may have stopped and started the trace, as sentences without full stop: what perf was asked to do, or its CPU."""
    cpus = {stream.cpu for stream in streams if stream.cpu is not None}
    offline = sorted(cpus & set(went_offline))
    if offline:
        yield f"CPU {format_cpus(offline)} went offline while it recorded, and the trace continued on another CPU"
        return
    arguments, trace = perf_arguments(contents), ptt_attribute(contents)
    if arguments is None or any(word.startswith(("--control", "-F", "--freq", "-D", "--delay")) for word in arguments):
        yield "perf was asked to (--control, -F, --delay)"
    if any(each is not trace and (each.type, each.config) != _DUMMY for each in contents.attributes):
        yield "a sampling event was recorded beside the trace"
    names = f"CPU {format_cpus(sorted(cpus))}" if cpus else "the CPU"
    yield f"{names} went offline while it recorded, and the trace continued on another CPU"


def _release(contents: Contents) -> tuple[int, int] | None:
    """Return the first two numbers of the kernel's release."""
    match = re.match(r"(\d+)\.(\d+)", str(contents.features.get("osrelease", "")))
    return (int(match[1]), int(match[2])) if match else None


def _gaps(streams: Sequence[Stream]) -> Iterator[Diagnostic]:
    """Yield signs for bytes between AUX events, and for AUX events that overlap."""
    for stream in streams:
        if stream.cpu is None:  # may be several streams
            continue
        skipped = repeated = 0
        for before, after in zip(stream.events, stream.events[1:], strict=False):
            distance = after.offset - before.offset - before.size
            skipped += max(distance, 0)
            repeated += max(-distance, 0)
        if skipped:
            message = (
                f"{stream.name} skips {counted(skipped, 'byte')} between its AUX events: an event or data were lost, so TLPs may be missing"
            )
            details: dict[str, object] = {"cpu": stream.cpu, "missing": skipped}
            yield Diagnostic(Severity.WARNING, "aux-gap", message, where=stream.name, details=details)
        if repeated:
            message = f"{stream.name} announces {counted(repeated, 'byte')} twice: its AUX events overlap, so the file may be damaged"
            details = {"cpu": stream.cpu, "repeated": repeated}
            yield Diagnostic(Severity.WARNING, "aux-overlap", message, where=stream.name, details=details)


def _distance(time: int | None, later: int | None) -> int | None:
    """Return the nanoseconds between two times; None if one is unknown."""
    return None if time is None or later is None else max(0, later - time)


def _before(time: int | None, end: int | None) -> str:
    distance = _distance(time, end)
    if distance is None:
        return "at an unknown time before the session's end"
    return f"{_seconds(distance)} before the session's last event (perf's own end is part of that time)"


def _whole(stream: Stream) -> str:
    count = stream.events[-1].size // DMA_BUFFER
    return "exactly 4 MiB" if count == 1 else f"exactly {count} × 4 MiB"


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.3f} s"
