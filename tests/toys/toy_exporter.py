"""An exporter in one file: what is known about the rows, then a line for each of their numbers."""

from __future__ import annotations

from typing import IO

from ptttool import EXPORTERS, Batch, ExportContext, Exporter, Schema
from ptttool.exporters.contract import Encoder, TextWriter


class ToyExporter(Exporter):
    """Lines of numbers below what the context says."""

    name = "toy"
    meaning = "a format of the tests"
    suffixes = (".toy",)
    names_devices = True
    worth_workers = True

    def columns(self, schema: Schema, context: ExportContext) -> tuple[str, ...]:
        return ("index",)

    def encoder(self, schema: Schema) -> Encoder:
        def encode(batch: Batch) -> bytes:
            return "".join(f"{row}\n" for row in batch.to_polars().iter_rows()).encode()

        return encode

    def writer(self, file: IO[bytes], schema: Schema, context: ExportContext) -> TextWriter:
        devices = [device.name for device in context.machine.devices] if context.machine is not None else []
        lines = [
            f"recordings {len(context.recordings)}",
            f"protocol {context.protocol}",
            f"title {context.facts['ptttool.protocol']}",
            f"devices {' '.join(devices) or 'none'}",
            f"diagnostics {' '.join(found.code for found in context.diagnostics) or 'none'}",
            f"columns {' '.join(schema.names)}",
        ]
        return TextWriter(file, "".join(f"# {line}\n" for line in lines).encode())


EXPORTERS.add("toy", ToyExporter())
