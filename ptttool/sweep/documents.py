"""What ``ptttool tune sweep`` prints with ``--json``."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ptttool.diagnostics import Diagnostic
from ptttool.documents import document
from ptttool.sweep.design import DesignKind
from ptttool.sweep.metrics.contract import Metric
from ptttool.sweep.plan import SweepPlan


class PlanBody(Struct, frozen=True):
    """What a sweep does.

    Parameters
    ----------
    device : str
        Name of the device.
    design : DesignKind
        Which settings are tried.
    originals : Mapping of str to int
        The attributes with their original values: the baseline.
    settings : tuple of str
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
    metrics : tuple of Metric
        What is measured.
    """

    device: str
    design: DesignKind
    originals: Mapping[str, int]
    settings: tuple[str, ...]
    rounds: int
    rounds_needed: int
    comparisons: int
    runs: int
    warmup: int
    seed: int
    program: str
    metrics: tuple[Metric, ...]

    @classmethod
    def of(cls, plan: SweepPlan) -> PlanBody:
        """Make the document of a plan."""
        return cls(
            device=plan.device.name,
            design=plan.design.kind,
            originals=plan.originals,
            settings=tuple(map(plan.design.label, plan.design.settings)),
            rounds=plan.rounds,
            rounds_needed=plan.rounds_needed,
            comparisons=plan.comparisons,
            runs=plan.runs,
            warmup=plan.options.warmup,
            seed=plan.seed,
            program=plan.options.command[0],
            metrics=plan.options.metrics,
        )


class Observer(Struct, frozen=True):
    """What recording costs the workload: one run without a trace and one with it, with the original values, before the rounds.

    One pair is no test: it shows a large cost, and says nothing of a small one.

    Parameters
    ----------
    without, traced : Mapping of str to float
        The workload's own metrics in the run without a trace, and in the one with it; empty where there is nothing to compare.
    skipped : str or None
        Why there is nothing to compare.
    """

    json_name = "ObserverDocument"

    without: Mapping[str, float] = {}
    traced: Mapping[str, float] = {}
    skipped: str | None = None


@document("tune-sweep-plan")
class SweepPlanDocument(Struct, frozen=True):
    """A sweep that is only planned.

    Parameters
    ----------
    plan : PlanBody
        What would be done.
    order : tuple of tuple of str
        The order of the settings, by round.
    diagnostics : tuple of Diagnostic
        What is odd about it.
    """

    plan: PlanBody
    order: tuple[tuple[str, ...], ...]
    diagnostics: tuple[Diagnostic, ...]
