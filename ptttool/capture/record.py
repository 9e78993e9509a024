"""Record: check, run perf, keep the file and write its sidecar; or explain why that failed."""

from __future__ import annotations

import platform
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from ptttool.capture.checks.contract import require
from ptttool.capture.checks.host import Host, free_bytes, gather, online_cpus
from ptttool.capture.documents import PlanBody, TracedCommand
from ptttool.capture.keep import Destination, Log, Recorded, Report, settle
from ptttool.capture.perf.errors import Attempt, signal_name, translate
from ptttool.capture.perf.recorder import Outcome, Recorder, RecordingProgress, duplicate_of_stderr, with_own_stderr
from ptttool.capture.perf.tool import PerfTool
from ptttool.capture.plan import Plan
from ptttool.capture.sidecar import Sidecar
from ptttool.errors import InterruptedByUserError, PerfError, PtttoolError
from ptttool.machine.discovery import read_machine
from ptttool.machine.sources.contract import Source
from ptttool.perfdata.readers.opening import open_perfdata


def record(
    plan: Plan,
    source: Source,
    *,
    progress: Callable[[RecordingProgress], None] | None = None,
    report: Report | None = None,
    command_stdout: int | None = None,
) -> Recorded:
    """Record on the machine that this runs on.

    In the main thread, SIGINT, SIGTERM and SIGHUP stop perf, which then finishes its file; they do not interrupt this function.

    Parameters
    ----------
    plan : Plan
        What to record.
    source : Source
        The machine.
    progress : Callable or None
        Called several times a second.
    report : Callable or None
        Called with each diagnostic at once; the result has them, too.
    command_stdout : int or None
        File descriptor for the standard output of the command that runs meanwhile; None leaves it as it is.

    Raises
    ------
    PtttoolError
        What prevents the recording, or why perf failed. The files that were there are then unchanged. For a failure of perf, ``details``
        has ``perf_stderr`` and ``perf_exit_status``, and ``recording`` where a part of the trace was kept.
    """
    log = Log(report)
    host = gather(source, plan.output, plan.command)
    for found in require(host, plan):
        log.add(found)
    destination = Destination(plan.output)
    outcome = _run(plan, destination, progress, command_stdout)
    if not outcome.complete:
        raise _failure(plan, source, host, outcome, destination, log)
    return _keep(plan, source, host, outcome, destination, log)


def _run(plan: Plan, destination: Destination, progress: Callable[[RecordingProgress], None] | None, command_stdout: int | None) -> Outcome:
    with duplicate_of_stderr() if plan.command else nullcontext() as descriptor:
        workload, pass_fds = list(plan.workload), []
        if descriptor is not None:
            workload, pass_fds = with_own_stderr(workload, descriptor), [descriptor]
        arguments = plan.perf_command_to(destination.unfinished, workload)
        recorder = Recorder(arguments, destination.unfinished, command_stdout=command_stdout, pass_fds=pass_fds)
        try:
            return recorder.run() if progress is None else recorder.run(progress)
        except FileNotFoundError:
            raise PerfError("perf is no longer on PATH", code="perf-missing") from None
        except BaseException:
            destination.discard()
            raise


def _keep(plan: Plan, source: Source, host: Host, outcome: Outcome, destination: Destination, log: Log) -> Recorded:
    traced = _traced(plan, outcome)
    went_offline = _went_offline(source, host)
    version = host.perf.version if isinstance(host.perf, PerfTool) else None
    known = Sidecar(
        machine=plan.machine,
        options=PlanBody.options_of(plan),
        command=tuple(plan.perf_command),
        traced=traced,
        tune={one.name: one.value for one in plan.device.tune if one.value is not None},
        versions={"kernel": platform.release()} | ({"perf": version} if version else {}),
        started=outcome.started.isoformat(timespec="milliseconds"),
        ended=outcome.ended.isoformat(timespec="milliseconds"),
        went_offline=went_offline,
    )
    old, sidecar = settle(plan, destination, known, log)
    return Recorded(
        path=plan.output,
        size=outcome.size,
        elapsed=(outcome.ended - outcome.started).total_seconds(),
        old=old,
        sidecar=sidecar,
        stopped_by=outcome.stopped_by,
        traced=traced,
        perf_stderr=_with_wanted_name(outcome, destination),
        went_offline=went_offline,
        diagnostics=tuple(log.diagnostics),
    )


def _went_offline(source: Source, host: Host) -> tuple[int, ...]:
    """Return the CPUs that were online before the recording and are offline now; none where sysfs does not say."""
    now = online_cpus(source)
    return () if host.online is None or now is None else tuple(cpu for cpu in host.online if cpu not in now)


def _traced(plan: Plan, outcome: Outcome) -> TracedCommand | None:
    """Return how the command ended that ran meanwhile; perf ends as it did."""
    if not plan.command:
        return None
    status = outcome.exit_status
    return TracedCommand(
        command=plan.command,
        exit=status if outcome.complete and status >= 0 else None,
        signal=signal_name(-status) if outcome.complete and status < 0 else None,
        stopped=outcome.stopped_by is not None,
    )


def _failure(plan: Plan, source: Source, host: Host, outcome: Outcome, destination: Destination, log: Log) -> PtttoolError:
    """Return what went wrong; a part of the trace that perf wrote is kept."""
    attempt = Attempt(
        stderr=_with_wanted_name(outcome, destination),
        exit_status=outcome.exit_status,
        device=plan.device.name,
        output=str(plan.output),
        aux_size=plan.aux_size,
        privileged=host.rights.may_trace,
        paranoid=host.rights.paranoid,
        filter_listed=_filter_listed_now(plan, source),
        free=free_bytes(plan.output.parent),
        perf=host.perf if isinstance(host.perf, PerfTool) else None,
    )
    error = translate(attempt)
    if _holds_trace(destination.unfinished):
        kept = _keep(plan, source, host, outcome, destination, log)
        error.hint = f"what perf wrote until then is in {kept.path}" + (f"; {error.hint}" if error.hint else "")
        error.details["recording"] = str(kept.path)
        return error
    destination.discard()
    if outcome.stopped_by is not None and outcome.exit_status < 0 and not outcome.stderr.strip():
        return InterruptedByUserError("interrupted before perf had begun to record; nothing was changed")
    return error


def _with_wanted_name(outcome: Outcome, destination: Destination) -> str:
    """Return what perf wrote to standard error, with the name of the file that the user knows."""
    return outcome.stderr.replace(str(destination.unfinished), str(destination.path))


def _filter_listed_now(plan: Plan, source: Source) -> bool | None:
    """Look at the machine again: tell whether the driver still has the filter, since functions can be removed; None if it has no list."""
    device = next((one for one in read_machine(source, tune=False).devices if one.name == plan.device.name), None)
    if device is None or not device.ports_known:
        return None
    listed = {one.address for one in device.filters}
    request = plan.chosen.request
    return all(address in listed for address in (*request.root_ports, *([request.requester] if request.requester else [])))


def _holds_trace(path: Path) -> bool:
    """Tell whether a file that perf did not finish has any AUX data."""
    try:
        with open_perfdata(path) as reader:
            return any(chunk.size for chunk in reader.chunks())
    except (PtttoolError, OSError):
        return False
