"""Elements of packet traces as lines for people: one line each."""

from __future__ import annotations

from typing import Any

import polars as pl
import polars.selectors as cs
from msgspec import Struct
from msgspec.structs import replace

from ptttool.exporters.tables.columns import TableLayout
from ptttool.table.schema import Schema
from ptttool.table.text import as_text

# Bytes of a packet that are shown.
_SHOWN_BYTES = 16


class Cell(Struct, frozen=True):
    """One column of a table. ``width``: at least; ``right``: numbers. ``name``: of the frame's column, where it is not the title's."""

    title: str
    width: int
    right: bool = False
    name: str | None = None


_PLACE = (Cell("file", 0), Cell("cpu", 3, True), Cell("index", 10, True))
# What tables have, by their layout. ``details`` are all other fields; ``ends with`` is what the last instruction of a range does.
LAYOUTS: dict[str, tuple[Cell, ...]] = {
    "elements": (
        *_PLACE, Cell("size", 5, True), Cell("channel", 7, True), Cell("timestamp", 12, True), Cell("kind", 12), Cell("details", 0),
    ),
    "flow": (
        Cell("file", 0), Cell("cpu", 3, True), Cell("index", 8, True), Cell("channel", 7, True), Cell("kind", 11),
        Cell("from", 10, True, "st_addr"), Cell("count", 5, True, "num_instr_range"), Cell("ends with", 16),
        Cell("function", 24, False, "symbol"), Cell("source", 12, False, "source"), Cell("details", 0),
    ),
}  # fmt: skip
# Fields that "ends" stands for, and one that is the same for all.
_NO_DETAILS = ("last_i_type", "last_i_subtype", "last_instr_exec", "last_instr_sz", "last_instr_cond", "isa")


# Columns that every element has, with columns of their own in the lines, or none.
_FIXED = ("file", "cpu", "index", "size", "channel", "timestamp", "protocol", "kind", "flags", "raw")


class ElementLayout(TableLayout):
    """One line an element.

    The file and the CPU are left out where all elements come from one; so is the channel where there are none.

    Parameters
    ----------
    schema : Schema
        Columns of the frames.
    layout : str
        Name of one of :data:`LAYOUTS`.
    width : int or None
        Columns of the terminal, which lines are cut at; None for whole lines.
    """

    def __init__(self, schema: Schema, layout: str = "elements", width: int | None = None) -> None:
        self._schema = schema
        self._layout = LAYOUTS[layout]
        self._flow = layout == "flow"
        own = {cell.name for cell in self._layout if cell.name not in (None, "st_addr")}
        if self._flow:
            own.update(_NO_DETAILS)
        self._fields = [column.name for column in schema if column.name not in own and column.name not in _FIXED]
        self._width = width
        self._cells: tuple[Cell, ...] | None = None

    def table(self, frame: pl.DataFrame) -> tuple[str, pl.Series]:
        """Return the header line and the lines of a frame's rows."""
        text = as_text(frame, self._schema).with_columns(cs.enum().cast(pl.String))
        if self._cells is None:
            places = ("file", "cpu", "channel") if self._flow else ("file", "cpu")
            absent = [name for name in places if text.get_column(name).null_count() == text.height]
            self._cells = tuple(self._fitting(cell, text) for cell in self._layout if cell.title not in absent)
        titles = (cell.title.rjust(cell.width) if cell.right else cell.title.ljust(cell.width) for cell in self._cells)
        head = "  ".join(titles).rstrip()
        line = pl.concat_str([self._padded(cell, text) for cell in self._cells], separator="  ")
        if self._flow:
            # Only instruction ranges have values in the columns of ranges.
            other = [self._padded(cell, text) for cell in self._cells if cell.name is None and cell.title != "ends with"]
            line = pl.when(pl.col("kind") == "instr_range").then(line).otherwise(pl.concat_str(other, separator="  "))
        lines = text.select(line.str.strip_chars_end(" ").alias("line")).get_column("line")
        if self._width is not None:
            long = lines.str.len_chars() > self._width
            self.cut = self.cut or bool(long.any()) or len(head) > self._width
            lines = lines.zip_with(~long, lines.str.slice(0, self._width - 1) + "…")
            if len(head) > self._width:
                head = head[: self._width - 1] + "…"
        return head, lines

    @staticmethod
    def _fitting(cell: Cell, text: pl.DataFrame) -> Cell:
        """Make a column of addresses that is as wide as these."""
        if cell.name != "st_addr":
            return cell
        longest = text.get_column("st_addr").str.len_chars().max()
        return replace(cell, width=max(cell.width, longest)) if isinstance(longest, int) else cell

    def _padded(self, cell: Cell, text: pl.DataFrame) -> pl.Expr:
        value = self._value(cell, text).cast(pl.String).fill_null("")
        return value.str.pad_start(cell.width) if cell.right else value.str.pad_end(cell.width)

    def _value(self, cell: Cell, text: pl.DataFrame) -> pl.Expr:
        if cell.title == "details":
            return self._details(text)
        return _end() if cell.title == "ends with" else pl.col(cell.name or cell.title)

    def _details(self, text: pl.DataFrame) -> pl.Expr:
        """``name=value`` of every field that has no place of its own, then the flags, then the bytes."""
        parts = [pl.lit("[") + pl.col("flags") + pl.lit("]")]
        for name in self._fields:
            value = pl.col(name).cast(pl.String)
            if self._flow and name == "en_addr":  # of a range it follows from the others
                value = pl.when(pl.col("kind") != "instr_range").then(value)
            elif self._flow and name == "st_addr":
                value = pl.when(pl.col("kind") == "addr_nacc").then(value)
            parts.append(pl.lit(f"{name}=") + value)
        if "raw" in text.columns:
            more = pl.when(pl.col("raw").str.len_bytes() > 2 * _SHOWN_BYTES).then(pl.lit("…")).otherwise(pl.lit(""))
            parts.append(pl.lit("raw=") + pl.col("raw").str.slice(0, 2 * _SHOWN_BYTES) + more)
        return pl.concat_str(parts, separator=" ", ignore_nulls=True)


def _end() -> pl.Expr:
    """``branch taken``, ``call``, ``return``: what the last instruction of a range is; nothing where it is an ordinary one."""
    conditional, kind, subtype = pl.col("last_instr_cond"), pl.col("last_i_type"), pl.col("last_i_subtype")
    names = {("br", "br_link"): "call", ("br_indirect", "br_link"): "indirect call", ("br_indirect", "none"): "indirect jump"}
    chain: Any = pl.when(conditional).then(
        pl.when(pl.col("last_instr_exec")).then(pl.lit("branch taken")).otherwise(pl.lit("branch not taken"))
    )
    for (one, other), name in names.items():
        chain = chain.when((kind == one) & (subtype == other)).then(pl.lit(name))
    chain = chain.when(subtype.is_in(("return", "trap_return"))).then(subtype.str.replace("_", " ", literal=True))
    end: pl.Expr = chain.when(kind == "br").then(pl.lit("jump")).otherwise(pl.lit(None))
    return end
