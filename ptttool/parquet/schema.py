"""Columns of a Parquet file and their entries in its schema.

Source: the Apache Parquet format, ``parquet.thrift``, "Logical Types".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ptttool.parquet import thrift

BOOLEAN, INT32, INT64, BYTE_ARRAY = 0, 1, 2, 6
_PHYSICAL = {"bool": BOOLEAN, "u64": INT64, "i64": INT64, "enum": BYTE_ARRAY, "text": BYTE_ARRAY, "bytes": BYTE_ARRAY}
# Converted types, for readers without logical types: UTF8, UINT_8 … UINT_64, INT_32, INT_64.
_CONVERTED = {"enum": 0, "text": 0, "u8": 11, "u16": 12, "u32": 13, "u64": 14, "i32": 17, "i64": 18}
_OPTIONAL = 1


class DType(StrEnum):
    """Type of a column's values."""

    U8 = "u8"
    U16 = "u16"
    U32 = "u32"
    U64 = "u64"
    I32 = "i32"
    I64 = "i64"
    BOOL = "bool"
    ENUM = "enum"
    TEXT = "text"
    BYTES = "bytes"


@dataclass(frozen=True)
class Column:
    """One column; any row may be null.

    Parameters
    ----------
    name : str
        Name of the column.
    dtype : str
        One of :class:`DType`.
    values : tuple of str
        The names of an enum, by code.
    near : bool
        Whether neighbouring numbers tend to be close, so that it pays to try differences. Integers of 32 and 64 bits only.

    Raises
    ------
    ValueError
        For an unknown dtype.
    """

    name: str
    dtype: str
    values: tuple[str, ...] = ()
    near: bool = False

    def __post_init__(self) -> None:
        DType(self.dtype)

    @property
    def physical(self) -> int:
        """Parquet's physical type."""
        return _PHYSICAL.get(self.dtype, INT32)

    @property
    def stored(self) -> str:
        """The numpy dtype of stored numbers: the column's bits in the physical type."""
        return {"u64": "<u8", "i64": "<i8", "i32": "<i4"}.get(self.dtype, "<u4")


def element_of(column: Column) -> thrift.Value:
    """Return a column's SchemaElement."""
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
