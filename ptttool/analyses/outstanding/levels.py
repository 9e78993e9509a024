"""How many requests are outstanding for how long, exactly, in parts of a recording that join.

A series is a direction or a requester. Of each series, a part keeps how long every level lasted, in blocks: a block begins where a request
stands that may be answered in a later part, or a completion that may answer a request of an earlier one. When parts join, such requests
find their completions, and each raises the level of all blocks between them by one. Blocks whose border has become certain are put
together. So a part holds no more blocks than there are requests under way at its ends.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

LEVEL: Final = np.dtype([("series", "i8"), ("block", "i8"), ("level", "i8"), ("ticks", "i8"), ("row", "i8")])
"""How long a level lasted in a block. `block`: number of the row that it begins with; `row`: of the first one in it with this level."""
# Series and row in one number, by which entries are sorted and found: a series is an ID of 16 bits and more, a row has up to 2^40.
_ROW_BITS: Final = 40


class Levels:
    """The levels of a part.

    Parameters
    ----------
    first : int
        Number of its first row.

    Attributes
    ----------
    entries : ndarray of LEVEL
        How long each level lasted, by series and block.
    first, last : int
        Numbers of its first and last row.
    ticks : int
        From the first row to the last one.
    """

    def __init__(self, first: int, last: int, ticks: int, entries: Array | None = None) -> None:
        self.first = first
        self.last = last
        self.ticks = ticks
        self.entries = np.empty(0, dtype=LEVEL) if entries is None else entries

    @property
    def series(self) -> Array:
        """The series, ascending."""
        return _distinct(self.entries["series"])

    def join(self, later: Levels, gap: int, crossing: Crossing, borders: Borders) -> None:
        """Take in the part behind.

        Parameters
        ----------
        later : Levels
            Its levels.
        gap : int
            Ticks from the last row of this part to its first one.
        crossing : Crossing
            Requests that were under way between the parts, and are certain now.
        borders : Borders
            Where requests may still be under way.
        """
        mine, theirs = self.series, later.series
        both = np.union1d(mine, theirs)
        idle = [
            _idle(np.setdiff1d(both, mine), self.first, self.ticks),
            _idle(np.setdiff1d(both, theirs), later.first, later.ticks),
        ]
        entries = np.concatenate((self.entries, *idle, later.entries))
        self.entries = entries[np.argsort(_keys(entries["series"], entries["block"]), kind="stable")]
        if gap:
            self._add_gap(both, self.last, gap)
        self.last, self.ticks = later.last, self.ticks + gap + later.ticks
        self.settle(crossing, borders)

    def settle(self, crossing: Crossing, borders: Borders) -> None:
        """Add requests that were under way and are certain now; parameters are those of :meth:`join`."""
        self._raise(crossing)
        self._put_together(borders)

    def finish(self) -> None:
        """Put all blocks together: nothing is under way any more."""
        nothing = np.empty(0, dtype=np.int64)
        self._put_together(Borders(nothing, nothing))

    def _add_gap(self, series: Array, row: int, gap: int) -> None:
        """Add time behind a row, to the block that holds it; what was seen whole has ended by then."""
        keys = _keys(self.entries["series"], self.entries["block"])
        at = np.searchsorted(keys, _keys(series, np.full(len(series), row)), side="right") - 1
        added = _idle(series, row, gap)
        added["block"] = self.entries["block"][at]
        self.entries = np.insert(self.entries, at + 1, added)

    def _raise(self, crossing: Crossing) -> None:
        """Raise the level of the blocks from each request up to its completion."""
        if not len(crossing.series):
            return
        keys = np.concatenate((_keys(crossing.series, crossing.begin), _keys(crossing.series, crossing.end)))
        order = np.argsort(keys, kind="stable")
        count = len(crossing.series)
        until = np.concatenate(([0], np.cumsum(np.repeat((1, -1), count)[order])))
        entries = self.entries.copy()
        entries["level"] += until[np.searchsorted(keys[order], _keys(entries["series"], entries["block"]), side="right")]
        self.entries = entries

    def _put_together(self, borders: Borders) -> None:
        """Put blocks together that do not begin at a border."""
        entries = self.entries
        if not len(entries):
            return
        series = _distinct(entries["series"])
        keys = np.unique(np.concatenate((_keys(series, np.full(len(series), self.first)), _keys(borders.series, borders.rows))))
        own = keys[np.searchsorted(keys, _keys(entries["series"], entries["block"]), side="right") - 1]
        self.entries = _summed(own >> _ROW_BITS, own & ((1 << _ROW_BITS) - 1), entries["level"], entries["ticks"], entries["row"])


class Crossing:
    """Requests with the rows that they begin and end at: series, rows of the request and of its completion; shape (k,) each."""

    def __init__(self, series: Array, begin: Array, end: Array) -> None:
        self.series = series.astype(np.int64)
        self.begin = begin.astype(np.int64)
        self.end = end.astype(np.int64)


class Borders:
    """Rows of requests and completions that may be under way between parts, each with its series; shape (k,) each."""

    def __init__(self, series: Array, rows: Array) -> None:
        self.series = series.astype(np.int64)
        self.rows = rows.astype(np.int64)


def levels_of(first: int, last: int, whole: Crossing, borders: Borders, at: Any) -> Levels:
    """Return the levels of a part that is seen as one.

    Parameters
    ----------
    first, last : int
        Numbers of its first and last row.
    whole : Crossing
        The requests that begin and end in it.
    borders : Borders
        Rows where others may begin or end.
    at : callable
        Returns the ticks of rows since the first one, by their numbers.
    """
    ticks = int(at(np.array([last]))[0])
    series = _distinct(np.concatenate((whole.series, borders.series)))
    if not len(series):
        return Levels(first, last, ticks)
    # Events in the order of their series and rows. Everything that begins ends: the level of each series returns to 0 at its end.
    starts = np.full(len(series), first)
    marks = _keys(series, starts), _keys(borders.series, borders.rows)
    keys = np.concatenate((*marks, _keys(whole.series, whole.begin), _keys(whole.series, whole.end)))
    count, sure = len(whole.series), len(series) + len(borders.series)
    # What an event is stands in the lowest bits: 0 a border, 1 a request, 2 a completion. A row is one of them.
    keys = keys << 2
    keys[sure : sure + count] |= 1
    keys[sure + count :] |= 2
    keys.sort()
    what = keys & 3
    rows = keys >> 2 & ((1 << _ROW_BITS) - 1)
    of_series = keys >> (2 + _ROW_BITS)
    level = np.cumsum((what & 1) - (what >> 1))
    times = at(rows)
    until = np.append(times[1:], ticks)
    is_last = np.append(of_series[1:] != of_series[:-1], True)
    until[is_last] = ticks
    # Of events at the same row, the last one gives the level.
    same = np.append((of_series[1:] == of_series[:-1]) & (rows[1:] == rows[:-1]), False)
    begins = np.flatnonzero(what == 0)
    block = np.repeat(rows.take(begins), np.diff(begins, append=len(keys)))
    kept = np.flatnonzero(~same)
    return Levels(first, last, ticks, _summed(*(each.take(kept) for each in (of_series, block, level, until - times, rows))))


def _distinct(series: Array) -> Array:
    """Return the different series, ascending: they are small numbers."""
    return np.flatnonzero(np.bincount(series))


def _keys(series: Array, rows: Array) -> Array:
    keys: Array = (series << _ROW_BITS) | rows
    return keys


def _idle(series: Array, row: int, ticks: int) -> Array:
    """Return that nothing is outstanding from a row on."""
    entries = np.zeros(len(series), dtype=LEVEL)
    entries["series"], entries["block"], entries["row"], entries["ticks"] = series, row, row, ticks
    return entries


def _summed(series: Array, block: Array, level: Array, ticks: Array, row: Array) -> Array:
    """Return entries with the sum for each level of each block, by series, block and level; they come by series and block."""
    if not len(series):
        return np.empty(0, dtype=LEVEL)
    keys = _keys(series, block)
    new = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    # Block, level and position in one number: numpy sorts those several times as fast as it sorts positions.
    bits = len(keys).bit_length()
    pairs = new.astype(np.int64)
    np.cumsum(pairs, out=pairs)
    pairs = (pairs - 1) * (int(level.max()) + 1) + level << bits
    pairs |= np.arange(len(keys))
    pairs.sort()
    order = pairs & ((1 << bits) - 1)
    pairs >>= bits
    np.not_equal(pairs[1:], pairs[:-1], out=new[1:])
    starts = np.flatnonzero(new)
    first = order[starts]
    entries = np.empty(len(starts), dtype=LEVEL)
    entries["series"], entries["block"], entries["level"] = series[first], block[first], level[first]
    entries["ticks"] = np.add.reduceat(ticks[order], starts)
    entries["row"] = np.minimum.reduceat(row[order], starts)
    return entries
