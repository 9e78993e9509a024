"""Sums of transactions by what they have in common, in bounded memory, the same wherever a recording is cut into parts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_LATENCY_BINS
from ptttool.analyses.grouping import group
from ptttool.analyses.latency.bins import BIN_BITS, bin_of
from ptttool.analyses.matching.transactions import Ending, Transactions

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

ROW = np.dtype([
    ("key", "i8"), ("endings", "i8", (ENDINGS,)), ("requested", "i8"), ("received", "i8"),
    ("timed", "i8", (2,)), ("ticks", "i8", (2,)), ("smallest", "i8", (2,)), ("largest", "i8", (2,)),
    ("smallest_at", "i8", (2,)), ("largest_at", "i8", (2,)),
])  # fmt: skip
"""Sums of a group. `timed`, `ticks`, `smallest`, `largest`, and the numbers of the requests with these (`smallest_at`, `largest_at`) are of
the time to the first completion, and of that to the last one; without any time `largest` is -1."""

_NO_INDEX: Final = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Group:
    """The sums of a group of transactions.

    Parameters
    ----------
    by : By
        What they have in common.
    value : int
        Requester ID, code of the kind or the direction, or position in :data:`SIZES`.
    row : numpy.void of ROW
        The sums.
    bins, counts : pair of ndarray of int64
        Bins of the times, ascending, and how many there are in each; for the time to the first and to the last completion.
    """

    by: By
    value: int
    row: Any
    bins: tuple[Array, Array]
    counts: tuple[Array, Array]


class LatencySums:
    """Sums of transactions.

    Attributes
    ----------
    are_requesters_binned : bool
        Whether the times of each requester are kept in bins; not where there are too many different ones.
    """

    def __init__(self) -> None:
        self.are_requesters_binned = True
        self._rows: list[Array] = []
        self._bins: list[tuple[Array, Array]] = []
        self._held = 0

    def add(self, ended: Transactions) -> None:
        """Add requests that have ended."""
        if not len(ended):
            return
        sizes = np.searchsorted(SIZES, ended.requested)
        cross = ended.requester.astype(np.int64) << 16
        cross |= ended.kind.astype(np.int64) << 8
        cross |= sizes << 4
        cross |= ended.directions
        found = group([cross.view(np.uint64)])
        keys, of = cross.take(found.first), found.of
        values = np.stack((np.zeros_like(keys), keys >> 16, keys >> 8 & 0xFF, keys >> 4 & 0xF, keys & 0xF))
        values |= np.arange(len(By))[:, None] << _BY_SHIFT
        sums = _sums(ended, of, len(keys))
        self._append_rows([_summed_rows(sums, each) for each in values])
        for which, times in enumerate((ended.to_first, ended.to_last)):
            known = np.flatnonzero(times >= 0)
            cells, counts = _counted(of.take(known) << BIN_BITS | bin_of(times.take(known)))
            of_group, bins = cells >> BIN_BITS, cells & ((1 << BIN_BITS) - 1)
            all_keys = (values[:, of_group] << 1 | which) << BIN_BITS | bins
            self._append(*_counted(all_keys.reshape(-1), np.tile(counts, len(By))))

    def _append(self, keys: Array, counts: Array) -> None:
        self._bins.append((keys, counts))
        self._held += len(keys)
        if self._held > 2 * MAX_LATENCY_BINS:
            self._compact()

    def _append_rows(self, rows: list[Array]) -> None:
        self._rows += rows
        if len(self._rows) > _MOST_PARTS or sum(map(len, self._rows)) > _MOST_ROWS:
            self._compact_rows()

    def _compact_rows(self) -> None:
        if len(self._rows) > 1:
            rows, self._rows = self._rows, []
            joined = np.concatenate(rows)
            del rows
            self._rows = [_summed_rows(joined, joined["key"])]

    def _compact(self) -> None:
        self._compact_rows()
        if not self._bins:
            return
        keys, counts = _counted(*(np.concatenate(parts) for parts in zip(*self._bins, strict=True)))
        if len(keys) > MAX_LATENCY_BINS or not self.are_requesters_binned:
            self.are_requesters_binned = False
            kept = keys >> (BIN_BITS + 1 + _BY_SHIFT) != By.REQUESTER
            keys, counts = keys[kept], counts[kept]
        self._bins, self._held = [(keys, counts)], len(keys)

    def merge(self, later: LatencySums) -> None:
        """Add the sums of the requests behind."""
        self.are_requesters_binned &= later.are_requesters_binned
        self._append_rows(later._rows)
        for keys, counts in later._bins:
            self._append(keys, counts)
        if len(self._bins) > _MOST_PARTS:
            self._compact()

    def __getstate__(self) -> dict[str, object]:
        """Leave behind what is the same in several parts."""
        self._compact()
        return dict(self.__dict__)

    def count(self, by: By) -> int:
        """Return the number of groups of one kind."""
        self._compact()
        return int(np.count_nonzero(self._rows[0]["key"] >> _BY_SHIFT == by)) if self._rows else 0

    def groups(self, by: By, most: int | None = None) -> list[Group]:
        """Return the groups with the sums of one kind.

        Parameters
        ----------
        by : By
            The kind.
        most : int or None
            Return only so many, those with the most requests first; None: all, ascending by value.
        """
        self._compact()
        if not self._rows:
            return []
        rows = self._rows[0]
        rows = rows.take(np.flatnonzero(rows["key"] >> _BY_SHIFT == by))
        if most is not None:
            rows = rows.take(np.argsort(-rows["endings"].sum(axis=1), kind="stable")[:most])
        keys, counts = self._bins[0]
        groups = []
        for row in rows:
            found = [self._range(keys, counts, int(row["key"]), which) for which in range(2)]
            bins, numbers = zip(*found, strict=True)
            groups.append(Group(by, int(row["key"]) & _VALUE_MASK, row, bins, numbers))
        return groups

    def _range(self, keys: Array, counts: Array, key: int, which: int) -> tuple[Array, Array]:
        first = (key << 1 | which) << BIN_BITS
        start, stop = np.searchsorted(keys, (first, first + (1 << BIN_BITS)))
        return keys[start:stop] & ((1 << BIN_BITS) - 1), counts[start:stop]


# Sums that are held before those of one key are added up: by size, by number. There are 2^16 requesters, and few other keys.
_MOST_PARTS: Final = 64
_MOST_ROWS: Final = 1 << 17


def _counted(keys: Array, counts: Array | None = None) -> tuple[Array, Array]:
    """Return each key once, ascending, and how often it occurs."""
    if counts is None:
        keys = np.sort(keys)
        starts = _starts(keys)
        return keys.take(starts), np.diff(starts, append=len(keys))
    order = np.argsort(keys)
    keys, counts = keys.take(order), counts.take(order)
    starts = _starts(keys)
    return keys.take(starts), np.add.reduceat(counts, starts) if len(starts) else counts


def _starts(keys: Array) -> Array:
    """Return the first position of each of ordered keys."""
    return np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.empty(0, dtype=np.intp)


def _sums(ended: Transactions, group_of: Array, count: int) -> Array:
    """Return the sums of groups, without keys."""
    sums = np.zeros(count, dtype=ROW)
    endings = np.bincount(group_of * ENDINGS + ended.ending, minlength=count * ENDINGS)
    sums["endings"] = endings.reshape(count, ENDINGS)
    sums["requested"] = np.bincount(group_of, ended.requested, count).astype(np.int64)
    sums["received"] = np.bincount(group_of, ended.received, count).astype(np.int64)
    request = ended.request.astype(np.int64)
    for which, times in enumerate((ended.to_first, ended.to_last)):
        known = np.flatnonzero(times >= 0)
        of, values = group_of.take(known), times.take(known)
        sums["timed"][:, which] = np.bincount(of, minlength=count)
        smallest, largest = np.full(count, _NO_INDEX), np.full(count, -1)
        ticks = np.zeros(count, dtype=np.int64)
        np.add.at(ticks, of, values)
        np.minimum.at(smallest, of, values)
        np.maximum.at(largest, of, values)
        sums["ticks"][:, which], sums["smallest"][:, which], sums["largest"][:, which] = ticks, smallest, largest
        for name, extreme in (("smallest_at", smallest), ("largest_at", largest)):
            index, rows = np.full(count, _NO_INDEX), np.flatnonzero(values == extreme.take(of))
            np.minimum.at(index, of.take(rows), request.take(known.take(rows)))
            sums[name][:, which] = index
    return sums


def _summed_rows(rows: Array, keys: Array) -> Array:
    """Return each key once, ascending, with its sums."""
    order = np.argsort(keys, kind="stable")
    keys = keys.take(order)
    starts = _starts(keys)
    sums = np.zeros(len(starts), dtype=ROW)
    sums["key"] = keys.take(starts)
    for name in ("endings", "requested", "received", "timed", "ticks"):
        sums[name] = np.add.reduceat(rows[name].take(order, axis=0), starts)
    # Of those with the extreme time, the first one.
    of = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(rows))))
    for name, extreme in (("smallest", np.minimum), ("largest", np.maximum)):
        values = rows[name].take(order, axis=0)
        sums[name] = extreme.reduceat(values, starts)
        index = np.where(values == sums[name].take(of, axis=0), rows[f"{name}_at"].take(order, axis=0), _NO_INDEX)
        sums[f"{name}_at"] = np.minimum.reduceat(index, starts)
    return sums
