"""The smallest and the largest TLP of each group, with the numbers of the first ones in the recording."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_SMALLEST, _LARGEST = range(2)
# Below and above every length.
_NONE: Final = (1 << 30, -1)


class Extremes:
    """The extremes of groups.

    Parameters
    ----------
    groups : int
        Number of groups.

    Attributes
    ----------
    lengths : ndarray of int64, shape (2, groups)
        The smallest and the largest length of each group, in DWs.
    indexes : ndarray of int64, shape (2, groups)
        Numbers of the first TLPs of these lengths; -1 for a group without TLPs.
    """

    def __init__(self, groups: int) -> None:
        self.lengths: Array = np.repeat(np.array(_NONE, dtype=np.int64)[:, None], groups, axis=1)
        self.indexes: Array = np.full((2, groups), -1, dtype=np.int64)

    def grow(self, groups: int) -> None:
        """Hold so many groups."""
        more = Extremes(groups - self.lengths.shape[1])
        self.lengths = np.concatenate((self.lengths, more.lengths), axis=1)
        self.indexes = np.concatenate((self.indexes, more.indexes), axis=1)

    def beyond(self, groups: Array, lengths: Array) -> Array:
        """Return the rows that are smaller or larger than all before them: few, once some rows were seen."""
        smallest, largest = self.lengths
        return np.flatnonzero((lengths < smallest.take(groups)) | (lengths > largest.take(groups)))

    def add(self, groups: Array, lengths: Array, indexes: Array) -> None:
        """Add TLPs that stand behind those that were seen.

        Parameters
        ----------
        groups, lengths, indexes : ndarray of integers, shape (n,)
            The group of each, its length in DWs, and its number in the recording.
        """
        for which, sign in ((_SMALLEST, 1), (_LARGEST, -1)):
            order = np.lexsort((indexes, sign * lengths, groups))
            is_first = np.ones(len(order), dtype=np.bool_)
            is_first[1:] = groups[order][1:] != groups[order][:-1]
            best = order[is_first]
            best = best[sign * lengths[best] < sign * self.lengths[which, groups[best]]]
            self.lengths[which, groups[best]], self.indexes[which, groups[best]] = lengths[best], indexes[best]

    def merge(self, later: Extremes, groups: Array) -> None:
        """Add the extremes of the TLPs behind; `groups`: what each of their groups is called here, shape (groups,)."""
        for lengths, indexes in zip(later.lengths, later.indexes, strict=True):
            seen = indexes >= 0
            self.add(groups[seen], lengths[seen], indexes[seen])
