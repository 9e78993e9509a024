"""Whether two samples differ beyond their noise, and how much: rank test, effect size, interval of the difference.

Sources: H. B. Mann and D. R. Whitney (1947) for the test, with the normal approximation, ties and continuity corrected; N. Cliff (1993)
for delta; J. Romano and others (2006) for the names of its sizes; Y. Benjamini and Y. Hochberg (1995) for many comparisons at once.
"""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np
import numpy.typing as npt

Sample = npt.NDArray[np.float64]

# Resamples of the bootstrap, and its seed: the same recordings always give the same interval.
_RESAMPLES, _SEED = 2000, 11
_INTERVAL = (2.5, 97.5)


class Effect(StrEnum):
    """Size of Cliff's delta, without its sign."""

    NEGLIGIBLE = "negligible"
    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


_LIMITS = ((0.147, Effect.NEGLIGIBLE), (0.33, Effect.SMALL), (0.474, Effect.MEDIUM))


def rank_test(first: Sample, second: Sample) -> tuple[float, float]:
    """Compare two samples.

    Parameters
    ----------
    first, second : ndarray of float64, shapes (m,) and (n,)
        The samples, neither of them empty.

    Returns
    -------
    p : float
        Probability of ranks at least as different, if both samples came from one distribution: Mann-Whitney test, two-sided.
    delta : float
        Cliff's delta: how much more often a value of the second sample is above one of the first than below it, -1 to 1.
    """
    m, n = len(first), len(second)
    _, inverse, counts = np.unique(np.concatenate((first, second)), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    u = float(ranks[m:].sum()) - n * (n + 1) / 2
    whole = m + n
    ties = float(((counts.astype(np.float64) ** 3) - counts).sum())
    variance = m * n / 12 * (whole + 1 - ties / (whole * (whole - 1))) if whole > 1 else 0.0
    delta = 2 * u / (m * n) - 1
    if variance <= 0:
        return 1.0, delta
    z = max(abs(u - m * n / 2) - 0.5, 0.0) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2)), delta


def median_interval(first: Sample, second: Sample) -> tuple[float, float]:
    """Return the 95 % interval of the median of the second sample less that of the first, by bootstrap."""
    random = np.random.default_rng(_SEED)
    medians = [np.median(each[random.integers(0, len(each), (_RESAMPLES, len(each)))], axis=1) for each in (first, second)]
    low, high = np.percentile(medians[1] - medians[0], _INTERVAL)
    return float(low), float(high)


def corrected(p: list[float]) -> list[float]:
    """Return the p values of many comparisons as false discovery rates, in their order."""
    if not p:
        return []
    order = np.argsort(p)
    rates = np.array(p)[order] * len(p) / np.arange(1, len(p) + 1)
    rates = np.minimum(np.minimum.accumulate(rates[::-1])[::-1], 1.0)
    values = np.empty(len(p))
    values[order] = rates
    return [float(each) for each in values]


def effect_of(delta: float) -> Effect:
    """Return the size of Cliff's delta."""
    return next((effect for limit, effect in _LIMITS if abs(delta) < limit), Effect.LARGE)
