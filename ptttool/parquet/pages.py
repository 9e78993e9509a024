"""A column of a block as the pages of a Parquet column chunk.

Source: the Apache Parquet format, "Encodings" and "File format". Encodings by what a column is: RLE_DICTIONARY where values are few or
small (indexes of 1, 4, 8 or 16 bits, of which all but the first are a numpy array as it stands), DELTA_BINARY_PACKED for evenly spaced
numbers, PLAIN for the rest; definition levels are a bit a row. Pages are compressed with zstd.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache

import numpy as np
import zstandard

from ptttool.block import Array, Values
from ptttool.columns import BY_NAME, ENUMS
from ptttool.parquet import thrift

INT32, INT64, BYTE_ARRAY = 1, 2, 6
PLAIN, RLE, DELTA_BINARY_PACKED, RLE_DICTIONARY = 0, 3, 5, 8
ZSTD = 6
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_LEVEL = 1

# A dictionary of all numbers up to here may be longer than it needs to be: its indexes are the numbers themselves.
_SMALL_NUMBERS = 1 << 12
_DELTAS_IN_BLOCK, _DELTAS_IN_MINIBLOCK = 128, 32


@dataclass(frozen=True)
class Chunk:
    """One column of one row group. ``data``: its pages. ``dictionary_size``: bytes of the first page, 0 without a dictionary.
    ``plain_size``: bytes before compression. ``smallest``, ``largest``: of its values, as PLAIN has them; None without values."""

    data: bytes
    dictionary_size: int
    encodings: tuple[int, ...]
    plain_size: int
    values: int
    nulls: int
    smallest: bytes | None = None
    largest: bytes | None = None


def physical_type(name: str) -> int:
    """How Parquet stores a column."""
    dtype = BY_NAME[name].dtype
    return BYTE_ARRAY if dtype == "enum" else INT64 if dtype == "u64" else INT32


def chunk_of(name: str, values: Values, rows: int) -> Chunk:
    """A column's pages; ``rows``: of the block."""
    levels = _levels(values, rows)
    evenly = isinstance(values.array, range) and values.having is None and values.array.step < 1 << 63
    present: Array | range | None = values.array if evenly else values.present()
    assert present is not None
    count = len(present)
    if not count:
        page, size = _page(_DATA_PAGE, levels, rows, PLAIN)
        return Chunk(page, 0, (PLAIN, RLE), size, rows, rows)
    if isinstance(present, range):
        smallest, largest = _plain(name, present[0]), _plain(name, present[-1])
        encoding, body, dictionary = DELTA_BINARY_PACKED, _even_deltas(present), None
    else:
        smallest, largest, encoding, body, dictionary = _encoded(name, present)
    pages, size = b"", 0
    if dictionary is not None:
        pages, size = _page(_DICTIONARY_PAGE, dictionary[1], dictionary[0], PLAIN)
    page, page_size = _page(_DATA_PAGE, levels + body, rows, encoding)
    encodings = (encoding, RLE) if dictionary is None else (PLAIN, encoding, RLE)
    return Chunk(pages + page, len(pages), encodings, size + page_size, rows, rows - count, smallest, largest)


def _encoded(name: str, present: Array) -> tuple[bytes, bytes, int, bytes, tuple[int, bytes] | None]:
    """Smallest and largest value, encoding, values, and a dictionary (entries, page) where there is one."""
    low, high = int(present.min()), int(present.max())
    if name in ENUMS:
        texts = [ENUMS[name][code] for code in np.flatnonzero(np.bincount(present, minlength=len(ENUMS[name]))).tolist()]
        return min(texts).encode(), max(texts).encode(), RLE_DICTIONARY, _indexes(present, high), _texts(name)
    smallest, largest = _plain(name, low), _plain(name, high)
    if low == high:
        only = np.array([low]).astype(_stored(name))
        return smallest, largest, RLE_DICTIONARY, _indexes(np.zeros(len(present), np.uint8), 0), (1, only.tobytes())
    if low >= 0 and high < 256:
        return smallest, largest, RLE_DICTIONARY, _indexes(present.astype(np.uint8, copy=False), high), _numbers(name, high + 1)
    if present.dtype == np.uint16:
        found = np.zeros(1 << 16, dtype=np.bool_)
        found[present] = True
        distinct = np.flatnonzero(found)
        if len(distinct) <= 256:
            index_of = np.zeros(1 << 16, dtype=np.uint8)
            index_of[distinct] = np.arange(len(distinct))
            indexes = index_of.take(present.astype(np.intp), mode="wrap")
            return (
                smallest,
                largest,
                RLE_DICTIONARY,
                _indexes(indexes, len(distinct) - 1),
                (len(distinct), distinct.astype("<i4").tobytes()),
            )
    if low >= 0 and high < _SMALL_NUMBERS:
        return smallest, largest, RLE_DICTIONARY, _indexes(present.astype("<u2", copy=False), high), _numbers(name, high + 1)
    return smallest, largest, PLAIN, present.astype(_stored(name), copy=False).tobytes(), None


