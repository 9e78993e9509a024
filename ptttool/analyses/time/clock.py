"""Time since the start of a part of a recording, in ticks, row by row; the clocks of parts join in the recording's order.

Time passes from one record to the next only where they follow each other in their AUX stream. Between two AUX streams, where records
are missing or were left out, and beside what is not a valid record, it is not known how much time passed: none is counted, and there is
a break. All of it follows from pairs of neighbours, so it is the same wherever a recording is cut into parts.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

import numpy as np

from ptttool.analyses.time.line import Line
from ptttool.analyses.time.model import CLOCK_COLUMNS, TimeModel
from ptttool.analyses.time.ticks import (
    BACK,
    BITS_OF_SIZE,
    SIZE_OF_BITS,
    Rows,
    Seam,
    Stamp,
    Step,
    Ticks,
    Ticks64,
    is_wide,
    step_between,
    widest,
)
from ptttool.table.batch import HOLES
from ptttool.table.values import spread

if TYPE_CHECKING:
    from ptttool.table.batch import Batch
    from ptttool.table.values import Array, Mask, Values

    # CPUs and offsets of the records in front of which others may be missing.
    Marked = tuple[Array, Array] | None

__all__ = ("CLOCK_COLUMNS", "Clock", "Seam", "Stamp", "Step", "Ticks", "step_between")

# Pieces of AUX data at whose ends the clock keeps the time: the driver commits whole buffers, which end with such a piece.
_MARK_GRAIN: Final = 16
_NO_ROWS: Final[Rows] = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class _Marks:
    """A batch seen by itself: ticks since its first row, and what joins it to the batch before and behind."""

    size: int
    at: Ticks64 | None
    breaks: Rows
    holes: Rows
    first: Stamp
    last: Stamp
    back: int = 0
    wide: int = 0


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
            Rows with the columns of :data:`CLOCK_COLUMNS`. Analyses of one pass that take the same batch share the work. Where a
            condition has left rows out, the batch knows them (``whole``), and time passes in them, too.

        Returns
        -------
        Ticks
            Their time.
        """
        if batch.whole is not None:
            return self.ticks(batch.whole.batch).taken(batch.whole.wanted)
        if not batch.size:
            return Ticks(
                None if self.model is TimeModel.UNKNOWN else np.empty(0, dtype=np.int64), _NO_ROWS, _NO_ROWS, self.breaks, row=self.rows
            )
        marks = _marks_of(batch, self.model, self.bits)
        shift, segment, breaks, holes = 0, self.breaks, marks.breaks, marks.holes
        if self.last is not None:
            step = step_between(self.last, marks.first, self.model)
            shift = self.elapsed + step.ticks
            breaks = np.concatenate(([0], breaks)) if step.is_break else breaks
            holes = np.concatenate(([0], holes)) if step.is_hole else holes
            self._count(step, marks.first.size)
        else:
            self.first = marks.first
            self.bits = BITS_OF_SIZE[marks.first.size]
        self.last = marks.last
        self.rows += marks.size
        self.breaks += len(marks.breaks)
        self.holes += len(marks.holes)
        self.back += marks.back
        self.wide += marks.wide
        if marks.at is None:
            return Ticks(None, breaks, holes, segment, marks.last.size, self.rows - marks.size)
        self.elapsed = shift + int(marks.at[-1])
        ticks = Ticks(marks.at + shift if shift else marks.at, breaks, holes, segment, marks.last.size, self.rows - marks.size)
        self.marks.add(batch, ticks, self.marks.groups(batch))
        return ticks

    def seam(self, later: Clock) -> Seam:
        """Return what the numbers of a later part become when it joins this one; nothing is changed."""
        if self.last is None or later.first is None:
            return Seam(self.elapsed, self.rows, self.breaks, is_break=False, is_hole=False)
        step = step_between(self.last, later.first, self.model)
        return Seam(self.elapsed + step.ticks, self.rows, self.breaks + step.is_break, step.is_break, step.is_hole)

    def merge(self, later: Clock) -> Seam:
        """Add the clock of the part behind, and return what that part's numbers become."""
        seam = self.seam(later)
        if later.first is None:
            return seam
        if self.last is None:
            self.first, self.bits = later.first, later.bits
        else:
            self._count(step_between(self.last, later.first, self.model), later.first.size)
        self.last = later.last
        self.marks.merge(later.marks, seam)
        self.rows += later.rows
        self.elapsed = seam.ticks + later.elapsed
        self.breaks += later.breaks
        self.holes += later.holes
        self.back += later.back
        self.wide += later.wide
        return seam

    def _count(self, step: Step, size: int) -> None:
        self.breaks += step.is_break
        self.holes += step.is_hole
        self.back += step.is_back
        self.wide += is_wide(step.ticks, size, self.model)


