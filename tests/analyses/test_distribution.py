"""Distributions: counts and extremes are exact, quantiles are within one bin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ptttool.analyses.distribution import Distribution
from ptttool.analyses.latency.bins import RELATIVE_ERROR

VALUES = st.lists(
    st.one_of(
        st.integers(0, 300),
        st.integers(0, (1 << 62) - 1),
        st.builds(lambda bit, by: (1 << bit) + by, st.integers(8, 60), st.integers(-2, 2)),
    )
)


def distribution(values: list[int]) -> Distribution:
    """The distribution of values."""
    found = Distribution()
    found.add(np.array(values, dtype=np.int64))
    return found


@given(VALUES, st.floats(0.01, 1))
def test_quantiles(values: list[int], share: float) -> None:
    found = distribution(values)
    quantile = found.quantile(share)
    if not values:
        assert (quantile, found.mean, found.bins()) == (None, None, ([], []))
        return
    exact = sorted(values)[max(int(np.ceil(share * len(values))), 1) - 1]
    assert quantile is not None
    assert abs(quantile - exact) <= exact * RELATIVE_ERROR
    assert quantile == exact or exact >= 256
    assert (found.smallest, found.largest, found.count) == (min(values), max(values), len(values))


@given(VALUES)
def test_bins(values: list[int]) -> None:
    edges, counts = distribution(values).bins()
    assert sum(counts) == len(values)
    for first, behind, count in zip(edges, edges[1:], counts, strict=False):
        assert count == sum(first <= value < behind for value in values)
    assert edges == sorted(set(edges))


@given(st.lists(st.integers(0, 1 << 40)), st.integers(0, 20))
def test_merged(values: list[int], cut: int) -> None:
    whole, first = distribution(values), distribution(values[:cut])
    first.merge(distribution(values[cut:]))
    assert (first.bins(), first.count, first.total, first.smallest, first.largest) == (
        whole.bins(), whole.count, whole.total, whole.smallest, whole.largest,
    )  # fmt: skip
