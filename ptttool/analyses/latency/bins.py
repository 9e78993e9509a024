"""Bins for whole numbers of any size: exact below 256, then 128 to each power of two, so that a bin is at most 1/128 wide of its values.

A number that stands for a bin is off by half a bin at most: 1/256 of the value.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_SUB_BITS: Final = 7
_EXACT: Final = 1 << (_SUB_BITS + 1)
RELATIVE_ERROR: Final = 1 / _EXACT
"""How far a percentile can be from the value that it stands for, as a share of it; 0 below 256."""
BIN_BITS: Final = 13
"""Bits that hold the bin of any number below 2^63."""


def bin_of(values: Array) -> Array:
    """Return the bins of numbers from 0 on, as int64."""
    # The exponent of a double is the number of bits, but for those above 2^53 that are rounded up.
    bits = np.frexp(values.astype(np.float64))[1].astype(np.int64)
    shift = np.maximum(bits - (_SUB_BITS + 1), 0)
    shift -= (values >> shift) < (_EXACT >> 1) * (shift > 0)
    bins: Array = (shift << _SUB_BITS) + (values >> shift)
    return bins


def edges_of(bins: Array) -> tuple[Array, Array]:
    """Return the smallest and the largest number of bins, as int64."""
    shift = np.maximum((bins >> _SUB_BITS) - 1, 0)
    low = (bins - (shift << _SUB_BITS)) << shift
    return low, low + (np.int64(1) << shift) - 1


def percentile(bins: Array, counts: Array, share: float) -> int | None:
    """Return the number below or at which a share of numbers is: that of the nearest rank, as exact as the bins.

    Parameters
    ----------
    bins, counts : ndarray of int64, shape (n,)
        Bins, ascending, and how many numbers are in each.
    share : float
        From 0 to 1.

    Returns
    -------
    int or None
        The middle of the bin; None without numbers.
    """
    sums = np.cumsum(counts)
    if not len(sums) or not sums[-1]:
        return None
    rank = max(int(np.ceil(share * int(sums[-1]))), 1)
    low, high = edges_of(bins[np.searchsorted(sums, rank)][None])
    return int(low[0] + (high[0] - low[0]) // 2)
