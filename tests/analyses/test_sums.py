"""Numbers by key, against a dictionary; in any number of parts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.analyses import sums
from ptttool.analyses.sums import FIRST, SumTable, counted, order_of, summed

ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(-9, 9), st.integers(0, 1 << 40)), max_size=40)
HOW = (np.add, np.minimum, FIRST, np.maximum, FIRST)


def all_in_one(keys: sums.Array) -> sums.Array:
    return np.zeros_like(keys)


def filled(rows: list[tuple[int, int, int]], cuts: list[int], **budget: object) -> SumTable:
    """A table of tables of the rows between cuts."""
    table = SumTable(*HOW, **budget)  # type: ignore[arg-type]
    for some in np.split(np.array(rows, dtype=np.int64).reshape(-1, 3), sorted(cuts)):
        part = SumTable(*HOW, **budget)  # type: ignore[arg-type]
        key, value, row = some.T
        part.add(key, np.stack((value, np.ones_like(value)), axis=1), value, row, value, row)
        table.merge(pickle.loads(pickle.dumps(part)))
    return table


def expected(rows: list[tuple[int, int, int]]) -> dict[int, list[object]]:
    found = {}
    for key in sorted({row[0] for row in rows}):
        some = [(value, row) for each, value, row in rows if each == key]
        low, high = min(value for value, _ in some), max(value for value, _ in some)
        firsts = [min(row for value, row in some if value == one) for one in (low, high)]
        found[key] = [[sum(value for value, _ in some), len(some)], low, firsts[0], high, firsts[1]]
    return found


@pytest.mark.parametrize("room", [1, 1 << 16])
@given(rows=ROWS, cuts=st.lists(st.integers(0, 40)))
def test_parts_are_the_whole(rows: list[tuple[int, int, int]], cuts: list[int], room: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "_ROOM", room)
        keys, *columns = filled(rows, cuts).rows()
    assert dict(zip(keys.tolist(), map(list, zip(*(each.tolist() for each in columns), strict=True)), strict=True)) == expected(rows)


@given(rows=ROWS, cuts=st.lists(st.integers(0, 40)))
def test_too_many_keys_become_fewer_wherever_rows_are_cut(rows: list[tuple[int, int, int]], cuts: list[int]) -> None:
    table = filled(rows, cuts, most=3, fewer=all_in_one)
    is_full = len({row[0] for row in rows}) > 3
    keys, *columns = table.rows()
    assert table.is_full == is_full
    wanted = expected([(0 if is_full else key, value, row) for key, value, row in rows])
    assert dict(zip(keys.tolist(), map(list, zip(*(each.tolist() for each in columns), strict=True)), strict=True)) == wanted


def test_some_keys_are_kept() -> None:
    table = filled([(5, 1, 7), (2, 3, 8), (5, 2, 6)], [1])
    table.keep(table.rows()[0] > 2)
    assert [column.tolist() for column in table.rows()] == [[5], [[3, 2]], [1], [7], [2], [6]]


def test_counted() -> None:
    assert [each.tolist() for each in counted(np.array([4, 2, 4, 4]))] == [[2, 4], [1, 3]]
    assert [each.tolist() for each in counted(np.array([], dtype=np.int64))] == [[], []]


@pytest.mark.parametrize("different", [1, 50, 5_000, 1 << 60])
def test_many_rows(different: int) -> None:
    """Few keys, and more than fit into a number beside their position."""
    keys = np.random.default_rng(different).integers(0, different, 40_000).astype(np.uint64)
    weights = np.arange(len(keys))
    assert (np.diff(keys.take(order_of(keys)).astype(np.int64)) >= 0).all()
    found, counts, total, first = summed((np.add, np.add, np.minimum), keys, None, weights, weights)
    unique, index, inverse = np.unique(keys, return_index=True, return_inverse=True)
    assert (found.tolist(), first.tolist()) == (unique.tolist(), index.tolist())
    assert (counts.tolist(), total.tolist()) == (np.bincount(inverse).tolist(), np.bincount(inverse, weights).astype(int).tolist())
