"""The series that levels are kept of: requesters and directions; and sums over requests that were seen whole."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.grouping import distinct
from ptttool.analyses.matching.transactions import Transactions
from ptttool.tlp.columns import DIRECTIONS

Array = npt.NDArray[Any]

_REQUESTERS: Final = 1 << 16
DIRECTION_SERIES: Final = tuple(range(_REQUESTERS, _REQUESTERS + len(DIRECTIONS)))
"""The series of the directions, in the order of :data:`ptttool.tlp.columns.DIRECTIONS`. Those of requesters have the Requester ID."""


class WholeRequests:
    """Requests that were seen whole: how many, of how many the time is known, and the ticks from request to end; by series.

    Attributes
    ----------
    series : ndarray of int64, shape (n,)
        The series, ascending.
    sums : ndarray of int64, shape (n, 3)
        The three sums of each.
    """

    def __init__(self) -> None:
        self.series: Array = np.empty(0, dtype=np.int64)
        self.sums: Array = np.empty((0, 3), dtype=np.int64)

    def add(self, whole: Transactions, directions: Array) -> None:
        """Add requests; `directions` are the codes of their directions."""
        timed = whole.to_last >= 0
        ticks = whole.to_last * timed
        for numbers, first in ((whole.requester, 0), (directions, _REQUESTERS)):
            counts = np.bincount(numbers)
            series = np.flatnonzero(counts != 0)
            known = counts if timed.all() else np.bincount(numbers, timed)
            sums = np.stack([each.take(series).astype(np.int64) for each in (counts, known, np.bincount(numbers, ticks))], axis=1)
            self._add(first + series, sums)

    def merge(self, other: WholeRequests) -> None:
        """Add those of another part."""
        self._add(other.series, other.sums)

    def _add(self, series: Array, sums: Array) -> None:
        both = distinct(np.concatenate((self.series, series)))
        found = np.zeros((len(both), sums.shape[1]), dtype=np.int64)
        for known, values in ((self.series, self.sums), (series, sums)):
            found[np.searchsorted(both, known)] += values
        self.series, self.sums = both, found

    def of(self, number: int) -> list[int]:
        """Return the sums of a series."""
        at = np.searchsorted(self.series, number)
        found: list[int] = self.sums[at].tolist()
        return found
