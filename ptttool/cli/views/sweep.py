"""Show the plan, the progress and the findings of a sweep, for ``ptttool tune sweep``."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ptttool.analyses.compare.statistics import ALPHA
from ptttool.cli.terminal.talk import console, note, plain_table, print_line
from ptttool.sweep.picture import figure, verdict_words
from ptttool.sweep.signed_rank import POWER
from ptttool.sweep.statistics import Comparison, MetricResult, Verdict
from ptttool.wording import clean, counted, in_words

if TYPE_CHECKING:
    from ptttool.api.sweep import SweepResult
    from ptttool.sweep.documents import Observer
    from ptttool.sweep.plan import SweepPlan
    from ptttool.sweep.run import SweepProgress


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


@contextmanager
def progress_of_sweep(*, verbose: bool) -> Iterator[Callable[[SweepProgress], None]]:
    """Show how far a sweep is: on a terminal in one line, which is removed at its end; else, if ``verbose``, a line for each run."""
    if not sys.stderr.isatty() or verbose:
        yield lambda progress: note(clean(progress_text(progress))) if verbose and progress.run is not None else None
        return
    from rich.text import Text

    from ptttool.cli.terminal.live import live_line

    live = live_line()

    def show(progress: SweepProgress) -> None:
        live.start()
        live.update(Text(clean(progress_text(progress))), refresh=True)

    try:
        yield show
    finally:
        with suppress(OSError):  # the terminal is gone
            live.stop()


def progress_text(progress: SweepProgress) -> str:
    """Say how far a sweep is."""
    since = f" for {duration(progress.elapsed)}" if progress.elapsed else ""
    if not progress.round:
        return f"{progress.setting}{since}, then {counted(progress.total, 'run')}"
    left = "" if progress.left is None else f", about {duration(progress.left)} left"
    run = progress.run
    if run is None:
        return f"run {progress.done + 1} of {progress.total}, round {progress.round} of {progress.rounds}: {progress.setting}{since}{left}"
    what = run.problem or ", ".join(f"{name} {figure(value)}" for name, value in run.metrics.items())
    return f"run {progress.done} of {progress.total}: {progress.setting}: {what} ({duration(run.seconds)}{left})"


def duration(seconds: float) -> str:
    """Return a time for people: ``0.3 s``, ``42 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


_RIGHT = ("Runs", "Median", "Difference", "p")
# The columns, each with the width of the terminal from which on it is shown.
_HEADS = (("Setting", 0), ("Runs", 60), ("Median", 0), ("Quartiles", 110), ("Difference", 0), ("Interval", 90), ("p", 60), ("Result", 0))


def print_result(result: SweepResult) -> None:
    """Print what a sweep found."""
    for metric in result.results:
        _print_metric(metric)
        print_line("")
    for line in conclusions(result):
        print_line(clean(line))
    if result.observer is not None:
        print_line(clean(observer_line(result.observer)))
    note(
        clean(f"{counted(len(result.runs), 'run')} in {result.output}{'' if result.picture is None else f', picture in {result.picture}'}")
    )


def observer_line(observer: Observer) -> str:
    """Say what recording cost the workload."""
    if observer.skipped is not None:
        return f"cost of recording: not measured: {observer.skipped}"
    texts = []
    for name, value in observer.without.items():
        traced = observer.traced[name]
        change = f" ({100 * (traced - value) / abs(value):+.1f} %)" if value else ""
        texts.append(f"{name} {figure(value)} without a trace, {figure(traced)} with it{change}")
    return f"cost of recording, one run each: {'; '.join(texts)}"


