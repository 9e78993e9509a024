"""A column of a row group as the pages of a Parquet column chunk.

Source: the Apache Parquet format, "Encodings" and "File format". Encodings by what a column is: RLE_DICTIONARY where values are few or
small (indexes of 1, 4, 8 or 16 bits, of which all but the first are a numpy array as it stands), DELTA_BINARY_PACKED for numbers that are
evenly spaced or near one another, DELTA_LENGTH_BYTE_ARRAY for byte strings, PLAIN for the rest; definition levels are a bit a row, or one
run. Pages are compressed with zstd.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import zstandard

from ptttool.parquet import encodings, thrift
from ptttool.parquet.encodings import DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, PLAIN, RLE, RLE_DICTIONARY
from ptttool.parquet.schema import Column
from ptttool.table.block import Array, Mask

ZSTD = 6
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_LEVEL = 1

# A dictionary of all numbers up to here may be longer than it needs to be: its indexes are the numbers themselves.
_SMALL_NUMBERS = 1 << 12
# By bytes of a number: differences of so many bits take less room than numbers, once they are compressed.
_NEAR = {4: 24, 8: 32}


@dataclass(frozen=True)
class Strings:
    """Byte strings: string i is ``data[start[i] : start[i] + length[i]]`` (u8; i64)."""

    data: Array
    start: Array
    length: Array

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Texts:
    """Texts of a few. ``codes``: u8, places in ``texts``, each of which is there once."""

    codes: Array
    texts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)


class Cells(NamedTuple):
    """What rows have in one column.

    ``present``: the values of the rows that have one, in order: numbers of the column's dtype (of an enum: places in its values; a range
    where they are evenly spaced), Texts for text, Strings for bytes. ``levels``: which rows have one, by :func:`levels_of`; None for all,
    or, where ``present`` is None, for no row.
    """

    present: Array | range | Texts | Strings | None
    levels: bytes | None = None


ABSENT = Cells(None)


@dataclass(frozen=True)
class Chunk:
    """One column of one row group. ``data``: its pages. ``dictionary_size``: bytes of the first page, 0 without a dictionary.
    ``plain_size``: bytes before compression. ``smallest``, ``largest``: of its values, as PLAIN has them; None where that is not told."""

    data: bytes
    dictionary_size: int
    encodings: tuple[int, ...]
    plain_size: int
    values: int
    nulls: int
    smallest: bytes | None = None
    largest: bytes | None = None


class _Encoded(NamedTuple):
    """Values of a page. ``dictionary``: how many entries, and its page, where there is one."""

    encoding: int
    body: bytes
    smallest: bytes | None = None
    largest: bytes | None = None
    dictionary: tuple[int, bytes] | None = None


def chunk_of(column: Column, cells: Cells, rows: int) -> Chunk:
    """A column's pages; ``rows``: of the row group."""
    present, levels = cells
    if present is None or not len(present):
        return _absent(rows)
    encoded = _encoded(column, present)
    pages, size = b"", 0
    if encoded.dictionary is not None:
        pages, size = _dictionary_page(*encoded.dictionary)
    page, page_size = _page(_DATA_PAGE, (_one_run(rows, True) if levels is None else levels) + encoded.body, rows, encoded.encoding)
    used = (encoded.encoding, RLE) if encoded.dictionary is None else (PLAIN, encoded.encoding, RLE)
    return Chunk(pages + page, len(pages), used, size + page_size, rows, rows - len(present), encoded.smallest, encoded.largest)


@lru_cache(maxsize=16)
def _absent(rows: int) -> Chunk:
    """Rows without a value, whatever the column."""
    page, size = _page(_DATA_PAGE, _one_run(rows, False), rows, PLAIN)
    return Chunk(page, 0, (PLAIN, RLE), size, rows, rows)


def levels_of(having: Mask) -> bytes:
    """Definition levels: 1 where a row has a value."""
    runs = thrift.varint(-(-len(having) // 8) << 1 | 1) + encodings.bits(having)
    return struct.pack("<I", len(runs)) + runs


def _one_run(rows: int, present: bool) -> bytes:
    runs = thrift.varint(rows << 1) + (b"\1" if present else b"\0")
    return struct.pack("<I", len(runs)) + runs


def _encoded(column: Column, present: Array | range | Texts | Strings) -> _Encoded:
    if isinstance(present, range):
        smallest, largest = _plain(column, present[0]), _plain(column, present[-1])
        return _Encoded(DELTA_BINARY_PACKED, encodings.even_deltas(present), smallest, largest)
    if isinstance(present, Strings):
        return _Encoded(DELTA_LENGTH_BYTE_ARRAY, encodings.strings(present.data, present.start, present.length))
    if isinstance(present, Texts):
        return _texts(present.codes, present.texts)
    if column.dtype == "enum":
        return _texts(present, column.values)
    if column.dtype == "bool":
        return _Encoded(PLAIN, encodings.bits(present), bytes([bool(present.all())]), bytes([bool(present.any())]))
    return _numbers(column, present)


def _texts(codes: Array, texts: tuple[str, ...]) -> _Encoded:
    used = sorted(texts[code] for code in np.flatnonzero(np.bincount(codes, minlength=len(texts))).tolist())
    body = encodings.indexes(codes, int(codes.max()))
    return _Encoded(RLE_DICTIONARY, body, used[0].encode(), used[-1].encode(), (len(texts), _text_entries(texts)))


def _numbers(column: Column, present: Array) -> _Encoded:
    low, high = int(present.min()), int(present.max())
    smallest, largest = _plain(column, low), _plain(column, high)

    def indexed(indexes: Array, entries: Array | range) -> _Encoded:
        body, page = encodings.indexes(indexes, len(entries) - 1), np.asarray(entries).astype(column.stored).tobytes()
        return _Encoded(RLE_DICTIONARY, body, smallest, largest, (len(entries), page))

    if low == high:
        return indexed(np.zeros(len(present), np.uint8), present[:1])
    if low >= 0 and high < 256:
        return indexed(present.astype(np.uint8, copy=False), range(high + 1))
    if column.near:
        stored = present.astype(column.stored, copy=False)
        body = encodings.deltas(stored, _NEAR[stored.itemsize])
        if body is not None:
            return _Encoded(DELTA_BINARY_PACKED, body, smallest, largest)
    if present.dtype == np.uint16:
        found = np.zeros(1 << 16, dtype=np.bool_)
        found[present] = True
        distinct = np.flatnonzero(found)
        if len(distinct) <= 256:
            index_of = np.zeros(1 << 16, dtype=np.uint8)
            index_of[distinct] = np.arange(len(distinct))
            return indexed(index_of.take(present.astype(np.intp), mode="wrap"), distinct)
    if low >= 0 and high < _SMALL_NUMBERS:
        return indexed(present.astype("<u2", copy=False), range(high + 1))
    return _Encoded(PLAIN, present.astype(column.stored, copy=False).tobytes(), smallest, largest)


def _plain(column: Column, value: int) -> bytes:
    return struct.pack({"<u8": "<Q", "<i8": "<q", "<i4": "<i", "<u4": "<I"}[column.stored], value)


@lru_cache(maxsize=64)
def _text_entries(texts: tuple[str, ...]) -> bytes:
    """The dictionary page of texts."""
    return b"".join(struct.pack("<I", len(raw)) + raw for raw in (text.encode(errors="replace") for text in texts))


@lru_cache(maxsize=64)
def _dictionary_page(count: int, entries: bytes) -> tuple[bytes, int]:
    return _page(_DICTIONARY_PAGE, entries, count, PLAIN)


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
