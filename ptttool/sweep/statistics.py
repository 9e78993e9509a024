"""What the runs of a sweep say: medians and spread, how much settings differ, and whether that is more than chance.

Each setting is compared with the baseline within rounds, by Wilcoxon's signed-rank test (two-sided). All comparisons of a sweep are
corrected together by Holm's method (1979): where no setting makes a difference, the probability that any is found is at most
:data:`~ptttool.analyses.compare.statistics.ALPHA`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ptttool.analyses.compare.statistics import ALPHA, holm
from ptttool.sweep.design import Design, Values
from ptttool.sweep.metrics.contract import Better, Metric
from ptttool.sweep.signed_rank import detectable, interval_of_shift, p_value, smallest_p

Table = Mapping[tuple[int, Values], float]
"""The values of one metric, by round and setting; runs without a value are not in it."""


class Verdict(StrEnum):
    """What a comparison says."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no-difference-found"
    TOO_FEW_ROUNDS = "too-few-rounds"
    NO_DATA = "no-data"


class Spread(Struct, frozen=True):
    """The values of a metric under one setting.

    Parameters
    ----------
    setting : str
        The setting.
    values : Mapping of str to int
        The setting, by attribute.
    runs : int
        Runs with a value.
    median : float or None
        Their median.
    q1, q3 : float or None
        Their quartiles: half of the values are between them.
    mad : float or None
        The median of their distances from the median.
    lowest, highest : float or None
        The extremes.
    """

    setting: str
    values: Mapping[str, int]
    runs: int
    median: float | None = None
    q1: float | None = None
    q3: float | None = None
    mad: float | None = None
    lowest: float | None = None
    highest: float | None = None


class Comparison(Struct, frozen=True):
    """A setting, or a value of one attribute, compared with the baseline.

    Parameters
    ----------
    subject : str
        The setting, or the attribute and its value.
    effect : bool
        True for a value of one attribute, averaged over the settings of all others (factorial design).
    rounds : int
        Rounds in which both were measured.
    shift : float or None
        How much higher the metric is: the Hodges-Lehmann estimate.
    shift_percent : float or None
        The same in percent of the baseline's median; null for a median of 0.
    low, high : float or None
        The interval of the shift.
    confidence : float or None
        The confidence of the interval: 0.95, or what so few rounds allow.
    higher_probability : float or None
        Probability that a run with the setting is higher than one with the baseline (A of Vargha and Delaney): 0.5 for no difference.
    higher_rounds : int
        Rounds in which the setting was higher.
    p : float or None
        Probability of differences at least as one-sided, if the setting made none.
    p_corrected : float or None
        The same, corrected for all comparisons of the sweep.
    detectable : float or None
        The smallest shift that so many rounds with such a spread find with a probability of 80 %; null where none is large enough.
    verdict : Verdict
        What it says.
    """

    subject: str
    effect: bool
    rounds: int
    shift: float | None = None
    shift_percent: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    higher_probability: float | None = None
    higher_rounds: int = 0
    p: float | None = None
    p_corrected: float | None = None
    detectable: float | None = None
    verdict: Verdict = Verdict.NO_DATA


class MetricResult(Struct, frozen=True):
    """What the runs say of one metric.

    Parameters
    ----------
    metric : str
        Its name.
    unit : str or None
        Its unit.
    better : Better
        Which values are better.
    baseline : str
        The original values.
    settings : tuple of Spread
        The values under each setting, the baseline first.
    comparisons : tuple of Comparison
        Each setting, then each value of an attribute, compared with the baseline.
    best : str or None
        The setting that was found to be better by most; null if none was.
    """

    metric: str
    unit: str | None
    better: Better
    baseline: str
    settings: tuple[Spread, ...]
    comparisons: tuple[Comparison, ...] = ()
    best: str | None = None


def comparisons_of(plan: Design, metrics: int) -> int:
    """Return how many comparisons a sweep makes."""
    return metrics * (len(plan.settings) - 1 + len(plan.effects()))


