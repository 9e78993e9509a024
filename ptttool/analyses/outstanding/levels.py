"""How many requests are outstanding for how long, exactly, in parts of a recording that join.

A series is a direction or a requester. Of each series, a part keeps how long every level lasted, in blocks: a block begins where a request
stands that may be answered in a later part, or a completion that may answer a request of an earlier one. When parts join, such requests
find their completions, and each raises the level of all blocks between them by one. Blocks whose border has become certain are put
together. So a part holds no more blocks than there are requests under way at its ends.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.analyses.sums import distinct, starts_of, summed
from ptttool.kernel import loops
from ptttool.tlp.columns import DIRECTIONS

Array = npt.NDArray[Any]

# Series and row in one number, by which entries are sorted and found: a series is an ID of 16 bits and more, a row has up to 2^40.
_ROW_BITS: Final = 40
_ROW_MASK: Final = (1 << _ROW_BITS) - 1
_REQUESTERS: Final = 1 << 16
DIRECTION_SERIES: Final = tuple(range(_REQUESTERS, _REQUESTERS + len(DIRECTIONS)))
"""The series of the directions, in the order of :data:`ptttool.tlp.columns.DIRECTIONS`. Those of requesters have the Requester ID."""


class Entries(NamedTuple):
    """How long a level lasted in a block, by series and block. All arrays are of int64, shape (n,).

    Parameters
    ----------
    keys : ndarray
        Series, and number of the row that the block begins with, in one number.
    level, ticks : ndarray
        The level, and how long it lasted.
    row : ndarray
        Number of the first row in the block with this level.
    requests : ndarray
        How many requests in the block brought the number to this level.
    """

    keys: Array
    level: Array
    ticks: Array
    row: Array
    requests: Array

    @property
    def series(self) -> Array:
        """The series of each."""
        return self.keys >> _ROW_BITS


NO_ENTRIES: Final = Entries(*np.empty((len(Entries._fields), 0), dtype=np.int64))


class Levels:
    """The levels of a part.

    Parameters
    ----------
    first : int
        Number of its first row.

    Attributes
    ----------
    entries : Entries
        How long each level lasted, by series and block.
    first, last : int
        Numbers of its first and last row.
    ticks : int
        From the first row to the last one.
    """

    def __init__(self, first: int, last: int, ticks: int, entries: Entries = NO_ENTRIES) -> None:
        self.first = first
        self.last = last
        self.ticks = ticks
        self.entries = entries

    def join(self, later: Levels, gap: int, begins: Array, ends: Array, borders: Array) -> None:
        """Take in the part behind.

        Parameters
        ----------
        later : Levels
            Its levels.
        gap : int
            Ticks from the last row of this part to its first one.
        begins, ends : ndarray of int64, shape (k,)
            Of requests that were under way between the parts, and are certain now: the :func:`places` of the request and of its completion.
        borders : ndarray of int64
            The places where requests may still be under way.
        """
        mine, theirs = self.entries, later.entries
        lasts, firsts = lasts_of_series(mine.keys), lasts_of_series(theirs.keys)
        only_theirs = np.setdiff1d(theirs.series.take(firsts), mine.series.take(lasts), assume_unique=True)
        only_mine = np.setdiff1d(mine.series.take(lasts), theirs.series.take(firsts), assume_unique=True)
        parts = [mine, _idle(places(only_theirs, self.first), self.first, self.ticks)]
        if gap:
            # Behind the last row, in the block that holds it: what was seen whole has ended by then.
            blocks = np.concatenate((mine.keys.take(lasts), parts[1].keys))
            parts.append(_idle(blocks, self.last, gap))
        parts += (_idle(places(only_mine, later.first), later.first, later.ticks), theirs)
        entries = Entries(*map(np.concatenate, zip(*parts, strict=True)))
        order = np.argsort(entries.keys, kind="stable")
        self.entries = Entries(*(each.take(order) for each in entries))
        self.last, self.ticks = later.last, self.ticks + gap + later.ticks
        self.settle(begins, ends, borders)

    def settle(self, begins: Array, ends: Array, borders: Array) -> None:
        """Add requests that were under way and are certain now, up to their completions; parameters are those of :meth:`join`."""
        if len(begins):
            keys = np.concatenate((begins, ends))
            order = np.argsort(keys, kind="stable")
            changes = np.repeat(np.array((1, -1)), len(begins)).take(order)
            until = np.concatenate(([0], np.cumsum(changes)))
            entries = self.entries
            level = entries.level + until.take(np.searchsorted(keys.take(order), entries.keys, side="right"))
            # Each request stands at the beginning of a block, and brings it to the level that it has there.
            raised = np.flatnonzero((entries.row == entries.keys & _ROW_MASK) & np.isin(entries.keys, begins))
            requests = entries.requests.copy()
            requests[raised.take(starts_of(entries.keys.take(raised)))] += 1
            self.entries = entries._replace(level=level, requests=requests)
        self._put_together(borders)

    def finish(self) -> None:
        """Put all blocks together: nothing is under way any more."""
        self._put_together(np.empty(0, dtype=np.int64))

    def _put_together(self, borders: Array) -> None:
        """Put blocks together that do not begin at a border."""
        entries = self.entries
        if not len(entries.keys):
            return
        series = entries.series.take(lasts_of_series(entries.keys))
        blocks = distinct(np.concatenate((places(series, self.first), borders)))
        number = np.searchsorted(blocks, entries.keys, side="right") - 1
        # The sum for each level of each block, by block and level.
        width = int(entries.level.max()) + 1
        how = np.add, np.minimum, np.add
        keys, *sums = summed(how, number * width + entries.level, entries.ticks, entries.row, entries.requests)
        of = keys // width
        self.entries = Entries(blocks.take(of), keys - of * width, *sums)


def levels_of(first: int, last: int, begins: Array, ends: Array, borders: Array, at: Any) -> Levels:
    """Return the levels of a part that is seen as one.

    Parameters
    ----------
    first, last : int
        Numbers of its first and last row.
    begins, ends : ndarray of int64, shape (k,)
        The :func:`places` of the requests that begin and end in it, and of their completions.
    borders : ndarray of int64
        The places where others may begin or end.
    at : callable
        Returns the ticks of rows since the first one, by their numbers.
    """
    ticks = int(at(np.array([last]))[0])
    events = np.bincount(np.concatenate((begins, borders)) >> _ROW_BITS)
    series = np.flatnonzero(events != 0)
    if not len(series):
        return Levels(first, last, ticks)
    # Events in the order of their series and rows. Everything that begins ends: the level of each series returns to 0 at its end.
    keys = np.concatenate((places(series, first), borders, begins, ends))
    count, sure = len(begins), len(series) + len(borders)
    # What an event is stands in the lowest bits: 0 a border, 1 a request, 2 a completion. A row is one of them.
    keys <<= 2
    keys[sure : sure + count] |= 1
    keys[sure + count :] |= 2
    keys.sort()
    entries = np.empty((len(keys), len(Entries._fields)), dtype=np.int64)
    used = loops.sum_levels(keys, at(keys >> 2 & _ROW_MASK), ticks, _ROW_BITS + 2, entries)
    block, level, lasted, row, requests = entries[:used].T
    order = np.lexsort((level, block))
    return Levels(first, last, ticks, Entries(*(each.take(order) for each in (block, level, lasted, row & _ROW_MASK, requests))))


def places(series: Array, rows: Array | int) -> Array:
    """Return series and rows in one number each."""
    keys: Array = series << _ROW_BITS
    keys |= rows
    return keys


def lasts_of_series(keys: Array) -> Array:
    """Return the position of the last entry of each series."""
    if not len(keys):
        return np.empty(0, dtype=np.intp)
    series = keys >> _ROW_BITS
    return np.append(np.flatnonzero(series[1:] != series[:-1]), len(keys) - 1)


def _idle(keys: Array, row: int, ticks: int) -> Entries:
    """Return that nothing is outstanding in blocks from a row on."""
    none = np.zeros(len(keys), dtype=np.int64)
    return Entries(keys, none, none + ticks, none + row, none)
