"""Tables for people: a line a row, cut at the width of a terminal."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from ptttool.exporters.contract import EXPORTERS, ExportContext, Exporter, Writer
from ptttool.table.batch import Batch
from ptttool.table.schema import Schema

if TYPE_CHECKING:
    from ptttool.exporters.tables.columns import TableLayout

# Rows of lines made at a time.
_ROWS = 1 << 15


class Table(Exporter):
    """Lines for people, with the look that the protocol's rows have."""

    name = "table"
    meaning = "lines for people"
    suffixes = (".txt",)
    writes_texts = True
    rows = 1 << 18
    names_devices = True

    def columns(self, schema: Schema, context: ExportContext) -> tuple[str, ...]:
        """Return the columns that the layout's lines are made of."""
        if context.layout == "tlp":
            from ptttool.exporters.tables.tlp import LINE_COLUMNS

            return LINE_COLUMNS
        return schema.usual_names

    def writer(self, file: IO[bytes], schema: Schema, context: ExportContext) -> Writer:
        """Return a writer of lines."""
        return TableWriter(file, layout_of(schema, context))


def layout_of(schema: Schema, context: ExportContext) -> TableLayout:
    """Return what makes the lines of a recording's rows."""
    if context.layout == "tlp":
        from ptttool.exporters.tables.tlp import TlpLayout

        files = context.recordings if len(context.recordings) > 1 else ()
        extra = context.extra
        return TlpLayout(context.machine, context.width, dws=extra.get("dws", False), files=files, coloured=extra.get("coloured", False))
    if context.layout in ("elements", "flow"):
        from ptttool.exporters.tables.elements import ElementLayout

        return ElementLayout(schema, context.layout, context.width)
    from ptttool.exporters.tables.columns import ColumnLayout

    return ColumnLayout(schema, context.width)


class TableWriter(Writer):
    """A table that is being written."""

    def __init__(self, file: IO[bytes], layout: TableLayout) -> None:
        self._file = file
        self._layout = layout

    @property
    def cut(self) -> bool:
        """Whether a line was cut at the terminal's width."""
        return self._layout.cut

    def add(self, piece: Batch) -> None:
        """Write the lines of a batch; the first one begins with the header line."""
        frame = piece.to_polars()
        for part in frame.iter_slices(_ROWS) if frame.height else (frame,):
            self._file.write(self._layout.lines(part))


EXPORTERS.add("table", Table())
