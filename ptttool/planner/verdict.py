"""Whether a recording is what was asked for: recordings without a TLP, recordings of something else."""

from __future__ import annotations

from ptttool.analyses.loss.asked import CODE as NOT_AS_ASKED
from ptttool.analyses.loss.empty_recording import causes_in, causes_on
from ptttool.capture.checks.busy import MAYBE_BUSY
from ptttool.capture.checks.host import tracers_now
from ptttool.capture.keep import Recorded
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Severity
from ptttool.errors import EmptyTraceError, LossError, NotAsAskedError
from ptttool.perfdata.model import Contents
from ptttool.pipeline.summary import RecordingSummary
from ptttool.wording import counted


def refuse_empty(plan: Plan, recorded: Recorded, summary: RecordingSummary, contents: Contents) -> None:
    """Refuse a recording without a TLP: perf reports no error for it.

    Parameters
    ----------
    plan : Plan
        What was to be recorded.
    recorded : Recorded
        The recording.
    summary : RecordingSummary
        What it holds.
    contents : Contents
        Everything of it but the AUX data.

    Raises
    ------
    EmptyTraceError
        The recording is empty; ``details["causes"]`` lists the possible causes. The file stays.
    """
    if summary.tlps is None or summary.records:
        return
    causes = list(causes_on(plan.machine, plan.chosen.request))
    if contents.auxtrace_type is None:
        causes.append("this perf does not support PTT devices and recorded their event without its data: use a newer one (6.1 or later)")
    zeros = (summary.findings or {}).get("zero_records")
    if zeros:
        causes.append(f"the driver delivered {zeros} all-zero records, as that of Linux 6.1 does when a trace is restarted")
    causes += causes_in(contents, cpu_checked=recorded.replay_of is None, tracers=_tracers(plan, recorded))
    raise EmptyTraceError(
        f"the trace is empty: perf ended well and recorded no TLP; {recorded.path} is kept",
        hint=causes[0] if len(causes) == 1 else "check the possible causes in this order",
        causes=causes,
        recording=str(recorded.path),
    )


def _tracers(plan: Plan, recorded: Recorded) -> list[str]:
    """Describe the processes that had an event of the device among their arguments, before the recording or now."""
    tracers = {one.details["pid"]: str(one.details["process"]) for one in recorded.diagnostics if one.code == MAYBE_BUSY}
    if recorded.replay_of is None:
        tracers |= {one.pid: str(one) for one in tracers_now(plan.device.name)}
    return list(tracers.values())


def not_as_asked(recorded: Recorded, summary: RecordingSummary) -> NotAsAskedError | None:
    """Return the error for a recording with TLPs that its event cannot have traced.

    Parameters
    ----------
    recorded : Recorded
        The recording; it is kept.
    summary : RecordingSummary
        What it holds.

    Returns
    -------
    NotAsAskedError or None
        None where all TLPs can be what was asked for.
    """
    sign = next((sign for sign in summary.signs_of_loss if sign.code == NOT_AS_ASKED), None)
    if sign is None:
        return None
    message = f"{sign.message}; {recorded.path} is kept"
    error = NotAsAskedError(message, hint=sign.hint, recording=str(recorded.path))
    error.details |= sign.details
    return error


def lost(recorded: Recorded, summary: RecordingSummary) -> LossError | None:
    """Return the error for a recording with signs that something is missing.

    Parameters
    ----------
    recorded : Recorded
        The recording; it is kept.
    summary : RecordingSummary
        What it holds.

    Returns
    -------
    LossError or None
        None without a sign; notes (severity ``info``) are none.
    """
    signs = [sign for sign in summary.signs_of_loss if sign.severity is not Severity.INFO]
    if not signs:
        return None
    message = f"{counted(len(signs), 'sign')} that something is missing from the trace: {signs[0].message}; {recorded.path} is kept"
    return LossError(message, hint=signs[0].hint, recording=str(recorded.path), signs=[sign.code for sign in signs])