def _stored(name: str) -> str:
    """The dtype of stored numbers: a column's bits in the physical type."""
    return {"u64": "<u8", "i32": "<i4"}.get(BY_NAME[name].dtype, "<u4")


def _plain(name: str, value: int) -> bytes:
    return struct.pack({"<u8": "<Q", "<i4": "<i", "<u4": "<I"}[_stored(name)], value)


@cache
def _texts(name: str) -> tuple[int, bytes]:
    """The dictionary page of an enum."""
    return len(ENUMS[name]), b"".join(struct.pack("<I", len(text)) + text.encode() for text in ENUMS[name])


def _numbers(name: str, count: int) -> tuple[int, bytes]:
    """The dictionary page of all numbers below ``count``."""
    return count, np.arange(count).astype(_stored(name)).tobytes()


def _indexes(indexes: Array, largest: int) -> bytes:
    """Indexes of a dictionary, unsigned numbers of 8 or 16 bits: the bit width, then runs (here always one)."""
    count = len(indexes)
    if largest == 0:
        return b"\x01" + thrift.varint(count << 1) + b"\0"
    groups = -(-count // 8)
    head = thrift.varint(groups << 1 | 1)
    if largest == 1:
        return b"\x01" + head + np.packbits(indexes, bitorder="little").tobytes()
    if largest < 16:
        padded = np.zeros(8 * groups, dtype=np.uint8)
        padded[:count] = indexes
        return b"\x04" + head + (padded[::2] | padded[1::2] << 4).tobytes()
    width = 8 * indexes.itemsize
    return bytes([width]) + head + indexes.tobytes() + bytes((8 * groups - count) * indexes.itemsize)


def _even_deltas(numbers: range) -> bytes:
    """Evenly spaced numbers: every delta is the smallest one, so no block has bits beyond it."""
    miniblocks = _DELTAS_IN_BLOCK // _DELTAS_IN_MINIBLOCK
    head = thrift.varint(_DELTAS_IN_BLOCK) + thrift.varint(miniblocks) + thrift.varint(len(numbers))
    # As 64-bit numbers with a sign, which is how the format counts.
    first = numbers[0] - (1 << 64) if numbers[0] >> 63 else numbers[0]
    blocks = -(-(len(numbers) - 1) // _DELTAS_IN_BLOCK)
    return head + thrift.zigzag(first) + (thrift.zigzag(numbers.step) + bytes(miniblocks)) * blocks


def _levels(values: Values, rows: int) -> bytes:
    """Definition levels: 1 where a row has a value."""
    if values.array is None or values.having is None:
        runs = thrift.varint(rows << 1) + (b"\0" if values.array is None else b"\1")
    else:
        runs = thrift.varint(-(-rows // 8) << 1 | 1) + np.packbits(values.having, bitorder="little").tobytes()
    return struct.pack("<I", len(runs)) + runs


_compressor: zstandard.ZstdCompressor | None = None


def _page(kind: int, data: bytes, values: int, encoding: int) -> tuple[bytes, int]:
    """A page with its header, and the size of both before compression."""
    global _compressor
    if _compressor is None:
        _compressor = zstandard.ZstdCompressor(level=_LEVEL)
    packed = _compressor.compress(data)
    if kind == _DICTIONARY_PAGE:
        described = {7: thrift.struct({1: thrift.i32(values), 2: thrift.i32(encoding)})}
    else:
        rle = thrift.i32(RLE)
        described = {5: thrift.struct({1: thrift.i32(values), 2: thrift.i32(encoding), 3: rle, 4: rle})}
    head = thrift.struct({1: thrift.i32(kind), 2: thrift.i32(len(data)), 3: thrift.i32(len(packed)), **described})[1]
    return head + packed, len(head) + len(data)
