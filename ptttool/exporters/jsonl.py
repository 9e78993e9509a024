"""JSON lines, written by polars."""

from __future__ import annotations

from io import BytesIO
from typing import IO

from ptttool.exporters.contract import EXPORTERS, Encoder, ExportContext, Exporter, TextWriter
from ptttool.table.batch import Batch
from ptttool.table.schema import Schema


class JsonLines(Exporter):
    """One JSON object a row; every column is a key of every row, and an absent value is null."""

    name = "jsonl"
    meaning = "one JSON object a row; an absent value is null"
    suffixes = (".jsonl", ".ndjson")
    writes_texts = True

    def encoder(self, schema: Schema) -> Encoder:
        """Return what makes lines."""

        def encode(batch: Batch) -> bytes:
            from ptttool.table.text import as_text

            buffer = BytesIO()
            as_text(batch.to_polars(), schema).write_ndjson(buffer)
            return buffer.getvalue()

        return encode

    def writer(self, file: IO[bytes], schema: Schema, context: ExportContext) -> TextWriter:
        """Return a writer of lines."""
        return TextWriter(file)


EXPORTERS.add("jsonl", JsonLines())
