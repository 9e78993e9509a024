"""The series that levels are kept of: requesters and directions; and sums over requests that were seen whole."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.matching.transactions import Transactions
from ptttool.tlp.columns import DIRECTIONS

Array = npt.NDArray[Any]

_REQUESTERS: Final = 1 << 16
DIRECTION_SERIES: Final = tuple(range(_REQUESTERS, _REQUESTERS + len(DIRECTIONS)))
"""The series of the directions, in the order of :data:`ptttool.tlp.columns.DIRECTIONS`. Those of requesters have the Requester ID."""


class Whole:
    """Requests that were seen whole: how many, of how many the time is known, and the ticks from request to end; by series.

    Attributes
    ----------
    sums : dict of int to ndarray of int64, shape (3,)
        The three sums by series.
    """

    def __init__(self) -> None:
        self.sums: dict[int, Array] = {}

    def add(self, whole: Transactions, directions: Array) -> None:
        """Add requests; `directions` are the codes of their directions."""
        timed = whole.to_last >= 0
        ticks = np.where(timed, whole.to_last, 0)
        for series, first in ((whole.requester, 0), (directions, _REQUESTERS)):
            counts = np.bincount(series)
            numbers = np.flatnonzero(counts)
            known = counts if timed.all() else np.bincount(series, timed)
            sums = np.stack([each[numbers].astype(np.int64) for each in (counts, known, np.bincount(series, ticks))], axis=1)
            for number, row in zip(numbers.tolist(), sums, strict=True):
                self._add(first + number, row)

    def merge(self, other: Whole) -> None:
        """Add those of another part."""
        for number, sums in other.sums.items():
            self._add(number, sums)

    def _add(self, number: int, sums: Array) -> None:
        self.sums[number] = self.sums[number] + sums if number in self.sums else sums.copy()