def conclusions(result: SweepResult) -> Iterator[str]:
    """Say in words what was found of each metric."""
    for metric in result.results:
        differences = [one for one in metric.comparisons if one.verdict in (Verdict.BETTER, Verdict.WORSE)]
        if metric.best is not None:
            yield f"{metric.metric}: {metric.best} is best; to set it: ptttool tune set {result.plan.device.name} {metric.best}"
        elif any(one.verdict is Verdict.BETTER for one in differences):
            names = in_words(one.subject for one in differences if one.verdict is Verdict.BETTER)
            yield f"{metric.metric}: {names} is better on average; no setting by itself was found to be"
        elif differences:
            yield f"{metric.metric}: no setting is better than the original values"
        elif all(one.verdict is Verdict.NO_DATA for one in metric.comparisons):
            yield f"{metric.metric}: there is nothing to compare: too many runs have no value"
        elif any(one.verdict is Verdict.TOO_FEW_ROUNDS for one in metric.comparisons):
            yield f"{metric.metric}: too few rounds to tell: --rounds {result.plan.rounds_needed} at least"
        else:
            yield f"{metric.metric}: no difference found{_detectable(metric)}"


def _detectable(metric: MetricResult) -> str:
    """Say which difference would have been found."""
    sizes = [one.detectable for one in metric.comparisons if one.detectable is not None and not one.effect]
    middle = metric.settings[0].median
    if not sizes or len(sizes) < sum(not one.effect for one in metric.comparisons):
        return ""
    if not max(sizes):
        return "; every run has the same value" if all(not spread.mad for spread in metric.settings) else ""
    size = f"{figure(100 * max(sizes) / abs(middle))} %" if middle else figure(max(sizes))
    return f"; one of {size} would have been, with a probability of {100 * POWER:.0f} %"


def _print_metric(metric: MetricResult) -> None:
    print_line(clean(f"{metric.metric}{f' [{metric.unit}]' if metric.unit else ''}, {metric.better} is better"))
    shown = console()
    # On a narrow terminal the least important columns are left out: --json has all.
    heads = [head for head, width in _HEADS if shown.width >= width]
    table = plain_table(heads, right=_RIGHT, whole={*heads} - {"Setting", "Result"})
    for row in _rows(metric):
        table.add_row(*(clean(row.get(head, "")) for head in heads))
    shown.print(table)
    if "Interval" not in heads:
        return
    least = min((one.confidence for one in metric.comparisons if one.confidence is not None), default=None)
    if least:  # one round has no interval
        confidence = f"{100 * min(least, 0.95):.3g} %"
        print_line(f"Interval: of the difference, with a confidence of {confidence}.")
        print_line(f"p: of the signed-rank test, corrected for all comparisons; {ALPHA} or less counts.")


def _rows(metric: MetricResult) -> Iterator[dict[str, str]]:
    """Yield the cells of each row, by the column's head."""
    middle = metric.settings[0].median
    compared = {one.subject: one for one in metric.comparisons if not one.effect}
    for spread in metric.settings:
        one = compared.get(spread.setting)
        row = {"Setting": spread.setting, "Runs": str(spread.runs), "Median": figure(spread.median)}
        if spread.q1 is not None:
            row["Quartiles"] = f"{figure(spread.q1)} to {figure(spread.q3)}"
        yield row | ({"Result": "original values"} if one is None else _compared(one, middle))
    for one in metric.comparisons:
        if one.effect:
            yield {"Setting": f"{one.subject}, mean of all"} | _compared(one, middle)


def _compared(one: Comparison, middle: float | None) -> dict[str, str]:
    row = {"Result": verdict_words(one).partition(",")[0]}
    if one.p_corrected is not None:
        row["p"] = f"{one.p_corrected:.3f}" if one.p_corrected >= 0.0005 else "<0.001"
    if one.shift is None or one.low is None or one.high is None:
        return row
    if not middle:
        return row | {"Difference": _signed(one.shift), "Interval": f"{_signed(one.low)} to {_signed(one.high)}"}
    low, shift, high = (100 * value / abs(middle) for value in (one.low, one.shift, one.high))
    return row | {"Difference": f"{shift:+.2f} %", "Interval": f"{low:+.2f} to {high:+.2f} %"}


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{figure(value)}"
