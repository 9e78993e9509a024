"""Carry a sweep out: each run with its setting, the original values at the end."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from ptttool.errors import HardwareError, InterruptedByUserError, PtttoolError, WorkloadError
from ptttool.files.locks import utc_now
from ptttool.sweep.attributes import BorrowedAttributes, borrowed
from ptttool.sweep.design import Values
from ptttool.sweep.documents import Observer
from ptttool.sweep.log import RunLog, RunRecord
from ptttool.sweep.metrics.contract import MetricError, Output
from ptttool.sweep.plan import SweepPlan
from ptttool.sweep.workload import Ending, Finished, run_workload
from ptttool.tune.driver import held_signals
from ptttool.tune.session import Session

NO_METRIC, NO_TRACE = "no-metric", "no-trace"


class Tracer(Protocol):
    """Records a trace while the workload runs.

    Attributes
    ----------
    seconds : float
        How long the trace is: a run that ends sooner does not count.
    """

    seconds: float

    def start(self) -> None:
        """Begin, and return at once."""

    def finish(self) -> Mapping[str, Any]:
        """Wait for the end of the trace; return the documents of its analyses, by name. Raises PtttoolError."""


class SweepProgress(Struct, frozen=True):
    """How far a sweep is.

    Parameters
    ----------
    done, total : int
        Runs that are over, of those that count.
    setting : str
        The setting of the run that begins, or has ended.
    round, rounds : int
        Its round.
    left : float or None
        Seconds that the rest will take, as the runs so far let expect; None before the first one has ended.
    run : RunRecord or None
        The run that has ended; None for one that begins.
    elapsed : float
        Seconds that the run has taken so far.
    """

    done: int
    total: int
    setting: str
    round: int
    rounds: int
    left: float | None = None
    run: RunRecord | None = None
    elapsed: float = 0.0


Observe = Callable[[SweepProgress], object]


def run_sweep(
    session: Session,
    plan: SweepPlan,
    open_log: Callable[[SweepPlan], RunLog],
    *,
    tracer: Tracer | None = None,
    planned: Callable[[SweepPlan], object] = lambda _: None,
    progress: Observe = lambda _: None,
) -> tuple[SweepPlan, RunLog, Observer | None]:
    """Run the workload with each setting in each round; skip the runs that the log has already.

    Signals that end a program are held: the run is ended, and the original values are restored. The log is closed at the end.

    Parameters
    ----------
    session : Session
        The right to change the attributes of the machine.
    plan : SweepPlan
        What to do.
    open_log : callable
        Returns the file of runs for the plan with the values that the hardware takes.
    tracer : Tracer, optional
        Records a trace during each run.
    planned : callable
        Called with the plan before the first run.
    progress : callable
        Called before and after each run, and every second of it.

    Returns
    -------
    tuple
        The plan as it was carried out, the log with all runs, and what recording costs the workload; None of that without a trace, and
        where no run was left to do.

    Raises
    ------
    WorkloadError
        The first run failed, or yielded no metric: then no further one is tried.
    HardwareError
        ``changed-outside``: somebody else has changed an attribute during a run. Or as :func:`~ptttool.tune.driver.apply_changes`.
    InterruptedByUserError
        A signal came. The runs so far are in the log.
    OutputError
        A run cannot be written to the log.
    """
    if session.unfinished.changes:
        raise HardwareError(
            "tune attributes are half done: a change of them was cut off",
            hint="'ptttool tune recover --restore' first; it shows them without --restore",
            code="half-done",
        )
    with held_signals() as caught, borrowed(session, plan.device, plan.originals, plan.values) as attributes:
        plan = plan.with_hardware(attributes.probe(plan.values))
        with open_log(plan) as log:
            runs = _Sweep(plan, attributes, log, tracer, caught, progress)
            runs.run(planned)
    return plan, log, runs.observer


class _Sweep(Struct):
    """The runs of a sweep, one after the other."""

    plan: SweepPlan
    attributes: BorrowedAttributes
    log: RunLog
    tracer: Tracer | None
    caught: Callable[[], str | None]
    observe: Observe
    began: float = field(default_factory=time.monotonic)
    ended: int = 0
    observer: Observer | None = None

    def run(self, planned: Callable[[SweepPlan], object]) -> None:
        """Carry out what the log does not have yet."""
        done = {(run.round, run.setting) for run in self.log.runs}
        runs = [(number, setting) for number, settings in enumerate(self.plan.order, 1) for setting in settings]
        todo = [(order, *run) for order, run in enumerate(runs, 1) if run not in done]
        planned(self.plan)
        for _ in range(self.plan.options.warmup if todo else 0):
            self._require_no_signal()
            self._warm_up()
        if todo and self.tracer is not None:
            self.observer = self._observe()
        self.began = time.monotonic()
        for at, (order, number, setting) in enumerate(todo):
            self._require_no_signal()
            before = SweepProgress(
                self.plan.runs - len(todo) + at, self.plan.runs, self.plan.design.label(setting), number, self.plan.rounds,
                self._left(len(todo) - at),
            )  # fmt: skip
            self.observe(before)
            record = self._one(number, order, setting, before)
            if not any(run.ending == Ending.DONE for run in (*self.log.runs, record)):
                raise _first_failed(record)
            self.log.add(record)
            self.ended += 1
            self.observe(replace(before, done=before.done + 1, left=self._left(len(todo) - at - 1), run=record))

    def _left(self, runs: int) -> float | None:
        return None if not self.ended else (time.monotonic() - self.began) / self.ended * runs

    def _require_no_signal(self) -> None:
        name = self.caught()
        if name is not None:
            raise InterruptedByUserError(f"interrupted ({name})", ending=signal.Signals[name], signal=name)

    def _warm_up(self) -> None:
        """Run the workload with the original values; its metrics do not count."""
        before = SweepProgress(0, self.plan.runs, "warm-up", 0, self.plan.rounds)
        self.observe(before)
        record = self._one(0, 0, self.plan.design.baseline, before, traced=False)
        if record.ending not in (Ending.DONE, NO_METRIC):
            raise _first_failed(record)

    def _observe(self) -> Observer:
        """Run the workload with the original values, without a trace and with one, and compare its own metrics."""
        own = [metric.name for metric in self.plan.options.metrics if metric.analysis is None]
        if not own:
            return Observer(skipped="all metrics are of traces; one of the workload, such as run:seconds, would show it")
        found: list[Mapping[str, float]] = []
        for label, traced in (("without a trace", False), ("with a trace", True)):
            self._require_no_signal()
            before = SweepProgress(0, self.plan.runs, label, 0, self.plan.rounds)
            self.observe(before)
            record = self._one(0, 0, self.plan.design.baseline, before, traced=traced)
            values = {name: value for name in own if (value := record.metrics.get(name)) is not None}
            if len(values) < len(own):
                return Observer(skipped=f"the run {label} does not count: {record.problem or record.ending}")
            found.append(values)
        return Observer(found[0], found[1])

    def _one(self, number: int, order: int, setting: Values, before: SweepProgress, *, traced: bool = True) -> RunRecord:
        self.attributes.set(setting)
        self._require(setting, "before")
        tracer = self.tracer if traced else None
        started = utc_now()
        problem = None
        results: Mapping[str, Any] = {}
        if tracer is not None:
            tracer.start()
        try:
            finished = run_workload(self.plan.options.command, self.plan.options.timeout, self._watcher(before))
        finally:
            if tracer is not None:
                try:
                    results = tracer.finish()
                except PtttoolError as error:
                    problem = f"the trace failed: {error.message}"
        if tracer is not None and problem is None and finished.seconds < tracer.seconds:
            problem = f"the workload ended after {finished.seconds:.2f} s, before its trace of {tracer.seconds:g} s"
        self._require_no_signal()
        self._require(setting, "after")
        ending, metrics, why = self._measure(finished, results)
        if problem is not None and finished.ending is Ending.DONE:
            ending, why = NO_TRACE, problem
            metrics |= {metric.name: None for metric in self.plan.options.metrics if metric.analysis is not None}
        return RunRecord(number, order, setting, str(ending), finished.exit, round(finished.seconds, 6), started, metrics, why)

    def _watcher(self, before: SweepProgress) -> Callable[[], bool]:
        """Return a function that shows the time of a run every second, and tells whether a signal came."""
        began = shown = time.monotonic()

        def watch() -> bool:
            nonlocal shown
            now = time.monotonic()
            if now - shown >= 1:
                shown = now
                left = None if before.left is None else max(before.left - (now - began), 0.0)
                self.observe(replace(before, left=left, elapsed=now - began))
            return self.caught() is not None

        return watch

    def _require(self, setting: Values, when: str) -> None:
        """Raise HardwareError if the attributes do not have the values of the run."""
        now = self.attributes.read()
        if now != setting:
            names = [
                f"{self.plan.device.name}/{name} was set to {value}, {got} is read"
                for name, value, got in zip(self.attributes.originals, setting, now, strict=True)
                if got != value
            ]
            raise HardwareError(
                f"{'; '.join(names)} {when} a run: another program changes tune attributes of this device, and the run does not count",
                hint="end that program; --resume then goes on",
                code="changed-outside",
                device=self.plan.device.name,
                wanted=list(setting),
                got=list(now),
            )

    def _measure(self, finished: Finished, traced: Mapping[str, Any]) -> tuple[str, dict[str, float | None], str | None]:
        names = [metric.name for metric in self.plan.options.metrics]
        if finished.ending is not Ending.DONE:
            return finished.ending, dict.fromkeys(names), finished.reason
        output = Output(finished.stdout, finished.stderr, finished.seconds, traced)
        values: dict[str, float | None] = {}
        problems = []
        for metric in self.plan.options.metrics:
            try:
                values[metric.name] = metric.read(output)
            except MetricError as error:
                values[metric.name] = None
                problems.append(error.message)
        return NO_METRIC if problems else Ending.DONE, values, "; ".join(problems) or None


def _first_failed(record: RunRecord) -> WorkloadError:
    """Make the error of a sweep whose first run fails: the others would, too."""
    hint = {
        Ending.FAILED: "try the workload by itself",
        Ending.TIMEOUT: "a longer --timeout, or a shorter workload",
        NO_METRIC: "run the workload by itself, and look for the number in its output",
    }.get(record.ending)
    return WorkloadError(
        f"the first run failed: {record.problem or record.ending}",
        hint=hint,
        code=NO_METRIC if record.ending == NO_METRIC else "workload-failed",
        ending=record.ending,
        workload_exit=record.exit,
    )
