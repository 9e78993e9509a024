"""What a whole recording holds of one requester, as the devices' analyses read it: its sums, and the rings that it walked through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.analyses.time.facts import TimeFacts
from ptttool.kernel.accesses import LEVEL_BIT, REQUESTER_BIT

Array = npt.NDArray[Any]

# One access in so many may be out of order in a ring: reads may overtake each other, and where TLPs were lost, slots are missing.
_TOLERATED = 2
MESSAGE = 4
"""Bytes of a message that is an interrupt (MSI, MSI-X)."""


class TracedKinds(NamedTuple):
    """Which TLPs of devices were traced.

    Parameters
    ----------
    writes, reads, answers : bool
        Their writes, their reads, and the completions for these.
    """

    writes: bool
    reads: bool
    answers: bool


class RequesterTrace(NamedTuple):
    """One requester.

    Parameters
    ----------
    sums : numpy.void
        Its sums: :data:`ptttool.kernel.accesses.REQUESTER`.
    pages : Mapping of str to structured ndarray
        Of each table of pages its rows: :data:`ptttool.kernel.accesses.WALKED`, and of ``lists`` :data:`~ptttool.kernel.accesses.LISTED`;
        of ``levels`` those of :data:`~ptttool.kernel.accesses.LEVEL`.
    left_out : Mapping of str to int
        By table: accesses of all requesters that were left out.
    visible : TracedKinds
        What was traced.
    time : TimeFacts
        What is known of time in the recording.
    """

    sums: Any
    pages: Mapping[str, Array]
    left_out: Mapping[str, int]
    visible: TracedKinds
    time: TimeFacts

    @classmethod
    def each(
        cls, tables: Mapping[str, Array], left_out: Mapping[str, int], visible: TracedKinds, time: TimeFacts
    ) -> Iterator[RequesterTrace]:
        """Return those in the tables of a recording, whose rows are by ascending keys."""
        requesters = tables["requesters"]
        pages = {name: rows for name, rows in tables.items() if name != "requesters"}
        edges = {}
        for name, rows in pages.items():
            keys = rows["key"] >> (LEVEL_BIT if name == "levels" else REQUESTER_BIT)
            edges[name] = np.searchsorted(keys, requesters["key"]), np.searchsorted(keys, requesters["key"], side="right")
        for number, sums in enumerate(requesters):
            own = {name: rows[edges[name][0][number] : edges[name][1][number]] for name, rows in pages.items()}
            yield cls(sums, own, left_out, visible, time)

    def sum(self, column: str) -> int:
        """Return a sum of the requester."""
        return int(self.sums[column])

    def rings(self, table: str, *, together: Array | None = None) -> Rings:
        """Return the rings in a table of pages.

        Parameters
        ----------
        table : str
            Accesses of the size of its slots.
        together : ndarray of int64, optional
            Where data may end in pieces of a slot's size: a page that was accessed once belongs to a ring only beside another page of one,
            or if it is among these.
        """
        rows = self.pages[table]
        keys = rows["key"]
        in_order = rows["jumps"] * _TOLERATED <= rows["accesses"]
        is_ring = in_order & (rows["steps"] > 0) & (rows["exact"] > 0)
        once = (rows["accesses"] == 1) & (rows["exact"] == 1)
        is_ring |= once if together is None else once & np.isin(keys, together)
        # A ring goes on in the next page, where perhaps no access was of a single slot.
        maybe = in_order & ~is_ring & ((rows["steps"] > 0) | (rows["accesses"] == 1))
        while True:
            beside = maybe & (np.isin(keys + 1, keys[is_ring]) | np.isin(keys - 1, keys[is_ring]))
            if not beside.any():
                return Rings(rows, is_ring)
            is_ring |= beside
            maybe &= ~beside

    def interrupts(self, beside: Array) -> int | None:
        """Return the number of interrupts: writes of 4 bytes that always go to the same address of a page.

        Parameters
        ----------
        beside : ndarray of int64
            Pages in which small writes are something else: rings of descriptors, whose states are written.

        Returns
        -------
        int or None
            Their number; None where writes were not traced.
        """
        if not self.visible.writes:
            return None
        rows = self.pages["small_writes"]
        rows = rows[(rows["lowest"] == rows["highest"]) & (rows["bytes"] == MESSAGE * rows["accesses"]) & ~np.isin(rows["key"], beside)]
        reads = self.pages["small_reads"]
        # A page is that of event indexes if the doorbells that a drive reads have the same offsets in the page beside it.
        is_event_index = np.zeros(len(rows), dtype=np.bool_)
        for step in (-1, 1):
            at = np.searchsorted(reads["key"], rows["key"] + step)
            matches = np.flatnonzero(np.isin(rows["key"] + step, reads["key"]))
            near, offsets = reads[at[matches]], rows["lowest"][matches]
            is_event_index[matches] |= (near["lowest"] <= offsets) & (offsets <= near["highest"])
        return int(rows["accesses"][~is_event_index].sum())


class Rings(NamedTuple):
    """The pages of a requester in a table, and which of them belong to rings: they were walked through slot after slot.

    Parameters
    ----------
    rows : structured ndarray, shape (n,)
        The pages.
    is_ring : ndarray of bool, shape (n,)
        Whether a page belongs to a ring.
    """

    rows: Array
    is_ring: npt.NDArray[np.bool_]

    def total(self, column: str) -> int:
        """Return the sum of a column over the pages of rings."""
        return int(self.rows[column][self.is_ring].sum())

    def others(self, column: str) -> int:
        """Return the sum of a column over all other pages."""
        return int(self.rows[column][~self.is_ring].sum())

    def without(self, keys: Array) -> Rings:
        """Return the same without rings in some pages."""
        return Rings(self.rows, self.is_ring & ~np.isin(self.rows["key"], keys))

    @property
    def keys(self) -> Array:
        """The pages of rings."""
        keys: Array = self.rows["key"][self.is_ring]
        return keys
