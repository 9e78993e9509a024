"""Whether two groups of values differ by more than chance, and by how much: exact rank test, effect size, interval of the shift.

Where the groups come from one distribution, each choice of as many values out of all is equally likely to be the second group. The choices
are counted, not gone through, as whole numbers; equal values share their ranks.

Sources: H. B. Mann and D. R. Whitney (1947) for the test; J. L. Hodges and E. L. Lehmann (1963) for the shift, D. F. Bauer (1972) for its
interval; N. Cliff (1993) for delta; J. Romano and others (2006) for the names of its sizes; S. Holm (1979) for many comparisons at once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate, count

import numpy as np
import numpy.typing as npt

Sample = npt.NDArray[np.float64]

ALPHA = 0.05
"""The probability of finding any difference where there is none."""


class Effect(StrEnum):
    """Size of Cliff's delta, without its sign."""

    NEGLIGIBLE = "negligible"
    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


_LIMITS = ((0.147, Effect.NEGLIGIBLE), (0.33, Effect.SMALL), (0.474, Effect.MEDIUM))


def delta_of(first: Sample, second: Sample) -> float:
    """Return Cliff's delta: how much more often a value of the second sample is above one of the first than below it, -1 to 1."""
    return _balance(first, second) / (len(first) * len(second))


def p_value(first: Sample, second: Sample) -> float:
    """Return the p value (two-sided) of two groups: the probability of ranks at least as one-sided, if both come from one distribution.

    Parameters
    ----------
    first, second : ndarray of float64, shapes (m,) and (n,)
        The groups, neither of them empty.
    """
    m, n = len(first), len(second)
    ties = np.unique(np.concatenate((first, second)), return_counts=True)[1]
    choices, at = _choices(m, n, tuple(ties.tolist())), _balance(first, second) + m * n
    tails = choices[at], choices[-1] - (choices[at - 1] if at else 0)
    return min(1.0, 2 * min(tails) / choices[-1])


def smallest_p(first: int, second: int) -> float:
    """Return the smallest p value (two-sided) that groups of so many values can have: all of one are above all of the other."""
    return min(1.0, 2 / math.comb(first + second, second))


def needed(comparisons: int) -> int:
    """Return how many values each group needs for a difference to be found among so many comparisons, however large it is."""
    return next(each for each in count(1) if smallest_p(each, each) * max(comparisons, 1) <= ALPHA)


def shift_of(first: Sample, second: Sample, confidence: float = 0.95) -> tuple[float, float, float, float]:
    """Return by how much the second group is higher (Hodges-Lehmann), the interval of that, and the confidence that the interval has.

    Parameters
    ----------
    first, second : ndarray of float64, shapes (m,) and (n,)
        The groups, neither of them empty.
    confidence : float
        What is asked for. So few values that no interval has it get the widest one there is.

    Returns
    -------
    tuple of float
        The median of the differences of all pairs, the ends of the interval, and its confidence; 0 for one value in each group.
    """
    m, n = len(first), len(second)
    differences = np.sort((second[None, :] - first[:, None]).ravel())
    choices = _choices(m, n, (1,) * (m + n))
    below = [choices[2 * at] / choices[-1] for at in range((m * n + 1) // 2)]
    at = max((at for at, share in enumerate(below) if 2 * share <= 1 - confidence), default=0)
    return float(np.median(differences)), float(differences[at]), float(differences[-1 - at]), max(1 - 2 * below[at], 0.0)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct p values for many comparisons, by Holm's method; None, a comparison without data, counts as one that was made."""
    by_size = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    results: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, at) in enumerate(by_size):
        largest = max(largest, min(1.0, p * (len(p_values) - rank)))
        results[at] = largest
    return results


def effect_of(delta: float) -> Effect:
    """Return the size of Cliff's delta."""
    return next((effect for limit, effect in _LIMITS if abs(delta) < limit), Effect.LARGE)


def _balance(first: Sample, second: Sample) -> int:
    """Return in how many pairs the second value is higher, less those in which it is lower."""
    return int(np.sign(second[None, :] - first[:, None]).sum())


@lru_cache(maxsize=8)
def _choices(first: int, second: int, ties: tuple[int, ...]) -> list[int]:
    """Return in how many choices of the second group out of all values pairs are above and half of those equal at most 0, 1/2, 1 and so on.

    Parameters
    ----------
    first, second : int
        Values of each group.
    ties : tuple of int
        How many values are equal, from the lowest one to the highest.
    """
    # One whole number holds the counts of all sums side by side, each in so many bytes that the largest one fits.
    size = math.comb(first + second, second).bit_length() // 8 + 1
    rows, passed = {0: 1}, 0
    for tie in ties:
        longer: dict[int, int] = defaultdict(int)
        for taken, ways in rows.items():
            below = passed - taken
            for more in range(max(0, below + tie - first), min(tie, second - taken) + 1):
                longer[taken + more] += ways * math.comb(tie, more) << 8 * size * more * (2 * below + tie - more)
        rows, passed = longer, passed + tie
    counts = rows[second].to_bytes(size * (2 * first * second + 1), "little")
    return list(accumulate(int.from_bytes(counts[at : at + size], "little") for at in range(0, len(counts), size)))
