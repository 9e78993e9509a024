"""Sums by requester and page, in sorted arrays: small, and they merge."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_IO_PAGES

Keys = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]

PAGE_BITS: Final = 12
"""A memory page of NVMe, at least; rings begin at one."""
_PAGES: Final = (1 << 48) - 1
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


class Table:
    """Sums by key; keys that are too many are left out, the largest first, whatever the order in which they came.

    Parameters
    ----------
    width : int
        Number of columns.
    limit : int
        Most keys.

    Attributes
    ----------
    keys : ndarray of uint64, shape (n,)
        Ascending.
    rows : ndarray of int64, shape (n, width)
        The sums; column 0 is the number of accesses.
    left_out : int
        Accesses to keys that were left out.
    """

    def __init__(self, width: int, limit: int = MAX_IO_PAGES) -> None:
        self.keys: Keys = np.empty(0, dtype=np.uint64)
        self.rows: Numbers = np.empty((0, width), dtype=np.int64)
        self.left_out = 0
        self._limit = limit

    def add(self, keys: Keys, rows: Numbers) -> None:
        """Add sums of later accesses. `keys`: ascending, each once."""
        if not len(keys):
            return
        if not len(self.keys):
            self.keys, self.rows = keys, rows
        else:
            where = np.searchsorted(self.keys, keys)
            known = where < len(self.keys)
            known[known] = self.keys[where[known]] == keys[known]
            if known.any():
                if not self.rows.flags.writeable:
                    self.rows = self.rows.copy()
                self._join(where[known], rows[known])
            if not known.all():
                new = ~known
                self.rows = np.insert(self.rows, where[new], rows[new], axis=0)
                self.keys = np.insert(self.keys, where[new], keys[new])
        if len(self.keys) > self._limit:
            self.left_out += int(self.rows[self._limit :, 0].sum())
            self.keys, self.rows = self.keys[: self._limit].copy(), self.rows[: self._limit].copy()

    def _join(self, where: npt.NDArray[np.intp], later: Numbers) -> None:
        self.rows[where] += later

    def merge(self, later: Table) -> None:
        """Add the sums of the part behind."""
        self.add(later.keys, later.rows)
        self.left_out += later.left_out

    def of(self, requester: int) -> tuple[Keys, Numbers]:
        """Return keys and rows of a requester."""
        low = np.searchsorted(self.keys, np.uint64(requester << 48))
        high = np.searchsorted(self.keys, np.uint64(requester << 48 | _PAGES), side="right")
        return self.keys[low:high], self.rows[low:high]

    def of_number(self, key: int) -> Numbers:
        """Return the row of a key; zeros where there is none."""
        row = int(np.searchsorted(self.keys, np.uint64(key)))
        if row < len(self.keys) and int(self.keys[row]) == key:
            found: Numbers = self.rows[row]
            return found
        return np.zeros(self.rows.shape[1], dtype=np.int64)


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
        if not len(keys):
            return
        order = None
        if (keys[1:] < keys[:-1]).any():
            order = np.argsort(keys, kind="stable")
            keys, addresses, sizes = keys[order], addresses[order], sizes[order]
            ticks = None if ticks is None else ticks[order]
            followed = None if followed is None else followed[order]
        starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        offsets = (addresses & np.uint64((1 << PAGE_BITS) - 1)).astype(np.int64)
        ends = offsets + sizes
        step = np.zeros(len(keys), dtype=np.bool_)
        step[1:] = offsets[1:] == ends[:-1]
        start = (offsets == 0) & ~step
        jump = ~(step | start)
        step[starts] = start[starts] = jump[starts] = False
        slots = sizes // self.slot
        rows = np.empty((len(starts), len(PageColumn)), dtype=np.int64)
        counts = np.diff(np.append(starts, len(keys)))
        rows[:, PageColumn.ACCESSES] = counts
        rows[:, PageColumn.SLOTS] = np.add.reduceat(slots, starts)
        rows[:, PageColumn.EXACT] = np.add.reduceat(slots == 1, starts, dtype=np.int64)
        rows[:, PageColumn.STEPS] = np.add.reduceat(step, starts, dtype=np.int64)
        rows[:, PageColumn.STARTS] = np.add.reduceat(start, starts, dtype=np.int64)
        rows[:, PageColumn.JUMPS] = np.add.reduceat(jump, starts, dtype=np.int64)
        rows[:, PageColumn.TIMES] = 0 if ticks is None else np.add.reduceat(ticks * slots, starts)
        rows[:, PageColumn.FIRST] = offsets[starts]
        rows[:, PageColumn.LAST] = ends[starts + counts - 1]
        rows[:, PageColumn.BYTES] = np.add.reduceat(sizes, starts)
        rows[:, PageColumn.FOLLOWED] = 0 if followed is None else np.add.reduceat(followed, starts, dtype=np.int64)
        self.add(keys[starts], rows)

    def shift(self, ticks: int) -> None:
        """Begin to count ticks so many earlier."""
        if ticks and len(self.rows):
            self.rows = self.rows.copy()
            # Modulo 2^64, as numpy's integers are: only differences of such sums are looked at.
            self.rows[:, PageColumn.TIMES] += self.rows[:, PageColumn.SLOTS] * np.int64(ticks)

    def _join(self, where: npt.NDArray[np.intp], later: Numbers) -> None:
        rows = self.rows[where]
        step = later[:, PageColumn.FIRST] == rows[:, PageColumn.LAST]
        start = ~step & (later[:, PageColumn.FIRST] == 0)
        rows[:, : PageColumn.FIRST] += later[:, : PageColumn.FIRST]
        rows[:, PageColumn.STEPS] += step
        rows[:, PageColumn.STARTS] += start
        rows[:, PageColumn.JUMPS] += ~(step | start)
        rows[:, PageColumn.LAST] = later[:, PageColumn.LAST]
        rows[:, PageColumn.BYTES :] += later[:, PageColumn.BYTES :]
        self.rows[where] = rows


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
        super().__init__(len(Small))

    def see(self, keys: Keys, addresses: Keys, sizes: Numbers) -> None:
        """Add accesses."""
        if not len(keys):
            return
        order = np.argsort(keys, kind="stable")
        keys, sizes = keys[order], sizes[order]
        offsets = (addresses[order] & np.uint64((1 << PAGE_BITS) - 1)).astype(np.int64)
        starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        rows = np.empty((len(starts), len(Small)), dtype=np.int64)
        rows[:, Small.ACCESSES] = np.diff(np.append(starts, len(keys)))
        rows[:, Small.BYTES] = np.add.reduceat(sizes, starts)
        rows[:, Small.LOWEST] = np.minimum.reduceat(offsets, starts)
        rows[:, Small.HIGHEST] = np.maximum.reduceat(offsets, starts)
        self.add(keys[starts], rows)

    def _join(self, where: npt.NDArray[np.intp], later: Numbers) -> None:
        rows = self.rows[where]
        rows[:, : Small.LOWEST] += later[:, : Small.LOWEST]
        rows[:, Small.LOWEST] = np.minimum(rows[:, Small.LOWEST], later[:, Small.LOWEST])
        rows[:, Small.HIGHEST] = np.maximum(rows[:, Small.HIGHEST], later[:, Small.HIGHEST])
        self.rows[where] = rows
