"""Sums by range of addresses, in bounded memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ptttool.analyses.sums import summed

Array = npt.NDArray[Any]

Rows = tuple[Array, Array, Array, Array, Array]
"""First bytes of ranges, codes, numbers of requests, bytes, index of the first request; all of shape (n,)."""

# How the last three become one.
_HOW = (np.add, np.add, np.minimum)
_KEY_BITS = 64
# A shift of 64 bits has no meaning for numpy.
_LARGEST_SHIFT = 63


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
        if len(addresses):
            self._append(self._together(addresses, codes.astype(np.uint64), None, sizes, indexes.astype(np.uint64, copy=False)))

    def merge(self, later: RangeSums) -> None:
        """Add sums of requests behind."""
        self.level = max(self.level, later.level)
        for part in later._parts:
            self._append(part)

    def _append(self, part: Rows) -> None:
        self._parts.append(part)
        self._held += len(part[0])
        if self._held > 4 * self._most:
            self._compact()

    def _compact(self) -> None:
        """Make one part of all, small enough."""
        if not self._parts or (len(self._parts) == 1 and self._held <= self._most):
            return
        rows = self._together(*map(np.concatenate, zip(*self._parts, strict=True)))
        if len(rows[0]) > self._most:
            self._find_level(rows[0], rows[1])
            rows = self._together(*rows)
        self._parts = [rows]
        self._held = len(rows[0])

    def _together(self, addresses: Array, codes: Array, requests: Array | None, sizes: Array, indexes: Array) -> Rows:
        """Return rows in which each pair of range and code occurs once, ascending; `requests`: None for one each."""
        if self.level:
            codes = codes & np.uint64(self._kept)
        shift, bits = np.uint64(self._bits), np.uint64(int(codes.max()).bit_length())
        ranges, distinct = addresses.astype(np.uint64, copy=False) >> shift, None
        if int(ranges.max()).bit_length() + int(bits) > _KEY_BITS:
            distinct, ranges = np.unique(ranges, return_inverse=True)
        keys, *sums = summed(_HOW, ranges.astype(np.uint64, copy=False) << bits | codes, requests, sizes, indexes)
        ranges = keys >> bits if distinct is None else distinct.take(keys >> bits)
        return ranges << shift, keys & ~(~np.uint64(0) << bits), *sums  # type: ignore[return-value]

    def _find_level(self, addresses: Array, codes: Array) -> None:
        """Raise the level until there are few enough different keys."""
        self.level += 1
        codes = codes & np.uint64(self._kept)
        # Sorted by code, then by address: equal keys stay neighbours when ranges become larger.
        order = np.lexsort((addresses, codes))
        addresses, codes = addresses.take(order), codes.take(order)
        others = codes[1:] != codes[:-1]
        while True:
            ranges = addresses >> np.uint64(self._bits)
            count = 1 + int(np.count_nonzero((ranges[1:] != ranges[:-1]) | others))
            if count <= self._most or self._bits == _LARGEST_SHIFT:
                return
            self.level += 1

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
        return self._parts[0] if self._parts else (np.zeros(0, dtype=np.uint64),) * 5
