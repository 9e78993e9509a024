"""Sums of transactions by what they have in common, in bounded memory, the same wherever a recording is cut into parts."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_LATENCY_BINS
from ptttool.analyses.latency.bins import BIN_BITS, bin_of
from ptttool.analyses.sums import FIRST, NO_ROW, SumTable, counted, summed
from ptttool.tlp.transactions import Ending, Transactions

Array = npt.NDArray[Any]

# Requests of up to so many bytes are of a size class.
SIZES: Final = (0, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
ENDINGS: Final = len(Ending)


class By(IntEnum):
    """What transactions of a row have in common."""

    ALL = 0
    REQUESTER = 1
    KIND = 2
    SIZE = 3
    DIRECTION = 4


# A row's key: what it is by, and the value. A bin's key: the row's key, which of both times, and the bin.
_BY_SHIFT: Final = 16
_VALUE_MASK: Final = (1 << _BY_SHIFT) - 1
_BIN_SHIFT: Final = BIN_BITS + 1
# How sums become one: endings, requested and received bytes; of both times: how many, sum, smallest and largest.
_ROW: Final = (np.add, np.add, np.add, np.add, np.add, np.minimum, FIRST, np.maximum, FIRST)


class Group(NamedTuple):
    """The sums of a group of transactions.

    Parameters
    ----------
    value : int
        Requester ID, code of the kind or the direction, or position in :data:`SIZES`.
    bins, counts : sequence of ndarray of int64
        Bins of the times, ascending, and how many there are in each; for the time to the first and to the last completion.
    endings : ndarray of int64, shape (5,)
        Transactions by :class:`Ending`.
    requested, received : int64
        Bytes.
    timed, ticks, smallest, smallest_at, largest, largest_at : ndarray of int64, shape (2,)
        Of both times: how many, their sum, the extremes and the numbers of the first requests with these; without any time the largest
        is -1.
    """

    value: int
    bins: Sequence[Array]
    counts: Sequence[Array]
    endings: Array
    requested: Any
    received: Any
    timed: Array
    ticks: Array
    smallest: Array
    smallest_at: Array
    largest: Array
    largest_at: Array


class LatencySums:
    """Sums of transactions."""

    def __init__(self) -> None:
        self._rows = SumTable(*_ROW)
        self._bins = SumTable(np.add, most=MAX_LATENCY_BINS, fewer=_of_no_requester)

    @property
    def are_requesters_binned(self) -> bool:
        """Whether the times of each requester are kept in bins; not where there are too many different ones."""
        self._bins.rows()
        return not self._bins.is_full

    def add(self, ended: Transactions) -> None:
        """Add requests that have ended."""
        if not len(ended):
            return
        cross = ended.requester.astype(np.int64) << 16
        cross |= ended.kind.astype(np.int64) << 8
        cross |= np.searchsorted(SIZES, ended.requested) << 4
        cross |= ended.directions
        times = np.stack((ended.to_first, ended.to_last), axis=1)
        timed = times >= 0
        endings = (ended.ending[:, None] == np.arange(ENDINGS)).astype(np.int64)
        request = np.stack((ended.request,) * 2, axis=1).view(np.int64)
        keys, *sums = summed(
            _ROW, cross, endings, ended.requested, ended.received, timed.astype(np.int64), times * timed, np.where(timed, times, NO_ROW),
            request, times, request,
        )  # fmt: skip
        self._rows.add(_keys(keys), *(np.concatenate((each,) * len(By)) for each in sums))
        for which in range(2):
            rows = np.flatnonzero(timed[:, which])
            cells, counts = counted((cross.take(rows) << 1 | which) << BIN_BITS | bin_of(times[rows, which]))
            keys = _keys(cells >> _BIN_SHIFT) << _BIN_SHIFT
            self._bins.add(keys | np.tile(cells & ((1 << _BIN_SHIFT) - 1), len(By)), np.tile(counts, len(By)))

    def merge(self, later: LatencySums) -> None:
        """Add the sums of the requests behind."""
        self._rows.merge(later._rows)
        self._bins.merge(later._bins)

    def count(self, by: By) -> int:
        """Return the number of groups of one kind."""
        return int(np.count_nonzero(self._rows.rows()[0] >> _BY_SHIFT == by))

    def groups(self, by: By, most: int | None = None) -> list[Group]:
        """Return the groups with the sums of one kind.

        Parameters
        ----------
        by : By
            The kind.
        most : int or None
            Return only so many, those with the most requests first; None: all, ascending by value.
        """
        keys, endings, *sums = self._rows.rows()
        rows = np.flatnonzero(keys >> _BY_SHIFT == by)
        if most is not None and len(rows):
            rows = rows[np.argsort(-endings[rows].sum(axis=-1), kind="stable")[:most]]
        cells, counts = self._bins.rows()
        groups = []
        for row in rows.tolist():
            ends = np.searchsorted(cells, (keys[row] * 2 + np.arange(3)) << BIN_BITS)
            bins, numbers = ([each[start:stop] for start, stop in pairwise(ends)] for each in (cells & ((1 << BIN_BITS) - 1), counts))
            groups.append(Group(int(keys[row]) & _VALUE_MASK, bins, numbers, endings[row], *(each[row] for each in sums)))
        return groups


def size_name(number: int) -> str:
    """Return the name of a size class, by its position in :data:`SIZES`."""
    return f"{SIZES[number - 1] + 1}-{SIZES[number]}" if number else "0"


def _keys(cross: Array) -> Array:
    """Return the keys of rows for what transactions have in common, each kind behind the other."""
    values = np.stack((np.zeros_like(cross), cross >> 16, cross >> 8 & 0xFF, cross >> 4 & 0xF, cross & 0xF))
    values |= np.arange(len(By))[:, None] << _BY_SHIFT
    return values.reshape(-1)


def _of_no_requester(keys: Array) -> Array:
    """Return keys of bins, where those of requesters stand for nothing."""
    return np.where(keys >> (_BIN_SHIFT + _BY_SHIFT) == By.REQUESTER, -1, keys)
