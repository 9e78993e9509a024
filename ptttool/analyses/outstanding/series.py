"""The series that levels are kept of: requesters and directions; and sums over requests that were seen whole."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.sums import SumTable
from ptttool.tlp.columns import DIRECTIONS
from ptttool.tlp.transactions import Transactions

Array = npt.NDArray[Any]

_REQUESTERS: Final = 1 << 16
DIRECTION_SERIES: Final = tuple(range(_REQUESTERS, _REQUESTERS + len(DIRECTIONS)))
"""The series of the directions, in the order of :data:`ptttool.tlp.columns.DIRECTIONS`. Those of requesters have the Requester ID."""


class WholeRequests:
    """Requests that were seen whole: how many, of how many the time is known, and the ticks from request to end; by series."""

    def __init__(self) -> None:
        self._sums = SumTable(np.add, np.add, np.add)

    def add(self, whole: Transactions, directions: Array) -> None:
        """Add requests; `directions` are the codes of their directions."""
        timed = whole.to_last >= 0
        for series in (whole.requester.astype(np.int64), _REQUESTERS + directions):
            self._sums.add(series, np.ones_like(series), timed.astype(np.int64), whole.to_last * timed)

    def merge(self, other: WholeRequests) -> None:
        """Add those of another part."""
        self._sums.merge(other._sums)

    def counts(self) -> tuple[Array, Array]:
        """Return the series, ascending, and how many requests each has."""
        series, counts, *_ = self._sums.rows()
        return series, counts

    def of(self, number: int) -> list[int]:
        """Return the sums of a series."""
        series, *sums = self._sums.rows()
        at = np.searchsorted(series, number)
        return [int(each[at]) for each in sums]
