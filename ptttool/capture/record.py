"""Record: check, run perf, keep the file and write its sidecar; or explain why that failed."""

from __future__ import annotations

import platform
import shlex
import signal
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from ptttool._version import __version__
from ptttool.capture.aux_area import driver_on
from ptttool.capture.checks.contract import require
from ptttool.capture.checks.host import Host, free_bytes, gather, online_cpus, tracers_now
from ptttool.capture.documents import PlanBody
from ptttool.capture.keep import Log, Recorded, Report, settle, traced_part
from ptttool.capture.names import kernel_name
from ptttool.capture.perf.counters import CounterPlan, LinkCounters, counters_of_trace
from ptttool.capture.perf.counting import Counting, not_counted
from ptttool.capture.perf.errors import Attempt, signal_name, translate
from ptttool.capture.perf.kernel_events import EventRecording, not_recorded
from ptttool.capture.perf.recorder import ANSWER, Outcome, Recorder, RecordingProgress, signals_held
from ptttool.capture.perf.switch import NOT_KNOWN, Switch
from ptttool.capture.perf.told import NOT_TOLD
from ptttool.capture.perf.tool import PerfTool
from ptttool.capture.perf.tracepoints import KernelEvents
from ptttool.capture.plan import Plan
from ptttool.capture.sidecar import Sidecar, TracedCommand, save
from ptttool.capture.unfinished.file import UnfinishedFile
from ptttool.capture.unfinished.held_trace import HeldTrace, held_trace
from ptttool.capture.unfinished.leftovers import leftovers
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import InterruptedByUserError, PerfError, PtttoolError
from ptttool.machine.discovery import read_machine
from ptttool.machine.measured import KeptClock, measured_here
from ptttool.machine.sources.contract import Source

# As perf says that it does not know the option of the switch.
_NO_SWITCH = "unknown option `control"


def record(
    plan: Plan,
    source: Source,
    *,
    progress: Callable[[RecordingProgress], None] | None = None,
    report: Report | None = None,
    command_stdout: int | None = None,
) -> Recorded:
    """Record on the machine that this runs on.

    In the main thread, SIGINT, SIGTERM, SIGHUP and SIGQUIT stop perf, which then finishes its file; they do not interrupt this function.
    Whatever happens, a file with trace in it stays: with its name, or with its unfinished one (see :mod:`ptttool.capture.unfinished`).

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
    log.add(*require(host, plan))
    log.add(*leftovers(plan.output.absolute().parent))
    measured, problems = measured_here(source)
    log.add(*problems)
    with UnfinishedFile(plan.output) as file:
        content = _known_before(plan, host, None if measured is None else measured.clock(plan.chosen.request.format))
        with file.removed_on_failure():
            save(file.path, content, name=plan.output.name, finished=False, file=file.through_proc)
        # A terminal that is closed sends its signal more than once: none comes between perf's end and the recording's name.
        with signals_held():
            ran = _run(plan, file, _counters(plan, source, host), log, progress, command_stdout)
            if not ran.outcome.complete or ran.outcome.unanswered:
                raise _failure(plan, content, source, host, ran, file, log)
            if (ending := _ended_by_others(plan, ran.outcome)) is not None:
                log.add(ending)
            return _keep(plan, content, ran, file, log, source, host)


def _counters(plan: Plan, source: Source, host: Host) -> CounterPlan | None:
    """Return what counts beside the trace; None where nothing can."""
    if not plan.counters or not isinstance(host.perf, PerfTool):
        return None
    asked, flow = plan.chosen.request, plan.chosen.built.flow
    return counters_of_trace(source, plan.device, flow, asked.root_ports, asked.requester, host.perf)


class _Ran(Struct, frozen=True):
    """What ran: perf, and what ran beside it."""

    outcome: Outcome
    counters: LinkCounters | None = None
    kernel: KernelEvents | None = None


def _run(
    plan: Plan,
    file: UnfinishedFile,
    counters: CounterPlan | None,
    log: Log,
    progress: Callable[[RecordingProgress], None] | None,
    command_stdout: int | None,
) -> _Ran:
    def run(*, confirms: bool) -> _Ran:
        with ExitStack() as stack:
            counting = None if counters is None or not confirms else stack.enter_context(Counting(counters))
            around = _event_recording(plan, file, log, stack) if plan.kernel.events and confirms else None
            switch = stack.enter_context(Switch(confirms=confirms, counting=counting, around=around))
            words = plan.perf_command_to(file.through_proc, switch.words, switch.options)
            recorder = Recorder(words, file.through_proc, switch, seconds=plan.seconds, command=plan.command, command_stdout=command_stdout)
            outcome = recorder.run(progress)
            counted, kernel = None, None
            if counting is not None and outcome.begun:
                counted, problem = counting.ended(switch.counting_from, switch.counting_to)
                log.add(*(() if problem is None else (problem,)))
            if around is not None:
                lasted, problem = around.ended(switch.around_from)
                if problem is None and outcome.begun:
                    kernel = KernelEvents(kernel_name(plan.output.name), plan.kernel.events, lasted)
                else:  # if the trace has not begun, its own error says why
                    file.remove_beside()
                    log.add(*((problem,) if problem is not None and outcome.begun else ()))
        return _Ran(outcome, counted, kernel)

    try:
        ran = run(confirms=True)
        if ran.outcome.exit_status == NOT_KNOWN and _NO_SWITCH in ran.outcome.stderr:
            if ran.outcome.stopped_by is not None:
                return _Ran(replace(ran.outcome, stderr=""))  # what this perf does not know is not why it ended
            ran = run(confirms=False)
            if counters is not None:
                log.add(not_counted(counters, NOT_TOLD))
            if plan.kernel.events:
                log.add(not_recorded())
        return ran
    except BaseException as error:
        if _held(plan, file).holds_none:
            file.remove()
        if isinstance(error, FileNotFoundError) and error.filename == "perf":
            raise PerfError("perf is no longer on PATH", code="perf-missing") from None
        raise


def _event_recording(plan: Plan, file: UnfinishedFile, log: Log, stack: ExitStack) -> EventRecording | None:
    """Start to record the kernel's events; None, with a warning, where there can be no file for them."""
    try:
        return stack.enter_context(EventRecording(plan.kernel, file.beside()))
    except OSError as error:
        log.add(not_recorded(error.strerror or str(error)))
        return None


