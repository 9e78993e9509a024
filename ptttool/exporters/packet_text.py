"""Elements of packet traces as text: table, CSV, JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from typing import IO

import polars as pl
import polars.selectors as cs

from ptttool.decoders.element_batch import Elements
from ptttool.exporters import packet_frames
from ptttool.exporters.packet_rows import Rows
from ptttool.exporters.packet_table import Table
from ptttool.table.schema import Column
from ptttool.table.text import hex_text

# Rows of text made at a time.
_TEXT_ROWS = 1 << 15


def write_text(name: str, rows: Iterable[Rows], fields: Sequence[Column], file: IO[bytes], *, raw: bool, table: Table) -> None:
    """Write elements as ``table``, ``csv`` or ``jsonl``."""
    texts = ("file", *(field.name for field in fields if field.dtype == "text"))
    headline = True
    for frame in _frames(rows, fields, raw=raw):
        text = as_text(frame, fields)
        if name == "table":
            file.write(table.lines(text))
        elif name == "csv":
            file.write(_csv(text, headline=headline))
        else:
            file.write(_json_lines(text, texts))
        headline = False


def _frames(rows: Iterable[Rows], fields: Sequence[Column], *, raw: bool) -> Iterator[pl.DataFrame]:
    """Frames of some rows, at least one."""
    given = False
    for some in rows:
        if len(some):
            given = True
            yield from frame_of(some, fields, raw=raw).iter_slices(_TEXT_ROWS)
    if not given:
        yield frame_of(Rows(Elements.empty()), fields, raw=raw)


def frame_of(rows: Rows, fields: Sequence[Column], *, raw: bool) -> pl.DataFrame:
    """Elements as a frame: where they come from (``file``, ``cpu``), then :func:`ptttool.exporters.packet_frames.schema_of`."""
    file = pl.Series("file", [rows.file], dtype=pl.String).new_from_index(0, len(rows))
    cpu = pl.Series("cpu", [rows.cpu], dtype=pl.Int32).new_from_index(0, len(rows))
    return pl.DataFrame([file, cpu, *packet_frames.frame_of(rows.batch, fields, raw=raw).iter_columns()])


def as_text(frame: pl.DataFrame, fields: Sequence[Column]) -> pl.DataFrame:
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


def _json_lines(frame: pl.DataFrame, texts: Sequence[str]) -> bytes:
    """One object a line; what an element does not have is left out.

    Made by hand: polars writes nulls. Names of ours and hexadecimal digits need no escapes; ``texts``: columns of others' names.
    """
    parts = []
    for name, dtype in frame.schema.items():
        value = pl.col(name)
        if name in texts:
            value = value.replace_strict({text: json.dumps(text) for text in frame.get_column(name).unique().drop_nulls()}, default=None)
        elif dtype == pl.String:
            value = pl.lit('"') + value + pl.lit('"')
        parts.append(pl.lit(f'"{name}":') + value.cast(pl.String))
    buffer = BytesIO()
    lines = pl.lit("{") + pl.concat_str(parts, separator=",", ignore_nulls=True) + pl.lit("}")
    frame.select(lines).write_csv(buffer, include_header=False, quote_style="never")
    return buffer.getvalue()
