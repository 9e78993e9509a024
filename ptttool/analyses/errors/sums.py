"""Sums of errors by kind and requester, in bounded memory, the same wherever a recording is cut into parts."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_ERROR_SUMS
from ptttool.analyses.errors.kinds import CODES
from ptttool.analyses.sums import SumTable

Array = npt.NDArray[Any]

EXAMPLES: Final = 8
"""Errors of a kind that are kept with their number."""
NO_REQUESTER: Final = 1 << 16
"""Stands for TLPs without a Requester ID."""
ID_BITS: Final = 17
"""Bits of a Requester ID, or of :data:`NO_REQUESTER`, at the end of a key."""
_ID_MASK: Final = (1 << ID_BITS) - 1


class ErrorSums:
    """Sums of errors."""

    def __init__(self) -> None:
        self._sums = SumTable(np.add, np.minimum, most=MAX_ERROR_SUMS, fewer=of_no_requester)
        self._examples: dict[int, Array] = {}

    @property
    def has_requesters(self) -> bool:
        """Whether the requesters are kept; not where there are too many."""
        self._sums.rows()
        return not self._sums.is_full

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
        indexes = indexes.astype(np.uint64)
        self._sums.add(ids | number << ID_BITS, counts, indexes)
        self._see(number, indexes)

    def _see(self, number: int, indexes: Array) -> None:
        examples = self._examples.get(number)
        if examples is not None:
            indexes = np.concatenate((examples, indexes))
        if len(indexes) > EXAMPLES:
            indexes = np.partition(indexes, EXAMPLES)[:EXAMPLES]
        self._examples[number] = np.sort(indexes)

    def leave_out(self, requesters: Array) -> bool:
        """Take the errors of some requesters out; return whether those of the others are still there.

        Where requesters are not kept, it is not known which errors are theirs: all are taken out.
        """
        keys, _, first = self._sums.rows()
        if not len(keys) or not len(requesters):
            return True
        if self._sums.is_full:
            self._sums.keep(np.zeros(len(keys), dtype=np.bool_))
            self._examples = {}
            return False
        kept = ~np.isin(keys & _ID_MASK, requesters)
        if not kept.all():
            self._sums.keep(kept)
            # Of the examples it is not kept whose they are.
            numbers, first = keys[kept] >> ID_BITS, first[kept]
            self._examples = {number: np.sort(first[numbers == number])[:EXAMPLES] for number in np.unique(numbers).tolist()}
        return True

    def merge(self, later: ErrorSums) -> None:
        """Add the errors behind."""
        self._sums.merge(later._sums)
        for number, indexes in later._examples.items():
            self._see(number, indexes)

    def of(self, code: str) -> list[tuple[int, int, int]]:
        """Return (requester, errors, number of the first one) of a kind, most errors first."""
        keys, counts, first = self._sums.rows()
        rows = np.flatnonzero(keys >> ID_BITS == CODES.index(code))
        errors = zip((keys[rows] & _ID_MASK).tolist(), counts[rows].tolist(), first[rows].tolist(), strict=True)
        return sorted(errors, key=lambda row: (-row[1], row[0]))

    def examples(self, code: str) -> list[int]:
        """Return the numbers of the first errors of a kind."""
        examples = self._examples.get(CODES.index(code))
        return [] if examples is None else [int(index) for index in examples]


def of_no_requester(keys: Array) -> Array:
    """Return keys that end with a requester without it."""
    return keys >> ID_BITS << ID_BITS | NO_REQUESTER
