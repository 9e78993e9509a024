"""The clocks that contradict nothing are those that are left if each pair of bounds is looked at."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.analyses.joined.clock import Bounds, Clock, clock_of
from tests.reference import joining

points = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 4000)), min_size=1, max_size=40)


def bounds(after: list[tuple[int, int]], before: list[tuple[int, int]]) -> Bounds:
    arrays = [np.array([one[column] for one in side], dtype=np.int64) for side in (after, before) for column in (0, 1)]
    return Bounds(*arrays)


@given(after=points, before=points)
def test_ticks_are_those_of_the_reference(after: list[tuple[int, int]], before: list[tuple[int, int]]) -> None:
    told = joining.ticks(after, before)
    found = clock_of(bounds(after, before))
    if told is None:
        assert found is not None and not found.is_possible and found.missed_ns >= 0
    elif told[1] is None:
        assert found is None or not found.is_possible
    else:
        assert found is not None
        if found.is_possible:
            assert found.tick_ns == pytest.approx((float(told[0]), float(told[1])))
        else:
            assert float(told[1] - told[0]) < 1e-9 or told[1] < Fraction(1, 100)


@given(
    rates=st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 5000), st.integers(0, 5000)), min_size=3, max_size=80),
    tick=st.integers(1, 64),
)
def test_the_true_clock_is_never_left_out(rates: list[tuple[int, int, int]], tick: int) -> None:
    after = [(x, 10**12 + tick * x - early) for x, early, _ in rates]
    before = [(x, 10**12 + tick * x + late) for x, _, late in rates]
    found = clock_of(bounds(after, before))
    if found is None:
        assert len({x for x, _, _ in rates}) == 1
        return
    assert found.is_possible
    low, high = found.tick_ns
    assert low <= tick * (1 + 1e-9) and tick * (1 - 1e-9) <= high
    xs = np.array([x for x, _, _ in rates])
    first, last = found.at(xs)
    true = 10**12 + tick * xs
    assert (first <= true + 1).all() and (true - 1 <= last).all()
    # No bound is violated, and what is placed is not wider than the bounds at the same tick.
    assert (first >= np.array([y for _, y in after]) - 2).all() and (last <= np.array([y for _, y in before]) + 2).all()


@given(
    rates=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 50), st.integers(0, 50)), min_size=3, max_size=20), at=st.integers(0, 300)
)
def test_places_are_not_narrower_than_the_reference_finds(rates: list[tuple[int, int, int]], at: int) -> None:
    after = [(x, 4 * x + 100 - early) for x, early, _ in rates]
    before = [(x, 4 * x + 100 + late) for x, _, late in rates]
    told, found = joining.ticks(after, before), clock_of(bounds(after, before))
    if told is None or told[1] is None or found is None:
        return
    slopes = [told[0] + (told[1] - told[0]) * Fraction(number, 16) for number in range(17)]
    first, last = joining.place(after, before, at, slopes)
    ((low,), (high,)) = found.at(np.array([at]))
    assert low <= first + 1 and last - 1 <= high


def test_many_bounds_are_the_same_as_all_of_them() -> None:
    rng = np.random.default_rng(1)
    x = np.sort(rng.integers(0, 1 << 34, 100_000))
    early, late = rng.integers(200, 10**6, (2, len(x)))
    both = clock_of(Bounds(x, 10**13 + 4 * x - early, x, 10**13 + 4 * x + late))
    assert both is not None and both.is_possible
    slopes = np.array(both.tick_ns)
    # The line of each of its corners is above and below all points, by brute force.
    for slope, offset in zip(both.slopes, both.offsets, strict=True):
        line = both.start_ns + offset + slope * (x - both.start_ticks).astype(np.float64)
        assert (line - (10**13 + 4 * x - early)).min() > -0.1
        assert ((10**13 + 4 * x + late) - line).min() > -0.1
    assert slopes[0] < 4 < slopes[1]


def test_a_clock_that_jumps_is_refuted() -> None:
    x = np.arange(100) * 1000
    y = 4 * x + np.where(x > 50_000, 10**6, 0)
    found = clock_of(Bounds(x, y - 10, x, y + 10))
    assert isinstance(found, Clock) and not found.is_possible and found.missed_ns > 1000


def test_ticks_that_are_missing_leave_an_upper_limit() -> None:
    x = np.arange(1000) * 500
    seen = np.cumsum(np.concatenate(([0], np.diff(x) - np.where(np.arange(999) % 100 == 7, 400, 0))))
    found = clock_of(Bounds(seen, 4 * x - 10, seen, 4 * x + 10))
    assert found is not None and not found.is_possible
    assert 4 <= found.longest_ns < 5


def test_two_moments_of_one_tick_say_nothing_of_a_longest_tick() -> None:
    """A gap that is a multiple of what few bits count leaves two TLPs with one tick."""
    found = clock_of(bounds([(0, 0), (5, 5000), (9, 5040)], [(0, 10), (5, 30), (9, 5060)]))
    assert found is not None and not found.is_possible and found.longest_ns > 0


def test_one_moment_is_no_clock() -> None:
    assert clock_of(bounds([(5, 10)], [(5, 20)])) is None
    assert clock_of(bounds([(5, 10)], [])) is None
