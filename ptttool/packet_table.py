"""Elements of packet traces as a table for people: a line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO

import polars as pl

from ptttool.packets.elements import Field

# Bytes of a packet that are shown.
_SHOWN_BYTES = 16


@dataclass(frozen=True)
class Cell:
    """One column of a table. ``width``: at least; ``right``: numbers. ``name``: of the frame's column, where it is not the title's."""

    title: str
    width: int
    right: bool = False
    name: str | None = None


_PLACE = (Cell("file", 0), Cell("cpu", 3, True), Cell("index", 10, True))
# What tables have, by their layout. ``details`` are all other fields; ``ends`` is what the last instruction of a range does.
LAYOUTS: dict[str, tuple[Cell, ...]] = {
    "elements": (
        *_PLACE, Cell("size", 5, True), Cell("channel", 7, True), Cell("timestamp", 12, True), Cell("kind", 12), Cell("details", 0),
    ),
    "flow": (
        *_PLACE, Cell("channel", 7, True), Cell("kind", 11), Cell("from", 18, True, "st_addr"), Cell("to", 18, True, "en_addr"),
        Cell("count", 5, True, "num_instr_range"), Cell("ends with", 23), Cell("function", 28, False, "symbol"), Cell("details", 0),
    ),
}  # fmt: skip
# Fields that "ends" stands for, and one that is the same for all.
_NO_DETAILS = ("last_i_type", "last_i_subtype", "last_instr_exec", "last_instr_sz", "last_instr_cond", "isa")


class Table:
    """Makes the lines. ``width``: of the terminal; None elsewhere: lines are whole.

    Where all elements come from, if it is one place, need not be told at every line; nor that there are no channels.
    """

    def __init__(self, fields: Sequence[Field], layout: str = "elements", width: int | None = None) -> None:
        self._layout = LAYOUTS[layout]
        own = {cell.name for cell in self._layout if cell.name is not None}
        if layout == "flow":
            own.update(_NO_DETAILS)
        self._fields = [field.name for field in fields if field.name not in own]
        self._width = width
        self._cells: tuple[Cell, ...] | None = None
        self.cut = False  # whether a line was longer than the terminal is wide

    def lines(self, text: pl.DataFrame) -> bytes:
        """Of a frame of texts; the first time with a headline."""
        head = []
        if self._cells is None:
            places = ("file", "cpu") if self._layout is LAYOUTS["elements"] else ("file", "cpu", "channel")
            absent = [name for name in places if text.get_column(name).null_count() == text.height]
            self._cells = tuple(cell for cell in self._layout if cell.title not in absent)
            titles = (cell.title.rjust(cell.width) if cell.right else cell.title.ljust(cell.width) for cell in self._cells)
            head = ["  ".join(titles).rstrip()]
        columns = []
        for cell in self._cells:
            value = self._value(cell, text).cast(pl.String).fill_null("")
            columns.append(value.str.pad_start(cell.width) if cell.right else value.str.pad_end(cell.width))
        found = text.select(pl.concat_str(columns, separator="  ").str.strip_chars_end(" ").alias("line")).get_column("line")
        found = pl.concat([pl.Series("line", head, dtype=pl.String), found])
        if self._width is not None:
            long = found.str.len_chars() > self._width
            self.cut = self.cut or bool(long.any())
            found = found.zip_with(~long, found.str.slice(0, self._width - 1) + "…")
        buffer = BytesIO()
        found.to_frame().write_csv(buffer, include_header=False, quote_style="never")
        return buffer.getvalue()

    def _value(self, cell: Cell, text: pl.DataFrame) -> pl.Expr:
        if cell.title == "details":
            return self._details(text)
        return _end() if cell.title == "ends with" else pl.col(cell.name or cell.title)

    def _details(self, text: pl.DataFrame) -> pl.Expr:
        """``name=value`` of every field that has no place of its own, then the flags, then the bytes."""
        parts = [pl.lit("[") + pl.col("flags") + pl.lit("]")]
        parts += [pl.lit(f"{name}=") + pl.col(name).cast(pl.String) for name in self._fields]
        if "raw" in text.columns:
            more = pl.when(pl.col("raw").str.len_bytes() > 2 * _SHOWN_BYTES).then(pl.lit("…")).otherwise(pl.lit(""))
            parts.append(pl.lit("raw=") + pl.col("raw").str.slice(0, 2 * _SHOWN_BYTES) + more)
        return pl.concat_str(parts, separator=" ", ignore_nulls=True)


def _end() -> pl.Expr:
    """``br taken``, ``br_indirect return``: what the last instruction is, and whether it went elsewhere."""
    subtype = pl.when(pl.col("last_i_subtype") != "none").then(pl.col("last_i_subtype"))
    outcome = pl.when(pl.col("last_instr_cond")).then(
        pl.when(pl.col("last_instr_exec")).then(pl.lit("taken")).otherwise(pl.lit("not taken"))
    )
    return pl.concat_str([pl.col("last_i_type"), subtype, outcome], separator=" ", ignore_nulls=True)
