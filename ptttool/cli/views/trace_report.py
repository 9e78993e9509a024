"""The report of ``ptttool trace`` after a recording."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from ptttool.analyses.loss import causes_of
from ptttool.api.verdict import lost, not_as_asked, refuse_empty
from ptttool.capture.documents import RecordedBody, TracedCommand
from ptttool.capture.keep import Recorded
from ptttool.capture.plan import Plan
from ptttool.cli.terminal.talk import PrintedError, note, print_diagnostic, print_json, warn
from ptttool.cli.views.recording import print_report
from ptttool.cli.views.recording_line import mebibytes
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import OMIT_NONE, ErrorBody, document
from ptttool.errors import EmptyTraceError, PerfError
from ptttool.pipeline.info import Info, info_of
from ptttool.pipeline.recording import Recording, Request
from ptttool.pipeline.report import report_on
from ptttool.pipeline.workers.pool import ALONE
from ptttool.wording import clean


@document("trace")
@dataclass(frozen=True)
class TraceDocument(RecordedBody):
    """What ``trace --json`` prints.

    Parameters
    ----------
    summary : Info or None
        As ``info --json`` prints it; null with ``--no-decode``.
    signs_of_loss : tuple of Diagnostic
        Signs that something is missing from the trace, or that it is not what was asked for.
    error : ErrorBody
        Why the command failed, where the recording is not what was asked for.
    """

    summary: Info | None
    signs_of_loss: tuple[Diagnostic, ...]
    error: ErrorBody | None = field(default=None, metadata=OMIT_NONE)


def report(plan: Plan, recorded: Recorded, *, decode: bool, json: bool, fail_on_loss: bool = False) -> None:
    """Print what was recorded.

    With ``fail_on_loss``, a recording with a sign of loss is a failure.

    Raises
    ------
    EmptyTraceError
        The recording has no TLP; the file stays.
    NotAsAskedError
        The recording has TLPs that its event cannot have traced; it is reported as any other, and the file stays.
    LossError
        With ``fail_on_loss``: something is missing from the recording; it is reported as any other, and the file stays.
    """
    if not json:
        for found in _ending(recorded):
            print_diagnostic(found)
    with Recording(Request(str(recorded.path))) as recording:
        report = report_on(recording, ALONE, machine=plan.machine, elapsed=recorded.elapsed, went_offline=recorded.went_offline)
        try:
            refuse_empty(plan, recorded, report)
        except EmptyTraceError as error:
            for cause in () if json else error.details["causes"]:
                note(f"possible: {clean(cause)}")
            raise
        failure: PerfError | None = not_as_asked(recorded, report)
        if failure is None and fail_on_loss:
            failure = lost(recorded, report)
        if json:
            body = vars(recorded.document(plan))
            summary = info_of(report) if decode else None
            why = None if failure is None else ErrorBody.of(failure)
            print_json(TraceDocument(**body, summary=summary, signs_of_loss=report.loss, error=why))
            if failure is not None:
                raise PrintedError(failure)
            return
        if decode:
            print_report(report, counts_alone=True)
        for sign in report.loss:
            if failure is None or sign.code != failure.code:
                print_diagnostic(sign)
            for cause in causes_of(sign):
                note(f"possible: {clean(cause)}")
        for diagnostic in report.diagnostics:
            warn(clean(diagnostic.message))
    where = clean(str(recorded.path))
    took = "" if recorded.elapsed is None else f" in {recorded.elapsed:.1f} s of trace"
    beside = "" if recorded.sidecar is None else f", and its names in {clean(recorded.sidecar.name)}"
    note(f"recorded {where}: {mebibytes(recorded.size)}{took}{beside}; ptttool decode {shlex.quote(where)} shows its TLPs")
    if failure is not None:
        raise failure


def _ending(recorded: Recorded) -> Iterator[Diagnostic]:
    if recorded.old is not None:
        yield Diagnostic(Severity.INFO, "kept-as-old", f"the previous recording is now {recorded.old}")
    if recorded.stopped_by is not None:
        after = "" if recorded.elapsed is None else f" after {recorded.elapsed:.1f} s"
        message = f"stopped by {recorded.stopped_by}{after}; the recording is complete"
        yield Diagnostic(Severity.INFO, "stopped", message)
    if recorded.traced is not None:
        yield from _command_ending(recorded.traced)


def _command_ending(traced: TracedCommand) -> Iterator[Diagnostic]:
    if traced.signal is not None and not traced.stopped:
        # perf ends its command by SIGTERM where another process has stopped perf.
        message = "the command was killed ({}), or perf was stopped" if traced.signal == "SIGTERM" else "the command was killed ({})"
        yield Diagnostic(Severity.WARNING, "command-killed", f"{message.format(traced.signal)}; the recording is complete")
    elif traced.exit:
        message = f"the command ended with exit status {traced.exit}; the recording is complete"
        yield Diagnostic(Severity.WARNING, "command-failed", message)
    elif traced.exit == 0:
        yield Diagnostic(Severity.INFO, "command-ended", "the command ended with exit status 0")
