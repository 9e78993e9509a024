"""Time since the start of a part of a recording, in ticks, row by row; the clocks of parts join in the recording's order.

Time passes from one record to the next only where they follow each other in their AUX stream. Between two AUX streams, where records
are missing or were left out, and beside what is not a valid record, it is not known how much time passed: none is counted, and there is
a break. All of it follows from pairs of neighbours, so it is the same wherever a recording is cut into parts.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ptttool.analyses.time.line import Line
from ptttool.analyses.time.model import CLOCK_COLUMNS, TimeModel
from ptttool.analyses.time.ticks import BITS_OF_SIZE, SIZE_OF_BITS, Rows, Seam, Stamp, Ticks, Ticks64
from ptttool.table.batch import HOLES
from ptttool.table.values import Values, spread

if TYPE_CHECKING:
    from ptttool.table.batch import Batch
    from ptttool.table.values import Array

__all__ = ("CLOCK_COLUMNS", "Clock")

# Pieces of AUX data at whose ends the clock keeps the time: the driver commits whole buffers, which end with such a piece.
_MARK_GRAIN: Final = 16
_NO_ROWS: Final[Rows] = np.empty(0, dtype=np.intp)
# A counter of 32 bits that went on by this much or more has gone back, or another counter was begun.
_BACK: Final = 1 << 31
# Steps of 11 bits from which on others are likely to be longer than the field can say.
_WIDE: Final = {TimeModel.COUNTER: 1 << 10, TimeModel.DELTA: (1 << 11) - 1}


class Clock:
    """Adds the time of the rows of a part up.

    Parameters
    ----------
    model : TimeModel
        How the Time field is read.
    bits : int
        Bits of the Time field, where the records themselves do not tell.

    Attributes
    ----------
    model : TimeModel
        How the Time field is read.
    bits : int
        Bits of the Time field, of the first record where there is one.
    rows : int
        Rows that were seen.
    elapsed : int
        Ticks from the first to the last row, without what is not known; 0 where the model of time is not known.
    breaks : int
        How often it is not known how much time passed.
    holes : int
        How often records may be missing between two rows.
    back : int
        How often the counter went back; each is a break.
    wide : int
        In 11 bits, how often the counter went on by half of its range or more, or how many differences are the largest that there are:
        where gaps are as long as that, some are longer, and a part of them is not seen.
    marks : Line
        The time at the ends of pieces of the AUX data.
    """

    def __init__(self, model: TimeModel = TimeModel.UNKNOWN, bits: int = 32) -> None:
        self.model = model
        self.bits = bits
        self.rows = 0
        self.elapsed = 0
        self.breaks = 0
        self.holes = 0
        self.back = 0
        self.wide = 0
        self.first: Stamp | None = None
        self.last: Stamp | None = None
        self.marks = Line(grain=_MARK_GRAIN)

    @property
    def is_at_least(self) -> bool:
        """Whether more time passed than was seen: gaps of unknown length, or so long that 11 bits hide a part of them."""
        return bool(self.breaks or self.wide)

    def __copy__(self) -> Clock:
        """Return a clock that goes on by itself."""
        other = Clock(self.model, self.bits)
        other.__dict__.update(self.__dict__, marks=copy(self.marks))
        return other

    def ticks(self, batch: Batch) -> Ticks:
        """Take the next rows of the part.

        Parameters
        ----------
        batch : Batch
            Rows with the columns of :data:`CLOCK_COLUMNS`. Where a condition has left rows out, the batch knows them (``whole``), and
            time passes in them, too.

        Returns
        -------
        Ticks
            Their time.
        """
        if batch.whole is not None:
            return self.ticks(batch.whole.batch).taken(batch.whole.wanted)
        row, segment = self.rows, self.breaks
        if not batch.size:
            return Ticks(None if self.model is TimeModel.UNKNOWN else np.empty(0, dtype=np.int64), _NO_ROWS, _NO_ROWS, segment, row=row)
        offsets, cpus, times = batch.values("offset"), batch.values("cpu"), batch.values("time")
        size = _record_size(offsets, times, self.bits)
        marked: Any = batch.facts.get(HOLES)
        behind_holes = _behind_holes(offsets, cpus, marked)
        here = Clock(self.model, BITS_OF_SIZE[size])
        here.first, here.last = (_stamp(place, offsets, cpus, times, size, behind_holes) for place in (0, batch.size - 1))
        at, breaks, holes = here._add(size, offsets.array, cpus.array, times, behind_holes)
        here.rows = batch.size
        seam = self._join(here)
        if seam.is_break:
            breaks = np.append(0, breaks)
        if seam.is_hole:
            holes = np.append(0, holes)
        ticks = Ticks(at, breaks, holes, segment, size, row)
        if at is not None:
            at += seam.ticks
            self.marks.add(batch, ticks, self.marks.starts(batch))
        return ticks

    def merge(self, later: Clock) -> Seam:
        """Add the clock of the part behind, and return what that part's numbers become."""
        seam = self._join(later)
        self.marks.merge(later.marks, seam)
        return seam

    def _join(self, later: Clock) -> Seam:
        """Add the numbers of a part behind."""
        if later.first is None:
            return Seam(self.elapsed, self.rows, self.breaks)
        breaks, holes, is_other_cpu = self.breaks, self.holes, False
        if self.last is None:
            self.first, self.bits = later.first, later.bits
        else:
            is_other_cpu = self.last.cpu != later.first.cpu
            self._add(*_pair(self.last, later.first))
        seam = Seam(self.elapsed, self.rows, self.breaks, self.breaks > breaks, self.holes > holes, is_other_cpu)
        self.last = later.last
        self.rows += later.rows
        self.elapsed += later.elapsed
        self.breaks += later.breaks
        self.holes += later.holes
        self.back += later.back
        self.wide += later.wide
        return seam

    def _add(self, size: int, offsets: Any, cpus: Any, times: Values, behind_holes: Rows) -> tuple[Ticks64 | None, Rows, Rows]:
        """Add what lies between neighbouring records of one size, as :class:`Stamp` has it; return their ticks, breaks and holes."""
        count = len(offsets)
        is_hole = np.zeros(count, dtype=np.bool_)
        is_hole[behind_holes] = True
        if not isinstance(offsets, range):
            is_hole[1:] |= offsets[1:] - offsets[:-1] != size
        if cpus is not None:
            is_hole[1:] |= cpus[1:] != cpus[:-1]
        is_hole[0] = False
        holes = np.flatnonzero(is_hole)
        self.holes += len(holes)
        if self.model is TimeModel.UNKNOWN:
            self.breaks += len(holes)
            return None, holes, holes
        is_break, steps = is_hole, np.zeros(count, dtype=np.int64)
        if times.array is None:  # nothing is a valid record
            is_break[1:] = True
        else:
            array: Any = times.array
            if times.valid is not None:
                is_break[1:] |= ~times.valid[1:]
            if self.model is TimeModel.DELTA:
                steps[1:] = array[1:]
            else:
                steps[1:] = (array[1:] - array[:-1]) & np.uint32((1 << BITS_OF_SIZE[size]) - 1)
                if times.valid is not None:
                    is_break[1:] |= ~times.valid[:-1]
                is_back = np.flatnonzero(steps >= _BACK)
                self.back += int(np.count_nonzero(~is_break[is_back]))
                is_break[is_back] = True
        breaks = np.flatnonzero(is_break)
        steps[breaks] = 0
        self.breaks += len(breaks)
        if size == SIZE_OF_BITS[11]:
            self.wide += int(np.count_nonzero(steps >= _WIDE[self.model]))
        at = np.cumsum(steps, out=steps)
        self.elapsed += int(at[-1])
        return at, breaks, holes


