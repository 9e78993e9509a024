"""TLPs in bulk, as numpy holds them: an array for every column, and which rows have a value.

What every output is made of. Frames of polars (:mod:`ptttool.table.frames`) are one of them: no more than a conversion away, and not needed
for sums, text and Parquet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

DTYPES: dict[str, np.dtype[np.generic]] = {
    name: np.dtype(code) for name, code in {"u8": "u1", "u16": "<u2", "u32": "<u4", "u64": "<u8", "i32": "<i4", "enum": "u1"}.items()
}
"""By the types of :class:`ptttool.tlp.columns.Column`; an enum's values are places in :data:`ptttool.tlp.columns.ENUMS`."""


class Values(NamedTuple):
    """A column of a block.

    ``array``: shape (rows,), dtype by :data:`DTYPES`, with any values where a row has none; a range where values are evenly spaced;
    None where no row has one. ``having``: which rows have a value, None for all. Columns with the same rows share the array.
    """

    array: Array | range | None
    having: Mask | None = None

    def present(self) -> Array:
        """The values of the rows that have one."""
        if self.array is None:
            return np.empty(0, dtype=np.uint8)
        array = spread(self.array) if isinstance(self.array, range) else self.array
        return array if self.having is None else array[self.having]


ABSENT = Values(None)


def spread(numbers: range) -> Array:
    """A range as an array of 64-bit numbers."""
    return np.arange(len(numbers), dtype=np.uint64) * np.uint64(numbers.step) + np.uint64(numbers.start)


@dataclass(frozen=True)
class Block:
    """``size`` TLPs. ``columns``: by name, in the order in which they were asked for."""

    size: int
    columns: Mapping[str, Values]

    def part(self, start: int, stop: int) -> Block:
        """Some of its rows."""
        start, stop = min(start, self.size), min(stop, self.size)
        if (start, stop) == (0, self.size):
            return self
        masks: dict[int, Mask] = {}

        def cut(values: Values) -> Values:
            having = values.having
            if having is not None:
                having = masks.setdefault(id(having), having[start:stop])
            return Values(None if values.array is None else values.array[start:stop], having)

        return Block(stop - start, {name: cut(values) for name, values in self.columns.items()})
