"""Sums of errors by kind and requester, in bounded memory, the same wherever a recording is cut into parts."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_ERROR_SUMS
from ptttool.analyses.errors.kinds import CODES

Array = npt.NDArray[Any]

EXAMPLES: Final = 8
"""Errors of a kind that are kept with their number."""
NO_REQUESTER: Final = 1 << 16
"""Stands for TLPs without a Requester ID."""
_SHIFT: Final = 17


class ErrorSums:
    """Sums of errors.

    Attributes
    ----------
    has_requesters : bool
        Whether the requesters are kept; not where there are too many.
    """

    def __init__(self) -> None:
        self.has_requesters = True
        self._parts: list[tuple[Array, Array, Array]] = []
        self._held = 0
        self._examples: dict[int, Array] = {}

    def add(self, code: str, requesters: Array | None, indexes: Array, counts: Array | None = None) -> None:
        """Add errors of a kind.

        Parameters
        ----------
        code : str
            The kind.
        requesters : ndarray of integers, shape (n,), or None
            Requester IDs; None where the TLPs have none.
        indexes : ndarray of uint64, shape (n,)
            Numbers of the TLPs in the recording.
        counts : ndarray of int64, shape (n,), or None
            How many each one stands for; None for one.
        """
        if not len(indexes):
            return
        number = CODES.index(code)
        ids = np.full(len(indexes), NO_REQUESTER) if requesters is None else requesters.astype(np.int64)
        counts = np.ones(len(indexes), dtype=np.int64) if counts is None else counts
        self._append(_summed(ids | number << _SHIFT, counts, indexes.astype(np.uint64)))
        self._see(number, indexes.astype(np.uint64))

    def _see(self, number: int, indexes: Array) -> None:
        known = self._examples.get(number)
        if known is not None:
            indexes = np.concatenate((known, indexes))
        if len(indexes) > EXAMPLES:
            indexes = np.partition(indexes, EXAMPLES)[:EXAMPLES]
        self._examples[number] = np.sort(indexes)

    def _append(self, part: tuple[Array, Array, Array]) -> None:
        self._parts.append(part)
        self._held += len(part[0])
        if self._held > 4 * MAX_ERROR_SUMS or len(self._parts) > _MOST_PARTS:
            self._compact()

    def _compact(self) -> None:
        if not self._parts:
            return
        keys, counts, first = _summed(*(np.concatenate(columns) for columns in zip(*self._parts, strict=True)))
        if len(keys) > MAX_ERROR_SUMS or not self.has_requesters:
            self.has_requesters = False
            keys, counts, first = _summed(keys >> _SHIFT << _SHIFT | NO_REQUESTER, counts, first)
        self._parts, self._held = [(keys, counts, first)], len(keys)

    def leave_out(self, requesters: Array) -> bool:
        """Take the errors of some requesters out; return whether those of the others are still there.

        Where requesters are not kept, it is not known which errors are theirs: all are taken out.
        """
        self._compact()
        if not self._parts or not len(requesters):
            return True
        if not self.has_requesters:
            self._parts, self._held, self._examples = [], 0, {}
            return False
        keys, counts, first = self._parts[0]
        kept = np.flatnonzero(~np.isin(keys & ((1 << _SHIFT) - 1), requesters))
        if len(kept) < len(keys):
            self._parts = [(keys[kept], counts[kept], first[kept])] if len(kept) else []
            # Of the examples it is not kept whose they are.
            numbers = keys[kept] >> _SHIFT
            self._examples = {number: np.sort(first[kept][numbers == number])[:EXAMPLES] for number in np.unique(numbers).tolist()}
        return True

    def merge(self, later: ErrorSums) -> None:
        """Add the errors behind."""
        self.has_requesters &= later.has_requesters
        for part in later._parts:
            self._append(part)
        for number, indexes in later._examples.items():
            self._see(number, indexes)

    def __getstate__(self) -> dict[str, object]:
        """Leave behind what is the same in several parts."""
        self._compact()
        return dict(self.__dict__)

    def of(self, code: str) -> list[tuple[int, int, int]]:
        """Return (requester, errors, number of the first one) of a kind, most errors first."""
        self._compact()
        if not self._parts:
            return []
        keys, counts, first = self._parts[0]
        rows = np.flatnonzero(keys >> _SHIFT == CODES.index(code))
        ids = keys[rows] & ((1 << _SHIFT) - 1)
        found = zip(ids.tolist(), counts[rows].tolist(), first[rows].tolist(), strict=True)
        return sorted(found, key=lambda row: (-row[1], row[0]))

    def examples(self, code: str) -> list[int]:
        """Return the numbers of the first errors of a kind."""
        found = self._examples.get(CODES.index(code))
        return [] if found is None else [int(index) for index in found]


_MOST_PARTS: Final = 64


def _summed(keys: Array, counts: Array, first: Array) -> tuple[Array, Array, Array]:
    """Return each key once, with the sum of its counts and the smallest number."""
    order = np.argsort(keys, kind="stable")
    keys, counts, first = keys[order], counts[order], first[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    return keys[starts], np.add.reduceat(counts, starts), np.minimum.reduceat(first, starts)
