"""Parquet, through the project's own writer: most columns of a trace are small codes, which are a dictionary's indexes as they stand."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

from ptttool.exporters.contract import EXPORTERS, Encoder, ExportContext, Exporter, Writer
from ptttool.table.schema import Schema

if TYPE_CHECKING:
    from ptttool.parquet.pages import Cells
    from ptttool.parquet.schema import Column
    from ptttool.table.batch import Batch
from ptttool.table.values import Values

DUCKDB_MACROS = Path(__file__).parents[1] / "share" / "duckdb.sql"
"""Macros for those who read the files with DuckDB."""


class Parquet(Exporter):
    """Parquet with zstd; a batch becomes a row group."""

    name = "parquet"
    meaning = "Apache Parquet with zstd; texts of a few values are enums"
    suffixes = (".parquet", ".pq")
    is_binary = True
    rows = 1 << 18
    worth_workers = True

    def encoder(self, schema: Schema) -> Encoder:
        """Return what makes row groups."""
        from ptttool.parquet.file import RowGroup
        from ptttool.parquet.pages import chunk_of

        columns = columns_of(schema)

        def encode(batch: Batch) -> RowGroup:
            levels: dict[int, bytes | None] = {}  # columns with values in the same rows share them
            cells = (_cells(batch.values(column.name), batch.size, levels) for column in columns)
            return RowGroup(batch.size, tuple(chunk_of(column, cell, batch.size) for column, cell in zip(columns, cells, strict=True)))

        return encode

    def writer(self, file: IO[bytes], schema: Schema, context: ExportContext) -> Writer:
        """Return a writer whose footer holds the facts about the recording."""
        from ptttool._version import __version__
        from ptttool.parquet.file import ParquetFile

        return ParquetFile(
            file,
            columns_of(schema),
            dict(context.facts),
            created_by=f"ptttool version {__version__}",
            schema_facts={"pandas": pandas_metadata(schema, __version__)},
        )


def columns_of(schema: Schema) -> tuple[Column, ...]:
    """Return the columns of a Parquet file."""
    from ptttool.parquet.schema import Column

    return tuple(Column(column.name, str(column.dtype), column.values, near=column.near) for column in schema)


_PANDAS_DTYPES = {
    "u8": "UInt8", "u16": "UInt16", "u32": "UInt32", "u64": "UInt64", "i32": "Int32", "i64": "Int64", "bool": "boolean",
}  # fmt: skip


def pandas_metadata(schema: Schema, version: str) -> str:
    """Return what pandas looks for in a Parquet file: numbers are of nullable dtypes. By default it makes them floats where one is null.

    Source: pandas' "Developer" pages, "Storing pandas DataFrame objects in Apache Parquet format".
    """
    import json

    columns = [
        {"name": column.name, "field_name": column.name, "pandas_type": str(column.dtype), "numpy_type": dtype, "metadata": None}
        for column in schema
        if (dtype := _PANDAS_DTYPES.get(column.dtype)) is not None
    ]
    creator = {"library": "ptttool", "version": version}
    document = {"index_columns": [], "column_indexes": [], "columns": columns, "creator": creator, "pandas_version": None}
    return json.dumps(document, separators=(",", ":"))


def _cells(values: Values, size: int, levels: dict[int, bytes | None]) -> Cells:
    """Convert the values of a column, and which rows have one, to what the writer takes."""
    from ptttool.parquet import pages
    from ptttool.table.values import Strings, Texts, spread

    if values.array is None:
        return pages.ABSENT
    present = values.present()
    if isinstance(present, range) and present.step >= 1 << 63:
        present = spread(present)
    if not len(present):
        return pages.ABSENT
    shared = values.rows if values.rows is not None else values.valid
    key = id(values.array) if shared is None else id(shared)
    if key not in levels:
        mask = values.mask(size)
        levels[key] = None if mask is None or mask.all() else pages.levels_of(mask)
    if isinstance(present, Strings):
        return pages.Cells(pages.Strings(present.data, present.start, present.length), levels[key])
    if isinstance(present, Texts):
        return pages.Cells(pages.Texts(present.codes, present.texts), levels[key])
    return pages.Cells(present, levels[key])


EXPORTERS.add("parquet", Parquet())
