"""What ``ptttool tune sweep`` prints with ``--json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ptttool.diagnostics import Diagnostic
from ptttool.documents import document
from ptttool.sweep.design import DesignKind
from ptttool.sweep.log import RunRecord
from ptttool.sweep.metrics.contract import Better
from ptttool.sweep.plan import SweepPlan
from ptttool.sweep.statistics import MetricResult
from ptttool.sweep.workload import Ending


@dataclass(frozen=True)
class MetricDocument:
    """A metric.

    Parameters
    ----------
    name : str
        Its name.
    unit : str or None
        Its unit.
    better : Better
        Which values are better.
    """

    name: str
    unit: str | None
    better: Better


@dataclass(frozen=True)
class PlanBody:
    """What a sweep does.

    Parameters
    ----------
    device : str
        Name of the device.
    design : DesignKind
        Which settings are tried.
    originals : Mapping of str to int
        The attributes with their original values: the baseline.
    settings : list of str
        The settings, the baseline first.
    rounds : int
        How often each setting is measured.
    rounds_needed : int
        Rounds with which a difference can be found at all.
    comparisons : int
        Comparisons that are made: the test is corrected for them.
    runs : int
        Runs of the workload that count.
    warmup : int
        Runs before them, which do not count.
    seed : int
        Of the order of the runs.
    program : str
        The program of the workload.
    metrics : list of MetricDocument
        What is measured.
    """

    device: str
    design: DesignKind
    originals: Mapping[str, int]
    settings: list[str]
    rounds: int
    rounds_needed: int
    comparisons: int
    runs: int
    warmup: int
    seed: int
    program: str
    metrics: list[MetricDocument]

    @classmethod
    def of(cls, plan: SweepPlan) -> PlanBody:
        """Make the document of a plan."""
        return cls(
            device=plan.device.name,
            design=plan.design.kind,
            originals=plan.originals,
            settings=[plan.design.label(setting) for setting in plan.design.settings],
            rounds=plan.rounds,
            rounds_needed=plan.rounds_needed,
            comparisons=plan.comparisons,
            runs=plan.runs,
            warmup=plan.options.warmup,
            seed=plan.seed,
            program=plan.options.command[0],
            metrics=[MetricDocument(metric.name, metric.unit, metric.better) for metric in plan.options.metrics],
        )


@document("tune-sweep-plan")
@dataclass(frozen=True)
class SweepPlanDocument:
    """A sweep that is only planned.

    Parameters
    ----------
    plan : PlanBody
        What would be done.
    order : list of list of str
        The order of the settings, by round.
    diagnostics : list of Diagnostic
        What is odd about it.
    """

    plan: PlanBody
    order: list[list[str]]
    diagnostics: list[Diagnostic]

    @classmethod
    def of(cls, plan: SweepPlan) -> SweepPlanDocument:
        """Make the document of a plan."""
        order = [[plan.design.label(setting) for setting in one] for one in plan.order]
        return cls(PlanBody.of(plan), order, list(plan.diagnostics))


@document("tune-sweep")
@dataclass(frozen=True)
class SweepDocument:
    """What a sweep found.

    Parameters
    ----------
    plan : PlanBody
        What was done.
    failed : int
        Runs without a value of every metric.
    seconds : float
        How long the workload ran, all runs together.
    output : str
        The file with a row for each run.
    picture : str or None
        The picture.
    results : list of MetricResult
        What the runs say of each metric.
    diagnostics : list of Diagnostic
        What was odd.
    """

    plan: PlanBody
    failed: int
    seconds: float
    output: str
    picture: str | None
    results: list[MetricResult]
    diagnostics: list[Diagnostic]


def failed_runs(runs: Sequence[RunRecord]) -> int:
    """Count the runs without a value of every metric."""
    return sum(run.ending != Ending.DONE for run in runs)
