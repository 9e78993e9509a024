"""A Parquet file: row groups one after the other, then the footer that locates everything.

Source: the Apache Parquet format, ``parquet.thrift``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from ptttool.parquet import thrift
from ptttool.parquet.arrow_schema import arrow_schema
from ptttool.parquet.pages import ZSTD, Chunk
from ptttool.parquet.schema import Column, element_of

MAGIC = b"PAR1"


@dataclass(frozen=True)
class RowGroup:
    """Encoded rows, with one chunk for each column of the file, in order."""

    rows: int
    chunks: tuple[Chunk, ...]


class ParquetFile:
    """A Parquet file that is being written.

    Parameters
    ----------
    file : binary file
        The file to write to, from its current position; it stays open. It need not be seekable.
    columns : sequence of Column
        The columns, in order.
    facts : Mapping[str, str]
        Key-value metadata, written to the footer.
    created_by : str
        Name and version of the program that writes: ``NAME version VERSION``.
    schema_facts : Mapping[str, str] or None
        Metadata of the schema, such as that of pandas.
    """

    def __init__(
        self,
        file: IO[bytes],
        columns: Sequence[Column],
        facts: Mapping[str, str],
        *,
        created_by: str,
        schema_facts: Mapping[str, str] | None = None,
    ) -> None:
        self._file = file
        self._columns = tuple(columns)
        self._facts = facts
        self._created_by = created_by
        self._schema_facts = schema_facts
        self._groups: list[thrift.Value] = []
        self._rows = 0
        self._position = 0
        self._write(MAGIC)

    def _write(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._position += len(data)

    def add(self, group: RowGroup) -> None:
        """Write a row group; one without rows is skipped."""
        if not group.rows:
            return
        start = self._position
        columns = []
        for column, chunk in zip(self._columns, group.chunks, strict=True):
            columns.append(_column_chunk(column, chunk, self._position))
            self._write(chunk.data)
        self._rows += group.rows
        self._groups.append(
            thrift.struct(
                {
                    1: thrift.list_of(columns),
                    2: thrift.i64(sum(chunk.plain_size for chunk in group.chunks)),
                    3: thrift.i64(group.rows),
                    5: thrift.i64(start),
                    6: thrift.i64(self._position - start),
                }
            )
        )

    def close(self) -> None:
        """Write the footer. The underlying file stays open."""
        schema = [thrift.struct({4: thrift.binary("schema"), 5: thrift.i32(len(self._columns))}), *map(element_of, self._columns)]
        facts = {"ARROW:schema": arrow_schema(self._columns, self._schema_facts), **self._facts}
        order = thrift.struct({1: thrift.struct({})})  # statistics are ordered by type
        footer = thrift.struct(
            {
                1: thrift.i32(2),
                2: thrift.list_of(schema),
                3: thrift.i64(self._rows),
                4: thrift.list_of(self._groups) if self._groups else (9, b"\x0c"),
                5: thrift.list_of(thrift.struct({1: thrift.binary(key), 2: thrift.binary(value)}) for key, value in facts.items()),
                6: thrift.binary(self._created_by),
                7: thrift.list_of([order] * len(self._columns)),
            }
        )[1]
        self._write(footer + len(footer).to_bytes(4, "little") + MAGIC)

    def abandon(self) -> None:
        """Do nothing: without its footer, what was written is not a Parquet file."""


def _column_chunk(column: Column, chunk: Chunk, start: int) -> thrift.Value:
    statistics = {3: thrift.i64(chunk.nulls)}
    if chunk.smallest is not None and chunk.largest is not None:
        statistics |= {5: thrift.binary(chunk.largest), 6: thrift.binary(chunk.smallest)}
    described = thrift.struct(
        {
            1: thrift.i32(column.physical),
            2: thrift.list_of(map(thrift.i32, chunk.encodings)),
            3: thrift.list_of([thrift.binary(column.name)]),
            4: thrift.i32(ZSTD),
            5: thrift.i64(chunk.values),
            6: thrift.i64(chunk.plain_size),
            7: thrift.i64(len(chunk.data)),
            9: thrift.i64(start + chunk.dictionary_size),
            11: thrift.i64(start) if chunk.dictionary_size else None,
            12: thrift.struct(statistics),
        }
    )
    return thrift.struct({2: thrift.i64(start), 3: described})
