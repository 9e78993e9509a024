"""What passes in each block of a recording: TLPs and bytes by direction and class, errors, time."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from ptttool.analyses.compare.grid import Grid
from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.analyses.time.model import CLOCK_COLUMNS, TimeModel
from ptttool.diagnostics import Diagnostic
from ptttool.table.batch import Batch
from ptttool.table.values import Array
from ptttool.tlp.columns import CLASSES, DIRECTIONS, STATUSES

# A cell for each direction and class; TLPs without a class (unknown ones) have the last one of their direction.
_OF_DIRECTION: Final = len(CLASSES) + 1
CELLS: Final = len(DIRECTIONS) * _OF_DIRECTION
# Sums of a cell: TLPs, TLPs with data, bytes of data, TLPs that ask for bytes, bytes that they ask for.
TLPS, WITH_DATA, DATA, ASKING, ASKED = (CELLS * number for number in range(5))
TICKS, COMPLETIONS, ERRORS = (5 * CELLS + number for number in range(3))
WIDTH: Final = 5 * CELLS + 3
_SUCCESS: Final = STATUSES.index("SC")
_NO_STATUS: Final = 255


def cell(direction: int, class_: int) -> int:
    """Return the cell of a direction and a class, each by its code."""
    return direction * _OF_DIRECTION + class_


class BlockSums(NamedTuple):
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
    tick_ns : float or None
        Nanoseconds of a tick, as the user or the clock that is kept beside the recording says. Calibrations are not exact enough to compare
        recordings by them.
    tick_text : str or None
        The same, and who says so, for people; None where it is not known.
    dropped : Diagnostic or None
        What the recording says against the clock that is kept beside it.
    """

    grid: Grid
    elapsed: int | None
    holes: int
    is_at_least: bool = False
    tick_ns: float | None = None
    tick_text: str | None = None
    dropped: Diagnostic | None = None


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
        self._clock = self.scope.clock
        # The block of the first row: the time up to it is known when the part before is merged.
        self._first: int | None = None

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        if not batch.size:
            return
        index = batch.values("index").filled(batch.size)
        grid = self._grid
        blocks = grid.blocks(index)
        if self._first is None:
            self._first = int(index[0])
        before = self._clock.elapsed
        at = self._clock.ticks(batch).at
        cells = batch.values("direction").filled(batch.size, len(DIRECTIONS) - 1).astype(np.intp) * _OF_DIRECTION
        cells += batch.values("class").filled(batch.size, len(CLASSES))
        places = blocks * CELLS + cells
        size = len(grid.sums) * CELLS

        def add(column: int, rows: Any = slice(None), weights: Array | None = None) -> None:
            counts = np.bincount(places[rows], weights=weights, minlength=size).astype(np.int64)
            grid.sums[:, column : column + CELLS] += counts.reshape(-1, CELLS)

        add(TLPS)
        for count, total, name in ((WITH_DATA, DATA, "payload_bytes"), (ASKING, ASKED, "requested_bytes")):
            values = batch.values(name).filled(batch.size)
            rows = np.flatnonzero(values)
            add(count, rows)
            add(total, rows, values[rows])
        statuses = batch.values("status").filled(batch.size, _NO_STATUS)
        for column, is_counted in ((COMPLETIONS, statuses != _NO_STATUS), (ERRORS, (statuses != _NO_STATUS) & (statuses != _SUCCESS))):
            grid.sums[:, column] += np.bincount(blocks[is_counted], minlength=len(grid.sums))
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
        clock, time = self._clock, self.scope.time_facts(self._clock, context)
        sums = BlockSums(self._grid, clock.elapsed if is_known else None, clock.holes, is_known and clock.is_at_least, dropped=time.dropped)
        return sums._replace(tick_ns=time.tick_ns, tick_text=time.tick_text) if time.tick_from in ("asked", "sidecar") else sums
