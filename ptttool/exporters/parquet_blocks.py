"""Blocks of TLPs as row groups."""

from __future__ import annotations

from collections.abc import Iterable

from ptttool import __version__
from ptttool.parquet.file import RowGroup
from ptttool.parquet.pages import ABSENT, Cells, chunk_of, levels_of
from ptttool.parquet.schema import Column
from ptttool.table.block import Block, Mask, Values
from ptttool.tlp.columns import BY_NAME, ENUMS

CREATED_BY = f"ptttool version {__version__}"

_COLUMNS = {name: Column(name, column.dtype, ENUMS.get(name, ())) for name, column in BY_NAME.items()}


def columns_of(names: Iterable[str]) -> tuple[Column, ...]:
    """Columns of TLPs as a Parquet file has them."""
    return tuple(_COLUMNS[name] for name in names)


def row_group_of(block: Block) -> RowGroup:
    """A block's rows."""
    levels: dict[int, bytes] = {}  # columns with the same rows share them
    return RowGroup(
        block.size, tuple(chunk_of(_COLUMNS[name], _cells(values, levels), block.size) for name, values in block.columns.items())
    )


def _cells(values: Values, levels: dict[int, bytes]) -> Cells:
    if values.array is None:
        return ABSENT
    having: Mask | None = values.having
    if having is None:
        evenly = isinstance(values.array, range) and values.array.step < 1 << 63
        return Cells(values.array if evenly else values.present())
    if id(having) not in levels:
        levels[id(having)] = levels_of(having)
    return Cells(values.present(), levels[id(having)])
