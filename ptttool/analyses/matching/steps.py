"""What matching looks at in a TLP: its key, and one 32-bit word that says what it asks for or answers.

The rules are those of the PCIe base specification 6.x, sections 2.2.9 and 2.3.1.1 (completions).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.table.batch import Batch
from ptttool.tlp.columns import KINDS, STATUSES

Array = npt.NDArray[Any]

STEP_COLUMNS: Final = (
    "index", "kind", "requester", "tag", "segment", "length_dw", "requested_bytes", "status", "byte_count", "lower_address",
)  # fmt: skip
"""The columns that matching reads, besides those of the clock."""

# The word of a step. Requests: the most bytes that completions can bring in bits 12:0, the bytes that they have to bring in bits 25:13.
# Completions: their bytes of the request in bits 12:0, Byte Count in bits 25:13; both 0 where they bring no data.
SIZE_BITS: Final = 13
SIZE_MASK: Final = (1 << SIZE_BITS) - 1
ENDS: Final = 1 << 26  # a completion that ends its request
REQUEST: Final = 1 << 28
COMPLETION: Final = 1 << 29
MARK: Final = 0
"""A step that only says that a request with this key stands here; it is matched elsewhere, or has ended."""

# Bits of the key: tag, Requester ID, segment.
TAG_BITS: Final = 16
REQUESTER_SHIFT: Final = TAG_BITS
SEGMENT_SHIFT: Final = 32

_READS = ("MRd", "MRdLk", "IORd", "CfgRd0", "CfgRd1", "TCfgRd")
_FIXED = ("IORd", "IOWr", "CfgRd0", "CfgWr0", "CfgRd1", "CfgWr1", "TCfgRd")
_ATOMICS = ("FetchAdd", "Swap", "CAS")
_WRITES = ("IOWr", "CfgWr0", "CfgWr1", "DMWr")
_WITH_DATA = ("CplD", "CplDLk")
# Byte Count of the completions of I/O and configuration reads, whatever their byte enables.
_FIXED_BYTES = 4
_COMPLETIONS = ("Cpl", "CplD", "CplLk", "CplDLk")

_IS_FIXED, _IS_WRITE, _HAS_DATA, _IS_COMPLETION, _IS_REQUEST = (1 << bit for bit in range(5))
# From here on a role is one of a step; from _IS_REQUEST on, that of a request.
_IS_STEP = _IS_COMPLETION


def _role(kind: str) -> int:
    return (
        _IS_REQUEST * (kind in (*_READS, *_ATOMICS, *_WRITES))
        | _IS_COMPLETION * (kind in _COMPLETIONS)
        | _IS_FIXED * (kind in _FIXED)
        | _IS_WRITE * (kind in _WRITES)
        | _HAS_DATA * (kind in _WITH_DATA)
    )


ROLES: Final[Array] = np.array([_role(kind) for kind in KINDS], dtype=np.uint8)
SUCCESS: Final = STATUSES.index("SC")


class Steps:
    """The steps of a batch; arrays have an entry for each row of the batch.

    Attributes
    ----------
    rows : ndarray of intp, shape (m,)
        The rows that are requests with an answer, or completions.
    key : ndarray of uint64, shape (m,)
        Their keys.
    word : ndarray of int32, shape (n,)
        The words; 0 for all other rows.
    requested : ndarray of int32, shape (n,)
        Bytes asked for, of requests.
    """

    def __init__(self, batch: Batch) -> None:
        kinds: Any = batch.values("kind").array
        roles = ROLES.take(kinds, mode="clip") if kinds is not None else np.zeros(batch.size, dtype=np.uint8)
        # Masks are compared to bool before their rows are listed: numpy does that several times as fast as with numbers.
        self.rows = np.flatnonzero(roles >= _IS_STEP)
        self.word: Array = np.zeros(batch.size, dtype=np.int32)
        self.requested: Array = np.zeros(batch.size, dtype=np.int32)
        self.key = _keys(batch, self.rows)
        roles = roles.take(self.rows)
        is_request = roles >= _IS_REQUEST
        lengths: Any = batch.values("length_dw").array
        for which, add in ((is_request, self._add_requests), (~is_request, self._add_completions)):
            chosen = np.flatnonzero(which)
            if len(chosen):
                rows = self.rows.take(chosen)
                add(batch, rows, roles.take(chosen), lengths.take(rows).astype(np.int32) << 2)

    def _add_requests(self, batch: Batch, rows: Array, roles: Array, limit: Array) -> None:
        sizes: Any = batch.values("requested_bytes").array
        asked = sizes.take(rows).astype(np.int32)
        self.requested[rows] = asked
        expected = np.maximum(asked, 1)  # the completion of a zero-length read has Byte Count 1
        if int(np.bitwise_or.reduce(roles)) & (_IS_FIXED | _IS_WRITE):
            is_fixed = np.flatnonzero((roles & _IS_FIXED) != 0)
            limit[is_fixed] = expected[is_fixed] = _FIXED_BYTES
            expected[np.flatnonzero((roles & _IS_WRITE) != 0)] = 0
        self.word[rows] = limit | expected << SIZE_BITS | REQUEST

    def _add_completions(self, batch: Batch, rows: Array, roles: Array, room: Array) -> None:
        counts: Any = batch.values("byte_count").array
        lower: Any = batch.values("lower_address").array
        status: Any = batch.values("status").array
        count = counts.take(rows).astype(np.int32)
        room -= lower.take(rows) & 3
        word = np.minimum(count, room) | count << SIZE_BITS
        word |= (count <= room).astype(np.int32) * ENDS
        is_plain = (roles & _HAS_DATA == 0) | (status.take(rows) != SUCCESS)
        if is_plain.any():
            word[np.flatnonzero(is_plain)] = ENDS
        word |= COMPLETION
        self.word[rows] = word


def _keys(batch: Batch, rows: Array) -> Array:
    if not len(rows):
        return np.empty(0, dtype=np.uint64)
    requesters: Any = batch.values("requester").array
    tags: Any = batch.values("tag").array
    both = requesters.take(rows).astype(np.uint32)
    both <<= np.uint32(REQUESTER_SHIFT)
    both |= tags.take(rows)
    keys: Array = both.astype(np.uint64)
    segments = batch.values("segment")
    if segments.array is not None:
        part: Array = np.asarray(segments.array).take(rows).astype(np.uint64)
        if segments.valid is not None:
            part *= segments.valid.take(rows)
        keys |= part << np.uint64(SEGMENT_SHIFT)
    return keys
