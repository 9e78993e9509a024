"""Rows as lines of text, for CSV and JSON lines.

The loop over the cells is :mod:`ptttool.kernel.lines`; where it is not compiled, polars writes the same, at a third of the speed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ptttool.kernel import is_compiled
from ptttool.kernel.lines import COLUMN, CSV_TEXT, DIGITS, HEX, JSON_TEXT, LISTED, LONGEST, LONGEST_BYTE, SIGNED, UNSIGNED, write_rows
from ptttool.pci import format_id
from ptttool.table.batch import Batch
from ptttool.table.schema import Column, DType, Schema, Style
from ptttool.table.values import Array, Strings, Texts, Values, spread

LineEncoder: TypeAlias = Callable[[Batch], bytes | bytearray]

# Rows that are laid out at a time: their cells stay in the processor's cache. No power of two: columns would meet in it.
_STEP = 4000
_FORMS = {DType.I32: SIGNED, DType.I64: SIGNED, DType.ENUM: LISTED, DType.BOOL: LISTED, DType.BYTES: DIGITS}


class _Cells(NamedTuple):
    """The cells of a column: numbers, which rows have one, bytes of texts, and the texts."""

    numbers: Array
    valid: Array | None
    lengths: Array | None = None
    data: Array | None = None


class _Listed:
    """Texts by number: their bytes, and where they are."""

    def __init__(self) -> None:
        self.bytes = bytearray()
        self._places: list[Array] = []
        self._count = 0

    def add(self, *texts: bytes) -> int:
        """List texts; return the number of the first."""
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        places = np.column_stack((len(self.bytes) + np.cumsum(lengths) - lengths, lengths))
        self.bytes += b"".join(texts)
        return self._add(places)

    def add_ids(self, names: Iterable[tuple[int, str]], text_of: Callable[[str], bytes], quote: bytes) -> int:
        """List every 16-bit ID as ``bus:device.function``, some with a name in front; return the number of the first."""
        number = np.arange(1 << 16)
        digits = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
        cells = [
            digits[number >> 12],
            digits[number >> 8 & 15],
            58,
            digits[number >> 7 & 1],
            digits[number >> 3 & 15],
            46,
            digits[number & 7],
        ]
        width = len(cells) + 2 * len(quote)
        table = np.full((1 << 16, width), ord(quote or b" "), dtype=np.uint8)
        for at, cell in enumerate(cells, len(quote)):
            table[:, at] = cell
        places = np.column_stack((len(self.bytes) + width * number, np.full(1 << 16, width)))
        self.bytes += table.tobytes()
        for id_, name in names:
            text = text_of(f"{name} {format_id(id_)}")
            places[id_] = len(self.bytes), len(text)
            self.bytes += text
        return self._add(places)

    def _add(self, places: Array) -> int:
        self._places.append(places)
        self._count += len(places)
        return self._count - len(places)

    def places(self) -> Array:
        """Where each text begins, and its length: int64, shape (n, 2)."""
        return np.concatenate(self._places)


def _csv_field(text: str) -> bytes:
    is_plain = text and not any(mark in text for mark in '",\n\r')
    return (text if is_plain else '"' + text.replace('"', '""') + '"').encode()


def _json_string(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


def line_encoder(schema: Schema, *, is_json: bool) -> LineEncoder:
    """Return what makes lines of the rows of a batch.

    Parameters
    ----------
    schema : Schema
        The columns of the lines.
    is_json : bool
        One JSON object a row; else CSV. IDs and addresses are texts in both, bytes are hexadecimal digits. Values that are absent are
        ``null``, or empty: but in a single column a pair of quotes, as readers skip an empty line.
    """
    return by_loop(schema, is_json=is_json) if is_compiled() else by_polars(schema, is_json=is_json)


def by_polars(schema: Schema, *, is_json: bool) -> LineEncoder:
    """As :func:`line_encoder`, without a compiler."""
    null = '""' if len(schema) == 1 else ""

    def encode(batch: Batch) -> bytes:
        from ptttool.table.text import as_text

        buffer = BytesIO()
        frame = as_text(batch.to_polars(), schema)
        if is_json:
            frame.write_ndjson(buffer)
        else:
            frame.write_csv(buffer, include_header=False, null_value=null)
        return buffer.getvalue()

    return encode


def by_loop(schema: Schema, *, is_json: bool) -> LineEncoder:
    """As :func:`line_encoder`, by the loop."""
    text_of = _json_string if is_json else _csv_field
    listed = _Listed()
    null = b"null" if is_json else b'""' if len(schema) == 1 else b""
    columns = np.zeros((len(schema), len(COLUMN)), dtype=np.int64)
    slots = 0
    # The most bytes of a row, but for its texts.
    width = 2
    for number, column in enumerate(schema):
        before = (b"," if number else b"{") + text_of(column.name) + b":" if is_json else b"," if number else b""
        form, first, longest = _form_of(column, listed, text_of, is_json=is_json)
        columns[number] = form, listed.add(before), listed.add(before + null), first, slots, is_json
        slots += form in (CSV_TEXT, JSON_TEXT, DIGITS)
        width += len(before) + max(longest, len(null))
    last = listed.add(b"}\n" if is_json else b"\n")
    places, texts = listed.places(), bytes(listed.bytes)
    out: Any = np.empty(0, dtype=np.uint8)

    def encode(batch: Batch) -> bytearray:
        cells = [_cells_of(batch.values(column.name), column, batch.size) for column in schema]
        text = bytearray()
        for start in range(0, batch.size, _STEP):
            text += memoryview(piece(cells, start, min(start + _STEP, batch.size)))
        return text

    def piece(cells: list[_Cells], start: int, stop: int) -> Any:
        nonlocal out
        numbers = np.empty((len(cells), stop - start), dtype=np.int64)
        valid = np.ones((len(cells), stop - start), dtype=np.uint8)
        lengths = np.zeros((slots, stop - start), dtype=np.int64)
        data: list[Array] = [np.empty(0, dtype=np.uint8)]
        taken = slot = 0
        for at, cell in enumerate(cells):
            numbers[at] = cell.numbers[start:stop]
            if cell.valid is not None:
                valid[at] = cell.valid[start:stop]
            if cell.data is not None and cell.lengths is not None:
                lengths[slot] = cell.lengths[start:stop]
                numbers[at] += taken
                data.append(cell.data)
                taken += len(cell.data)
                slot += 1
        most = (stop - start) * width + LONGEST_BYTE * int(lengths.sum()) + LONGEST
        if len(out) < most:
            out = np.empty(most, dtype=np.uint8)
        arrays: tuple[Any, ...] = columns, places, texts, numbers, valid, lengths, np.concatenate(data)
        # Of plain Python, too: an array gives numbers that overflow.
        return out[: write_rows(memoryview(out), last, *(memoryview(one) for one in arrays))]

    return encode


def _form_of(column: Column, listed: _Listed, text_of: Callable[[str], bytes], *, is_json: bool) -> tuple[int, int, int]:
    """Return the form of a column, the number of its first listed text, and the most bytes of a cell, but for its texts."""
    if column.dtype == DType.TEXT:
        return JSON_TEXT if is_json else CSV_TEXT, 0, 0
    if column.dtype.is_integer and column.style == Style.ID:
        first = listed.add_ids(column.names, text_of, b'"' if is_json else b"")
        return LISTED, first, max((len(text_of(name)) for _, name in column.names), default=0) + 10
    form = HEX if column.dtype.is_integer and column.style == Style.HEX else _FORMS.get(column.dtype, UNSIGNED)
    if form != LISTED:
        return form, 0, LONGEST
    texts = [b"false", b"true"] if column.dtype == DType.BOOL else [text_of(value) for value in column.values]
    return form, listed.add(*texts), max(map(len, texts), default=0)


def _cells_of(values: Values, column: Column, size: int) -> _Cells:
    """Return the cells of a column of a batch."""
    if values.array is None:
        none = np.zeros(size, dtype=np.uint8)
        has_texts = column.dtype in (DType.TEXT, DType.BYTES)
        return _Cells(none, none, none, none[:0]) if has_texts else _Cells(none, none)
    values = values.dense(size)
    array = values.array
    valid = values.mask(size)
    if isinstance(array, Texts):
        texts = [text.encode() for text in array.texts]
        sizes = np.array([len(text) for text in texts] or [0], dtype=np.int64)
        codes = np.minimum(array.codes, len(sizes) - 1)
        data = np.frombuffer(b"".join(texts), dtype=np.uint8)
        return _Cells((np.cumsum(sizes) - sizes).take(codes), valid, sizes.take(codes), data)
    if isinstance(array, Strings):
        return _Cells(array.start, valid, np.where(array.start < 0, 0, array.length), array.data)
    return _Cells(spread(array) if isinstance(array, range) else np.asarray(array), valid)