def _held(plan: Plan, file: UnfinishedFile) -> HeldTrace:
    return held_trace(file.through_proc, plan.chosen.built.config)


def _known_before(plan: Plan, host: Host, clock: KeptClock | None) -> Sidecar:
    version = host.perf.version if isinstance(host.perf, PerfTool) else None
    return Sidecar(
        machine=traced_part(plan),
        options=PlanBody.options_of(plan),
        command=tuple(plan.kept_command),
        tune={one.name: one.value for one in plan.device.tune if one.value is not None},
        versions={"ptttool": __version__, "kernel": platform.release()} | ({"perf": version} if version else {}),
        started=datetime.now(UTC).astimezone().isoformat(timespec="milliseconds"),
        clock=clock,
    )


def _keep(plan: Plan, content: Sidecar, ran: _Ran, file: UnfinishedFile, log: Log, source: Source, host: Host) -> Recorded:
    outcome = ran.outcome
    traced = _traced(plan, outcome)
    # None where sysfs does not say which CPUs are online.
    online = None if host.online is None else online_cpus(source)
    went_offline = () if host.online is None or online is None else tuple(cpu for cpu in host.online if cpu not in online)
    lasted = outcome.traced_at_least if outcome.traced is None else outcome.traced
    content = replace(
        content,
        traced=traced,
        started=outcome.started.isoformat(timespec="milliseconds"),
        ended=None if lasted is None else outcome.ended.isoformat(timespec="milliseconds"),
        seconds=outcome.traced,
        went_offline=went_offline,
        counters=ran.counters,
        kernel=ran.kernel,
    )
    old, sidecar = settle(plan, file, content, log)
    return Recorded(
        path=plan.output,
        size=outcome.size,
        elapsed=outcome.traced,
        elapsed_at_least=outcome.traced_at_least,
        old=old,
        sidecar=sidecar,
        stopped_by=outcome.stopped_by,
        traced=traced,
        perf_stderr=_with_wanted_name(outcome, file),
        went_offline=went_offline,
        counters=ran.counters,
        kernel=ran.kernel,
        diagnostics=tuple(log.diagnostics),
    )


def _ended_by_others(plan: Plan, outcome: Outcome) -> Diagnostic | None:
    """Report that perf ended though it was not asked to."""
    if outcome.asked:
        return None
    status, seconds = outcome.exit_status, _seen(outcome)
    how = f" (it ended by {signal_name(-status)})" if status < 0 else ""
    after = "" if seconds is None else f" {seconds:.3g} s after the trace began"
    duration = "" if plan.seconds is None else f", {plan.seconds:g} s were wanted"
    message = f"perf was stopped{after}, and not by ptttool{how}{duration}; the recording is complete"
    details = {"signal": signal_name(-status) if status < 0 else None, "seconds": seconds}
    return Diagnostic(Severity.WARNING, "stopped-by-others", message, details=details)


