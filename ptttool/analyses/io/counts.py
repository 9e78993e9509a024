"""The sums of a part of a recording: by requester and by page, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_IN_FLIGHT, MAX_IO_PAGES, MAX_IO_REQUESTERS
from ptttool.kernel import accesses
from ptttool.table.batch import Batch
from ptttool.table.values import spread
from ptttool.tlp.columns import KINDS

Array = npt.NDArray[Any]

ENTRY: Final = 64
"""Bytes of a submission queue entry."""
SECTOR: Final = 512
"""Bytes of a logical block, at least: data of a command are a multiple of it."""
PAGE: Final = 1 << 12
"""A memory page of NVMe, at least; rings begin at one."""

_WALKED = ("entries", "descriptors", "records", "completions", "small_writes", "small_reads")
_COLUMNS: Final = {
    "requesters": accesses.REQUESTER,
    **dict.fromkeys(_WALKED, accesses.WALKED),
    "lists": accesses.LISTED,
    "levels": accesses.LEVEL,
}
_TYPES: Final[dict[str, type[np.generic]]] = {
    "kind": np.uint8, "requester": np.uint16, "address": np.int64, "length_dw": np.uint16, "requested_bytes": np.uint16,
    "byte_count": np.uint16, "index": np.int64,
}  # fmt: skip
_ROLES: Final[Array] = np.zeros(256, dtype=np.uint8)
for _kind, _role in (
    ("MRd", accesses.READ), ("MWr", accesses.WRITE), ("CplD", accesses.ANSWER), ("CplDLk", accesses.ANSWER),
):  # fmt: skip
    _ROLES[KINDS.index(_kind)] = _role
# Odd, and nobody's to know, since keys of a hostile recording would meet in one place of a table otherwise.
_SEED: Final = int.from_bytes(os.urandom(8)) | 1
SPARE: Final = 1.25
"""Times the limit: keys that are held until the largest ones are left out."""


class Counts:
    """What a part of a recording holds; the tables are those of :class:`ptttool.kernel.accesses.Accesses`.

    Keys that are too many are left out, the largest first, whatever the order in which they came.

    Attributes
    ----------
    left_out : dict of str to int
        By table: TLPs of requesters, and accesses to pages, that were left out.
    """

    def __init__(self) -> None:
        self._loop: Any = accesses.Accesses(_SEED, MAX_IN_FLIGHT)
        self.left_out = dict.fromkeys(("requesters", *_WALKED, "lists"), 0)

    def add(self, batch: Batch, at: Array | None) -> None:
        """Add the rows of a batch; `at`: their ticks since the start of the part, where they are known."""
        columns = columns_of(batch, _TYPES, at)
        if not columns:
            return
        self._loop.add(*(memoryview(column) for column in (_ROLES, *columns)))
        self._cut(SPARE)

    def merge(self, later: Counts, ticks: int) -> None:
        """Add the part behind, whose ticks begin so many later."""
        self._loop.join(later._loop, ticks)
        for name, count in later.left_out.items():
            self.left_out[name] += count
        self._cut(SPARE)

    def close(self) -> dict[str, Array]:
        """Return the tables of a whole recording: structured arrays with the columns of the loop, by ascending keys."""
        self._loop.close()
        self._cut(1)
        return {
            name: _sorted(self._rows(name)).view([(column, np.int64) for column in columns]).reshape(-1)
            for name, columns in _COLUMNS.items()
        }

    def _rows(self, name: str) -> Array:
        table = getattr(self._loop, name)
        return np.asarray(table.rows)[: table.used]

    def _load(self, name: str, rows: Any) -> None:
        # Memory views give Python's own numbers without a compiler, which do not overflow.
        getattr(self._loop, name).load(memoryview(rows))

    def _cut(self, times: float) -> None:
        """Leave keys out where there are more than so many times the limit."""
        for name in self.left_out:
            limit = MAX_IO_REQUESTERS if name == "requesters" else MAX_IO_PAGES
            rows = self._rows(name)
            if len(rows) <= times * limit:
                continue
            rows = _sorted(rows)
            self.left_out[name] += int(rows[limit:, 1].sum())
            self._load(name, rows[:limit])
            if name == "requesters":
                levels = self._rows("levels")
                self._load("levels", levels[levels[:, 0] >> accesses.LEVEL_BIT <= rows[limit - 1, 0]])

    def __getstate__(self) -> tuple[dict[str, int], dict[str, Array]]:
        return self.left_out, {name: self._rows(name) for name in _COLUMNS}

    def __setstate__(self, state: tuple[dict[str, int], dict[str, Array]]) -> None:
        self._loop = accesses.Accesses(_SEED, MAX_IN_FLIGHT)
        self.left_out, tables = state
        for name, rows in tables.items():
            self._load(name, rows)


def _sorted(rows: Array) -> Array:
    return rows[rows[:, 0].argsort()]


def columns_of(batch: Batch, types: Mapping[str, type[np.generic]], at: Array | None) -> list[Any]:
    """Return what a loop looks at, or nothing where the batch has no kinds or no requesters.

    Parameters
    ----------
    batch : Batch
        The rows.
    types : Mapping of str to type
        Its columns by name, of which the kind is the first.
    at : ndarray of int64 or None
        Ticks of the rows, where they are known.

    Returns
    -------
    list of ndarray
        The kinds; which rows have a requester, as uint8, empty for all; the other columns; the ticks, empty where they are not known.
    """
    requesters = batch.values("requester")
    if batch.values("kind").array is None or requesters.array is None:
        return []
    kinds, *others = (_column(batch, name, dtype) for name, dtype in types.items())
    valid = np.empty(0, dtype=np.uint8) if requesters.valid is None else requesters.valid.astype(np.uint8)
    return [kinds, valid, *others, np.empty(0, dtype=np.int64) if at is None else np.ascontiguousarray(at, dtype=np.int64)]


def _column(batch: Batch, name: str, dtype: type[np.generic]) -> Array:
    """Return one number for each row; any one where a row has none."""
    array: Any = batch.values(name).array
    if array is None:
        return np.zeros(batch.size, dtype=dtype)
    array = spread(array) if isinstance(array, range) else np.asarray(array)
    return np.ascontiguousarray(array.view(dtype) if array.itemsize == np.dtype(dtype).itemsize else array.astype(dtype))
