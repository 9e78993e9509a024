"""Show what a sweep will do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptttool.cli.terminal.talk import print_line
from ptttool.wording import clean, counted, in_words

if TYPE_CHECKING:
    from ptttool.sweep.plan import SweepPlan


def plan_lines(plan: SweepPlan) -> list[str]:
    """Say what a sweep will do."""
    options, settings = plan.options, plan.design.settings
    warm = f", after {counted(options.warmup, 'run')} to warm up" if options.warmup else ""
    metrics = in_words(f"{metric.label} ({metric.better} is better)" for metric in options.metrics)
    return [
        f"{plan.device.name}: {counted(len(settings), 'setting')} of {in_words(plan.design.attributes)}, {counted(plan.rounds, 'round')}: "
        f"{counted(plan.runs, 'run')} of {options.command[0]}{warm}",
        f"original values, restored at the end: {plan.design.label(plan.design.baseline)}",
        f"measured: {metrics}",
        f"order by chance within each round, seed {plan.seed}; {counted(plan.comparisons, 'comparison')}, for which "
        f"{plan.rounds_needed} rounds are the fewest that can show a difference",
    ]


def print_plan(plan: SweepPlan) -> None:
    """Print a plan, and the order of the runs, on standard output."""
    for line in plan_lines(plan):
        print_line(clean(line))
    for number, settings in enumerate(plan.order, 1):
        print_line(clean(f"round {number}: {'; '.join(plan.design.label(setting) for setting in settings)}"))
