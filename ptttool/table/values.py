"""The values of a column: an array, byte strings or texts, and which rows have a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.int64]

NUMPY_DTYPES: dict[str, np.dtype[np.generic]] = {
    name: np.dtype(code)
    for name, code in {
        "u8": "u1", "u16": "<u2", "u32": "<u4", "u64": "<u8", "i32": "<i4", "i64": "<i8", "bool": "?", "enum": "u1",
    }.items()
}  # fmt: skip
"""By :class:`~.schema.DType`; an enum's values are its codes. Text and bytes have :class:`Strings` or :class:`Texts` instead."""

NO_BYTES: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)


class Strings(Struct, frozen=True):
    """Byte strings of any length (UTF-8 where a column is text).

    Parameters
    ----------
    data : ndarray of uint8
        The bytes of all strings.
    start, length : ndarray of int64, shape (n,)
        String i is ``data[start[i] : start[i] + length[i]]``; a negative start is null.
    """

    data: NDArray[np.uint8]
    start: Rows
    length: Rows

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, row: int) -> bytes | None:
        start = int(self.start[row])
        return None if start < 0 else self.data[start : start + int(self.length[row])].tobytes()

    def take(self, rows: Array | slice) -> Strings:
        """Return the strings of some rows; they share `data`."""
        return Strings(self.data, self.start[rows], self.length[rows])

    @staticmethod
    def none(count: int) -> Strings:
        """As many nulls."""
        return Strings(NO_BYTES, np.full(count, -1, dtype=np.int64), np.zeros(count, dtype=np.int64))

    @staticmethod
    def join(parts: Sequence[Strings]) -> Strings:
        """Strings one after the other; bytes that parts share are held once."""
        shift, starts, shifts = 0, [], {}
        for part in parts:
            if id(part.data) not in shifts:
                shifts[id(part.data)] = shift
                shift += len(part.data)
            starts.append(np.where(part.start < 0, -1, part.start + shifts[id(part.data)]))
        different = {id(part.data): part.data for part in parts}.values()
        data = np.concatenate(list(different))
        return Strings(data, np.concatenate(starts), np.concatenate([part.length for part in parts]))


class Texts(Struct, frozen=True):
    """Texts of which there are few different ones.

    Parameters
    ----------
    codes : ndarray of unsigned integers, shape (n,)
        Position of each row's text in `texts`.
    texts : tuple of str
        The different texts.
    """

    codes: Array
    texts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: Array | slice) -> Texts:
        """Return the texts of some rows."""
        return Texts(self.codes[rows], self.texts)


class Values(NamedTuple):
    """The values of one column of a batch.

    Parameters
    ----------
    array : ndarray, range, Strings, Texts or None
        Dense (`rows` is None): one entry a row, with any value where the row has none; a range where numbers are evenly spaced; None
        where no row has a value. Sparse: one entry for each of `rows`.
    valid : ndarray of bool, shape (size,), or None
        Which rows have a value; None: all of them. Columns that have values in the same rows share the array. Dense only.
    rows : ndarray of int64 or None
        The rows that have a value, ascending, each once. Sparse only.
    """

    array: Array | range | Strings | Texts | None
    valid: Mask | None = None
    rows: Rows | None = None

    def present(self) -> Array | range | Strings | Texts:
        """Return the values of the rows that have one, in order; a range stays a range if all rows have one."""
        if self.array is None:
            return np.empty(0, dtype=np.uint8)
        if isinstance(self.array, Strings) and self.rows is None and self.valid is None:
            missing = self.array.start < 0
            return self.array.take(~missing) if missing.any() else self.array
        if self.rows is not None or self.valid is None:
            return self.array
        array = spread(self.array) if isinstance(self.array, range) else self.array
        # Positions are several times as fast as a mask that is true here and there.
        return array.take(self.valid) if isinstance(array, (Strings, Texts)) else array.take(np.flatnonzero(self.valid))

    def mask(self, size: int) -> Mask | None:
        """Which of a batch's `size` rows have a value; None: all of them."""
        if self.array is None:
            return np.zeros(size, dtype=np.bool_)
        if self.rows is not None:
            mask = np.zeros(size, dtype=np.bool_)
            mask[self.rows] = True
            return mask
        if isinstance(self.array, Strings) and self.valid is None:
            missing = self.array.start < 0
            return ~missing if missing.any() else None
        return self.valid

    def filled(self, size: int, absent: int = 0) -> Array:
        """Return a number for each of a batch's `size` rows, `absent` for those without a value; not of texts."""
        if self.array is None:
            return np.full(size, absent)
        assert not isinstance(self.array, (Strings, Texts))
        array = spread(self.array) if isinstance(self.array, range) else self.array
        if self.rows is not None:
            whole = np.full(size, absent, dtype=array.dtype)
            whole[self.rows] = array
            return whole
        return array if self.valid is None else np.where(self.valid, array, array.dtype.type(absent))

    def dense(self, size: int) -> Values:
        """Return the same values with one entry for each row."""
        if self.rows is None or self.array is None:
            return self
        mask = self.mask(size)
        if isinstance(self.array, Strings):
            start, length = np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.int64)
            start[self.rows], length[self.rows] = self.array.start, self.array.length
            return Values(Strings(self.array.data, start, length))
        if isinstance(self.array, Texts):
            codes = np.zeros(size, dtype=self.array.codes.dtype)
            codes[self.rows] = self.array.codes
            return Values(Texts(codes, self.array.texts), mask)
        return Values(self.filled(size), mask)


ABSENT = Values(None)


def plain(array: Any, dtype: type[np.generic]) -> Array:
    """Return an array of one type, its numbers behind each other; an empty one of nothing."""
    return np.empty(0, dtype=dtype) if array is None else np.ascontiguousarray(array, dtype=dtype)


def spread(numbers: range) -> Array:
    """Return a range as an array of 64-bit numbers."""
    return np.arange(len(numbers), dtype=np.uint64) * np.uint64(numbers.step) + np.uint64(numbers.start)
