"""What passes in each block of a recording: TLPs and bytes by direction and class, errors, time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ptttool.analyses.compare.grid import Grid
from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.analyses.time.clock import CLOCK_COLUMNS, Clock
from ptttool.analyses.time.model import TimeModel
from ptttool.table.batch import Batch
from ptttool.table.values import Array, Values
from ptttool.tlp.columns import CLASSES, DIRECTIONS, STATUSES

# A cell for each direction and class; TLPs without a class (unknown ones) have the last one of their direction.
_OF_DIRECTION: Final = len(CLASSES) + 1
CELLS: Final = len(DIRECTIONS) * _OF_DIRECTION
# Sums of a cell: TLPs, TLPs with data, bytes of data, TLPs that ask for bytes, bytes that they ask for.
TLPS, WITH_DATA, DATA, ASKING, ASKED = (CELLS * number for number in range(5))
TICKS, COMPLETIONS, ERRORS = (5 * CELLS + number for number in range(3))
WIDTH: Final = 5 * CELLS + 3
_SUCCESS: Final = STATUSES.index("SC")


def cell(direction: int, class_: int) -> int:
    """Return the cell of a direction and a class, each by its code."""
    return direction * _OF_DIRECTION + class_


@dataclass(frozen=True)
class BlockSums:
    """A recording in blocks.

    Parameters
    ----------
    grid : Grid
        The sums of each block.
    elapsed : int or None
        Ticks of the recording; None where time is not known.
    holes : int
        How often records may be missing.
    is_at_least : bool
        Whether more time passed than ``elapsed``.
    """

    grid: Grid
    elapsed: int | None
    holes: int
    is_at_least: bool = False


class BlockAnalysis(TlpAnalysis[BlockSums]):
    """Adds up what passes in each block of a recording.

    Parameters
    ----------
    scope : Scope
        What is known of the recording.
    """

    name = "blocks"
    meaning = "what passes in each block of a recording"
    columns = ("index", "class", "direction", "payload_bytes", "requested_bytes", "status", *CLOCK_COLUMNS)

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self._grid = Grid(WIDTH)
        self._clock = Clock(self.scope.time_model, self.scope.time_bits)
        # The block of the first row: the time up to it is known when the part before is merged.
        self._first: int | None = None

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        if not batch.size:
            return
        index = batch.values("index").array
        assert isinstance(index, range) or index is not None
        grid = self._grid
        blocks = grid.blocks(index)
        if self._first is None:
            self._first = int(index[0])  # type: ignore[index,arg-type]
        before = self._clock.elapsed
        at = self._clock.ticks(batch).at
        cells = _codes(batch.values("direction"), batch.size, len(DIRECTIONS) - 1) * _OF_DIRECTION
        cells += _codes(batch.values("class"), batch.size, len(CLASSES))
        places = blocks * CELLS + cells
        size = len(grid.sums) * CELLS

        def add(column: int, rows: Any = slice(None), weights: Array | None = None) -> None:
            found = np.bincount(places[rows], weights=weights, minlength=size).astype(np.int64)
            grid.sums[:, column : column + CELLS] += found.reshape(-1, CELLS)

        add(TLPS)
        for count, total, name in ((WITH_DATA, DATA, "payload_bytes"), (ASKING, ASKED, "requested_bytes")):
            rows, values = _positive(batch.values(name))
            add(count, rows)
            add(total, rows, values)
        statuses = batch.values("status")
        rows, codes = _rows_of(statuses)
        grid.sums[:, COMPLETIONS] += np.bincount(blocks[rows], minlength=len(grid.sums))
        grid.sums[:, ERRORS] += np.bincount(blocks[rows[codes != _SUCCESS]], minlength=len(grid.sums))
        if at is not None:
            steps = np.diff(at, prepend=np.int64(before))
            grid.sums[:, TICKS] += np.bincount(blocks, weights=steps, minlength=len(grid.sums)).astype(np.int64)

    def merge(self, later: BlockAnalysis) -> None:
        """Add the TLPs behind."""
        if later._first is None:
            return
        elapsed = self._clock.elapsed
        seam = self._clock.merge(later._clock)
        self._grid.merge(later._grid)
        if self._first is None:
            self._first = later._first
        else:
            self._grid.sums[(later._first >> self._grid.shift) - self._grid.first, TICKS] += seam.ticks - elapsed

    def result(self, context: AnalysisContext) -> BlockSums:
        """Return the sums."""
        is_known = self.scope.time_model is not TimeModel.UNKNOWN
        return BlockSums(self._grid, self._clock.elapsed if is_known else None, self._clock.holes, is_known and self._clock.is_at_least)


def _codes(values: Values, size: int, absent: int) -> Array:
    """Return the codes of an enum, with a code for rows without one."""
    array: Any = values.array
    if array is None:
        return np.full(size, absent, dtype=np.intp)
    codes: Array = array.astype(np.intp)
    if values.valid is not None:
        codes[~values.valid] = absent
    return codes


def _rows_of(values: Values) -> tuple[Array, Array]:
    """Return the rows that have a value, and the values."""
    array: Any = values.array
    if array is None:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.uint8)
    if values.rows is not None:
        return values.rows, array
    if values.valid is None:
        return np.arange(len(array)), array
    rows = np.flatnonzero(values.valid)
    return rows, array[rows]


def _positive(values: Values) -> tuple[Array, Array]:
    """Return the rows with a value above 0, and the values."""
    rows, found = _rows_of(values)
    wanted = found > 0
    return rows[wanted], found[wanted]
