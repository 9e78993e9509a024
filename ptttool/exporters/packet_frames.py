"""Batches as polars frames: the columns of packet traces, whatever the protocol."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ptttool.decoders.element_batch import Array, Bool, Elements
from ptttool.decoders.elements import FLAG_NAMES, KIND_NAMES
from ptttool.table.batch import Strings
from ptttool.table.schema import Column

_TYPES: dict[str, pl.DataType] = {
    "u8": pl.UInt8(), "u16": pl.UInt16(), "u32": pl.UInt32(), "u64": pl.UInt64(), "i64": pl.Int64(), "bool": pl.Boolean(),
    "bytes": pl.Binary(), "text": pl.String(),
}  # fmt: skip
_KINDS = pl.Series("kind", KIND_NAMES, dtype=pl.Enum(KIND_NAMES))
_FLAGS = pl.Series("flags", [names or None for names in FLAG_NAMES], dtype=pl.String())
# What every element has, in this order; fields follow, then the bytes.
FIXED: dict[str, pl.DataType] = {
    "index": pl.UInt64(), "size": pl.UInt64(), "channel": pl.Int32(), "timestamp": pl.UInt64(), "protocol": pl.String(),
    "kind": _KINDS.dtype, "flags": pl.String(),
}  # fmt: skip


def type_of(field: Column) -> pl.DataType:
    """The polars type of a field."""
    return pl.Enum(field.values) if field.dtype == "enum" else _TYPES[field.dtype]


def schema_of(fields: Sequence[Column], *, raw: bool = True) -> dict[str, pl.DataType]:
    """Columns of a frame and their types. ``fields``: the protocol's own and those of OpenCSD's that it uses."""
    return {**FIXED, **{field.name: type_of(field) for field in fields}, **({"raw": pl.Binary()} if raw else {})}


def frame_of(batch: Elements, fields: Sequence[Column], *, raw: bool = True) -> pl.DataFrame:
    """The batch as a frame of :func:`schema_of`; what an element does not have is null."""
    count = len(batch)
    columns = [
        pl.Series("index", batch.index),
        pl.Series("size", batch.size),
        _with_nulls("channel", batch.channel, batch.channel >= 0, pl.Int32()),
        _with_nulls("timestamp", batch.timestamp, batch.timed, pl.UInt64()),
        pl.Series("protocol", batch.protocols, dtype=pl.String()).gather(pl.Series(batch.protocol).cast(pl.UInt32)).alias("protocol"),
        _KINDS.gather(pl.Series(batch.kind).cast(pl.UInt32)),
        _FLAGS.gather(pl.Series(batch.flags)),
    ]
    for field in fields:
        if field.name not in batch.parts:
            columns.append(_nothing(field.name, type_of(field), count))
        elif field.dtype in ("bytes", "text"):
            columns.append(_bytes(field.name, batch.strings(field.name)).cast(type_of(field)))
        else:
            values, valid = batch.column(field.name, field.dtype)
            if field.dtype == "enum":
                names = pl.Series(field.name, field.values, dtype=pl.Enum(field.values))
                series = names.gather(pl.Series(values).cast(pl.UInt32)).alias(field.name)
                columns.append(series if valid.all() else series.zip_with(pl.Series(valid), _nothing(field.name, series.dtype, 1)))
            else:
                columns.append(_with_nulls(field.name, values, valid, type_of(field)))
    if raw:
        columns.append(_bytes("raw", batch.raw))
    return pl.DataFrame(columns)


def _nothing(name: str, dtype: pl.DataType, count: int) -> pl.Series:
    return pl.Series(name, [None], dtype=dtype).new_from_index(0, count)


def _with_nulls(name: str, values: Array, valid: Bool, dtype: pl.DataType) -> pl.Series:
    if valid.all():
        return pl.Series(name, values, dtype=dtype)
    if not valid.any():
        return _nothing(name, dtype, len(values))
    return pl.Series(name, values, dtype=dtype).zip_with(pl.Series(valid), _nothing(name, dtype, 1))


def _bytes(name: str, spans: Strings) -> pl.Series:
    """Byte strings, cut out of one: polars shares its memory."""
    if not len(spans) or not len(spans.data):
        return _nothing(name, pl.Binary(), len(spans))
    none = spans.start < 0
    start = np.where(none, 0, spans.start)
    frame = pl.DataFrame({"start": start, "length": spans.length})
    cut = frame.select(pl.lit(spans.data.tobytes()).bin.slice(pl.col("start"), pl.col("length")).alias(name)).to_series()
    return cut.zip_with(pl.Series(~none), _nothing(name, pl.Binary(), 1)) if none.any() else cut
