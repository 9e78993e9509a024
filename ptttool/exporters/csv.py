"""Comma-separated values."""

from __future__ import annotations

from typing import IO

from ptttool.exporters.contract import EXPORTERS, Encoder, ExportContext, Exporter, TextWriter
from ptttool.table.schema import Schema


class Csv(Exporter):
    """Comma-separated values with a header line; an absent value is empty."""

    name = "csv"
    meaning = "comma-separated values with a header line; an absent value is empty"
    suffixes = (".csv",)
    writes_texts = True

    def columns(self, schema: Schema, context: ExportContext) -> tuple[str, ...]:
        """Return the columns that are marked for it."""
        return schema.default_names

    def encoder(self, schema: Schema) -> Encoder:
        """Return what makes lines."""
        from ptttool.table.lines import line_encoder

        return line_encoder(schema, is_json=False)

    def writer(self, file: IO[bytes], schema: Schema, context: ExportContext) -> TextWriter:
        """Return a writer that begins with the header line."""
        return TextWriter(file, (",".join(schema.names) + "\n").encode())


EXPORTERS.add("csv", Csv())
