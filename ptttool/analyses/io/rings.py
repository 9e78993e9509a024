"""Which pages belong to a ring: they were walked through slot after slot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ptttool.analyses.io.tables import Keys, Numbers, PageColumn, WalkTable

# One access in so many may be out of order in a ring: reads may overtake each other, and where TLPs were lost, slots are missing.
_TOLERATED = 2


@dataclass(frozen=True)
class Rings:
    """The pages of a requester in a table of walks, and which of them belong to rings.

    Parameters
    ----------
    keys : ndarray of uint64, shape (n,)
        The pages.
    rows : ndarray of int64
        Their sums.
    is_ring : ndarray of bool, shape (n,)
        Whether a page belongs to a ring.
    """

    keys: Keys
    rows: Numbers
    is_ring: npt.NDArray[np.bool_]

    def total(self, column: PageColumn) -> int:
        """Return the sum of a column over the pages of rings."""
        return int(self.rows[self.is_ring, column].sum())

    def others(self, column: PageColumn) -> int:
        """Return the sum of a column over all other pages."""
        return int(self.rows[~self.is_ring, column].sum())

    @property
    def pages(self) -> int:
        """Number of pages of rings."""
        return int(np.count_nonzero(self.is_ring))

    def without(self, keys: Keys) -> Rings:
        """Return the same without rings in some pages."""
        return Rings(self.keys, self.rows, self.is_ring & ~np.isin(self.keys, keys))

    def within(self, keys: Keys) -> Rings:
        """Return the same with rings in some pages only."""
        return Rings(self.keys, self.rows, self.is_ring & np.isin(self.keys, keys))

    @property
    def ring_keys(self) -> Keys:
        """The pages of rings."""
        return self.keys[self.is_ring]


def rings_of(table: WalkTable, requester: int, *, together: Keys | None = None) -> Rings:
    """Return the rings of a requester.

    Parameters
    ----------
    table : WalkTable
        Accesses of the size of its slots.
    requester : int
        Requester ID.
    together : ndarray of uint64, optional
        Where data may end in pieces of a slot's size: a page that was accessed once belongs to a ring only beside another page of one, or
        if it is among these.
    """
    keys, rows = table.of(requester)
    in_order = rows[:, PageColumn.JUMPS] * _TOLERATED <= rows[:, PageColumn.ACCESSES]
    is_ring = in_order & (rows[:, PageColumn.STEPS] > 0) & (rows[:, PageColumn.EXACT] > 0)
    once = (rows[:, PageColumn.ACCESSES] == 1) & (rows[:, PageColumn.EXACT] == 1)
    is_ring |= once if together is None else once & np.isin(keys, together)
    # A ring goes on in the next page, where perhaps no access was of a single slot.
    maybe = in_order & ~is_ring & ((rows[:, PageColumn.STEPS] > 0) | (rows[:, PageColumn.ACCESSES] == 1))
    while maybe.any():
        beside = maybe & (np.isin(keys + np.uint64(1), keys[is_ring]) | np.isin(keys - np.uint64(1), keys[is_ring]))
        if not beside.any():
            break
        is_ring |= beside
        maybe &= ~beside
    return Rings(keys, rows, is_ring)
