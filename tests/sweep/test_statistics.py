"""A difference is found where there is one, and seldom where there is none."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from ptttool.analyses.compare.statistics import ALPHA, holm
from ptttool.sweep.design import Design, Values, design
from ptttool.sweep.metrics.contract import Better
from ptttool.sweep.metrics.parse import parse_metric
from ptttool.sweep.signed_rank import (
    POWER,
    cumulative,
    detectable,
    interval_of_shift,
    largest_sum,
    p_value,
    rounds_needed,
    smallest_p,
)
from ptttool.sweep.statistics import MetricResult, Verdict, analyze, comparisons_of

Noise = Callable[[np.random.Generator, int], np.ndarray]
THREE = design("factorial", {"a": 1}, {"a": [0, 1, 2]})
FACTORIAL = design("factorial", {"a": 1, "b": 1}, {"a": [0, 1, 2], "b": [1, 2]})


def swept(
    plan: Design, rounds: int, random: np.random.Generator, effect: Callable[..., float], noise: Noise, better: Better = Better.HIGHER
) -> MetricResult:
    """Simulate a sweep: noise, a drift that all settings of a round share, and the effect of the settings."""
    values = {}
    for number in range(1, rounds + 1):
        drift = 50 * number / rounds
        for setting, one in zip(plan.settings, noise(random, len(plan.settings)), strict=True):
            values[number, setting] = 1000 + drift + one + effect(*setting)
    (result,) = analyze(plan, [(parse_metric("x=(.*)", better), values)])
    return result


def normal(random: np.random.Generator, count: int) -> np.ndarray:
    return random.normal(0, 10, count)


def heavy(random: np.random.Generator, count: int) -> np.ndarray:
    return 10 * random.standard_t(2, count)


def coarse(random: np.random.Generator, count: int) -> np.ndarray:
    return np.round(random.normal(0, 1, count))


@pytest.mark.parametrize("noise", [normal, heavy, coarse])
@pytest.mark.parametrize("plan", [THREE, FACTORIAL])
def test_where_no_setting_matters_few_sweeps_find_one(plan: Design, noise: Noise) -> None:
    """The rate of sweeps with any finding stays below the level, with what chance adds to it in so many sweeps."""
    random = np.random.default_rng(1)
    rounds, sweeps = rounds_needed(comparisons_of(plan, 1)), 400
    found = 0
    for _ in range(sweeps):
        result = swept(plan, rounds, random, lambda *_: 0.0, noise)
        found += any(one.verdict in (Verdict.BETTER, Verdict.WORSE) for one in result.comparisons)
        assert all(one.verdict is not Verdict.TOO_FEW_ROUNDS for one in result.comparisons)
    assert found <= stats.binom.ppf(0.999, sweeps, ALPHA)


def test_a_difference_is_found_in_spite_of_drift() -> None:
    random = np.random.default_rng(2)
    result = swept(THREE, 8, random, lambda a: 60.0 * (a == 2), normal)
    zero, two = result.comparisons
    assert (zero.subject, zero.verdict, two.subject, two.verdict) == ("a=0", Verdict.NO_DIFFERENCE, "a=2", Verdict.BETTER)
    assert result.best == "a=2"
    assert two.low is not None
    assert two.high is not None
    assert two.low < 60 < two.high
    assert two.shift_percent == pytest.approx(6, abs=2)
    assert two.higher_rounds == two.rounds == 8
    assert zero.detectable is not None
    assert 5 < zero.detectable < 60


def test_lower_is_better() -> None:
    result = swept(THREE, 8, np.random.default_rng(2), lambda a: 60.0 * (a == 2), normal, Better.LOWER)
    assert [one.verdict for one in result.comparisons] == [Verdict.NO_DIFFERENCE, Verdict.WORSE]
    assert result.best is None


def test_effects_of_one_attribute_are_averaged_over_the_others() -> None:
    result = swept(FACTORIAL, 9, np.random.default_rng(3), lambda a, b: 15.0 * (b == 2), normal)
    effects = {one.subject: one for one in result.comparisons if one.effect}
    assert set(effects) == {"a=0", "a=2", "b=2"}
    assert effects["b=2"].verdict is Verdict.BETTER
    assert effects["b=2"].shift == pytest.approx(15, abs=6)
    assert effects["a=2"].verdict is Verdict.NO_DIFFERENCE


def test_too_few_rounds_find_nothing_however_large_it_is() -> None:
    result = swept(THREE, 5, np.random.default_rng(4), lambda a: 1e6 * a, normal)
    assert {one.verdict for one in result.comparisons} == {Verdict.TOO_FEW_ROUNDS}
    assert {one.detectable for one in result.comparisons} == {None}
    assert {one.confidence for one in result.comparisons} == {1 - 2**-4}
    assert result.best is None


def test_runs_that_failed_leave_their_round_out() -> None:
    values: dict[tuple[int, Values], float] = {(number, (value,)): 100.0 + number for number in range(1, 9) for value in (0, 1, 2)}
    for number in (1, 2):
        del values[number, (2,)]
    for number in range(1, 9):
        del values[number, (0,)]
    (result,) = analyze(THREE, [(parse_metric("x=(.*)"), values)])
    zero, two = result.comparisons
    assert (zero.rounds, zero.verdict, zero.p) == (0, Verdict.NO_DATA, None)
    assert (two.rounds, two.verdict, two.p, two.shift, two.higher_probability) == (6, Verdict.TOO_FEW_ROUNDS, 1.0, 0, 0.625)
    assert [one.runs for one in result.settings] == [8, 0, 6]
    assert result.settings[1].median is None


def test_exact_distribution_is_that_of_scipy() -> None:
    for count in range(2, 9):
        sums = [sum(rank for rank, sign in enumerate(signs, 1) if sign) for signs in itertools.product((0, 1), repeat=count)]
        wanted = [np.mean(np.array(sums) <= one) for one in range(count * (count + 1) // 2 + 1)]
        assert cumulative(count) == pytest.approx(wanted)
        best = stats.wilcoxon(np.arange(1, count + 1), method="exact").pvalue
        assert smallest_p(count) == pytest.approx(best)
    assert largest_sum(7, 0.05) == 2
    assert largest_sum(5, 0.05) is None


def test_rounds_that_are_needed() -> None:
    assert [rounds_needed(count) for count in (1, 2, 3, 4, 8, 9)] == [6, 7, 7, 8, 9, 9]
    for count in range(1, 40):
        rounds = rounds_needed(count)
        assert smallest_p(rounds) * count <= ALPHA < smallest_p(rounds - 1) * count


def test_equal_differences_and_rounds_without_a_difference() -> None:
    assert p_value(np.zeros(9)) == 1
    assert p_value(np.full(8, 3.0)) == pytest.approx(2 / 2**8)
    random = np.random.default_rng(7)
    for _ in range(5):
        values = np.round(random.normal(0.5, 2, 9))
        assert p_value(values) == pytest.approx(stats.wilcoxon(values, method=stats.PermutationMethod(n_resamples=2**10)).pvalue)
        values = random.normal(0.5, 2, 40)
        assert p_value(values) == pytest.approx(stats.wilcoxon(values, method="exact").pvalue)
    assert p_value(np.array([0, 0, 1, 2, 3, -4])) == pytest.approx(stats.wilcoxon([1, 2, 3, -4], method="exact").pvalue)


def test_intervals_hold_the_shift_as_often_as_they_say() -> None:
    random = np.random.default_rng(5)
    for rounds in (4, 7, 12):
        held = []
        for _ in range(400):
            _, low, high, confidence = interval_of_shift(random.normal(3, 1, rounds))
            held.append(low <= 3 <= high)
        assert np.mean(held) == pytest.approx(confidence, abs=0.045)


def test_what_can_be_detected_is_detected_as_often_as_that_says() -> None:
    random = np.random.default_rng(6)
    assert detectable(5, ALPHA) is None
    for rounds, level in ((7, 0.025), (12, 0.05)):
        shift = detectable(rounds, level)
        assert shift is not None
        power = np.mean([p_value(random.normal(shift, 1, rounds)) <= level for _ in range(400)])
        assert power == pytest.approx(POWER, abs=0.06)


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.01, None, 0.5]) == [pytest.approx(0.03), None, 1.0]
    assert holm([]) == []
