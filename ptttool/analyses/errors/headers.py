"""Errors that a header shows by itself (PCIe base specification 6.x, sections 2.2.5, 2.2.7 to 2.2.9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.table.batch import Batch
from ptttool.table.values import Values
from ptttool.tlp.columns import KINDS, STATUSES

Array = npt.NDArray[Any]

COLUMNS: Final = (
    "index", "kind", "requester", "status", "message", "ep", "attr", "tc", "first_be", "last_be", "length_dw", "address",
)  # fmt: skip
"""The columns that are looked at."""

_STATUS_CODES: Final = {"UR": "completion-ur", "CA": "completion-ca", "RRS": "completion-rrs", "reserved": "completion-reserved"}
_MESSAGE_CODES: Final = {0x30: "message-err-cor", 0x31: "message-err-nonfatal", 0x33: "message-err-fatal"}
_PAGE: Final = 4096


def _of(*kinds: str) -> Array:
    return np.array([kind in kinds for kind in KINDS], dtype=np.bool_)


_IS_MEMORY = _of("MRd", "MRdLk", "MWr", "DMWr")
_IS_FIXED = _of("IORd", "IOWr", "CfgRd0", "CfgWr0", "CfgRd1", "CfgWr1", "TCfgRd")
_IS_ATOMIC = _of("FetchAdd", "Swap", "CAS")
_IS_UNKNOWN = _of("Unknown")
_CAS = KINDS.index("CAS")
_ATOMIC_LENGTHS: Final = (1, 2)
_CAS_LENGTHS: Final = (2, 4, 8)
# Enabled bytes without a gap: up to the end of the first DW, and from the start of the last one.
_TO_END, _FROM_START = (0x8, 0xC, 0xE, 0xF), (0x1, 0x3, 0x7, 0xF)
_ONE, _ANY_GAP, _NO_GAP = range(3)


def _is_illegal(shape: int, last: int, first: int) -> bool:
    if shape == _ONE:
        return last != 0
    if not first or not last:
        return True
    return shape == _NO_GAP and (first not in _TO_END or last not in _FROM_START)


# By shape << 8 | Last BE << 4 | First BE. Two DWs may have gaps where they are one aligned QW.
_ILLEGAL: Array = np.array([_is_illegal(index >> 8, index >> 4 & 0xF, index & 0xF) for index in range(3 << 8)], dtype=np.bool_)


def header_errors(batch: Batch) -> Iterator[tuple[str, Array]]:
    """Yield the errors of TLPs.

    Parameters
    ----------
    batch : Batch
        TLPs with the columns of :data:`COLUMNS`.

    Yields
    ------
    code : str
        Code of the kind of error.
    rows : ndarray of intp
        The rows that have it, ascending; none for many codes.
    """
    kinds: Any = batch.values("kind").array
    if kinds is None:
        return
    bits = int(np.bitwise_or.reduce(np.uint32(1) << kinds, initial=0))
    present = np.array([bits >> number & 1 for number in range(len(KINDS))], dtype=np.bool_)
    if (present & _IS_UNKNOWN).any():
        yield "unknown-tlp", np.flatnonzero(kinds == KINDS.index("Unknown"))
    failed = _nonzero(batch.values("status"))
    if len(failed):
        statuses: Any = np.asarray(batch.values("status").array)[failed]
        for number, name in enumerate(STATUSES):
            if name in _STATUS_CODES:
                yield _STATUS_CODES[name], failed[statuses == number]
    yield "poisoned", _nonzero(batch.values("ep"))
    message = batch.values("message")
    if message.array is not None:
        codes: Any = message.array
        for number, code in _MESSAGE_CODES.items():
            is_error = codes == number
            if is_error.any():
                yield code, np.flatnonzero(is_error if message.valid is None else is_error & message.valid)
    lengths: Any = batch.values("length_dw").array
    yield "byte-enables", _bad_enables(batch, kinds, lengths, present)
    yield "length", _bad_lengths(kinds, lengths, present)
    if (present & _IS_MEMORY).any():
        yield "crosses-4k", _crossing(batch, kinds, lengths)
    if (present & _IS_FIXED).any():
        rows = np.union1d(_nonzero(batch.values("attr")), _nonzero(batch.values("tc")))
        yield "attributes", rows[_IS_FIXED[kinds[rows]]]


def _nonzero(values: Values) -> Array:
    """Return the rows with a value that is not 0."""
    array: Any = values.array
    if array is None:
        return np.empty(0, dtype=np.intp)
    rows = np.flatnonzero(array != 0)  # of a mask: numpy lists its rows several times as fast as those of numbers
    return rows if values.valid is None or not len(rows) else rows[values.valid[rows]]


def _bad_enables(batch: Batch, kinds: Array, lengths: Array, present: Array) -> Array:
    first, last = batch.values("first_be"), batch.values("last_be")
    if first.array is None:
        return np.empty(0, dtype=np.intp)
    ones: Any = first.array
    others: Any = last.array
    index = ones.astype(np.uint16)
    index |= others.astype(np.uint16) << 4
    index |= (lengths != 1) * np.uint16(_NO_GAP << 8)  # else _ONE, which is 0
    bad = _ILLEGAL.take(index)
    if first.valid is not None:
        bad &= first.valid
    rows = np.flatnonzero(bad)
    # Few are left: two DWs at an address that is a multiple of 8 may have gaps.
    address: Any = batch.values("address").array
    if len(rows) and address is not None and (present & _IS_MEMORY).any():
        is_pair = (lengths[rows] == 2) & (np.asarray(address)[rows] & np.uint64(4) == 0) & _IS_MEMORY[kinds[rows]]
        rows = rows[~is_pair | _ILLEGAL[_ANY_GAP << 8 | index[rows] & 0xFF]]
    return rows


def _bad_lengths(kinds: Array, lengths: Array, present: Array) -> Array:
    if not (present & (_IS_FIXED | _IS_ATOMIC)).any():
        return np.empty(0, dtype=np.intp)
    rows = np.flatnonzero((_IS_FIXED | _IS_ATOMIC)[kinds])
    kinds, lengths = kinds[rows], lengths[rows]
    is_bad = np.where(
        _IS_FIXED[kinds],
        lengths != 1,
        np.where(kinds == _CAS, ~np.isin(lengths, _CAS_LENGTHS), ~np.isin(lengths, _ATOMIC_LENGTHS)),
    )
    return rows[is_bad]


def _crossing(batch: Batch, kinds: Array, lengths: Array) -> Array:
    address: Any = batch.values("address").array
    ends = address.astype(np.uint16) & np.uint16(_PAGE - 1)
    ends += lengths.astype(np.uint16) << 2
    rows = np.flatnonzero(ends > _PAGE)
    return rows[_IS_MEMORY[kinds[rows]]]
