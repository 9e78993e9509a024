"""One column of a row group as the pages of a Parquet column chunk.

Source: the Apache Parquet format, "Encodings" and "File format". The values decide the encoding: RLE_DICTIONARY if they are few or small
(indexes of 1, 4, 8 or 16 bits; those of 8 and 16 bits are a numpy array as it stands), DELTA_BINARY_PACKED for numbers that are evenly
spaced or close to one another, DELTA_LENGTH_BYTE_ARRAY for byte strings, PLAIN for the rest. Definition levels are one bit a row, or one
run. Pages are compressed with zstd.
"""

from __future__ import annotations

import struct
import threading
from dataclasses import dataclass
from functools import lru_cache
from pickle import PickleBuffer
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
import zstandard

from ptttool.parquet import encodings, thrift
from ptttool.parquet.encodings import DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, PLAIN, RLE, RLE_DICTIONARY, Array, Mask
from ptttool.parquet.schema import Column

ZSTD = 6
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_LEVEL = 1

# Up to this number, a dictionary of all smaller numbers pays, although it may be longer than needed: the numbers are their own indexes.
_SMALL_NUMBERS = 1 << 12
# Greatest width of differences, in bits, that compress better than the numbers themselves, by the size of a number in bytes.
_NEAR = {4: 24, 8: 32}


@dataclass(frozen=True)
class Strings:
    """Byte strings of any length.

    Parameters
    ----------
    data : ndarray of uint8
        The bytes of all strings.
    start, length : ndarray of int64, shape (n,)
        String i is ``data[start[i] : start[i] + length[i]]``.
    """

    data: Array
    start: Array
    length: Array

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Texts:
    """Texts of which there are few different ones.

    Parameters
    ----------
    codes : ndarray of uint8 or uint16, shape (n,)
        Position of each text in `texts`.
    texts : tuple of str
        The different texts.
    """

    codes: Array
    texts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)


class Cells(NamedTuple):
    """The values of one column in one row group.

    Parameters
    ----------
    present : ndarray, range, Texts, Strings or None
        The values of the rows that are not null, in order: numbers of the column's dtype (codes for an enum; a range if they are evenly
        spaced), Texts for text, Strings for bytes. None: all rows are null.
    levels : bytes or None
        Which rows are not null, from :func:`levels_of`; None: all of them (or none, if `present` is None).
    """

    present: Array | range | Texts | Strings | None
    levels: bytes | None = None


ABSENT = Cells(None)


@dataclass(frozen=True)
class Chunk:
    """One column of one row group.

    A chunk that is pickled with protocol 5 hands out its data as an out-of-band buffer.

    Parameters
    ----------
    data : bytes or memoryview
        The pages.
    dictionary_size : int
        Size of the first page in bytes; 0 without a dictionary.
    encodings : tuple of int
        The encodings that occur, by their numbers in the format.
    plain_size : int
        Size before compression in bytes.
    values, nulls : int
        Number of rows, and of rows that are null.
    smallest, largest : bytes or None
        Minimum and maximum of the values, PLAIN encoded; None: not known.
    """

    data: bytes | memoryview
    dictionary_size: int
    encodings: tuple[int, ...]
    plain_size: int
    values: int
    nulls: int
    smallest: bytes | None = None
    largest: bytes | None = None

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        data = PickleBuffer(self.data) if int(protocol) >= 5 else bytes(self.data)
        rest = self.dictionary_size, self.encodings, self.plain_size, self.values, self.nulls, self.smallest, self.largest
        return Chunk, (data, *rest)


class _Encoded(NamedTuple):
    """Values of a page; `dictionary` is the number of entries of the dictionary and its page, if there is one."""

    encoding: int
    body: bytes
    smallest: bytes | None = None
    largest: bytes | None = None
    dictionary: tuple[int, bytes] | None = None


def chunk_of(column: Column, cells: Cells, rows: int) -> Chunk:
    """Encode one column of a row group.

    Parameters
    ----------
    column : Column
        The column.
    cells : Cells
        Its values.
    rows : int
        Number of rows of the row group, nulls included.
    """
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
    """Return a chunk of nulls, which is the same for any column."""
    page, size = _page(_DATA_PAGE, _one_run(rows, False), rows, PLAIN)
    return Chunk(page, 0, (PLAIN, RLE), size, rows, rows)


def levels_of(valid: Mask) -> bytes:
    """Encode a validity mask of shape (rows,) as definition levels. Columns with the same nulls can share the result."""
    runs = thrift.varint(-(-len(valid) // 8) << 1 | 1) + encodings.bits(valid)
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
    """Return the dictionary page of texts."""
    return b"".join(struct.pack("<I", len(raw)) + raw for raw in (text.encode(errors="replace") for text in texts))


@lru_cache(maxsize=64)
def _dictionary_page(count: int, entries: bytes) -> tuple[bytes, int]:
    return _page(_DICTIONARY_PAGE, entries, count, PLAIN)


class _Local(threading.local):
    """A compressor for each thread: it must not be used by two at once, and a new one for each page costs 15 µs."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(level=_LEVEL)


_local = _Local()


def _page(kind: int, data: bytes, values: int, encoding: int) -> tuple[bytes, int]:
    """Return a page with its header, and the size of both before compression."""
    packed = _local.compressor.compress(data)
    if kind == _DICTIONARY_PAGE:
        described = {7: thrift.struct({1: thrift.i32(values), 2: thrift.i32(encoding)})}
    else:
        rle = thrift.i32(RLE)
        described = {5: thrift.struct({1: thrift.i32(values), 2: thrift.i32(encoding), 3: rle, 4: rle})}
    head = thrift.struct({1: thrift.i32(kind), 2: thrift.i32(len(data)), 3: thrift.i32(len(packed)), **described})[1]
    return head + packed, len(head) + len(data)
