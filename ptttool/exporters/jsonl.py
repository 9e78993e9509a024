"""JSON lines."""

from __future__ import annotations

from typing import IO

from ptttool.exporters.contract import EXPORTERS, Encoder, ExportContext, Exporter, TextWriter
from ptttool.table.schema import Schema


class JsonLines(Exporter):
    """One JSON object a row; every column is a key of every row, and an absent value is null."""

    name = "jsonl"
    meaning = "one JSON object a row; an absent value is null"
    suffixes = (".jsonl", ".ndjson")
    writes_texts = True

    def encoder(self, schema: Schema) -> Encoder:
        """Return what makes lines."""
        from ptttool.table.lines import line_encoder

        return line_encoder(schema, is_json=True)

    def writer(self, file: IO[bytes], schema: Schema, context: ExportContext) -> TextWriter:
        """Return a writer of lines."""
        return TextWriter(file)


EXPORTERS.add("jsonl", JsonLines())
