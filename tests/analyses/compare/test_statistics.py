"""The rank test and its companions, against plain counting."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.analyses.compare.statistics import Effect, corrected, effect_of, median_interval, rank_test

SAMPLES = st.lists(st.integers(0, 9), min_size=1, max_size=12)


@given(SAMPLES, SAMPLES)
def test_delta_counts_pairs(first: list[int], second: list[int]) -> None:
    above = sum(after > before for before in first for after in second)
    below = sum(after < before for before in first for after in second)
    p, delta = rank_test(np.array(first, float), np.array(second, float))
    assert delta == pytest.approx((above - below) / (len(first) * len(second)))
    assert 0 <= p <= 1
    assert rank_test(np.array(second, float), np.array(first, float)) == pytest.approx((p, -delta))


def test_p_is_near_that_of_all_permutations() -> None:
    """The normal approximation, at the smallest number of parts of which anything is said."""
    first, second = [1.0, 2, 3, 4, 6, 9, 11, 14], [5.0, 7, 8, 10, 12, 13, 15, 16]
    whole = [*first, *second]
    seen = abs(rank_test(np.array(first), np.array(second))[1])
    count = extreme = 0
    for chosen in combinations(range(16), 8):
        one = [whole[at] for at in chosen]
        other = [whole[at] for at in range(16) if at not in chosen]
        delta = sum((b > a) - (b < a) for a in one for b in other) / 64
        count += 1
        extreme += abs(delta) >= seen
    assert rank_test(np.array(first), np.array(second))[0] == pytest.approx(extreme / count, rel=0.1)


def test_equal_values_differ_in_nothing() -> None:
    same = np.full(20, 3.0)
    assert rank_test(same, same) == (1.0, 0.0)
    assert median_interval(same, same) == (0.0, 0.0)


def test_the_interval_holds_the_difference() -> None:
    random = np.random.default_rng(1)
    first, second = random.normal(10, 1, 32), random.normal(12, 1, 32)
    low, high = median_interval(first, second)
    assert 0 < low < float(np.median(second) - np.median(first)) < high < 4
    assert median_interval(first, second) == (low, high)


def test_noise_is_seldom_a_difference() -> None:
    """Of samples of one distribution, about one in twenty passes one test, and hardly any the corrected tests of a recording."""
    random = np.random.default_rng(2)
    p = [rank_test(random.normal(0, 1, 32), random.normal(0, 1, 32))[0] for _ in range(400)]
    assert 0.02 < sum(each < 0.05 for each in p) / 400 < 0.09
    assert sum(min(corrected(p[at : at + 10])) < 0.05 for at in range(0, 400, 10)) <= 6


def test_corrected() -> None:
    assert corrected([]) == []
    assert corrected([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert corrected([0.9, 0.95]) == pytest.approx([0.95, 0.95])


@pytest.mark.parametrize(("delta", "effect"), [(0.1, Effect.NEGLIGIBLE), (-0.2, Effect.SMALL), (0.4, Effect.MEDIUM), (-1, Effect.LARGE)])
def test_sizes(delta: float, effect: Effect) -> None:
    assert effect_of(delta) is effect