def analyze(plan: Design, measured: Sequence[tuple[Metric, Table]]) -> tuple[MetricResult, ...]:
    """Compare the settings of a sweep with its baseline.

    Parameters
    ----------
    plan : Design
        The settings.
    measured : Sequence of (Metric, Mapping)
        Each metric with its values, by round and setting.
    """
    total = comparisons_of(plan, len(measured))
    raw = [_compare_all(plan, values, ALPHA / total) for _, values in measured]
    flat = [comparison for group in raw for comparison in group]
    corrected = iter(holm([comparison.p for comparison in flat]))
    results = []
    for (metric, values), group in zip(measured, raw, strict=True):
        judged = tuple(_judged(comparison, next(corrected), metric.better, total) for comparison in group)
        sign = 1 if metric.better is Better.HIGHER else -1
        gains = {each.subject: sign * (each.shift or 0) for each in judged if each.verdict is Verdict.BETTER and not each.effect}
        results.append(
            MetricResult(
                metric.name,
                metric.unit,
                metric.better,
                plan.label(plan.baseline),
                tuple(_spread(plan, setting, values) for setting in plan.settings),
                judged,
                max(gains, key=lambda subject: gains[subject]) if gains else None,
            )
        )
    return tuple(results)


def _compare_all(plan: Design, values: Table, level: float) -> list[Comparison]:
    rounds = sorted({number for number, _ in values})
    base = {number: values[number, plan.baseline] for number in rounds if (number, plan.baseline) in values}
    middle = float(np.median(list(base.values()))) if base else math.nan
    comparisons = []
    for setting in plan.settings[1:]:
        theirs = {number: values[number, setting] for number in rounds if (number, setting) in values}
        differences = [theirs[number] - base[number] for number in rounds if number in base and number in theirs]
        one = _compare(plan.label(setting), differences, middle, level, effect=False)
        comparisons.append(replace(one, higher_probability=_probability(list(base.values()), list(theirs.values()))))
    for name, value in plan.effects():
        differences = _effect_differences(plan, values, rounds, plan.attributes.index(name), value)
        comparisons.append(_compare(f"{name}={value}", differences, middle, level, effect=True))
    return comparisons


def _effect_differences(plan: Design, values: Table, rounds: Sequence[int], at: int, value: int) -> list[float]:
    """Return, for each complete round, the mean difference between a value of an attribute and its original value."""
    pairs = [((*setting[:at], plan.baseline[at], *setting[at + 1 :]), setting) for setting in plan.settings if setting[at] == value]
    means = []
    for number in rounds:
        both = [(values.get((number, before)), values.get((number, after))) for before, after in pairs]
        differences = [after - before for before, after in both if before is not None and after is not None]
        if len(differences) == len(both):
            means.append(sum(differences) / len(differences))
    return means


def _compare(subject: str, differences: Sequence[float], middle: float, level: float, *, effect: bool) -> Comparison:
    if not differences:
        return Comparison(subject, effect, 0)
    array = np.array(differences)
    shift, low, high, confidence = interval_of_shift(array)
    least = detectable(len(array), level)
    deviation = float(np.std(array, ddof=1)) if len(array) > 1 else math.nan
    return Comparison(
        subject,
        effect,
        len(array),
        shift=shift,
        shift_percent=100 * shift / abs(middle) if middle and math.isfinite(middle) else None,
        low=low,
        high=high,
        confidence=confidence,
        higher_rounds=int((array > 0).sum()),
        p=p_value(array),
        detectable=least * deviation if least is not None and math.isfinite(deviation) else None,
    )


def _judged(comparison: Comparison, corrected: float | None, better: Better, total: int) -> Comparison:
    if comparison.p is None or corrected is None:
        return comparison
    if corrected <= ALPHA:
        higher = (comparison.shift or 0) > 0
        verdict = Verdict.BETTER if higher == (better is Better.HIGHER) else Verdict.WORSE
    elif smallest_p(comparison.rounds) * total > ALPHA:
        verdict = Verdict.TOO_FEW_ROUNDS
    else:
        verdict = Verdict.NO_DIFFERENCE
    return replace(comparison, p_corrected=corrected, verdict=verdict)


def _probability(before: Sequence[float], after: Sequence[float]) -> float | None:
    """Return the probability that a value of the second sample is higher than one of the first; half of equal ones count."""
    if not before or not after:
        return None
    first, second = np.array(before)[:, None], np.array(after)[None, :]
    return float(np.mean((second > first) + 0.5 * (second == first)))


def _spread(plan: Design, setting: Values, values: Table) -> Spread:
    label, by_name = plan.label(setting), dict(zip(plan.attributes, setting, strict=True))
    numbers = np.array([value for (_, one), value in values.items() if one == setting])
    if not len(numbers):
        return Spread(label, by_name, 0)
    q1, middle, q3 = (float(each) for each in np.percentile(numbers, (25, 50, 75)))
    mad = float(np.median(np.abs(numbers - middle)))
    return Spread(label, by_name, len(numbers), middle, q1, q3, mad, float(numbers.min()), float(numbers.max()))
