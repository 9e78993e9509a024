"""Sweeps: a workload runs with every value of some tune attributes, and statistics say which of them made a difference."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from ptttool.api import command_words, listed
from ptttool.api.analyses import analyze
from ptttool.api.capture import record
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document, to_json
from ptttool.errors import OutputError, PtttoolError, UsageError
from ptttool.files.failures import output_failure
from ptttool.files.ownership import scratch_folder
from ptttool.machine.model import PttDevice
from ptttool.sweep.design import DesignKind
from ptttool.sweep.documents import Observer, PlanBody
from ptttool.sweep.log import SUFFIX, RunLog, RunRecord, seed_of
from ptttool.sweep.metrics.contract import Metric
from ptttool.sweep.metrics.parse import parse_metrics
from ptttool.sweep.picture import require_picture, write_picture
from ptttool.sweep.plan import SweepOptions, SweepPlan
from ptttool.sweep.plan import plan_sweep as plan_of
from ptttool.sweep.results import write_results
from ptttool.sweep.run import Observe, Tracer, run_sweep
from ptttool.sweep.statistics import MetricResult, Table
from ptttool.sweep.statistics import analyze as analyze_runs
from ptttool.sweep.workload import Ending, require_command
from ptttool.tune.session import tuning
from ptttool.tune.values import source_of

LONGEST_TRACE = 60
"""Seconds of a trace during a run, at most."""

__all__ = ["SweepOptions", "SweepPlan", "SweepResult", "plan_sweep", "sweep_options", "sweep_tune_attributes"]


@document("tune-sweep")
class SweepResult(Struct, frozen=True, kw_only=True):
    """What a sweep found.

    Parameters
    ----------
    body : PlanBody
        What was done.
    failed : int
        Runs without a value of every metric.
    seconds : float
        How long the workload ran, all runs together.
    output : Path
        The file with a row for each run.
    picture : Path or None
        The picture.
    results : tuple of MetricResult
        What the runs say of each metric.
    observer : Observer or None
        What recording costs the workload; null without a trace, and where a sweep that was cut off had no run left.
    diagnostics : tuple of Diagnostic
        What was odd.
    plan : SweepPlan
        What was done, with the values that the hardware took.
    runs : tuple of RunRecord
        Every run.
    """

    json_hides: ClassVar = ("plan", "runs")

    body: PlanBody = field(name="plan")
    failed: int = 0
    seconds: float = 0.0
    output: Path
    picture: Path | None
    results: tuple[MetricResult, ...]
    observer: Observer | None = None
    diagnostics: tuple[Diagnostic, ...]
    plan: SweepPlan = field(name="planned")
    runs: tuple[RunRecord, ...]

    def __post_init__(self) -> None:
        """Count."""
        force_setattr(self, "failed", sum(run.ending != Ending.DONE for run in self.runs))
        force_setattr(self, "seconds", round(sum(run.seconds for run in self.runs), 3))


def sweep_options(
    attributes: str | Sequence[str],
    values: Sequence[int | str],
    metrics: str | Sequence[str],
    command: Sequence[str],
    *,
    minimize: bool = False,
    rounds: int | None = None,
    design: str = DesignKind.FACTORIAL,
    seed: int | None = None,
    warmup: int = 0,
    timeout: float | None = None,
) -> SweepOptions:
    """Say what is to be swept, and how.

    Parameters
    ----------
    attributes : str or Sequence of str
        Tune attributes.
    values : Sequence of int or str
        The values that each of them is to have. The original values are always tried.
    metrics : str or Sequence of str
        What is measured: ``fio:read.iops``, ``run:seconds``, ``json:PATH``, ``regex:EXPRESSION``, ``trace:ANALYSIS.PATH``.
    command : Sequence of str
        The workload: a program and its arguments.
    minimize : bool
        Lower is better, for metrics of which that is not known.
    rounds : int, optional
        How often each setting is measured. Default: as often as the test needs at least.
    design : str
        ``factorial``: all combinations of values; ``one-at-a-time``: the other attributes keep their values.
    seed : int, optional
        Of the order of the runs. Default: by chance.
    warmup : int
        Runs before the first round that do not count.
    timeout : float, optional
        Seconds that a run may take.

    Raises
    ------
    UsageError
        A metric is unknown, or a number is out of range.

    Examples
    --------
    >>> options = sweep_options(["qos_tx_p"], [0, 1, 2], ["run:seconds"], ["true"])
    >>> [(metric.name, metric.unit, metric.better.value) for metric in options.metrics]
    [('run:seconds', 's', 'lower')]
    """
    return SweepOptions(
        listed(attributes), tuple(str(value) for value in values), parse_metrics(listed(metrics), minimize=minimize),
        command_words(command), rounds,
        DesignKind(design), seed, warmup, timeout,
    )  # fmt: skip


def plan_sweep(device: PttDevice, options: SweepOptions) -> SweepPlan:
    """Plan a sweep: read the attributes, write and run nothing.

    Parameters
    ----------
    device : PttDevice
        A device of a machine.
    options : SweepOptions
        From :func:`sweep_options`.

    Returns
    -------
    SweepPlan
        Its settings, rounds and order; diagnostics for values that are clamped, and for rounds that are too few.

    Raises
    ------
    UsageError
        An attribute or a value is unknown, the program is not there, or there is nothing to compare.
    AccessError, HardwareError, DeviceError
        An attribute cannot be read.

    Examples
    --------
    >>> from ptttool.api.machine import find_devices
    >>> options = sweep_options(["qos_tx_p"], [0, 1, 2], ["run:seconds"], ["true"], seed=1)
    >>> plan = plan_sweep(find_devices(demo=True)[0], options)
    >>> plan.design.settings, plan.rounds, plan.runs
    (((1,), (0,), (2,)), 7, 21)
    """
    require_command(options.command)
    return plan_of(device, options)


def sweep_tune_attributes(
    device: PttDevice,
    options: SweepOptions,
    output: str | Path | None = None,
    *,
    picture: str | Path | None = None,
    resume: str | Path | None = None,
    force: bool = False,
    trace: Plan | None = None,
    journal: bool | str | PathLike[str] = True,
    planned: Callable[[SweepPlan], object] = lambda _: None,
    progress: Observe = lambda _: None,
) -> SweepResult:
    """Run a workload with every setting, in rounds, and say which settings made a difference.

    The attributes have their original values at the end, whatever ends it; after SIGKILL, :func:`~ptttool.recover_tune_attributes` restores
    them. Each run is on the disk as soon as it is over, in a file beside the output (``.runs``), which is removed at the end.

    Parameters
    ----------
    device : PttDevice
        A device of a machine.
    options : SweepOptions
        From :func:`sweep_options`.
    output : str or Path, optional
        The Parquet file with a row for each run. To go on with a sweep, it may be left out: it is the file of runs without ``.runs``.
    picture : str or Path, optional
        A picture to draw: ``.svg`` or ``.html``.
    resume : str or Path, optional
        The file of runs of a sweep that was cut off: go on with it. Options and workload must be the same.
    force : bool
        Replace existing files.
    trace : Plan, optional
        What to record during each run, for metrics of traces, from :func:`~ptttool.plan_recording`. Its output is not used.
    journal : bool, str or path
        Whether to note the change in the machine's journal; a path is the folder of another journal.
    planned : callable
        Called with the plan before the first run.
    progress : callable
        Called with a :class:`~ptttool.sweep.run.SweepProgress` before and after each run, and every second of it.

    Returns
    -------
    SweepResult
        The runs, and what they say.

    Raises
    ------
    UsageError
        Something is wrong with the options, or the program is not there.
    WorkloadError
        The first run failed, or its output does not hold a metric.
    BusyError
        Another process changes tune attributes of the machine.
    InputError
        The file of runs is damaged, or of another sweep (``other-sweep``).
    AccessError, HardwareError, DeviceError, OutputError, InterruptedByUserError
        An attribute could not be read or written, a result could not be written, or a signal came. The runs so far are in the file of
        runs. ``details["restored"]`` says whether the original values are back.
    """
    require_command(options.command)
    target = _target(output, resume)
    if picture is not None:
        require_picture(picture)
    _require_new([target] if picture is None else [target, Path(picture)], force)
    log_path = Path(resume) if resume is not None else target.with_name(target.name + SUFFIX)
    tracer = _tracer(options.metrics, trace)
    source = source_of(device)
    with tuning(source, f"tune sweep {device.name} {','.join(options.attributes)}", journal=journal) as session:
        if resume is not None and options.seed is None:
            options = replace(options, seed=seed_of(log_path))

        opened: list[RunLog] = []

        def open_log(plan: SweepPlan) -> RunLog:
            identity = plan.identity(target.name)
            opened.append(RunLog.resume(log_path, identity) if resume is not None else RunLog.create(log_path, identity, force=force))
            return opened[0]

        try:
            plan, log, observer = run_sweep(session, plan_of(device, options), open_log, tracer=tracer, planned=planned, progress=progress)
        except PtttoolError as error:
            raise _kept(error, log_path, len(opened[0].runs) if opened else None) from None
        diagnostics = tuple(session.diagnostics)
    results = analyze_runs(plan.design, [(metric, values_of(metric, log.runs)) for metric in options.metrics])
    try:
        # The picture first: a file of results says that all is done.
        if picture is not None:
            write_picture(picture, plan, log.runs, results, force=force)
        write_results(target, plan, log.runs, force=force)
    except OSError as error:
        raise _kept(output_failure(error.filename or target, error), log_path, len(log.runs)) from None
    except PtttoolError as error:
        raise _kept(error, log_path, len(log.runs)) from None
    log.remove()
    return SweepResult(
        body=PlanBody.of(plan),
        output=target,
        picture=None if picture is None else Path(picture),
        results=results,
        observer=observer,
        diagnostics=(*diagnostics, *plan.diagnostics, *_odd(plan, log.runs)),
        plan=plan,
        runs=tuple(log.runs),
    )


def _target(output: str | Path | None, resume: str | Path | None) -> Path:
    if output is None and resume is not None:
        # By its name, never by what is in it: who wrote the file does not choose what this user writes.
        log = Path(resume)
        output = log.with_suffix("") if log.suffix == SUFFIX and log.stem else None
    if output is None:
        raise UsageError("--output: where are the results to go?", hint="such as -o results.parquet", code="no-output")
    if str(output) == "-":
        raise UsageError("--output: a sweep needs a file, which it can go on with", code="no-output")
    return Path(output)


def _require_new(paths: Sequence[Path], force: bool) -> None:
    """Raise OutputError before a sweep of hours if its results could not be written."""
    for path in paths:
        if path.is_dir():
            raise OutputError(f"{path}: a folder", code="is-a-folder")
        if not force and (path.exists() or path.is_symlink()):
            raise OutputError(f"{path}: exists already", hint="--force overwrites it", code="exists")
        if not path.parent.is_dir():
            raise OutputError(f"{path}: there is no folder {path.parent}", hint="make it first", code="no-folder")


def _kept(error: PtttoolError, path: Path, runs: int | None) -> PtttoolError:
    """Say where the runs so far are, if the file of runs was opened; remove a file without any."""
    if runs is None:
        return error
    error.details["runs"] = runs
    if not runs:
        with suppress(OSError):
            path.unlink()
    else:
        error.details["log"] = str(path)
        hint = f"--resume {path} goes on"
        error.amended(f"{runs} runs are kept in {path}")
        error.hint = hint if error.hint is None or "--resume" in error.hint else f"{error.hint}; {hint}"
    return error


def values_of(metric: Metric, runs: Sequence[RunRecord]) -> Table:
    """Return the values of a metric, by round and setting."""
    return {(run.round, run.setting): value for run in runs if (value := run.metrics.get(metric.name)) is not None}


def _odd(plan: SweepPlan, runs: Sequence[RunRecord]) -> list[Diagnostic]:
    """Report runs that failed."""
    diagnostics = []
    for setting in plan.design.settings:
        failed = [run for run in runs if run.setting == setting and run.problem is not None]
        if failed:
            label = plan.design.label(setting)
            message = f"{label}: {len(failed)} of {plan.rounds} runs do not count: {failed[0].problem}"
            details = {"failed": len(failed), "rounds": [run.round for run in failed]}
            diagnostics.append(Diagnostic(Severity.WARNING, "failed-runs", message, where=label, details=details))
    return diagnostics


class _TraceOfRuns:
    """Records a trace during each run, in a thread, and analyzes it."""

    def __init__(self, plan: Plan, analyses: Sequence[str]) -> None:
        source = plan.device.source
        # A recording that is replayed takes no time.
        self.seconds = (plan.seconds or 0.0) if source is not None and source.live else 0.0
        self._plan = plan
        self._analyses = analyses
        self._found: Future[Mapping[str, Any]] = Future()

    def start(self) -> None:
        """Begin to record."""
        self._found = Future()
        threading.Thread(target=self._record, args=(self._found,), daemon=True).start()

    def finish(self) -> Mapping[str, Any]:
        """Wait for the trace; return the documents of its analyses."""
        return self._found.result()

    def _record(self, future: Future[Mapping[str, Any]]) -> None:
        try:
            with scratch_folder() as folder:
                path = folder / "run.data"
                record(replace(self._plan, output=path))
                (analyzed,) = analyze(path, self._analyses).recordings
            future.set_result({name: to_json(result) for name, result in analyzed.results.items()})
        except BaseException as error:
            future.set_exception(error)


def _tracer(metrics: Sequence[Metric], plan: Plan | None) -> Tracer | None:
    from ptttool.analyses.contract import ANALYSES

    traced = [(metric.name, metric.analysis) for metric in metrics if metric.analysis is not None]
    for _, analysis in traced:
        ANALYSES.get(analysis)
    if traced and plan is None:
        hint = "such as --trace '--rootport nvme0 --direction both --type np,cpl --duration 1s'"
        raise UsageError(f"{traced[0][0]} needs --trace, which says what to trace", hint=hint, code="no-trace-options")
    if plan is not None and not traced:
        hint = "such as --metric trace:latency.ticks.p99"
        raise UsageError("--trace is given, and no metric is of a trace", hint=hint, code="no-trace-metric")
    if plan is None:
        return None
    if plan.seconds is None or plan.seconds > LONGEST_TRACE or plan.command:
        hint = "a short trace is enough: each run has one"
        raise UsageError(f"--trace: it needs a --duration of at most {LONGEST_TRACE} s, and no command", hint=hint, code="bad-trace")
    return _TraceOfRuns(plan, sorted({analysis for _, analysis in traced}))
