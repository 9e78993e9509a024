"""How long transactions take in each block of a recording: histograms of latencies."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.compare.grid import Grid, Sums
from ptttool.analyses.compare.statistics import Sample
from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.matching.analysis import MatchingAnalysis
from ptttool.analyses.scope import Scope
from ptttool.tlp.columns import DIRECTIONS
from ptttool.tlp.transactions import Ending, Transactions

# Eight bins for each doubling of the latency, up to 2^20 ticks: a bin is some 9 % wide. Below 8 ticks there is one for each.
_EXACT, _PER_DOUBLING, _DOUBLINGS = 8, 8, 17
BINS: Final = _EXACT + _PER_DOUBLING * _DOUBLINGS
WIDTH: Final = BINS * len(DIRECTIONS)
# Blocks of a recording: fewer than those of traffic, since each has a histogram.
_MOST_BLOCKS: Final = 128

EDGES: Final[npt.NDArray[np.float64]] = np.concatenate(
    (np.arange(_EXACT), _EXACT * 2.0 ** (np.arange(_PER_DOUBLING * _DOUBLINGS + 1) / _PER_DOUBLING))
)
"""Limits of the bins in ticks; the last bin also holds what is above it."""


def bins_of(direction: int) -> slice:
    """Return the columns of the histogram of a direction."""
    return slice(direction * BINS, (direction + 1) * BINS)


def percentiles(counts: Sums, percent: float) -> Sample:
    """Return a percentile of each of several histograms, in ticks: within a bin, values are taken as evenly spread.

    Parameters
    ----------
    counts : ndarray of int64, shape (n, BINS)
        The histograms, none of them empty.
    percent : float
        Which percentile.

    Returns
    -------
    ndarray of float64, shape (n,)
        The percentiles.
    """
    sums = np.cumsum(counts, axis=1)
    rank = sums[:, -1:] * (percent / 100)
    bins = np.minimum((sums < rank).sum(axis=1), BINS - 1)
    rows = np.arange(len(counts))
    inside = counts[rows, bins]
    share = (rank[:, 0] - (sums[rows, bins] - inside)) / np.maximum(inside, 1)
    # The exact bins hold one value each.
    width = np.where(bins < _EXACT, 0.0, EDGES[bins + 1] - EDGES[bins])
    sample: Sample = EDGES[bins] + share * width
    return sample


class LatencyBlocks(MatchingAnalysis[Grid]):
    """Counts latencies of complete transactions, from the request to the last completion, in each block of a recording.

    Parameters
    ----------
    scope : Scope
        What is known of the recording.
    """

    name = "latency-blocks"
    meaning = "how long transactions take in each block of a recording"

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self._grid = Grid(WIDTH, _MOST_BLOCKS)

    def add(self, ended: Transactions) -> None:
        """Add requests that have ended."""
        mask = (ended.ending == Ending.COMPLETE) & (ended.to_last >= 0)
        if not mask.any():
            return
        chosen = ended.take(mask)
        blocks = self._grid.blocks(chosen.request)
        bins = np.minimum(np.searchsorted(EDGES, chosen.to_last, side="right") - 1, BINS - 1)
        places = blocks * WIDTH + chosen.directions * BINS + bins
        self._grid.sums += np.bincount(places, minlength=self._grid.sums.size).reshape(self._grid.sums.shape)

    def merge_sums(self, later: LatencyBlocks) -> None:
        """Add the latencies of the part behind."""
        self._grid.merge(later._grid)

    def finish(self, context: AnalysisContext) -> Grid:
        """Return the histograms: a grid of :data:`WIDTH` columns."""
        return self._grid
