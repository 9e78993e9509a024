"""CSV, written by polars."""

from __future__ import annotations

from io import BytesIO
from typing import IO

from ptttool.exporters.contract import EXPORTERS, Encoder, ExportContext, Exporter, TextWriter
from ptttool.table.batch import Batch
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
        # A line that is empty is skipped by readers: in a single column, an absent value is a pair of quotes.
        null = '""' if len(schema) == 1 else ""

        def encode(batch: Batch) -> bytes:
            from ptttool.table.text import as_text

            buffer = BytesIO()
            as_text(batch.to_polars(), schema).write_csv(buffer, include_header=False, null_value=null)
            return buffer.getvalue()

        return encode

    def writer(self, file: IO[bytes], schema: Schema, context: ExportContext) -> TextWriter:
        """Return a writer that begins with the header line."""
        return TextWriter(file, (",".join(schema.names) + "\n").encode())


EXPORTERS.add("csv", Csv())
