"""Columns as polars frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import polars as pl

from ptttool.table.schema import Column, DType, Schema
from ptttool.table.values import NUMPY_DTYPES, Array, Mask, Strings, Texts, Values, spread

_TYPES: dict[DType, pl.DataType] = {
    DType.U8: pl.UInt8(), DType.U16: pl.UInt16(), DType.U32: pl.UInt32(), DType.U64: pl.UInt64(), DType.I32: pl.Int32(),
    DType.I64: pl.Int64(), DType.BOOL: pl.Boolean(), DType.TEXT: pl.String(), DType.BYTES: pl.Binary(),
}  # fmt: skip


def type_of(column: Column) -> pl.DataType:
    """Return the polars type of a column."""
    return pl.Enum(column.values) if column.dtype == DType.ENUM else _TYPES[column.dtype]


def polars_schema(columns: Schema | Iterable[Column]) -> dict[str, pl.DataType]:
    """Return the polars type of every column by name."""
    return {column.name: type_of(column) for column in columns}


def frame_of(schema: Schema, values: Callable[[str], Values], size: int) -> pl.DataFrame:
    """Make a frame of columns.

    Parameters
    ----------
    schema : Schema
        The columns of the frame.
    values : callable
        Returns the values of a column by its name.
    size : int
        Number of rows.

    Returns
    -------
    polars.DataFrame
        A row without a value is null.
    """
    masks: dict[int, tuple[Mask, pl.Series]] = {}
    return pl.DataFrame([_series(column, values(column.name), size, masks) for column in schema])


def _series(column: Column, values: Values, size: int, masks: dict[int, tuple[Mask, pl.Series]]) -> pl.Series:
    name, dtype = column.name, type_of(column)
    if values.array is None:
        return _nulls(name, dtype, size)
    values = values.dense(size)
    array = values.array
    assert array is not None
    if isinstance(array, Strings):
        return _strings(name, array, dtype)
    if isinstance(array, Texts):
        series = _gathered(name, array.texts, array.codes, pl.String())
    elif isinstance(array, range):
        series = pl.Series(name, spread(array))
    elif column.dtype == DType.ENUM:
        series = _gathered(name, column.values, array, dtype)
    else:
        series = pl.Series(name, np.asarray(array, dtype=NUMPY_DTYPES[column.dtype]), dtype=dtype)
    if values.valid is None:
        return series
    return series.zip_with(_mask(values.valid, masks), pl.Series(name, [None], dtype=dtype))


def _nulls(name: str, dtype: pl.DataType, size: int) -> pl.Series:
    return pl.Series(name, [None], dtype=dtype).new_from_index(0, size)


def _gathered(name: str, texts: tuple[str, ...], codes: Array, dtype: pl.DataType) -> pl.Series:
    """Look texts up by their codes; a row without a value may have any code."""
    values = pl.Series(name, [*texts, texts[0] if texts else ""], dtype=dtype)
    return values.gather(pl.Series(np.minimum(codes, len(texts)).astype(np.uint32)))


def _strings(name: str, strings: Strings, dtype: pl.DataType) -> pl.Series:
    """Cut byte strings out of one string: polars shares its memory."""
    missing = strings.start < 0
    if len(strings) and len(strings.data):
        frame = pl.DataFrame({"start": np.where(missing, 0, strings.start), "length": strings.length})
        cut = frame.select(pl.lit(strings.data.tobytes()).bin.slice(pl.col("start"), pl.col("length")).alias(name)).to_series()
    else:
        cut = pl.Series(name, [b""], dtype=pl.Binary()).new_from_index(0, len(strings))
    cut = cut.cast(dtype)
    return cut.zip_with(pl.Series(~missing), pl.Series(name, [None], dtype=dtype)) if missing.any() else cut


def _mask(valid: Mask, masks: dict[int, tuple[Mask, pl.Series]]) -> pl.Series:
    """Return a mask as a series, made once for all columns that share it. The mask is kept, so no other mask gets its id."""
    if id(valid) not in masks:
        masks[id(valid)] = valid, pl.Series("", valid)
    return masks[id(valid)][1]
