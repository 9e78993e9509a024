"""Blocks of TLPs as frames of polars."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ptttool.table.block import Block, Mask, Values, spread
from ptttool.tlp.columns import BY_NAME, ENUMS

ENUM_TYPES = {name: pl.Enum(values) for name, values in ENUMS.items()}
# By code; a spare entry for "none", which is masked away.
_ENUM_VALUES = {name: pl.Series(name, [*values, values[0]], dtype=ENUM_TYPES[name]) for name, values in ENUMS.items()}
_TYPES: dict[str, pl.DataType] = {"u8": pl.UInt8(), "u16": pl.UInt16(), "u32": pl.UInt32(), "u64": pl.UInt64(), "i32": pl.Int32()}


def schema_of(columns: Sequence[str]) -> dict[str, pl.DataType]:
    """The polars type of each column."""
    return {name: ENUM_TYPES[name] if name in ENUMS else _TYPES[BY_NAME[name].dtype] for name in columns}


def frame_of(block: Block) -> pl.DataFrame:
    """A block as a frame; what a row does not have is null."""
    masks: dict[int, pl.Series] = {}
    schema = schema_of(tuple(block.columns))
    return pl.DataFrame([_series(name, values, block.size, schema[name], masks) for name, values in block.columns.items()])


def _series(name: str, values: Values, size: int, dtype: pl.DataType, masks: dict[int, pl.Series]) -> pl.Series:
    nothing = pl.Series(name, [None], dtype=dtype)
    if values.array is None:
        return nothing.new_from_index(0, size)
    if isinstance(values.array, range):
        series = pl.Series(name, spread(values.array))
    elif name in ENUMS:
        series = _ENUM_VALUES[name].gather(pl.Series(name, values.array.astype(np.uint32)))
    else:
        series = pl.Series(name, values.array)
    if values.having is None:
        return series
    return series.zip_with(_mask(values.having, masks), nothing)


def _mask(having: Mask, masks: dict[int, pl.Series]) -> pl.Series:
    """The mask as a series, made once for all columns that share it."""
    if id(having) not in masks:
        masks[id(having)] = pl.Series("", having)
    return masks[id(having)]
