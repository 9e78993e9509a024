"""Elements of packet traces as text: table, CSV, JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import IO

import polars as pl
import polars.selectors as cs

from ptttool import packet_frames
from ptttool.packet_rows import Rows
from ptttool.packets.batch import Batch
from ptttool.packets.elements import Field
from ptttool.textual import hex_text

# Rows of text made at a time.
_TEXT_ROWS = 1 << 15
# Bytes of a packet that a table shows.
_SHOWN_BYTES = 16


def write_text(name: str, rows: Iterable[Rows], fields: Sequence[Field], file: IO[bytes], *, raw: bool) -> None:
    """Write elements as ``table``, ``csv`` or ``jsonl``."""
    table = _Table(fields)
    headline = True
    for frame in _frames(rows, fields, raw=raw):
        text = as_text(frame, fields)
        if name == "table":
            file.write(table.lines(text))
        elif name == "csv":
            file.write(_csv(text, headline=headline))
        else:
            file.write(_json_lines(text))
        headline = False


def _frames(rows: Iterable[Rows], fields: Sequence[Field], *, raw: bool) -> Iterator[pl.DataFrame]:
    """Frames of some rows, at least one."""
    given = False
    for some in rows:
        if len(some):
            given = True
            yield from frame_of(some, fields, raw=raw).iter_slices(_TEXT_ROWS)
    if not given:
        yield frame_of(Rows(Batch.empty()), fields, raw=raw)


def frame_of(rows: Rows, fields: Sequence[Field], *, raw: bool) -> pl.DataFrame:
    """Elements as a frame: where they come from (``file``, ``cpu``), then :func:`ptttool.packet_frames.schema_of`."""
    file = pl.Series("file", [rows.file], dtype=pl.String).new_from_index(0, len(rows))
    cpu = pl.Series("cpu", [rows.cpu], dtype=pl.Int32).new_from_index(0, len(rows))
    return pl.DataFrame([file, cpu, *packet_frames.frame_of(rows.batch, fields, raw=raw).iter_columns()])


def as_text(frame: pl.DataFrame, fields: Sequence[Field]) -> pl.DataFrame:
    """The frame as text formats hold it: bytes as hexadecimal digits, addresses and the like as ``0x…``, names as text."""
    styles = {field.name: field.style for field in fields}
    columns = []
    for column in frame.iter_columns():
        if column.dtype == pl.Binary:
            columns.append(column.bin.encode("hex"))
        elif styles.get(column.name) == "hex" and column.dtype.is_unsigned_integer():
            columns.append(hex_text(column))
        else:
            columns.append(column)
    return pl.DataFrame(columns).with_columns(cs.enum().cast(pl.String))


def _csv(frame: pl.DataFrame, *, headline: bool) -> bytes:
    buffer = BytesIO()
    frame.write_csv(buffer, include_header=headline)
    return buffer.getvalue()


def _json_lines(frame: pl.DataFrame) -> bytes:
    """One object a line; what an element does not have is left out.

    Made by hand: polars writes nulls. Texts are names of ours and hexadecimal digits, which need no escapes; files' names are not.
    """
    parts = []
    for name, dtype in frame.schema.items():
        value = pl.col(name)
        if name == "file":
            value = value.replace_strict({file: json.dumps(file) for file in frame.get_column("file").unique().drop_nulls()}, default=None)
        elif dtype == pl.String:
            value = pl.lit('"') + value + pl.lit('"')
        parts.append(pl.lit(f'"{name}":') + value.cast(pl.String))
    buffer = BytesIO()
    lines = pl.lit("{") + pl.concat_str(parts, separator=",", ignore_nulls=True) + pl.lit("}")
    frame.select(lines).write_csv(buffer, include_header=False, quote_style="never")
    return buffer.getvalue()


@dataclass(frozen=True)
class _Cell:
    """One column of a table. ``width``: at least; ``right``: numbers."""

    title: str
    width: int
    right: bool = False


_CELLS = (
    _Cell("file", 0), _Cell("cpu", 3, True), _Cell("index", 10, True), _Cell("size", 5, True), _Cell("channel", 7, True),
    _Cell("timestamp", 12, True), _Cell("kind", 12), _Cell("details", 0),
)  # fmt: skip


class _Table:
    """Lines for people, one an element. Where all elements come from, if it is one place, need not be told at every line."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self._fields = fields
        self._cells: tuple[_Cell, ...] | None = None

    def lines(self, text: pl.DataFrame) -> bytes:
        """Of a frame of texts; the first time with a headline."""
        head = b""
        if self._cells is None:
            placeless = [name for name in ("file", "cpu") if text.get_column(name).null_count() == text.height]
            self._cells = tuple(cell for cell in _CELLS if cell.title not in placeless)
            titles = (cell.title.rjust(cell.width) if cell.right else cell.title.ljust(cell.width) for cell in self._cells)
            head = "  ".join(titles).rstrip().encode() + b"\n"
        columns = []
        for cell in self._cells:
            value = (self._details(text) if cell.title == "details" else pl.col(cell.title)).cast(pl.String).fill_null("")
            columns.append(value.str.pad_start(cell.width) if cell.right else value.str.pad_end(cell.width))
        buffer = BytesIO()
        text.select(pl.concat_str(columns, separator="  ").str.strip_chars_end(" ")).write_csv(
            buffer, include_header=False, quote_style="never"
        )
        return head + buffer.getvalue()

    def _details(self, text: pl.DataFrame) -> pl.Expr:
        """``name=value`` of every field, then the flags, then the bytes."""
        parts = [pl.lit("[") + pl.col("flags") + pl.lit("]")]
        parts += [pl.lit(f"{field.name}=") + pl.col(field.name).cast(pl.String) for field in self._fields]
        if "raw" in text.columns:
            more = pl.when(pl.col("raw").str.len_bytes() > 2 * _SHOWN_BYTES).then(pl.lit("…")).otherwise(pl.lit(""))
            parts.append(pl.lit("raw=") + pl.col("raw").str.slice(0, 2 * _SHOWN_BYTES) + more)
        return pl.concat_str(parts, separator=" ", ignore_nulls=True)
