"""What ``ptttool trace`` shows when it has recorded."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from ptttool.analyses.loss.empty_recording import causes_in, causes_on
from ptttool.cli.terminal.talk import clean, note, print_json, warn
from ptttool.cli.views.recording_line import mebibytes
from ptttool.diagnostics import Severity
from ptttool.documents import to_json
from ptttool.errors import EmptyTraceError

if TYPE_CHECKING:
    from ptttool.cli.tracing import Recorded, TraceJob
    from ptttool.pipeline.trace import Trace


def report(job: TraceJob, recorded: Recorded, *, decode: bool) -> None:
    """Say what was recorded. Raises EmptyTraceError where it holds no TLP; the file stays."""
    from ptttool.analyses.loss import signs_of_loss
    from ptttool.cli.views.recording import print_summary, summarise
    from ptttool.pipeline.trace import open_trace

    if not job.json:
        _tell_ending(recorded)
    where = clean(str(recorded.path))
    with open_trace(recorded.path) as trace:
        summary = summarise(trace, job.machine) if decode else None
        records = summary.tally.records if summary is not None else sum(len(payload.words) for payload in trace.payloads())
        signs = signs_of_loss(trace.contents)
        if not records:
            raise _empty(job, recorded, trace)
        if job.json:
            result = {"summary": None if summary is None else summary.as_json(), "signs_of_loss": [to_json(sign) for sign in signs]}
            print_json({**job.as_json(), **_as_json(recorded), **result})
            return
        if summary is not None:
            print_summary(summary, counts_alone=True)
        for sign in signs:
            (note if sign.severity is Severity.INFO else warn)(clean(sign.text))
        for sentence in trace.findings.sentences():
            warn(clean(sentence))
        took = "" if recorded.elapsed is None else f" in {recorded.elapsed:.1f} s"
        note(f"recorded {where}: {mebibytes(recorded.size)}{took}; ptttool decode {shlex.quote(where)} shows its TLPs")


def _as_json(recorded: Recorded) -> dict[str, Any]:
    return {
        "recording": str(recorded.path),
        "old": None if recorded.old is None else str(recorded.old),
        "sidecar": None if recorded.sidecar is None else str(recorded.sidecar),
        "size": recorded.size,
        "elapsed": recorded.elapsed,
        "stopped_by": recorded.stopped_by,
        "traced": recorded.traced,
        "replay_of": recorded.replay_of,
    }


def _tell_ending(recorded: Recorded) -> None:
    if recorded.old is not None:
        note(f"the recording before is now {clean(str(recorded.old))}")
    if recorded.stopped_by is not None:
        note(f"stopped by {recorded.stopped_by} after {recorded.elapsed:.1f} s; the recording is complete")
    traced = recorded.traced
    if traced is not None and traced["signal"] is not None and not traced["stopped"]:
        warn(f"the command was killed ({traced['signal']}); the recording is complete")
    elif traced is not None and traced["exit"]:
        warn(f"the command ended with exit status {traced['exit']}; the recording is complete")
    elif traced is not None and traced["exit"] == 0:
        note("the command ended with exit status 0")


def _empty(job: TraceJob, recorded: Recorded, trace: Trace) -> EmptyTraceError:
    """The error for a recording without a TLP: perf says nothing of it, so all that may be behind it is told."""
    causes = list(causes_on(job.machine, job.chosen.request))
    if trace.contents.auxtrace_type is None:
        causes.append("this perf does not know PTT devices and recorded their event without its data: use a newer one (6.1 or later)")
    if trace.findings.zero_records:
        causes.append(
            f"the driver delivered {trace.findings.zero_records} all-zero records, as that of Linux 6.1 does when a trace is restarted"
        )
    causes += causes_in(trace.contents, cpu_checked=recorded.replay_of is None)
    if not job.json:
        for cause in causes:
            note(f"possible: {clean(cause)}")
    return EmptyTraceError(
        f"the trace is empty: perf ended well and recorded no TLP; {recorded.path} is kept",
        hint=causes[0] if len(causes) == 1 else "check the possible causes in this order",
        causes=causes,
        recording=str(recorded.path),
    )
