"""Signs of loss in a recording as a whole: an unfinished file, flags, missing bytes, lost records."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.analyses.loss.empty_recording import causes_in
from ptttool.analyses.loss.streams import ended_early
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.perfdata.model import AUX_COLLISION, AUX_OVERWRITE, AUX_PARTIAL, AUX_TRUNCATED, Contents
from ptttool.wording import counted

# By bit: the flag's name and what it means.
_FLAGS = {
    AUX_TRUNCATED: ("truncated", "the AUX area was full"),
    AUX_OVERWRITE: ("overwrite", "older data were overwritten"),
    AUX_PARTIAL: ("partial", "gaps in the data"),
    AUX_COLLISION: ("collision", "another program used the device"),
}
_KNOWN_FLAGS = AUX_TRUNCATED | AUX_OVERWRITE | AUX_PARTIAL | AUX_COLLISION


def signs_in_amounts(contents: Contents) -> Iterator[Diagnostic]:
    """Yield the signs in the counts and sizes of a recording."""
    yield from _interrupted(contents)
    yield from _empty(contents)
    yield from _flags(contents)
    yield from _announced(contents)
    yield from _lost_records(contents)


def _interrupted(contents: Contents) -> Iterator[Diagnostic]:
    if contents.interrupted:
        # The size of the steps, as the file shows it.
        largest = max((payload.size for payload in contents.aux_payloads), default=0)
        step = f"; the largest one here is {counted(largest, 'byte')}" if largest else ""
        yield Diagnostic(
            Severity.WARNING,
            "interrupted",
            "perf did not finish this file (its header holds no data size): it was killed, or the disk was full. The trace data since its "
            f"last step are missing: perf writes in steps of half the AUX area{step}",
            hint="end a recording with Ctrl-C",
        )


def _empty(contents: Contents) -> Iterator[Diagnostic]:
    if any(event.size for event in contents.aux_events) or any(payload.held for payload in contents.aux_payloads):
        return
    why, causes = "perf writes in steps of half the AUX area and at the end, and it was ended before", []
    if not contents.interrupted:
        if ended_early(contents):
            return
        why, causes = "nothing was traced, and neither driver nor perf reported an error", [*causes_in(contents)]
    yield Diagnostic(Severity.ERROR, "empty-trace", f"the recording holds no trace data: {why}", details={"causes": causes})


def _flags(contents: Contents) -> Iterator[Diagnostic]:
    for bit, (name, meaning) in _FLAGS.items():
        count = sum(event.flags & bit != 0 for event in contents.aux_events)
        if count:
            message = f"{counted(count, 'AUX event')} flagged {name}: {meaning}; TLPs are missing there"
            yield Diagnostic(Severity.WARNING, "aux-flags", message, details={"flag": name, "events": count})
    others = sorted({event.flags & ~_KNOWN_FLAGS for event in contents.aux_events} - {0})
    if others:
        shown = ", ".join(f"{flags:#x}" for flags in others[:4])
        message = f"AUX events have flags that mean nothing for this device: {shown}"
        yield Diagnostic(Severity.INFO, "aux-flags", message, details={"flags": others[:4]})


def _announced(contents: Contents) -> Iterator[Diagnostic]:
    """Compare the bytes that AUX events announce with those that AUXTRACE records hold."""
    announced = sum(event.size for event in contents.aux_events)
    held = sum(payload.held for payload in contents.aux_payloads)
    details = {"announced": announced, "held": held}
    if announced > held and held:
        message = (
            f"the driver announced {counted(announced, 'byte')} of trace data and the file holds {held}: perf had no time or no disk space "
            "to write the rest, or the file was truncated"
        )
        yield Diagnostic(Severity.WARNING, "aux-missing", message, details=details)
    elif announced > held and not contents.interrupted:
        message = f"the driver announced {counted(announced, 'byte')} of trace data, and the file holds none of them"
        yield Diagnostic(Severity.ERROR, "empty-trace", message, details={**details, "causes": []})
    elif held > announced and not ended_early(contents) and announced:
        message = (
            f"the file holds {counted(held, 'byte')} of trace data, but only {announced} of them were announced: AUX events were lost, so "
            "signs of loss at the end of the trace may be missing; the data themselves are good"
        )
        yield Diagnostic(Severity.WARNING, "aux-unannounced", message, details=details)


def _lost_records(contents: Contents) -> Iterator[Diagnostic]:
    count = contents.records.get("LOST", 0)
    if count:
        message = (
            f"perf was too slow and lost some of its records ({counted(count, 'LOST record')}): AUX events and signs of loss may be missing"
        )
        yield Diagnostic(Severity.WARNING, "lost-records", message, details={"records": count})