def _seen(outcome: Outcome) -> float | None:
    """Return the seconds from when the trace was seen on to when it, or perf, was seen to end."""
    return (outcome.ended - outcome.started).total_seconds() if outcome.begun else None


def _traced(plan: Plan, outcome: Outcome) -> TracedCommand | None:
    """Return how the command ended that ran meanwhile."""
    if not plan.command:
        return None
    status = outcome.command_status
    return TracedCommand(
        command=plan.command if plan.keep_command else plan.command[:1],
        exit=status if status is not None and status >= 0 else None,
        signal=signal_name(-status) if status is not None and status < 0 else None,
        stopped=outcome.command_stopped or outcome.stopped_by is not None,
        arguments=len(plan.command) - 1,
    )


def _failure(plan: Plan, content: Sidecar, source: Source, host: Host, ran: _Ran, file: UnfinishedFile, log: Log) -> PtttoolError:
    """Return what went wrong; a part of the trace that perf wrote is kept, and so are the kernel's events."""
    outcome = ran.outcome
    attempt = Attempt(
        stderr=_with_wanted_name(outcome, file),
        exit_status=outcome.exit_status,
        device=plan.device.name,
        output=str(plan.output),
        aux_size=plan.aux_size,
        privileged=host.rights.may_trace,
        paranoid=host.rights.paranoid,
        filter_listed=_filter_listed_now(plan, source),
        free=free_bytes(plan.output.parent),
        perf=host.perf if isinstance(host.perf, PerfTool) else None,
        tracers=tracers_now(plan.device.name),
        asked=[str(address) for address in plan.addresses],
        candidates=plan.other_devices,
    )
    error = translate(attempt)
    if outcome.unanswered:
        hint = "is the machine very busy? --verbose shows what perf says"
        error = PerfError(
            f"perf did not say within {ANSWER:g} s that the trace has begun", hint=hint, code="perf-no-answer", **error.details
        )
    held = _held(plan, file)
    if held.aux_bytes:
        kept = _keep(plan, content, ran, file, log, source, host)
        before = f", and the recording before in {kept.old}" if kept.old else ""
        _add_hint(error, f"what perf wrote until then is in {kept.path}{before}")
        error.details["recording"] = str(kept.path)
        return error
    if not held.holds_none:
        recover = f"ptttool recover {shlex.quote(str(file.path))}"
        _add_hint(error, f"what perf wrote until then is in {file.path}, in which no trace can be read: see {recover}")
        error.details["recording"] = str(file.path)
        return error
    if ran.kernel is not None:
        with suppress(OSError):
            error.details["kernel_events"] = str(plan.output.with_name(file.keep_beside()))
            _add_hint(error, f"the kernel's events are in {error.details['kernel_events']}")
    file.remove()
    if (seconds := _seen(outcome)) is not None:
        late = driver_on(plan.machine).commits_early is False
        step = f"in steps of {plan.aux_size // 2 >> 20} MiB (half the AUX area)"
        error.amended(
            f"no trace data had reached the file, though perf ended {seconds:.3g} s after the trace began: perf writes them "
            f"{'when the AUX area is full, with this driver, or at the end' if late else step}",
            seconds_lost=seconds,
        )
    elif outcome.stopped_by is not None and not outcome.stderr.strip():
        ending = signal.Signals[outcome.stopped_by]
        return InterruptedByUserError("interrupted before perf had begun to record; nothing was changed", ending=ending)
    return error


def _add_hint(error: PtttoolError, hint: str) -> None:
    error.hint = hint + (f"; {error.hint}" if error.hint else "")


def _with_wanted_name(outcome: Outcome, file: UnfinishedFile) -> str:
    """Return what perf wrote to standard error, with the name of the file that the user knows."""
    return outcome.stderr.replace(str(file.through_proc), str(file.wanted))


def _filter_listed_now(plan: Plan, source: Source) -> bool | None:
    """Look at the machine again: tell whether the driver still has the filter, since functions can be removed; None if it has no list."""
    device = next((one for one in read_machine(source, tune=False).devices if one.name == plan.device.name), None)
    if device is None or not device.ports_known:
        return None
    listed = {one.address for one in device.filters}
    return all(address in listed for address in plan.addresses)
