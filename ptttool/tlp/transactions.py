"""Transactions: requests that have ended, and completions whose request was not seen."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from ptttool.kernel.loops import ENDED, WAITS
from ptttool.kernel.matching import Flows, Found
from ptttool.table.values import ABSENT, Values
from ptttool.tlp.columns import DIRECTIONS

Array = npt.NDArray[Any]

_ENDED: Final = ENDED[: -len(WAITS)]
_LEVEL, _POSTED, _QUIET = (WAITS.index(name) for name in ("level", "posted", "quiet"))
UNKNOWN_DIRECTION: Final = DIRECTIONS.index("unknown")


REQUESTER_BITS: Final = 16
TAG_BITS: Final = 16
_DTYPES: Final[Mapping[str, type[np.generic]]] = {
    **dict.fromkeys(("request", "first", "last"), np.uint64), **dict.fromkeys(("requester", "tag"), np.uint16),
    **dict.fromkeys(("kind", "status", "ending"), np.uint8), **dict.fromkeys(("is_cut", "has_end"), np.bool_),
}  # fmt: skip


ENDING_BITS: Final = 3
ENDING_MASK: Final = (1 << ENDING_BITS) - 1


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


class Transactions(Struct, frozen=True):
    """Requests that have ended. All arrays but `waits` have shape (n,).

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
    waits : ndarray of int64, shape (n, 8)
        What went over the link meanwhile: :data:`ptttool.kernel.loops.WAITS`.
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
    waits: Array
    extra: Mapping[str, Values] = {}

    def __len__(self) -> int:
        return len(self.request)

    @classmethod
    def arrays(cls) -> tuple[str, ...]:
        """Return the names of all arrays."""
        return cls.__struct_fields__[:-1]

    @classmethod
    def of(cls, matches: Found, extra: Mapping[str, Values]) -> Transactions:
        """Return requests as matching has found them, with values of further columns."""
        columns = dict(zip(_ENDED, matches.ended, strict=False))
        key = columns.pop("key")
        columns |= {"requester": key >> TAG_BITS, "tag": key}
        del columns["row"]
        return cls(
            **{name: np.array(column, dtype=_DTYPES.get(name, np.int64)) for name, column in columns.items()},
            waits=matches.ended[len(_ENDED) :].T,
            extra=extra,
        )

    @property
    def directions(self) -> Array:
        """Codes of the requests' directions, positions in :data:`ptttool.tlp.columns.DIRECTIONS`: shape (n,)."""
        values = self.extra.get("direction", ABSENT)
        array: Any = values.array
        if array is None:
            return np.full(len(self), UNKNOWN_DIRECTION)
        return np.asarray(array if values.valid is None else np.where(values.valid, array, UNKNOWN_DIRECTION)).astype(np.intp)

    def keys(self) -> Array:
        """Return direction and Requester ID of each in one number: ndarray of int64, shape (n,)."""
        return direction_keys(self.directions, self.requester)

    def take(self, rows: Array) -> Transactions:
        """Return some of them, chosen by a mask or by positions."""
        arrays = {name: getattr(self, name)[rows] for name in self.arrays()}
        return Transactions(**arrays, extra={name: taken(values, rows) for name, values in self.extra.items()})

    def later_by(self, ticks: int) -> Transactions:
        """Return the same ones as seen from a part that began that many ticks earlier."""
        if not ticks or not len(self) or self.at[0] < 0:
            return self
        return replace(self, at=self.at + ticks)


def behind(waits: Array, flows: Flows, *, is_hole: bool) -> Array:
    """Return :data:`ptttool.kernel.loops.WAITS` as seen from the part in front, over whose link `flows` went."""
    found = np.array(waits)
    found[:, _LEVEL] += flows.level
    found[:, _POSTED] = flows.behind(found[:, _POSTED], is_hole=is_hole)
    found[:, _QUIET] = flows.after(found[:, _QUIET])
    return found


def direction_keys(directions: Array, requesters: Array) -> Array:
    """Return codes of directions and Requester IDs in one number each."""
    keys: Array = directions.astype(np.int64) << REQUESTER_BITS
    keys |= requesters
    return keys


class Orphans(Struct, frozen=True):
    """Completions without an open request, in groups with the same key. All arrays have shape (n,).

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
    def of(cls, rows: Array) -> Orphans:
        """Return completions as matching has found them: :data:`ptttool.kernel.loops.ORPHAN`."""
        key, index, count = rows.T
        return cls((key >> TAG_BITS).astype(np.uint16), key.astype(np.uint16), index.astype(np.uint64), count)


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
