"""Wilcoxon's signed-rank test (1945), always exact, and what follows from it: how many rounds it needs, and what it can find.

Where settings do not differ, each of the 2**n ways to give n differences their signs is equally likely. Equal differences share
their ranks.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ptttool.analyses.compare.statistics import ALPHA

POWER = 0.8
"""The probability with which a difference of the size that is called detectable is found."""

_TRIALS, _SEED = 2000, 20


def p_value(differences: npt.NDArray[np.float64]) -> float:
    """Return the p value (two-sided): the probability of signs at least as one-sided, where each is as likely as the other.

    Parameters
    ----------
    differences : ndarray of float64, shape (n,)
        The differences. Those that are 0 are left out.
    """
    kept = differences[differences != 0]
    _, inverse, counts = np.unique(np.abs(kept), return_inverse=True, return_counts=True)
    # Twice the ranks: equal differences have the mean of theirs, which can end in one half.
    ranks = (2 * np.cumsum(counts) - counts + 1)[inverse]
    below, ways = int(ranks[kept < 0].sum()), _ways(tuple(sorted(map(int, ranks))))
    tails = ways[: below + 1].sum(), ways[below:].sum()
    return float(min(1.0, 2 * min(tails)))


@lru_cache(maxsize=64)
def _ways(ranks: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Return the probability of each sum of ranks, each of which is in the sum with a probability of one half."""
    ways = np.ones(1)
    for rank in ranks:
        ways = (np.concatenate((ways, np.zeros(rank))) + np.concatenate((np.zeros(rank), ways))) / 2
    return ways


@lru_cache
def cumulative(rounds: int) -> npt.NDArray[np.float64]:
    """Return the probability of a rank sum of at most 0, 1, 2 and so on."""
    return np.cumsum(_ways(tuple(range(1, rounds + 1))))


def smallest_p(rounds: int) -> float:
    """Return the smallest p value that so many rounds can have (two-sided): all of them differ in the same direction."""
    return min(1.0, 2.0 ** (1 - rounds))


def rounds_needed(comparisons: int) -> int:
    """Return how many rounds a difference needs to be found among so many comparisons, however large it is."""
    return next(rounds for rounds in range(2, 100) if smallest_p(rounds) * max(comparisons, 1) <= ALPHA)


def largest_sum(rounds: int, level: float) -> int | None:
    """Return the largest rank sum with a p value (two-sided) of at most a level; None if there is none."""
    largest = int(np.searchsorted(cumulative(rounds), level / 2, side="right")) - 1
    return None if largest < 0 else largest


@lru_cache
def detectable(rounds: int, level: float) -> float | None:
    """Return the smallest shift that a test finds with a probability of :data:`POWER`, in standard deviations of the differences.

    Parameters
    ----------
    rounds : int
        Differences.
    level : float
        The largest p value (two-sided) that counts.

    Returns
    -------
    float or None
        For normally distributed differences, by simulation with a fixed seed; None where no shift is large enough.
    """
    limit = largest_sum(rounds, level)
    if limit is None:
        return None
    noise = np.random.default_rng(_SEED).standard_normal((_TRIALS, rounds))

    def power(shift: float) -> float:
        values = noise + shift
        ranks = np.abs(values).argsort(axis=1).argsort(axis=1) + 1
        return float(np.mean(np.where(values < 0, ranks, 0).sum(axis=1) <= limit))

    low, high = 0.0, 16.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if power(middle) < POWER else (low, middle)
    return high


def interval_of_shift(differences: npt.NDArray[np.float64], confidence: float = 0.95) -> tuple[float, float, float, float]:
    """Return the Hodges-Lehmann estimate of a shift, its interval, and the confidence that the interval really has.

    Parameters
    ----------
    differences : ndarray of float64, shape (n,)
        The differences, at least one.
    confidence : float
        What is asked for. So few differences that no interval has it get the widest one there is.

    Returns
    -------
    tuple of float
        The median of the means of all pairs of differences (each with itself, too), the ends of the interval, and its confidence.
    """
    count = len(differences)
    first, second = np.triu_indices(count)
    means = np.sort((differences[first] + differences[second]) / 2)
    at = largest_sum(count, 1 - confidence) or 0
    covered = 1 - 2 * float(cumulative(count)[at])
    return float(np.median(means)), float(means[at]), float(means[-1 - at]), max(covered, 0.0)
