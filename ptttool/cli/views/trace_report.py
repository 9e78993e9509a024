"""The report of ``ptttool trace`` after a recording."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from ptttool.analyses.loss import causes_of
from ptttool.api.recording import Ask, Recording, Request
from ptttool.capture.documents import PlanBody
from ptttool.capture.keep import Recorded
from ptttool.capture.plan import Plan
from ptttool.capture.series.manifest import SeriesRun
from ptttool.capture.series.record import RecordedSeries
from ptttool.cli.terminal.recording_line import mebibytes
from ptttool.cli.terminal.talk import PrintedError, note, print_diagnostic, print_json, print_line, warn
from ptttool.cli.views.recording import print_summary
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import ErrorBody, document
from ptttool.errors import EmptyTraceError, InterruptedByUserError, PerfError, PtttoolError
from ptttool.pipeline.summary import RecordingSummary, summarize
from ptttool.planner.check import PlanCheck, not_in_recording
from ptttool.planner.verdict import lost, not_as_asked, refuse_empty
from ptttool.wording import clean, in_words


@document("trace")
class TraceDocument(Struct, frozen=True):
    """What ``trace --json`` prints.

    Parameters
    ----------
    plan : PlanBody
        The recording as it was asked for.
    recorded : Recorded
        The recording that was made.
    summary : RecordingSummary or None
        As ``info --json`` prints it; null with ``--no-decode``.
    signs_of_loss : tuple of Diagnostic
        Signs that something is missing from the trace, or that it is not what was asked for.
    checks : tuple of PlanCheck
        With ``--for``: whether what was planned is in the recording.
    error : ErrorBody
        Why the command failed, where the recording is not what was asked for.
    """

    json_merges: ClassVar = ("plan", "recorded")
    json_omits_none: ClassVar = ("checks", "error")

    plan: PlanBody
    recorded: Recorded
    summary: RecordingSummary | None
    signs_of_loss: tuple[Diagnostic, ...]
    checks: tuple[PlanCheck, ...] | None = None
    error: ErrorBody | None = None


@document("trace-series")
class TraceSeriesDocument(Struct, frozen=True):
    """What ``trace --json`` prints of several runs, one after another.

    Parameters
    ----------
    series : str
        The path of the file of the series.
    runs : tuple of SeriesRun
        The runs, and how far each came.
    recordings : tuple of TraceDocument
        The recordings that have TLPs.
    diagnostics : tuple of Diagnostic
        What is to be said of the series as a whole.
    stopped_by : str or None
        The signal that ended it.
    checks : tuple of PlanCheck
        With ``--for``: whether what was planned is in the recordings.
    error : ErrorBody
        Why the command failed.
    """

    json_omits_none: ClassVar = ("checks", "error")

    series: str
    runs: tuple[SeriesRun, ...]
    recordings: tuple[TraceDocument, ...]
    diagnostics: tuple[Diagnostic, ...]
    stopped_by: str | None
    checks: tuple[PlanCheck, ...] | None = None
    error: ErrorBody | None = None


class Reporting(Struct, frozen=True):
    """How recordings are reported.

    Parameters
    ----------
    decode : bool
        Sum them up.
    json : bool
        Print a document.
    fail_on_loss : bool
        A recording with a sign of loss is a failure.
    """

    decode: bool
    json: bool
    fail_on_loss: bool


Checks = Callable[[], tuple[PlanCheck, ...] | None]
"""Looks for what recordings were planned for; None where there was no plan."""


def report(plan: Plan, recorded: Recorded, how: Reporting, checks: Checks) -> None:
    """Print what was recorded.

    Raises
    ------
    EmptyTraceError
        The recording has no TLP; the file stays.
    NotAsAskedError
        The recording has TLPs that its event cannot have traced, or lacks those that it was planned for; it is reported as any other, and
        the file stays.
    LossError
        A loss is a failure, and something is missing from the recording; it is reported as any other, and the file stays.
    """
    document, failure = _one(plan, recorded, how)
    results = checks()
    failure = failure or not_in_recording(results or ())
    if document is not None:
        print_json(replace(document, checks=results, error=None if failure is None else ErrorBody.of(failure)))
    else:
        _print_checks(results or ())
    if failure is not None:
        raise failure if document is None else PrintedError(failure)


def report_series(done: RecordedSeries, how: Reporting, checks: Checks) -> None:
    """Print what the runs of a series recorded, and what is missing.

    Raises
    ------
    PtttoolError
        Why the series ended early; or no run recorded a TLP, or TLPs that it was planned for are missing.
    """
    documents: list[TraceDocument] = []
    empty: list[EmptyTraceError] = []
    failure: PtttoolError | None = None
    for plan, recorded in done.recorded:
        if not how.json:
            print_line(clean(f"{recorded.path.name}: {plan.chosen.built.event}"))
        try:
            document, wrong = _one(plan, recorded, how)
        except EmptyTraceError as error:
            empty.append(error)
            warn(clean(error.message))
            continue
        finally:
            if not how.json:
                print_line("")
        documents += [] if document is None else [document]
        failure = failure or wrong
    for diagnostic in done.diagnostics:
        print_diagnostic(diagnostic)
    checked = checks()
    if not how.json:
        _print_checks(checked or ())
        path = shlex.quote(clean(str(done.path)))
        note(f"the runs are in {path}: ptttool analyze NAME {path} reads them together; they were recorded one after another")
    if len(empty) == len(done.recorded):
        failure = failure or empty[0]
    failure = done.failure or _interrupted(done) or failure or not_in_recording(checked or ())
    if how.json:
        diagnostics, why = tuple(done.diagnostics), None if failure is None else ErrorBody.of(failure)
        print_json(TraceSeriesDocument(str(done.path), done.series.runs, tuple(documents), diagnostics, done.stopped_by, checked, why))
    if failure is not None:
        raise PrintedError(failure) if how.json else failure


def _interrupted(done: RecordedSeries) -> InterruptedByUserError | None:
    if done.stopped_by is None or not done.series.missing:
        return None
    names = [run.name for run in done.series.missing]
    message = (
        f"{done.stopped_by} ended the series: {in_words(names)} {'is' if len(names) == 1 else 'are'} missing, the other runs are complete"
    )
    return InterruptedByUserError(message, ending=signal.Signals[done.stopped_by], code="series-interrupted", missing=names)


def _print_checks(checks: Sequence[PlanCheck]) -> None:
    for check in checks:
        print_diagnostic(Diagnostic(check.severity, check.code, check.message))


def _one(plan: Plan, recorded: Recorded, how: Reporting) -> tuple[TraceDocument | None, PerfError | None]:
    """Print a recording, or return its document; and the error where it is not what was asked for, or not all of it."""
    if not how.json:
        for ending in _ending(recorded):
            print_diagnostic(ending)
    with Recording(Request(str(recorded.path))) as recording:
        summary = summarize(
            recording,
            Ask(machine=plan.machine, went_offline=recorded.went_offline, counters=recorded.counters),
            elapsed=recorded.elapsed,
            at_least=recorded.elapsed_at_least,
        )
        try:
            refuse_empty(plan, recorded, summary, recording.contents)
        except EmptyTraceError as error:
            for cause in () if how.json else error.details["causes"]:
                note(f"possible: {clean(cause)}")
            raise
        failure: PerfError | None = not_as_asked(recorded, summary)
        if failure is None and how.fail_on_loss:
            failure = lost(recorded, summary)
        if how.json:
            asked = PlanBody.of_plan(plan, (*plan.diagnostics, *recorded.diagnostics))
            return TraceDocument(asked, recorded, summary if how.decode else None, summary.signs_of_loss), failure
        for sign in summary.signs_of_loss:  # above all numbers
            if failure is None or sign.code != failure.code:
                print_diagnostic(sign)
            for cause in causes_of(sign):
                note(f"possible: {clean(cause)}")
        if how.decode:
            print_summary(summary, recording, plan.machine, counts_alone=True)
        for diagnostic in summary.diagnostics:
            warn(clean(diagnostic.message))
    where = clean(str(recorded.path))
    took = "" if recorded.elapsed is None else f" in {recorded.elapsed:.3g} s of trace"
    beside = "" if recorded.sidecar is None else f", and its names in {clean(recorded.sidecar.name)}"
    if recorded.kernel is not None:
        beside += f", the kernel's events in {clean(recorded.kernel.file)}"
    note(f"recorded {where}: {mebibytes(recorded.size)}{took}{beside}; ptttool decode {shlex.quote(where)} shows its TLPs")
    return None, failure


def _ending(recorded: Recorded) -> Iterator[Diagnostic]:
    if recorded.old is not None:
        yield Diagnostic(Severity.INFO, "kept-as-old", f"{recorded.path} was there (--force): it is now {recorded.old}")
    if recorded.stopped_by is not None:
        after = "" if recorded.elapsed is None else f" after {recorded.elapsed:.3g} s"
        message = f"stopped by {recorded.stopped_by}{after}; the recording is complete"
        yield Diagnostic(Severity.INFO, "stopped", message)
    traced = recorded.traced
    if traced is None:
        return
    if traced.signal is not None and not traced.stopped:
        yield Diagnostic(Severity.WARNING, "command-killed", f"the command was killed ({traced.signal}); the recording is complete")
    elif traced.exit:
        message = f"the command ended with exit status {traced.exit}; the recording is complete"
        yield Diagnostic(Severity.WARNING, "command-failed", message)
    elif traced.exit == 0:
        yield Diagnostic(Severity.INFO, "command-ended", "the command ended with exit status 0")
