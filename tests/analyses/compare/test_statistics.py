"""The exact test and its companions, against going through all ways to choose one of the groups."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ptttool.analyses.compare.statistics import ALPHA, Effect, delta_of, effect_of, holm, needed, p_value, shift_of, smallest_p

GROUPS = st.lists(st.integers(0, 9), min_size=1, max_size=6)


def array(values: list[int]) -> np.ndarray:
    return np.array(values, float)


def twice_u(first: list[int], second: list[int]) -> int:
    """Pairs in which the second value is higher, twice, and those of equal values."""
    return sum(2 * (after > before) + (after == before) for before in first for after in second)


def literal_p(first: list[int], second: list[int]) -> float:
    whole, seen = [*first, *second], twice_u(first, second)
    low = high = 0
    for chosen in combinations(range(len(whole)), len(second)):
        one = [value for at, value in enumerate(whole) if at not in chosen]
        u = twice_u(one, [whole[at] for at in chosen])
        low, high = low + (u <= seen), high + (u >= seen)
    return min(1.0, 2 * min(low, high) / comb(len(whole), len(second)))


@given(GROUPS, GROUPS)
def test_p_is_that_of_all_choices(first: list[int], second: list[int]) -> None:
    found = p_value(array(first), array(second))
    assert found == literal_p(first, second)
    assert p_value(array(second), array(first)) == pytest.approx(found)
    assert found >= smallest_p(len(first), len(second))


@given(GROUPS, GROUPS)
def test_delta_counts_pairs(first: list[int], second: list[int]) -> None:
    above = sum(after > before for before in first for after in second)
    below = sum(after < before for before in first for after in second)
    assert delta_of(array(first), array(second)) == (above - below) / (len(first) * len(second))


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 3), (4, 9), (12, 7), (20, 20)])
def test_as_scipy_without_ties(m: int, n: int) -> None:
    random = np.random.default_rng(m)
    first, second = random.normal(0, 1, m), random.normal(0.5, 1, n)
    assert p_value(first, second) == pytest.approx(stats.mannwhitneyu(second, first, method="exact").pvalue)


@given(st.integers(1, 5), st.integers(1, 5), st.integers(-3, 3), st.randoms())
def test_the_interval_holds_the_shifts_that_the_test_does_not_refute(m: int, n: int, moved: int, random: object) -> None:
    """Literally: with each shift taken off between two differences of pairs, the test is done again."""
    values = list(range(0, 7 * (m + n), 7))
    random.shuffle(values)  # type: ignore[attr-defined]
    first, second = array(values[:m]), array(values[m:]) + moved
    shift, low, high, covered = shift_of(first, second)
    differences = sorted({float(after - before) for before in first for after in second})
    assert shift == np.median([after - before for before in first for after in second])
    between = [(one + other) / 2 for one, other in pairwise(differences)]
    kept = [each for each in [differences[0] - 1, *between, differences[-1] + 1] if p_value(first, second - each) > 1 - covered + 1e-9]
    assert all(low <= each <= high for each in kept)
    assert [each for each in between if low <= each <= high] == kept
    assert covered >= 0.95 or (low, high) == (differences[0], differences[-1])


def test_the_confidence_is_what_so_few_can_have() -> None:
    assert shift_of(array([1]), array([5])) == (4, 4, 4, 0)
    assert shift_of(array([1, 2, 3]), array([11, 12, 13])) == pytest.approx((10, 8, 12, 0.9))
    assert shift_of(np.full(20, 3.0), np.full(20, 3.0))[:3] == (0, 0, 0)
    random = np.random.default_rng(1)
    held = 0
    for _ in range(300):
        _, low, high, covered = shift_of(random.normal(10, 1, 7), random.normal(12, 1, 7))
        held += low <= 2 <= high
        assert 0.95 <= covered < 0.97
    assert held >= stats.binom.ppf(0.001, 300, 0.95)


def test_what_can_be_found() -> None:
    assert [smallest_p(1, 1), smallest_p(3, 3), smallest_p(4, 4), smallest_p(1, 39)] == [1, 0.1, 2 / 70, 0.05]
    for comparisons in (0, 1, 2, 6, 20):
        count = needed(comparisons)
        assert smallest_p(count, count) * max(comparisons, 1) <= ALPHA < smallest_p(count - 1, count - 1) * max(comparisons, 1)
    assert needed(1) == 4


def test_a_hundred_values_are_counted() -> None:
    """Going through their choices would never end; with so many, the normal approximation is near."""
    random = np.random.default_rng(3)
    first, second = random.normal(0, 1, 100), random.normal(0.3, 1, 100)
    exact, rounded = p_value(first, second), p_value(first.round(1), second.round(1))
    assert exact == pytest.approx(stats.mannwhitneyu(second, first, method="asymptotic").pvalue, rel=0.1)
    assert rounded == pytest.approx(stats.mannwhitneyu(second.round(1), first.round(1), method="asymptotic").pvalue, rel=0.1)


def test_noise_is_seldom_a_difference() -> None:
    """With ten measures of seven recordings a side, of one distribution, any difference is found in at most one of twenty comparisons."""
    random = np.random.default_rng(2)
    found = 0
    for _ in range(200):
        p = [p_value(random.normal(0, 1, 7), random.normal(0, 1, 7)) for _ in range(10)]
        found += any(each is not None and each <= ALPHA for each in holm(p))
    assert found <= stats.binom.ppf(0.999, 200, ALPHA)


@pytest.mark.parametrize(("delta", "effect"), [(0.1, Effect.NEGLIGIBLE), (-0.2, Effect.SMALL), (0.4, Effect.MEDIUM), (-1, Effect.LARGE)])
def test_sizes(delta: float, effect: Effect) -> None:
    assert effect_of(delta) is effect