def _record_size(offsets: Values, times: Values, bits: int) -> int:
    """Return the bytes of a record: all records of a batch have one layout."""
    array: Any = offsets.array
    if isinstance(array, range):
        return array.step
    if times.array is not None and int(np.asarray(times.present()).max(initial=0)) >> 11:
        return SIZE_OF_BITS[32]
    if len(array) > 1 and int((array[1:] - array[:-1]).min()) == SIZE_OF_BITS[11]:
        return SIZE_OF_BITS[11]
    return SIZE_OF_BITS[bits]


def _behind_holes(offsets: Values, cpus: Values, marked: tuple[Array, Array] | None) -> Rows:
    """Return the rows in front of which others may be missing: those that CPUs and offsets name."""
    if marked is None:
        return _NO_ROWS
    at: Any = spread(offsets.array) if isinstance(offsets.array, range) else offsets.array
    numbers: Any = cpus.array
    marks, number = np.unique(marked[1], return_inverse=True)
    rows = np.flatnonzero(np.isin(at, marks))
    # With several CPUs, offsets of one are those of another.
    here = np.int64(-1) if numbers is None else numbers[rows].astype(np.int64)
    return rows[np.isin(np.searchsorted(marks, at[rows]) << 32 | here + 1, number << 32 | marked[0] + 1)]


def _stamp(row: int, offsets: Values, cpus: Values, times: Values, size: int, behind_holes: Rows) -> Stamp:
    array: Any = times.array
    where: Any = offsets.array
    numbers: Any = cpus.array
    time = None if array is None or (times.valid is not None and not times.valid[row]) else int(array[row])
    return Stamp(time, -1 if numbers is None else int(numbers[row]), int(where[row]), size, row in behind_holes)


def _pair(last: Stamp, first: Stamp) -> tuple[int, Array, Array, Values, Rows]:
    """Return two records as arrays: the last one of a part, and the first one of the part behind."""
    both = last, first
    times = Values(np.array([one.time or 0 for one in both], dtype=np.uint32), np.array([one.time is not None for one in both]))
    is_behind_hole = first.is_behind_hole or first.size != last.size
    return (
        first.size, np.array([one.offset for one in both], dtype=np.uint64), np.array([one.cpu for one in both]), times,
        np.flatnonzero([False, is_behind_hole]),
    )  # fmt: skip
