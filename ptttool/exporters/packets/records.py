"""Rows to the packets of pcapng, whole batches at once.

A packet holds a pseudo-header and the TLP's header: 3 or 4 DWs, in the order of the bytes on the link. The data of TLPs are not
recorded: the packet's original length counts them. The pseudo-header keeps what is not in a header. Its numbers are big-endian, too:

======  ====  ==========================================================================================
offset  size  content
======  ====  ==========================================================================================
0       3     ``PTT``
3       1     version of the pseudo-header: 1
4       1     its length in bytes: 56
5       1     layout of the record, the position in :data:`ptttool.tlp.columns.LAYOUTS`
6       1     direction: 0 unknown, 1 inbound, 2 outbound, 255 none (the record is not a TLP)
7       1     0
8       4     flags: see :class:`Flag`
12      4     bits of header DW 0 that the record does not keep: they are 0 in the header, whatever they were
16      8     number of the TLP in the recording (the column ``index``)
24      8     offset of the record in its AUX stream, in bytes
32      4     CPU whose AUX stream holds the record
36      4     the record's Time field, raw
40      8     ticks since the first record
48      4     the TLP prefix, raw; 0 for none
52      4     DW 3 as recorded, where the header has three DWs
======  ====  ==========================================================================================

The numbers of a recording that has more after version 1 come behind: a reader skips as many bytes as the length says.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntFlag
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptttool.decoders.hisi_ptt.layout import standard_dw0
from ptttool.exporters.contract import SEGMENT, TICKS
from ptttool.exporters.packets.blocks import COMMENT, ENHANCED_PACKET, PACKET_FLAGS, options_of, text_option
from ptttool.table.batch import Batch
from ptttool.table.values import Strings, Texts, spread
from ptttool.tlp.bulk import KNOWN, traits_of
from ptttool.tlp.columns import DIRECTIONS, KINDS, LAYOUTS, STATUSES

Array = NDArray[Any]
Words = NDArray[np.uint32]

MAGIC = b"PTT\x01"
PSEUDO_SIZE = 56
# Bits of header DW 0 that a 4DW record does not keep: Fmt 31, TC 22:20, Attr 18 and 13:12, LN 17, TD 15, EP 14, AT 11:10.
ABSENT_IN_4DW = 0x8076FC00
NO_DIRECTION = 255
# The latest timestamp: readers take them for signed numbers of 64 bits.
_LATEST = (1 << 63) - 1

COLUMNS = (
    "index", "offset", "cpu", "time", "kind", "payload_bytes", "status", "ep", "prefix", "dw0", "dw1", "dw2", "dw3", "layout",
    "direction",
)  # fmt: skip


class Flag(IntFlag):
    """Bits of the pseudo-header's flags."""

    VALID = 1
    """The record is valid: an 8DW record without its check word is not, and has nothing but its DWs."""
    CPU = 2
    """The CPU is known."""
    PREFIX = 4
    """There is a prefix."""
    SO = 8
    """The bit SO of a 4DW record is set."""
    TICKS = 16
    """The ticks are known."""
    BREAK = 32
    """It is not known how much time passed since the packet before: TLPs may be missing, or the Time field went back."""


# Comments on packets: what is odd about a record.
NO_CHECK_WORD = "not a valid record: the check word of 8DW records is missing"
UNKNOWN_CODE = "Fmt and Type are not the code of a TLP"
POISONED = "EP is set: the data are poisoned"
BREAK = "it is not known how much time passed before this TLP: others may be missing here"
REMARKS = ("", NO_CHECK_WORD, UNKNOWN_CODE, BREAK, POISONED, *(f"completion with status {status}" for status in STATUSES[1:]))
_COMMENTS: tuple[Array, ...] = tuple(
    np.frombuffer(options_of([text_option(COMMENT, text)])[:-4] if text else b"", dtype="<u4") for text in REMARKS
)
_COMMENT_WORDS = np.array([len(words) for words in _COMMENTS])

