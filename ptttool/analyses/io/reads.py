"""Reads by a drive between two fetches of commands: which of them are lists of addresses, and which are data.

A command of more than two pages has its further pages in a list (PRP), which the drive reads before the data; one whose memory is in one
piece may have none (SGL). Reads between two fetches are taken for one command's. Where headers leave it open, the accesses are counted by
page, and :mod:`.nvme` decides when it has seen the whole recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.io.tables import PAGE_BITS, Numbers

PAGE: Final = 1 << PAGE_BITS
SECTOR: Final = 512
"""Bytes of a logical block, at least: data of a command are a multiple of it."""
# Pages of a command that need no list: the two that the submission queue entry names.
_PAGES_OF_ENTRY: Final = 2


class Lists(IntEnum):
    """Columns of the table of pages that may hold lists."""

    ACCESSES = 0
    SURE = 1
    """Reads that can be of a list only."""
    SURE_BYTES = 2
    ALONE_TAIL = 3
    """Reads from inside the page to its end, alone between two fetches."""
    ALONE_TAIL_BYTES = 4
    ALONE_PAGE = 5
    """Reads of the whole page, alone between two fetches."""
    ALONE_PAGE_BYTES = 6
    FIRST_PAGE = 7
    """Reads of the whole page, before those of more than two others."""
    FIRST_PAGE_BYTES = 8
    FIRST_TAIL = 9
    """Reads from inside the page to its end, before those of more than two others."""
    FIRST_TAIL_BYTES = 10
    DATA = 11
    """Reads of whole sectors that end inside the page, alone between two fetches."""


@dataclass(frozen=True)
class Group:
    """Reads in a row: runs of consecutive addresses, each within a page. Without reads, `count` is 0.

    Parameters
    ----------
    count : int
        Number of runs.
    first, first_bytes : int
        Address and bytes of the first run.
    last, last_bytes : int
        The same of the last run.
    total : int
        Bytes of all runs.
    odd, odd_bytes : int
        Runs of no whole sectors that begin or end with their page, as the ends of data may: their number and their bytes.
    inner, inner_bytes : int
        Runs of no whole sectors inside a page: data of a command never are.
    gaps : int
        Runs that do not begin where the one before ends.
    """

    count: int = 0
    first: int = 0
    first_bytes: int = 0
    last: int = 0
    last_bytes: int = 0
    total: int = 0
    odd: int = 0
    odd_bytes: int = 0
    inner: int = 0
    inner_bytes: int = 0
    gaps: int = 0

    @property
    def is_whole_page(self) -> bool:
        """Whether a page was read as a whole, and nothing else."""
        return self.count == 1 and self.first % PAGE == 0 and self.first_bytes == PAGE

    def joined(self, later: Group) -> Group:
        """Return this and the reads behind it as one group."""
        if not self.count or not later.count:
            return later if not self.count else self
        follows = later.first == self.last + self.last_bytes
        joined = Group(
            self.count + later.count, self.first, self.first_bytes, later.last, later.last_bytes, self.total + later.total,
            self.odd + later.odd, self.odd_bytes + later.odd_bytes, self.inner + later.inner, self.inner_bytes + later.inner_bytes,
            self.gaps + later.gaps + (not follows),
        )  # fmt: skip
        if not follows or self.last // PAGE != later.first // PAGE:
            return joined
        size = self.last_bytes + later.first_bytes
        changed = {"odd": joined.odd, "odd_bytes": joined.odd_bytes, "inner": joined.inner, "inner_bytes": joined.inner_bytes}
        for address, part, sign in ((self.last, self.last_bytes, -1), (later.first, later.first_bytes, -1), (self.last, size, 1)):
            sort = _sort_of(address, part)
            if sort is not None:
                changed[sort] += sign
                changed[f"{sort}_bytes"] += sign * part
        return replace(
            joined,
            count=joined.count - 1,
            first_bytes=size if self.count == 1 else self.first_bytes,
            last=self.last if later.count == 1 else later.last,
            last_bytes=size if later.count == 1 else later.last_bytes,
            **changed,
        )


def _sort_of(address: int, size: int) -> str | None:
    """Return what a run is counted as besides."""
    if size % SECTOR == 0:
        return None
    return "odd" if address % PAGE == 0 or (address + size) % PAGE == 0 else "inner"


class Groups:
    """Many groups, an array for each field of :class:`Group`, and the requester of each.

    Parameters
    ----------
    requesters : ndarray of int64, shape (n,)
        Requester IDs.
    fields : ndarray of int64, shape (n, 11)
        The fields of :class:`Group`, in their order. Addresses are the numbers' 64 bits.
    """

    def __init__(self, requesters: Numbers, fields: Numbers) -> None:
        self.requesters = requesters
        self.fields = fields

    @classmethod
    def of(cls, groups: Sequence[tuple[int, Group]]) -> Groups:
        """Return groups with their requesters."""
        fields = [
            (each.count, _signed(each.first), each.first_bytes, _signed(each.last), each.last_bytes, each.total, each.odd, each.odd_bytes,
             each.inner, each.inner_bytes, each.gaps) for _, each in groups
        ]  # fmt: skip
        return cls(np.array([requester for requester, _ in groups], dtype=np.int64), np.array(fields, dtype=np.int64).reshape(-1, 11))

    def group(self, number: int) -> Group:
        """Return one of them."""
        count, first, first_bytes, last, *rest = self.fields[number].tolist()
        return Group(count, first & _ALL, first_bytes, last & _ALL, *rest)

    def take(self, wanted: npt.NDArray[np.bool_]) -> Groups:
        """Return some of them."""
        return Groups(self.requesters[wanted], self.fields[wanted])


_ALL: Final = (1 << 64) - 1


def _signed(address: int) -> int:
    return address - (1 << 64) if address >> 63 else address


class Sort(IntEnum):
    """Columns of what :func:`sorted_out` returns by group."""

    DATA = 0
    """Bytes that are data."""
    LIST = 1
    """Bytes of lists."""
    EMPTY = 2
    """1 where nothing was read."""


def sorted_out(groups: Groups) -> tuple[Numbers, npt.NDArray[np.int64], Numbers]:
    """Tell lists from data.

    Parameters
    ----------
    groups : Groups
        Each all that was read between two fetches.

    Returns
    -------
    sums : ndarray of int64, shape (n, 3)
        By group: the columns of :class:`Sort`.
    which : ndarray of int64, shape (m,)
        The groups whose first read goes into the table of lists.
    rows : ndarray of int64, shape (m, 12)
        Its row there: the columns of :class:`Lists`.
    """
    count, first, first_bytes, _last, _last_bytes, total, _odd, odd_bytes, inner, inner_bytes, gaps = groups.fields.T
    offset = first & (PAGE - 1)
    is_odd = first_bytes % SECTOR != 0
    ends = offset + first_bytes == PAGE
    whole = ends & (offset == 0)
    alone = count == 1
    others_odd_bytes = odd_bytes - np.where(is_odd, first_bytes, 0)
    # What cannot be data is of lists, or of several entries at once: the drive does not read lists to the end of their page.
    reads_little = inner > 0
    # An odd read in front is a list, unless it is the head of data whose other end is odd too. Several odd ones are several lists.
    list_first = is_odd & (others_odd_bytes % SECTOR == 0) & ~reads_little
    lists_odd = ~list_first & (odd_bytes % SECTOR != 0)
    many = ~is_odd & (odd_bytes % SECTOR == 0) & (count > _PAGES_OF_ENTRY + 1) & ends & (gaps > 0) & ~reads_little
    plain = ~is_odd & alone
    listed = np.where(list_first, first_bytes, inner_bytes + np.where(lists_odd, odd_bytes, 0))
    tabled = np.where((plain & ends) | many, first_bytes, 0)
    sums = np.empty((len(count), len(Sort)), dtype=np.int64)
    sums[:, Sort.DATA] = total - listed - tabled
    sums[:, Sort.LIST] = np.where(list_first, 0, listed)  # the others are in the table
    sums[:, Sort.EMPTY] = count == 0
    which = np.flatnonzero((count > 0) & (list_first | plain | many))
    rows = np.zeros((len(which), len(Lists)), dtype=np.int64)
    rows[:, Lists.ACCESSES] = 1
    for column, chosen in (
        (Lists.SURE, list_first),
        (Lists.ALONE_TAIL, plain & ends & ~whole),
        (Lists.ALONE_PAGE, plain & whole),
        (Lists.FIRST_PAGE, many & whole),
        (Lists.FIRST_TAIL, many & ~whole),
    ):
        rows[:, column] = chosen[which]
        rows[:, column + 1] = np.where(chosen, first_bytes, 0)[which]
    rows[:, Lists.DATA] = (plain & ~ends)[which]
    return sums, which, rows
