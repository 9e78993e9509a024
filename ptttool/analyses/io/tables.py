"""Sums by requester and page, in sorted arrays: small, and they merge."""

from __future__ import annotations

from enum import IntEnum
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_IO_PAGES
from ptttool.analyses.sums import SumTable, starts_of

Keys = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
Array = npt.NDArray[Any]

PAGE_BITS: Final = 12
"""A memory page of NVMe, at least; rings begin at one."""
_PAGES: Final = (1 << 48) - 1
# Stands for all keys that are left out; no other key is larger.
_LEFT_OUT: Final = (1 << 64) - 1
_REQUESTER_SHIFT: Final = np.uint64(48)


def page_keys(requesters: npt.NDArray[np.uint64], addresses: Keys) -> Keys:
    """Return keys that sort by requester, then page. Pages are numbers of 48 bits: addresses have 60 bits at most."""
    keys: Keys = (requesters << _REQUESTER_SHIFT) | ((addresses >> np.uint64(PAGE_BITS)) & np.uint64(_PAGES))
    return keys


def page_key(requester: int, address: int) -> int:
    """Return the key of one address."""
    return requester << 48 | address >> PAGE_BITS & _PAGES


def requester_of(key: int) -> int:
    """Return the requester ID of a key."""
    return key >> 48


def page_of(key: int) -> int:
    """Return the first address of a key's page."""
    return (key & _PAGES) << PAGE_BITS


class Table(SumTable):
    """Sums by key; keys that are too many are left out, the largest first, whatever the order in which they came.

    Parameters
    ----------
    width : int
        Number of columns; column 0 is the number of accesses.
    limit : int
        Most keys.
    *how : np.add, np.minimum or np.maximum
        How columns are put together, where there are several ways.
    """

    def __init__(self, width: int, limit: int = MAX_IO_PAGES, *how: np.ufunc) -> None:
        super().__init__(*(how or (np.add,)), most=limit, fewer=partial(_cut, limit))
        self._width, self._limit = width, limit

    @property
    def left_out(self) -> int:
        """Accesses to keys that were left out: their sum stands behind the others."""
        return int(self.rows()[1][self._limit :].reshape(-1)[:1].sum())

    def table(self, first: int = 0, last: int = _LEFT_OUT) -> tuple[Keys, Numbers]:
        """Return the keys from a first to a last one, ascending, and their rows."""
        keys, *columns = self.rows()
        keys = keys[: self._limit].astype(np.uint64, copy=False)
        some = slice(np.searchsorted(keys, np.uint64(first)), np.searchsorted(keys, np.uint64(last), side="right"))
        return keys[some], np.column_stack([each[: self._limit][some] for each in columns]).reshape(-1, self._width)

    def of(self, requester: int) -> tuple[Keys, Numbers]:
        """Return keys and rows of a requester, where keys are those of pages."""
        return self.table(requester << 48, requester << 48 | _PAGES)

    def of_number(self, key: int) -> Numbers:
        """Return the row of a key; zeros where there is none."""
        found: Numbers = self.table(key, key)[1].sum(axis=0)
        return found


def _cut(limit: int, keys: Keys) -> Keys:
    keys = keys.copy()
    keys[limit:] = _LEFT_OUT
    return keys


class PageColumn(IntEnum):
    """Columns of a :class:`WalkTable`."""

    ACCESSES = 0
    SLOTS = 1
    """Slots that they covered."""
    EXACT = 2
    """Accesses of exactly one slot."""
    STEPS = 3
    """Accesses that began where the one before in this page ended."""
    STARTS = 4
    """Other accesses that began at the start of the page."""
    JUMPS = 5
    """All others but the first."""
    TIMES = 6
    """Sum of the ticks of the slots' accesses, modulo 2^64."""
    FIRST = 7
    """Offset in the page of the first access."""
    LAST = 8
    """Offset in the page behind the last access."""
    BYTES = 9
    """Bytes of all accesses."""
    FOLLOWED = 10
    """Accesses that were followed by an access of another size (descriptors of data)."""


class WalkTable(Table):
    """How pages were walked through, in slots of one size."""

    def __init__(self, slot: int) -> None:
        super().__init__(len(PageColumn))
        self.slot = slot

    def see(
        self, keys: Keys, addresses: Keys, sizes: Numbers, ticks: Numbers | None, followed: npt.NDArray[np.bool_] | None = None
    ) -> None:
        """Add accesses in their order; addresses and sizes are multiples of the slot's size."""
        slots = sizes // self.slot
        rows = np.zeros((len(keys), len(PageColumn)), dtype=np.int64)
        rows[:, PageColumn.ACCESSES], rows[:, PageColumn.SLOTS], rows[:, PageColumn.EXACT] = 1, slots, slots == 1
        rows[:, PageColumn.FIRST] = addresses & np.uint64((1 << PAGE_BITS) - 1)
        rows[:, PageColumn.LAST] = rows[:, PageColumn.FIRST] + sizes
        rows[:, PageColumn.BYTES] = sizes
        if ticks is not None:
            rows[:, PageColumn.TIMES] = ticks * slots
        if followed is not None:
            rows[:, PageColumn.FOLLOWED] = followed
        self.add(keys, rows)

    def _together(self, keys: Array, *columns: Array) -> tuple[Array, ...]:
        """Put accesses of a page together that follow each other."""
        order = np.argsort(keys, kind="stable")
        keys, rows = keys.take(order), columns[0].take(order, axis=0)
        starts = starts_of(keys)
        step = rows[1:, PageColumn.FIRST] == rows[:-1, PageColumn.LAST]
        start = ~step & (rows[1:, PageColumn.FIRST] == 0)
        same = keys[1:] == keys[:-1]
        for column, seams in ((PageColumn.STEPS, step), (PageColumn.STARTS, start), (PageColumn.JUMPS, ~(step | start))):
            rows[1:, column] += seams & same
        sums = np.add.reduceat(rows, starts, axis=0)
        sums[:, PageColumn.FIRST] = rows[starts, PageColumn.FIRST]
        sums[:, PageColumn.LAST] = rows[np.append(starts[1:], len(rows)) - 1, PageColumn.LAST]
        return keys.take(starts), sums

    def shift(self, ticks: int) -> None:
        """Begin to count ticks so many earlier."""
        keys, rows = self.rows()
        if ticks and len(keys):
            rows = rows.copy()
            # Modulo 2^64, as numpy's integers are: only differences of such sums are looked at.
            rows[:, PageColumn.TIMES] += rows[:, PageColumn.SLOTS] * np.int64(ticks)
            self._parts = [(keys, rows)]

    def follow(self, key: int) -> None:
        """Count an access of another size behind those of a page, if it is known."""
        keys, rows = self.rows()
        at = np.flatnonzero(keys == np.uint64(key))
        if len(at):
            rows = rows.copy()
            rows[at, PageColumn.FOLLOWED] += 1
            self._parts = [(keys, rows)]


class Small(IntEnum):
    """Columns of a :class:`SmallTable`."""

    ACCESSES = 0
    BYTES = 1
    LOWEST = 2
    """Lowest offset in the page."""
    HIGHEST = 3


class SmallTable(Table):
    """Accesses of less than 16 bytes by page."""

    def __init__(self) -> None:
        super().__init__(len(Small), MAX_IO_PAGES, np.add, np.add, np.minimum, np.maximum)

    def see(self, keys: Keys, addresses: Keys, sizes: Numbers) -> None:
        """Add accesses."""
        offsets = (addresses & np.uint64((1 << PAGE_BITS) - 1)).astype(np.int64)
        self.add(keys, np.ones_like(sizes), sizes, offsets, offsets)
