"""Rows with the same key, and sums over them: without an order, so without sorting; in time that grows with the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Positions = npt.NDArray[np.intp]

# Odd multipliers, a pair for every round: the upper bits of the sum of products are the slot of a key.
_MULTIPLIERS = (
    (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F),
    (0xD6E8FEB86659FD93, 0x165667B19E3779F9),
    (0xA0761D6478BD642F, 0xE7037ED1A0B428DB),
)
_FEWEST_BITS, _MOST_BITS = 8, 20
# Bits of a count in a double, beside a sum: 2^18 values below 2^16 have a sum of at most 34 bits.
_COUNT_BITS, _VALUE_BITS = 18, 16


class Groups(NamedTuple):
    """Rows with the same key.

    Parameters
    ----------
    first : ndarray of intp, shape (g,)
        The first row of each group.
    of : ndarray of intp, shape (n,)
        The group of each row.
    """

    first: Positions
    of: Positions

    def sums(self, values: Array) -> Array:
        """Return the sum of whole numbers of each group: shape (g,), int64. Each sum is exact, as long as it is below 2^53."""
        return np.bincount(self.of, weights=values, minlength=len(self.first)).astype(np.int64)

    def counts_and_sums(self, values: Array) -> tuple[Array, Array]:
        """Return the number of rows of each group, and the sum of their values, which are not negative."""
        if len(self.of) >> _COUNT_BITS or int(values.max(initial=0)) >> _VALUE_BITS:
            return np.bincount(self.of, minlength=len(self.first)).astype(np.int64), self.sums(values)
        # One table for both, which doubles hold exactly: the sum above the count.
        weights = values.astype(np.float64) * (1 << _COUNT_BITS)
        weights += 1.0
        both = np.bincount(self.of, weights=weights, minlength=len(self.first)).astype(np.int64)
        return both & ((1 << _COUNT_BITS) - 1), both >> _COUNT_BITS


def group(keys: Sequence[Array]) -> Groups:
    """Group rows.

    Parameters
    ----------
    keys : sequence of ndarray of uint64, shape (n,)
        One or two columns that together are the key.

    Returns
    -------
    Groups
        The groups; their order has no meaning.
    """
    count = len(keys[0])
    if count and all((key == key[0]).all() for key in keys):
        return Groups(np.zeros(1, dtype=np.intp), np.zeros(count, dtype=np.intp))
    of = np.empty(count, dtype=np.intp)
    firsts: list[Positions] = []
    rows = np.arange(count, dtype=np.intp)
    found = 0
    for multipliers in _MULTIPLIERS:
        bits = min(max(len(rows).bit_length() + 1, _FEWEST_BITS), _MOST_BITS)
        slots = _slots(keys, multipliers, bits)
        first_of = np.zeros(1 << bits, dtype=np.intp)
        numbers = np.arange(len(slots), dtype=np.intp)
        first_of[slots[::-1]] = numbers[::-1]  # of several rows with the same slot the last one written stays, which is the first one
        first = first_of.take(slots)
        same = keys[0].take(first) == keys[0]
        for key in keys[1:]:
            same &= key.take(first) == key
        begins = np.flatnonzero(first == numbers)
        first_of[slots.take(begins)] = np.arange(found, found + len(begins), dtype=np.intp)  # from here on, the group of each slot
        firsts.append(rows.take(begins))
        found += len(begins)
        if same.all():
            of[rows] = first_of.take(slots)
            return Groups(np.concatenate(firsts), of)
        left = np.flatnonzero(~same)
        of[rows] = first_of.take(slots)  # those that are left get theirs later
        keys = [key.take(left) for key in keys]
        rows = rows.take(left)
    # Many different keys are left: sorting them is quicker by now.
    order = np.lexsort(keys[::-1])
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = False
    for key in keys:
        ordered = key.take(order)
        begins[1:] |= ordered[1:] != ordered[:-1]
    of[rows.take(order)] = np.cumsum(begins) + (found - 1)
    firsts.append(rows.take(order[begins]))  # lexsort is stable
    return Groups(np.concatenate(firsts), of)


def _slots(keys: Sequence[Array], multipliers: Sequence[int], bits: int) -> Positions:
    """Return a slot for each key, a number of so many bits."""
    mixed = keys[0] * np.uint64(multipliers[0])
    for key, multiplier in zip(keys[1:], multipliers[1:], strict=False):
        mixed += key * np.uint64(multiplier)
    mixed >>= np.uint64(64 - bits)
    return mixed.view(np.intp)


def _combined(ranges: Array, codes: Array) -> tuple[Array, ...]:
    """Return one key made of both, where there are enough bits; else both."""
    bits = int(codes.max()).bit_length()
    if int(ranges.max()).bit_length() + bits > _KEY_BITS:
        return ranges, codes
    return (ranges << np.uint64(bits) | codes,)


_KEY_BITS = 64

Rows = tuple[Array, Array, Array, Array, Array]
"""Ranges (address >> shift), codes, numbers of requests, bytes, index of the first request; all of shape (n,)."""

# A shift of 64 bits has no meaning for numpy.
_LARGEST_SHIFT = 63


def _summed(rows: Rows) -> Rows:
    """Return rows in which each pair of range and code occurs once."""
    ranges, codes, requests, sizes, indexes = rows
    order = np.argsort(indexes, kind="stable")  # so that the first row of a group has the smallest index
    ranges, codes = ranges.take(order), codes.take(order)
    groups = group(_combined(ranges, codes))
    first = groups.first
    sums = groups.sums(requests.take(order)), groups.sums(sizes.take(order))
    return ranges.take(first), codes.take(first), *sums, indexes.take(order.take(first))


class RangeSums:
    """Requests and bytes by range of addresses and by code: exact, of bounded size, the same wherever the requests are cut into parts.

    Where there are more different keys than allowed, the bits of the code that are not kept are dropped, then neighbouring ranges are
    added up: ranges become twice as large until all fit. How far that goes depends on all requests alone, not on their order.

    Parameters
    ----------
    shift : int
        Ranges have ``2**shift`` bytes, at first.
    most : int
        Number of sums above which they are made fewer.
    kept : int
        Bits of the code that are never dropped.
    """

    def __init__(self, shift: int, most: int, kept: int) -> None:
        self._shift = shift
        self._most = most
        self._kept = kept
        self.level = 0
        self._parts: list[Rows] = []
        self._held = 0

    @property
    def shift(self) -> int:
        """The logarithm of the bytes of the ranges of :meth:`rows`."""
        self._compact()
        return self._bits

    @property
    def _bits(self) -> int:
        """The logarithm of a range's bytes by now: that of rows that are not added up yet."""
        return min(self._shift + max(self.level - 1, 0), _LARGEST_SHIFT)

    @property
    def has_all_codes(self) -> bool:
        """Whether no bits of codes were dropped from the codes of :meth:`rows`."""
        self._compact()
        return self.level == 0

    def add(self, addresses: Array, codes: Array, sizes: Array, indexes: Array) -> None:
        """Add requests.

        Parameters
        ----------
        addresses, codes, sizes, indexes : ndarray, shape (n,)
            Address, code (an unsigned number), bytes, and number in the recording of each; ascending by number.
        """
        if not len(addresses):
            return
        ranges, codes = addresses >> np.uint64(self._bits), self._coded(codes)
        groups = group(_combined(ranges, codes))
        first = groups.first
        self._append((ranges.take(first), codes.take(first), *groups.counts_and_sums(sizes), indexes.take(first).astype(np.uint64)))

    def _coded(self, codes: Array) -> Array:
        codes = codes.astype(np.uint64)
        return codes if self.level == 0 else codes & np.uint64(self._kept)

    def _append(self, part: Rows) -> None:
        self._parts.append(part)
        self._held += len(part[0])
        if self._held > 4 * self._most:
            self._compact()

    def _compact(self) -> None:
        """Make one part of all, small enough."""
        if not self._parts or (len(self._parts) == 1 and self._held <= self._most):
            return
        rows = _summed(tuple(np.concatenate(columns) for columns in zip(*self._parts, strict=True)))  # type: ignore[arg-type]
        if len(rows[0]) > self._most:
            before = self._bits
            self._find_level(rows[0], rows[1])
            rows = _summed((rows[0] >> np.uint64(self._bits - before), self._coded(rows[1]), *rows[2:]))
        self._parts = [rows]
        self._held = len(rows[0])

    def _find_level(self, ranges: Array, codes: Array) -> None:
        """Raise the level until there are few enough different keys."""
        before = self._bits
        self.level += 1
        codes = self._coded(codes)
        # Sorted by code, then by range: equal keys stay neighbours when ranges become larger.
        order = np.lexsort((ranges, codes))
        ranges, codes = ranges.take(order), codes.take(order)
        others = codes[1:] != codes[:-1]
        while True:
            larger = ranges >> np.uint64(self._bits - before)
            count = 1 + int(np.count_nonzero((larger[1:] != larger[:-1]) | others))
            if count <= self._most or self._bits == _LARGEST_SHIFT:
                return
            self.level += 1

    def merge(self, later: RangeSums) -> None:
        """Add sums of requests behind."""
        level = max(self.level, later.level)
        for one in (self, later):
            one._raise(level)
        for part in later._parts:
            self._append(part)

    def _raise(self, level: int) -> None:
        if level == self.level:
            return
        before = self._bits
        self.level = level
        by = np.uint64(self._bits - before)
        self._parts = [_summed((part[0] >> by, self._coded(part[1]), *part[2:])) for part in self._parts]
        self._held = sum(len(part[0]) for part in self._parts)

    def __getstate__(self) -> dict[str, object]:
        """Leave behind what is the same in several parts."""
        self._compact()
        return dict(self.__dict__)

    def rows(self) -> Rows:
        """Return the sums, ascending by address, then by code.

        Returns
        -------
        addresses, codes, requests, sizes, indexes : ndarray, shape (n,)
            First byte of each range, code, number of requests, their bytes, number of the first one in the recording.
        """
        self._compact()
        if not self._parts:
            nothing: Array = np.zeros(0, dtype=np.uint64)
            return nothing, nothing, nothing, nothing, nothing
        ranges, codes, requests, sizes, indexes = self._parts[0]
        order = np.lexsort((codes, ranges))
        ranges, codes, requests, sizes, indexes = (each.take(order) for each in (ranges, codes, requests, sizes, indexes))
        return ranges << np.uint64(self._bits), codes, requests, sizes, indexes
