"""Transactions: requests that have ended, and completions whose request was not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from ptttool.table.values import Values

Array = npt.NDArray[Any]


class Ending(IntEnum):
    """How a request ended."""

    COMPLETE = 0
    """All bytes that were asked for came, or the one completion of a write."""
    ERROR = 1
    """A completion with another status than Successful Completion."""
    SHORT = 2
    """There was a completion, but not all bytes were seen: a completion is missing, or an answer came without data."""
    INSIDE = 3
    """No completion, and the tag was used again, or records are missing behind the request."""
    END = 4
    """Open when its AUX stream ended; some completions may have come."""


@dataclass(frozen=True)
class Transactions:
    """Requests that have ended. All arrays have shape (n,).

    Parameters
    ----------
    request, first, last : ndarray of uint64
        Numbers of the TLPs in the recording: of the request, its first and its last completion; without one, of the request.
    requester, tag : ndarray of uint16
        Requester ID, and tag with all its bits.
    kind : ndarray of uint8
        Code of the request's kind, index in :data:`ptttool.tlp.columns.KINDS`.
    requested : ndarray of int64
        Bytes asked for: those of a read, the operand of an atomic, or those that a write carries.
    received : ndarray of int64
        Bytes that completions brought.
    completions : ndarray of int64
        Number of completions.
    status : ndarray of uint8
        Code of the last completion's status, index in :data:`ptttool.tlp.columns.STATUSES`; 0 without completions.
    ending : ndarray of uint8
        :class:`Ending`.
    is_cut : ndarray of bool
        Whether it was open where records are missing, or where its AUX stream ended.
    has_end : ndarray of bool
        Whether a completion ended it.
    at : ndarray of int64
        Ticks from the first row of this part of the recording to the request; -1 without a model of time.
    to_first, to_last : ndarray of int64
        Ticks from the request to its first completion, and to the one that ends it; -1 where there is none or it is not known.
    extra : Mapping[str, Values]
        Values of further columns of the request.
    """

    request: Array
    first: Array
    last: Array
    requester: Array
    tag: Array
    kind: Array
    requested: Array
    received: Array
    completions: Array
    status: Array
    ending: Array
    is_cut: Array
    has_end: Array
    at: Array
    to_first: Array
    to_last: Array
    extra: Mapping[str, Values] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.request)

    def take(self, rows: Array) -> Transactions:
        """Return some of them, chosen by a mask or by positions."""
        arrays = {each.name: getattr(self, each.name)[rows] for each in fields(self) if each.name != "extra"}
        return Transactions(**arrays, extra={name: taken(values, rows) for name, values in self.extra.items()})

    def later_by(self, ticks: int) -> Transactions:
        """Return the same ones as seen from a part that began that many ticks earlier."""
        if not ticks or not len(self) or self.at[0] < 0:
            return self
        return replace(self, at=self.at + ticks)

    def with_extra(self, extra: Mapping[str, Values]) -> Transactions:
        """Return them with values of further columns."""
        return replace(self, extra=extra)


@dataclass(frozen=True)
class Orphans:
    """Completions without an open request, in groups of consecutive ones with the same key. All arrays have shape (n,).

    Parameters
    ----------
    requester, tag : ndarray of uint16
        Requester ID and tag.
    index : ndarray of uint64
        Number of the first completion of each group in the recording.
    count : ndarray of int64
        Number of completions in each group.
    """

    requester: Array
    tag: Array
    index: Array
    count: Array

    def __len__(self) -> int:
        return len(self.index)

    @classmethod
    def none(cls) -> Orphans:
        """Return no completions."""
        return cls(*(np.empty(0, dtype=dtype) for dtype in (np.uint16, np.uint16, np.uint64, np.int64)))


def taken(values: Values, rows: Array) -> Values:
    """Return the values of some rows, chosen by a mask or by positions, dense."""
    array: Any = values.array
    if array is None:
        return values
    if isinstance(array, range):
        array = np.arange(array.start, array.stop, array.step, dtype=np.uint64)
    return Values(array[rows], None if values.valid is None else values.valid[rows])


def joined(first: Values, first_count: int, second: Values, second_count: int) -> Values:
    """Return dense values behind each other."""
    if first_count == 0 or second_count == 0:
        return second if first_count == 0 else first
    one: Any = first.array
    other: Any = second.array
    if one is None and other is None:
        return first
    if one is None:
        one = np.zeros(first_count, dtype=other.dtype)
    if other is None:
        other = np.zeros(second_count, dtype=one.dtype)
    array = np.concatenate((one, other))
    valid = np.concatenate((_mask(first, first_count), _mask(second, second_count)))
    return Values(array, None if valid.all() else valid)


def _mask(values: Values, count: int) -> Array:
    if values.array is None:
        return np.zeros(count, dtype=np.bool_)
    return np.ones(count, dtype=np.bool_) if values.valid is None else values.valid
