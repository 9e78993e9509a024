"""The Arrow schema in the footer of a Parquet file, as polars writes it: readers learn from it that a text is an enum, and of which values.

Source: the Apache Arrow format, ``Schema.fbs``, ``Message.fbs``, "Encapsulated message format"; polars' own key for an enum's values.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping, Sequence

from ptttool.parquet.flatbuffer import Builder, Number, Reference
from ptttool.parquet.schema import Column

# Codes of unions: the header of a message, the type of a field.
_SCHEMA = 1
_INT, _BOOL, _LARGE_BINARY, _LARGE_UTF8 = 2, 6, 19, 20
_VERSION = 4  # V5
_ENUM_VALUES = "_PL_ENUM_VALUES2"
_OTHER_TYPES = {"bool": _BOOL, "bytes": _LARGE_BINARY, "text": _LARGE_UTF8, "enum": _LARGE_UTF8}


def arrow_schema(columns: Sequence[Column], facts: Mapping[str, str] | None = None) -> str:
    """Return the schema message in base64, as the footer holds it under ``ARROW:schema``.

    Parameters
    ----------
    columns : sequence of Column
        The columns, in order.
    facts : Mapping[str, str] or None
        Metadata of the schema itself: readers take these, not the file's, for the schema's.
    """
    builder = Builder()
    numbers = {column.name: number for number, column in enumerate(column for column in columns if column.dtype == "enum")}
    fields = builder.vector([_field(builder, column, numbers.get(column.name, 0)) for column in columns])
    parts: dict[int, Number | Reference] = {1: fields}
    if facts:
        pairs = [(builder.text(name), builder.text(value)) for name, value in facts.items()]
        parts[2] = builder.vector([builder.table({0: name, 1: value}) for name, value in pairs])
    schema = builder.table(parts)
    message = builder.finished(builder.table({0: Number(_VERSION, 2), 1: Number(_SCHEMA, 1), 2: schema}))
    return base64.b64encode(struct.pack("<iI", -1, len(message)) + message).decode()


def _field(builder: Builder, column: Column, dictionary: int) -> Reference:
    """Write a field. `dictionary` is the number of an enum's dictionary; zeros are not written."""
    name = builder.text(column.name)
    kind = _OTHER_TYPES.get(column.dtype, _INT)
    parts: dict[int, Number | Reference] = {0: name, 1: Number(1, 1), 2: Number(kind, 1)}
    parts[3] = _int(builder, column.dtype) if kind == _INT else builder.table({})
    if column.dtype == "enum":
        index = _int(builder, _index_type(len(column.values)))
        ordered: dict[int, Number | Reference] = {1: index, 2: Number(1, 1)}
        parts[4] = builder.table({0: Number(dictionary, 8), **ordered} if dictionary else ordered)
    parts[5] = builder.vector([])
    if column.dtype == "enum":
        key = builder.text(_ENUM_VALUES)
        value = builder.text("".join(f"{len(value.encode())};{value}" for value in column.values))
        parts[6] = builder.vector([builder.table({0: key, 1: value})])
    return builder.table(parts)


def _int(builder: Builder, dtype: str) -> Reference:
    width = Number(int(dtype[1:]), 4)
    return builder.table({0: width, 1: Number(1, 1)} if dtype[0] == "i" else {0: width})


def _index_type(count: int) -> str:
    """Return the narrowest type for the codes of an enum with `count` values and one code for null."""
    return "u8" if count < 1 << 8 else "u16" if count < 1 << 16 else "u32"
