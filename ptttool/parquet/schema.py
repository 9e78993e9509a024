"""Columns of a Parquet file, and what its schema says of them.

Source: the Apache Parquet format, ``parquet.thrift``, "Logical Types".
"""

from __future__ import annotations

from dataclasses import dataclass

from ptttool.parquet import thrift

BOOLEAN, INT32, INT64, BYTE_ARRAY = 0, 1, 2, 6
_PHYSICAL = {"bool": BOOLEAN, "u64": INT64, "i64": INT64, "enum": BYTE_ARRAY, "text": BYTE_ARRAY, "bytes": BYTE_ARRAY}
# Converted types, for readers that know no logical types: UTF8, UINT_8 … UINT_64, INT_32, INT_64.
_CONVERTED = {"enum": 0, "text": 0, "u8": 11, "u16": 12, "u32": 13, "u64": 14, "i32": 17, "i64": 18}
_OPTIONAL = 1


@dataclass(frozen=True)
class Column:
    """One column, any row of which may have no value.

    ``dtype``: u8, u16, u32, u64, i32, i64, bool, bytes, text, or enum: its names are ``values``. ``near``: whether numbers are worth a look
    for being near those before them, which makes them smaller.
    """

    name: str
    dtype: str
    values: tuple[str, ...] = ()
    near: bool = False

    @property
    def physical(self) -> int:
        """How Parquet stores it."""
        return _PHYSICAL.get(self.dtype, INT32)

    @property
    def stored(self) -> str:
        """The dtype of stored numbers: a column's bits in the physical type."""
        return {"u64": "<u8", "i64": "<i8", "i32": "<i4"}.get(self.dtype, "<u4")


def element_of(column: Column) -> thrift.Value:
    """A column in Parquet's schema."""
    logical = None
    if column.dtype in ("enum", "text"):
        logical = thrift.struct({1: thrift.struct({})})
    elif column.dtype not in ("bool", "bytes"):
        signed = column.dtype[0] == "i"
        logical = thrift.struct({10: thrift.struct({1: thrift.i8(int(column.dtype[1:])), 2: thrift.boolean(signed)})})
    converted = _CONVERTED.get(column.dtype)
    return thrift.struct(
        {
            1: thrift.i32(column.physical),
            3: thrift.i32(_OPTIONAL),
            4: thrift.binary(column.name),
            6: None if converted is None else thrift.i32(converted),
            10: logical,
        }
    )
