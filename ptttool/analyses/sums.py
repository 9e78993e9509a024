"""Counts, sums, and the smallest and largest numbers by key, with where those are first; tables of parts of a recording merge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FIRST: Final = None
"""Of a column of row numbers: the smallest one where the column in front of it has its smallest or largest value."""
NO_ROW: Final = np.iinfo(np.int64).max
"""Above every row number."""

# Rows that are held before those of one key are put together, at least.
_ROOM: Final = 1 << 14
_SORTED_BITS: Final = 63
# What the arrays of a few rows cost, in rows.
_PART: Final = 1 << 8


def starts_of(keys: Array) -> Array:
    """Return the first position of each of ordered keys."""
    return np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.empty(0, dtype=np.intp)


def order_of(keys: Array) -> Array:
    """Return the positions that sort keys, from -1 on."""
    bits = len(keys).bit_length()
    if not len(keys) or int(keys.max()).bit_length() + bits > _SORTED_BITS:
        return keys.argsort()
    # Key and position in one number: numpy sorts those several times as fast as it sorts positions.
    both = keys.astype(np.int64) << bits
    both |= np.arange(len(keys))
    both.sort()
    both &= (1 << bits) - 1
    return both


def distinct(values: Array) -> Array:
    """Return different values, ascending, from unordered ones: several times as quickly as np.unique, which numpy does by hashing."""
    ordered = np.sort(values)
    return ordered.take(starts_of(ordered))


def counted(keys: Array) -> tuple[Array, Array]:
    """Return each key once, ascending, and how often it occurs."""
    keys = np.sort(keys)
    starts = starts_of(keys)
    return keys.take(starts), np.diff(starts, append=len(keys))


def summed(how: tuple[np.ufunc | None, ...], keys: Array, *columns: Array | None) -> tuple[Array, ...]:
    """Return each key once, ascending, with what its numbers are together: parameters as of :class:`SumTable`; None counts rows."""
    order = order_of(keys)
    keys = keys.take(order)
    starts = starts_of(keys)
    results, values = [keys.take(starts)], keys
    for one, column in zip(how, columns, strict=True):
        if column is None:
            results.append(np.diff(starts, append=len(keys)))
            continue
        before, values = values, column.take(order, axis=0)
        if one is FIRST:
            is_extreme = before == results[-1].repeat(np.diff(starts, append=len(keys)), axis=0)
            results.append(np.minimum.reduceat(np.where(is_extreme, values, NO_ROW), starts))
        else:
            results.append(one.reduceat(values, starts, dtype=np.int64 if one is np.add else None))
    return tuple(results)


class SumTable:
    """Numbers by key.

    Parameters
    ----------
    *how : np.add, np.minimum, np.maximum or FIRST
        How the numbers of a key become one, for each column.
    most : int or None
        The budget: how many keys there may be, or any number.
    fewer : callable
        Returns keys that stand for more than `most` of them, ascending as they are; where it does, so it does for all later ones.

    Attributes
    ----------
    is_full : bool
        Whether there were too many keys.
    """

    def __init__(self, *how: np.ufunc | None, most: int | None = None, fewer: Callable[[Array], Array] | None = None) -> None:
        self._how = how
        self._most, self._fewer = most, fewer
        self.is_full = False
        self._parts: list[tuple[Array, ...]] = []
        self._loose, self._room = 0, _ROOM

    def add(self, keys: Array, *columns: Array) -> None:
        """Add numbers: keys in any order, and a column for each way; of shape (n,) or (n, k)."""
        if len(keys):
            self._parts.append((keys, *columns))
            self._loose += len(keys) + _PART
            if self._loose > self._room:
                self.rows()

    def merge(self, other: SumTable) -> None:
        """Add the numbers of another table."""
        self.is_full |= other.is_full
        self.add(*other.rows())

    def rows(self) -> tuple[Array, ...]:
        """Return the keys, each once, ascending, and the columns; those of a table without keys have shape (0,)."""
        if self._loose:
            rows = self._together(*map(np.concatenate, zip(*self._parts, strict=True)))
            if self._fewer is not None and (self.is_full or len(rows[0]) > (self._most or 0)):
                self.is_full = True
                rows = self._together(self._fewer(rows[0]), *rows[1:])
            self._parts, self._loose, self._room = [rows], 0, max(_ROOM, len(rows[0]) >> 2)
        return self._parts[0] if self._parts else (np.empty(0, dtype=np.int64),) * (1 + len(self._how))

    def _together(self, keys: Array, *columns: Array) -> tuple[Array, ...]:
        return summed(self._how, keys, *columns)

    def __len__(self) -> int:
        return len(self.rows()[0])

    def keep(self, which: Array) -> None:
        """Keep some of the keys only: a mask of :meth:`rows`."""
        self._parts = [tuple(column[which] for column in self.rows())]

    def __getstate__(self) -> dict[str, object]:
        """Leave behind what is the same in several parts."""
        self.rows()
        return dict(self.__dict__)
