"""Sums by blocks of a recording: as many blocks as its length makes, but never more than a budget."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_BLOCKS

Sums = npt.NDArray[np.int64]
Blocks = npt.NDArray[np.intp]


class Grid:
    """Sums by block. A block holds the rows whose number has the same upper bits; the number of lower bits grows with the recording.

    The sums are the same wherever a recording is cut into parts.

    Parameters
    ----------
    width : int
        Number of sums of a block.
    most : int
        Largest number of blocks.

    Attributes
    ----------
    shift : int
        Bits of a row's number that do not matter: blocks have ``2 ** shift`` rows.
    first : int
        Number of the first block.
    sums : ndarray of int64, shape (blocks, width)
        The sums.
    """

    def __init__(self, width: int, most: int = MAX_BLOCKS) -> None:
        self._most = most
        self.shift = 0
        self.first = 0
        self.sums: Sums = np.zeros((0, width), dtype=np.int64)

    def blocks(self, index: npt.NDArray[Any]) -> Blocks:
        """Make room for rows, and return the position of each in :attr:`sums`.

        Parameters
        ----------
        index : ndarray of integers
            Numbers of the rows; at least one.
        """
        numbers = index.astype(np.int64)
        low, high = int(numbers.min()), int(numbers.max())
        self._cover(low >> self.shift, high >> self.shift)
        blocks: Blocks = (numbers >> self.shift) - self.first
        return blocks

    def merge(self, other: Grid) -> None:
        """Add the sums of other rows."""
        if not len(other.sums):
            return
        while self.shift < other.shift:
            self._halve()
        rows = self.blocks(np.arange(other.first, other.first + len(other.sums)) << other.shift)
        np.add.at(self.sums, rows, other.sums)

    def parts(self, count: int) -> Sums:
        """Return the sums of so many parts of the recording, equal but for one block, shape (count, width)."""
        edges = np.arange(count) * len(self.sums) // count
        return np.add.reduceat(self.sums, edges, axis=0)

    def _cover(self, low: int, high: int) -> None:
        """Make room for blocks, numbered as they are now."""
        if len(self.sums):
            low, high = min(low, self.first), max(high, self.first + len(self.sums) - 1)
        while high - low >= self._most:
            self._halve()
            low, high = low >> 1, high >> 1
        if (low, high - low + 1) == (self.first, len(self.sums)):
            return
        more = np.zeros((high - low + 1, self.sums.shape[1]), dtype=np.int64)
        if len(self.sums):
            more[self.first - low : self.first - low + len(self.sums)] = self.sums
        self.first, self.sums = low, more

    def _halve(self) -> None:
        """Put pairs of blocks together."""
        self.shift += 1
        if len(self.sums):
            rows = (np.arange(self.first, self.first + len(self.sums)) >> 1) - (self.first >> 1)
            sums = np.zeros((int(rows[-1]) + 1, self.sums.shape[1]), dtype=np.int64)
            np.add.at(sums, rows, self.sums)
            self.sums = sums
        self.first >>= 1
