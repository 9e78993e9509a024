"""Columns as text, vectorised: IDs as ``01:00.0``, addresses and codes as ``0x…``. Nothing here looks at single rows."""

from __future__ import annotations

from functools import cache

import polars as pl

from ptttool.table.schema import Column, Schema, Style


@cache
def _ids(names: tuple[tuple[int, str], ...] = ()) -> pl.Series:
    """Text of every 16-bit ID, by its value; some have a name before it."""
    buses = [f"{bus:02x}:" for bus in range(1 << 8)]
    functions = [f"{device:02x}.{function}" for device in range(1 << 5) for function in range(1 << 3)]
    texts = [bus + function for bus in buses for function in functions]
    for number, name in names:
        texts[number] = f"{name} {texts[number]}"
    return pl.Series(texts)


@cache
def _short_hex(bits: int) -> pl.Series:
    """``0x…`` of every number of so many bits, by its value."""
    return pl.Series([f"{number:#x}" for number in range(1 << bits)])


@cache
def _four_digits() -> pl.Series:
    """Four hexadecimal digits of every 16-bit number, by its value."""
    bytes_ = [f"{byte:02x}" for byte in range(1 << 8)]
    return pl.Series([upper + lower for upper in bytes_ for lower in bytes_])


def id_text(column: pl.Series, names: tuple[tuple[int, str], ...] = ()) -> pl.Series:
    """16-bit IDs as ``bus:device.function``, those with a name as ``nvme0 01:00.0``; null stays null."""
    return _ids(names).gather(column.cast(pl.UInt32)).alias(column.name)


def hex_text(column: pl.Series) -> pl.Series:
    """Unsigned numbers as ``0x…`` without leading zeros; null stays null."""
    if column.dtype in (pl.UInt8, pl.UInt16):
        return _short_hex(8 if column.dtype == pl.UInt8 else 16).gather(column.cast(pl.UInt32)).alias(column.name)
    if column.null_count() == len(column):
        return pl.Series(column.name, [None], dtype=pl.String).new_from_index(0, len(column))
    places = (48, 32, 16, 0) if column.dtype == pl.UInt64 else (16, 0)
    quarters = pl.DataFrame(
        [_four_digits().gather(((column // (1 << place)) % (1 << 16)).cast(pl.UInt32)).alias(f"{place}") for place in places]
    )
    digits = quarters.select(pl.concat_str(pl.all()).str.strip_chars_start("0").alias("digits"))
    digit = pl.col("digits")
    text = digits.select(pl.concat_str(pl.lit("0x"), pl.when(digit == "").then(pl.lit("0")).otherwise(digit)))
    return text.to_series().alias(column.name)


def as_text(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Convert a frame to what CSV and JSON lines hold: IDs, addresses and bytes as text, the rest as it is."""
    return pl.DataFrame([_textual(column, schema[column.name], schema[column.name].style) for column in frame.iter_columns()])


def as_shown(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Convert a frame to what people see: codes, byte enables and DWs in hexadecimal, too."""
    return pl.DataFrame([_textual(column, schema[column.name], schema[column.name].shown_style) for column in frame.iter_columns()])


def _textual(values: pl.Series, column: Column, style: Style) -> pl.Series:
    if values.dtype == pl.Binary:
        return values.bin.encode("hex")
    if not column.dtype.is_integer:
        return values
    if style == Style.ID:
        return id_text(values, column.names)
    return hex_text(values) if style == Style.HEX else values