_latest: tuple[ref[Any], TimeModel, _Marks] | None = None


def _marks_of(batch: Batch, model: TimeModel, bits: int) -> _Marks:
    """Return the marks of a batch, made once for all who ask for it one after the other."""
    global _latest
    array = batch.values("time").array
    known = _latest
    if known is not None and array is not None and known[0]() is array and known[1] is model:
        return known[2]
    marks = _new_marks(batch, model, bits)
    if array is not None:
        _latest = (ref(array), model, marks)
    return marks


def _new_marks(batch: Batch, model: TimeModel, bits: int) -> _Marks:
    offsets, cpus, times = batch.values("offset"), batch.values("cpu"), batch.values("time")
    size = _record_size(offsets, times, bits)
    marked: Any = batch.facts.get(HOLES)
    holes = _holes(offsets, cpus, size, marked)
    array: Any = times.array
    first, last = (_stamp(row, array, times.valid, cpus, offsets, size, marked) for row in (0, batch.size - 1))
    if model is TimeModel.UNKNOWN:
        return _Marks(batch.size, None, holes, holes, first, last)
    if array is None:  # nothing is a valid record
        return _Marks(batch.size, np.zeros(batch.size, dtype=np.int64), np.arange(1, batch.size), holes, first, last)
    mask = (1 << BITS_OF_SIZE[size]) - 1
    steps = np.empty(batch.size, dtype=np.int64)
    steps[0] = 0
    back: Rows = _NO_ROWS
    wide = 0
    if model is TimeModel.DELTA:
        steps[1:] = array[1:]
    else:
        differences = (array[1:] - array[:-1]) & np.uint32(mask)
        steps[1:] = differences
        if mask >> 31 and int(differences.max(initial=0)) >= BACK:
            back = np.flatnonzero(differences >= BACK) + 1
    breaks = holes
    if len(back) or times.valid is not None:
        broken = np.zeros(batch.size, dtype=np.bool_)
        broken[back] = True
        if times.valid is not None:
            broken |= ~times.valid
            if model is TimeModel.COUNTER:
                back = back[times.valid[back] & times.valid[back - 1]]
                broken[1:] |= ~times.valid[:-1]
        broken[holes] = True
        broken[0] = False
        breaks = np.flatnonzero(broken)
    back = np.setdiff1d(back, holes, assume_unique=True)
    steps[breaks] = 0
    if size == SIZE_OF_BITS[11]:
        wide = int(np.count_nonzero(steps >= widest(model)))
    at = np.cumsum(steps, out=steps)
    at.flags.writeable = False  # several analyses look at it
    return _Marks(batch.size, at, breaks, holes, first, last, len(back), wide)


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


def _holes(offsets: Values, cpus: Values, size: int, marked: Marked) -> Rows:
    """Return the rows that do not follow on their predecessor in an AUX stream, or are marked by CPU and offset."""
    array: Any = offsets.array
    numbers: Any = cpus.array
    elsewhere = None if isinstance(array, range) else array[1:] - array[:-1] != size
    if numbers is not None:
        others = numbers[1:] != numbers[:-1]
        elsewhere = others if elsewhere is None else elsewhere | others
    if marked is not None:
        at = np.asarray(spread(array) if isinstance(array, range) else array, dtype=np.uint64)[1:]
        marks, number = np.unique(marked[1], return_inverse=True)
        found = np.flatnonzero(np.isin(at, marks))
        if numbers is not None:  # with several CPUs, offsets of one are those of another
            keys = np.searchsorted(marks, at[found]) << 32 | numbers[found + 1].astype(np.int64) + 1
            found = found[np.isin(keys, number << 32 | marked[0] + 1)]
        elsewhere = np.zeros(len(at), dtype=np.bool_) if elsewhere is None else elsewhere
        elsewhere[found] = True
    return _NO_ROWS if elsewhere is None else np.flatnonzero(elsewhere) + 1


def _stamp(row: int, times: Array | None, valid: Mask | None, cpus: Values, offsets: Values, size: int, marked: Marked) -> Stamp:
    numbers: Any = cpus.array
    where: Any = offsets.array
    cpu, offset = -1 if numbers is None else int(numbers[row]), int(where[row])
    time = None if times is None or (valid is not None and not valid[row]) else int(times[row])
    is_marked = marked is not None and bool(((marked[0] == cpu) & (marked[1] == np.uint64(offset))).any())
    return Stamp(time, cpu, offset, size, is_marked)
