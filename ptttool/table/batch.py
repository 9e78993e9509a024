"""Rows as numpy holds them: an array for every column, and which rows have a value.

Every decoder makes batches; the filter, the analyses and the exporters take them. A batch can be handed to pandas, polars, DuckDB and
pyarrow as it is: it speaks the Arrow PyCapsule interface.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ptttool.table.schema import Schema
from ptttool.table.values import ABSENT, Array, Mask, Rows, Strings, Texts, Values, spread

if TYPE_CHECKING:
    import polars as pl


HOLES: Final = "holes"
"""A fact of a batch: CPU and offset of each record in front of which others may be missing, although its offset follows on."""


class SourceRows(NamedTuple):
    """The rows that a batch was taken from.

    Parameters
    ----------
    batch : Batch
        Some columns of all rows.
    wanted : ndarray of bool
        Which of them were taken.
    """

    batch: Batch
    wanted: Mask


class Batch:
    """Some rows of a table.

    Parameters
    ----------
    schema : Schema
        The columns that the batch may have; those without an entry in `columns` are null in every row.
    size : int
        Number of rows.
    columns : Mapping[str, Values]
        Values by column name.
    whole : SourceRows or None
        Where a condition has left rows out: all of them, for those who look at what lies between two rows.
    facts : Mapping[str, object], optional
        What holds for all rows, by name.
    """

    def __init__(
        self,
        schema: Schema,
        size: int,
        columns: Mapping[str, Values],
        whole: SourceRows | None = None,
        facts: Mapping[str, object] | None = None,
    ) -> None:
        self.schema = schema
        self.size = size
        self.columns = columns
        self.whole = whole
        self.facts: Mapping[str, object] = facts or {}

    def __len__(self) -> int:
        return self.size

    def values(self, name: str) -> Values:
        """Return the values of a column; a column of the schema that the batch does not hold is null."""
        values = self.columns.get(name)
        if values is None and name not in self.schema:
            raise KeyError(name)
        return ABSENT if values is None else values

    def select(self, names: Sequence[str]) -> Batch:
        """Just these columns, in this order."""
        return Batch(self.schema.select(names), self.size, {name: self.values(name) for name in names}, facts=self.facts)

    def part(self, start: int, stop: int) -> Batch:
        """Return the rows from `start` up to `stop`; arrays are shared."""
        start, stop = min(start, self.size), min(stop, self.size)
        if (start, stop) == (0, self.size):
            return self
        masks: dict[int, Mask] = {}
        columns = {name: _cut(values, start, stop, masks) for name, values in self.columns.items()}
        return Batch(self.schema, stop - start, columns, facts=self.facts)

    def take(self, wanted: Mask) -> Batch:
        """Return the rows for which a mask of shape (size,) is true, in order."""
        if wanted.all():
            return self
        masks: dict[int, Mask] = {}
        rows: dict[int, tuple[Rows, Rows]] = {}
        position = np.cumsum(wanted) - 1
        columns = {name: _taken(values, wanted, position, masks, rows) for name, values in self.columns.items()}
        return Batch(self.schema, int(np.count_nonzero(wanted)), columns, facts=self.facts)

    def to_polars(self) -> pl.DataFrame:
        """Return the batch as a polars frame with the columns of its schema; absent values are null."""
        from ptttool.table.frame import frame_of

        return frame_of(self.schema, self.values, self.size)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the batch through the Arrow PyCapsule interface."""
        return self.to_polars().__arrow_c_stream__(requested_schema)


def _cut(values: Values, start: int, stop: int, masks: dict[int, Mask]) -> Values:
    array, valid, rows = values
    if array is None:
        return values
    if rows is not None:
        first, last = np.searchsorted(rows, (start, stop)).tolist()
        return Values(_sliced(array, slice(first, last)), None, rows[first:last] - start)
    if valid is not None:
        valid = masks.setdefault(id(valid), valid[start:stop])
    return Values(_sliced(array, slice(start, stop)), valid)


def _sliced(array: Array | range | Strings | Texts, part: slice) -> Array | range | Strings | Texts:
    return array.take(part) if isinstance(array, (Strings, Texts)) else array[part]


def _taken(values: Values, mask: Mask, position: Rows, masks: dict[int, Mask], rows: dict[int, tuple[Rows, Rows]]) -> Values:
    array = values.array
    if array is None:
        return values
    if isinstance(array, range):
        array = spread(array)
    if values.rows is not None:
        if id(values.rows) not in rows:
            kept = np.flatnonzero(mask[values.rows])
            rows[id(values.rows)] = kept, position[values.rows[kept]]
        kept, moved = rows[id(values.rows)]
        return Values(array.take(kept) if isinstance(array, (Strings, Texts)) else array[kept], None, moved)
    valid = values.valid
    if valid is not None:
        valid = masks.setdefault(id(valid), valid[mask])
    return Values(array.take(mask) if isinstance(array, (Strings, Texts)) else array[mask], valid)