# Words of a packet block. The block's head, the pseudo-header, the header; its fourth DW, options and the length again are behind.
_HEAD, _PSEUDO = 7, PSEUDO_SIZE // 4
_DW0 = _HEAD + _PSEUDO
_FIXED = _DW0 + 4
_DIRECTIONS = np.array([("unknown", "inbound", "outbound").index(name) for name in DIRECTIONS], dtype=np.uint32)
_UNKNOWN = KINDS.index("Unknown")
_IS_8DW = np.array([name.startswith("8dw") for name in LAYOUTS])


def packets(batch: Batch, number: int, before: int = 0, unit: int = 1, last_comment: Sequence[str] = ()) -> bytes:
    """Return the packet blocks of rows.

    Parameters
    ----------
    batch : Batch
        Rows with :data:`COLUMNS` and :data:`~ptttool.exporters.contract.TIME_COLUMNS`.
    number : int
        Number of the interface.
    before : int
        Segment of the row before.
    unit : int
        Units of the interface's timestamps in a tick.
    last_comment : sequence of str
        Further comments on the last packet.
    """
    size = batch.size
    if not size:
        return b""
    codes = _numbers(batch, "layout").astype(np.intp)
    eight = _IS_8DW[codes]
    recorded = _numbers(batch, "dw0").astype(np.uint32)
    valid = _present(batch, "time")
    dw0 = np.where(eight, recorded, standard_dw0(recorded))
    is_known = (traits_of(dw0) & KNOWN != 0) & valid
    short = is_known & (dw0 & 0x20000000 == 0)  # Fmt bit 0: the header has three DWs
    flags, direction = _flags(batch, valid)
    segments = _numbers(batch, SEGMENT.name).astype(np.int64)
    breaks = np.diff(segments, prepend=before) != 0
    flags |= breaks * np.uint32(Flag.BREAK)
    ticks = _numbers(batch, TICKS.name).astype(np.uint64)
    flags |= (~eight & (recorded >> np.uint32(21) & 1 == 1)) * np.uint32(Flag.SO)  # also of records of no known kind
    remarks = _remarks(batch, valid, breaks)

    comment_words = _COMMENT_WORDS[remarks]
    most_comment = int(comment_words.max())
    has_direction = bool(((direction == 1) | (direction == 2)).any())
    tail = _FIXED + 2 * has_direction  # where comments begin
    has_options = has_direction or most_comment > 0
    width = tail + most_comment + has_options + 1
    words: Words = np.zeros((size, width), dtype="<u4")

    lengths = 4 * (width - most_comment + comment_words - short)
    options = np.zeros(size, dtype=bool)
    if has_options:
        options = (comment_words > 0) | has_direction
        lengths -= 4 * ~options
    captured = np.where(short, PSEUDO_SIZE + 12, PSEUDO_SIZE + 16)
    words[:, 0] = ENHANCED_PACKET
    words[:, 1] = lengths
    words[:, 2] = number
    timestamps = np.minimum(ticks, np.uint64(_LATEST // unit)) * np.uint64(unit)
    words[:, 3] = timestamps >> np.uint64(32)
    words[:, 4] = timestamps & np.uint64(0xFFFFFFFF)
    words[:, 5] = captured
    words[:, 6] = captured + _numbers(batch, "payload_bytes")

    pseudo = words[:, _HEAD:_DW0]
    pseudo[:, 0] = int.from_bytes(MAGIC, "big")
    pseudo[:, 1] = PSEUDO_SIZE << 24 | codes << 16 | direction << 8
    pseudo[:, 2] = flags
    pseudo[:, 3] = np.where(eight, 0, ABSENT_IN_4DW)
    _put64(pseudo, 4, _numbers(batch, "index"))
    _put64(pseudo, 6, _numbers(batch, "offset"))
    pseudo[:, 8] = _numbers(batch, "cpu").astype(np.int64) & 0xFFFFFFFF
    pseudo[:, 9] = _numbers(batch, "time")
    _put64(pseudo, 10, ticks)
    pseudo[:, 12] = _numbers(batch, "prefix")
    dw3 = _numbers(batch, "dw3").astype(np.uint32)
    pseudo[:, 13] = np.where(short, dw3, 0)
    words[:, _DW0] = dw0
    words[:, _DW0 + 1] = _numbers(batch, "dw1")
    words[:, _DW0 + 2] = _numbers(batch, "dw2")
    words[:, _DW0 + 3] = dw3
    words[:, _HEAD:_FIXED].byteswap(inplace=True)

    if has_direction:
        words[:, _FIXED] = PACKET_FLAGS | 4 << 16
        words[:, _FIXED + 1] = np.where((direction == 1) | (direction == 2), direction, 0)
    for remark in np.unique(remarks[remarks > 0]).tolist():
        words[remarks == remark, tail : tail + len(_COMMENTS[remark])] = _COMMENTS[remark]
    words[:, -1] = lengths

    if last_comment:
        return _used(words[:-1], short[:-1], comment_words[:-1], options[:-1], tail, has_options) + _commented(
            _used(words[-1:], short[-1:], comment_words[-1:], options[-1:], tail, has_options), bool(options[-1]), last_comment
        )
    return _used(words, short, comment_words, options, tail, has_options)


def _used(words: Words, short: Array, comment_words: Array, options: Array, tail: int, has_options: bool) -> bytes:
    """Return the words without those that a packet does not have."""
    if not short.any() and not has_options:
        return words.tobytes()
    used = np.ones(words.shape, dtype=bool)
    used[:, _FIXED - 1] = ~short
    comments = words.shape[1] - tail - has_options - 1
    if comments:
        used[:, tail : tail + comments] = np.arange(comments) < comment_words[:, np.newaxis]
    if has_options:
        used[:, -2] = options
    return words[used].tobytes()


def _commented(block: bytes, has_options: bool, comments: Sequence[str]) -> bytes:
    """Return a packet block with more comments at its end."""
    more = options_of(text_option(COMMENT, text) for text in comments)
    content = block[8 : -8 if has_options else -4] + more
    length = (len(content) + 12).to_bytes(4, "little")
    return block[:4] + length + content + length


def _flags(batch: Batch, valid: Array) -> tuple[Array, Array]:
    """Return the flags and the directions."""
    flags = valid * np.uint32(Flag.VALID)
    flags |= _present(batch, "cpu") * np.uint32(Flag.CPU)
    flags |= _present(batch, "prefix") * np.uint32(Flag.PREFIX)
    flags |= _present(batch, TICKS.name) * np.uint32(Flag.TICKS)
    directions = _DIRECTIONS[_numbers(batch, "direction").astype(np.intp)]
    return flags, np.where(_present(batch, "direction"), directions, NO_DIRECTION)


def _remarks(batch: Batch, valid: Array, breaks: Array) -> Array:
    """Return which of :data:`REMARKS` each packet has as comment."""
    status = _numbers(batch, "status")
    remarks = np.where(status > 0, REMARKS.index(POISONED) + status, 0).astype(np.intp)
    remarks[_numbers(batch, "ep") == 1] = REMARKS.index(POISONED)
    remarks[breaks] = REMARKS.index(BREAK)
    remarks[_numbers(batch, "kind") == _UNKNOWN] = REMARKS.index(UNKNOWN_CODE)
    remarks[~valid] = REMARKS.index(NO_CHECK_WORD)
    return remarks


def _present(batch: Batch, name: str) -> Array:
    mask = batch.values(name).mask(batch.size)
    return np.ones(batch.size, dtype=bool) if mask is None else mask


def _numbers(batch: Batch, name: str) -> Array:
    """Return the values of a column, 0 where a row has none."""
    values = batch.values(name).dense(batch.size)
    array = values.array
    if array is None:
        return np.zeros(batch.size, dtype=np.uint8)
    assert not isinstance(array, (Strings, Texts)), "columns of numbers"
    numbers = spread(array) if isinstance(array, range) else array
    return numbers if values.valid is None else np.where(values.valid, numbers, numbers.dtype.type(0))


def _put64(words: Words, at: int, numbers: Array) -> None:
    """Write 64-bit numbers, the high word first."""
    wide = numbers.astype(np.uint64)
    words[:, at] = wide >> np.uint64(32)
    words[:, at + 1] = wide & np.uint64(0xFFFFFFFF)
