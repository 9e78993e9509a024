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
_SERIES: Final = _REQUESTERS + len(DIRECTIONS)


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
        series = np.concatenate((whole.requester.astype(np.intp), directions + _REQUESTERS))
        weights = (None, np.tile(timed, 2), np.tile(ticks, 2))
        sums = np.stack([np.bincount(series, each, _SERIES).astype(np.int64) for each in weights], axis=1)
        for number in np.flatnonzero(sums[:, 0]).tolist():
            self._add(number, sums[number])

    def merge(self, other: Whole) -> None:
        """Add those of another part."""
        for number, sums in other.sums.items():
            self._add(number, sums)

    def _add(self, number: int, sums: Array) -> None:
        self.sums[number] = self.sums[number] + sums if number in self.sums else sums.copy()
