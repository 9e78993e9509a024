"""What a layout of tables is; columns as they are, in lines for people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from io import BytesIO

import polars as pl
from msgspec import Struct

from ptttool.table.schema import Column, DType, Schema, Style
from ptttool.table.text import as_shown

_DIGITS = {DType.U8: 3, DType.U16: 5, DType.U32: 10, DType.U64: 12, DType.I32: 5, DType.I64: 12}
_HEX_DIGITS = {DType.U8: 4, DType.U16: 6, DType.U32: 10, DType.U64: 18}


class TableLayout(ABC):
    """Makes lines of frames; the first one gets a header line.

    Attributes
    ----------
    cut : bool
        Whether a line was longer than the terminal is wide.
    """

    cut = False
    _is_first = True

    @abstractmethod
    def table(self, frame: pl.DataFrame) -> tuple[str, pl.Series]:
        """Return the header line and the lines of a frame's rows."""

    def lines(self, frame: pl.DataFrame) -> bytes:
        """Return the lines of a frame's rows."""
        header, lines = self.table(frame)
        buffer = BytesIO()
        if self._is_first:
            self._is_first = False
            buffer.write(f"{header}\n".encode())
        if len(lines):
            lines.to_frame().write_csv(buffer, include_header=False, quote_style="never")
        return buffer.getvalue()


class Cell(Struct, frozen=True):
    """One column of the lines: its title, its text, its least width, and whether it is aligned to the right."""

    title: str
    text: pl.Expr
    width: int
    right: bool = False


class ColumnLayout(TableLayout):
    """The columns of a schema, side by side. ``width``: of the terminal; None for a pipe."""

    def __init__(self, schema: Schema, width: int | None) -> None:
        self._schema = schema
        self._width = width

    def table(self, frame: pl.DataFrame) -> tuple[str, pl.Series]:
        """Return the header line and the lines of a frame's rows."""
        cells = [
            Cell(
                column.name,
                pl.col(column.name).cast(pl.String),
                _width(column),
                right=column.dtype.is_integer and column.shown_style == Style.INT,
            )
            for column in self._schema
        ]
        return aligned(as_shown(frame, self._schema), cells, self._width)


def _width(column: Column) -> int:
    if column.dtype == DType.ENUM:
        return max(map(len, column.values))
    if column.shown_style == Style.ID:
        return 7 + max((len(name) + 1 for _, name in column.names), default=0)
    return (_HEX_DIGITS if column.shown_style == Style.HEX else _DIGITS).get(column.dtype, 0)


def aligned(frame: pl.DataFrame, cells: Sequence[Cell], width: int | None) -> tuple[str, pl.Series]:
    """Return the header line and the lines of a frame.

    On a terminal of `width` columns, which shows a page, columns are as wide as the page needs. In a pipe all frames have the same widths.
    """
    shown = frame.select(cell.text.cast(pl.String).fill_null("").alias(f"{number}") for number, cell in enumerate(cells))
    texts, titles = [], []
    for number, cell in enumerate(cells):
        wide = cell.width if width is None else shown.select(pl.col(f"{number}").str.len_chars().max().fill_null(0)).item()
        wide = max(wide, len(cell.title))
        text = pl.col(f"{number}")
        texts.append(text.str.pad_start(wide) if cell.right else text.str.pad_end(wide))
        titles.append(cell.title.rjust(wide) if cell.right else cell.title.ljust(wide))
    line = pl.concat_str(texts, separator="  ").str.strip_chars_end()
    head = "  ".join(titles).rstrip()
    if width is not None:
        line = pl.when(line.str.len_chars() > width).then(line.str.slice(0, width - 1) + "…").otherwise(line)
        head = head[:width]
    return head, shown.select(line.alias("line")).to_series()
