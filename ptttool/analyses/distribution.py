"""How often values of each size occur, in bins that are narrow for their values: of bounded size, the same in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ptttool.analyses.latency.bins import bin_of, edges_of, percentile

Array = npt.NDArray[Any]


class Distribution:
    """Counts of whole numbers that are not negative.

    Attributes
    ----------
    count, total : int
        How many there are, and their sum.
    smallest, largest : int or None
        The extremes; None without values.
    """

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        self.smallest: int | None = None
        self.largest: int | None = None
        self._counts: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def add(self, values: Array) -> None:
        """Add values: an array of int64."""
        if len(values):
            self._add(len(values), int(values.sum(dtype=np.int64)), int(values.min()), int(values.max()), np.bincount(bin_of(values)))

    def merge(self, other: Distribution) -> None:
        """Add the values of another one."""
        if other.smallest is not None and other.largest is not None:
            self._add(other.count, other.total, other.smallest, other.largest, other._counts)

    def _add(self, count: int, total: int, smallest: int, largest: int, counts: Array) -> None:
        self.count += count
        self.total += total
        self.smallest = smallest if self.smallest is None else min(self.smallest, smallest)
        self.largest = largest if self.largest is None else max(self.largest, largest)
        if len(counts) > len(self._counts):
            counts, self._counts = self._counts, counts.astype(np.int64)
        self._counts[: len(counts)] += counts

    @property
    def mean(self) -> float | None:
        """The mean of all values, exact; None without values."""
        return self.total / self.count if self.count else None

    def quantile(self, share: float) -> int | None:
        """Return the value below or at which a share of the values is, as :func:`percentile` does; None without values."""
        value = percentile(np.arange(len(self._counts)), self._counts, share)
        if value is None or self.smallest is None or self.largest is None:
            return None
        return min(max(value, self.smallest), self.largest)

    def bins(self) -> tuple[list[int], list[int]]:
        """Return edges and counts of the bins from the smallest to the largest value; there is one edge more."""
        used = np.flatnonzero(self._counts)
        if not len(used):
            return [], []
        first, behind = int(used[0]), int(used[-1]) + 1
        lowest, _ = edges_of(np.arange(first, behind + 1))
        return lowest.tolist(), self._counts[first:behind].tolist()
