"""Sums by range are those of a dictionary, and the same wherever the rows are cut."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ptttool.analyses.ranges import RangeSums
from tests.reference.addresses import coarsened

ADDRESSES = st.one_of(
    st.integers(0, (1 << 64) - 1),
    st.integers(0, 1 << 14),
    st.builds(lambda page, low: (page << 12) + low, st.integers(0, 40), st.integers(0, 64)),
)


@given(
    st.lists(st.tuples(ADDRESSES, st.integers(0, 15), st.integers(0, 4096)), max_size=60), st.lists(st.integers(0, 60), max_size=4),
    st.integers(1, 20), st.booleans(),
)  # fmt: skip
def test_bounded_sums(requests: list[tuple[int, int, int]], cuts: list[int], most: int, pickled: bool) -> None:
    """Any cutting gives what a dictionary gives, with ranges as large as they have to be."""
    shift, kept = 4, 3
    parts = []
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), len(requests)], strict=True):
        sums = RangeSums(shift, most, kept)
        own = requests[start:stop]
        addresses = np.array([one[0] for one in own], dtype=np.uint64)
        codes, sizes = np.array([one[1] for one in own], dtype=np.intp), np.array([one[2] for one in own], dtype=np.uint16)
        sums.add(addresses, codes, sizes, np.arange(start, start + len(own), dtype=np.uint64))
        parts.append(pickle.loads(pickle.dumps(sums)) if pickled else sums)
    whole = parts[0]
    for part in parts[1:]:
        whole.merge(part)
    rows = [column.tolist() for column in whole.rows()]
    by, expected = coarsened(requests, shift, most, kept)
    found = {(address, code): [count, size, first] for address, code, count, size, first in zip(*rows, strict=True)}
    assert found == expected
    assert whole.shift == by
    assert list(found) == sorted(found)


def test_ranges_are_those_of_the_rows_before_they_are_asked_for() -> None:
    sums = RangeSums(0, 8, 1)
    addresses = np.arange(24, dtype=np.uint64) << np.uint64(4)
    sums.add(addresses, np.ones(24, dtype=np.uint64), np.zeros(24, dtype=np.int64), addresses)
    has_all, shift = sums.has_all_codes, sums.shift
    rows = sums.rows()
    assert (has_all, shift) == (sums.has_all_codes, sums.shift) == (False, 6)
    assert rows[0].tolist() == [number << 6 for number in range(6)]
