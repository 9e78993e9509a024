"""Time since the start of a part of a recording, in ticks, row by row; the clocks of parts join in the recording's order.

Time passes from one record to the next only where they follow each other in their AUX stream. Between two AUX streams, where records
are missing or were left out, and beside what is not a valid record, it is not known how much time passed: none is counted, and there is
a break. All of it follows from pairs of neighbours, so it is the same wherever a recording is cut into parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import ref

import numpy as np
import numpy.typing as npt

from ptttool.analyses.time.model import TimeModel

if TYPE_CHECKING:
    from ptttool.table.batch import Batch
    from ptttool.table.values import Array, Mask, Values

CLOCK_COLUMNS: Final = ("time", "offset", "cpu")
"""The columns that a clock reads."""
# Bytes of a record by the bits of its Time field, and the reverse.
_SIZE_OF_BITS: Final = {11: 16, 32: 32}
_BITS_OF_SIZE: Final = {16: 11, 32: 32}
# A counter of 32 bits that went on by more than half of its range has gone back, or another counter was begun.
_BACK: Final = 1 << 31

Rows = npt.NDArray[np.intp]
Ticks64 = npt.NDArray[np.int64]
_NO_ROWS: Final[Rows] = np.empty(0, dtype=np.intp)


class Stamp(NamedTuple):
    """Where a record stands, and its Time field.

    Parameters
    ----------
    time : int or None
        Its Time field; None where it has none, because it is not a valid record.
    cpu : int
        CPU of its AUX stream; -1 where it is not known.
    offset : int
        Its offset in the AUX stream, in bytes.
    size : int
        Its size in bytes: 16 in 4DW, 32 in 8DW.
    """

    time: int | None
    cpu: int
    offset: int
    size: int


class Step(NamedTuple):
    """From one record to the next.

    Parameters
    ----------
    ticks : int
        Time that passed, in ticks; 0 where it is not known.
    is_break : bool
        Whether it is not known how much time passed.
    is_hole : bool
        Whether records may be missing.
    is_back : bool
        Whether the counter went back.
    """

    ticks: int
    is_break: bool
    is_hole: bool
    is_back: bool = False


class Seam(NamedTuple):
    """What the numbers of a later part become when it joins the part before it.

    Parameters
    ----------
    ticks : int
        To be added to its ticks.
    rows : int
        To be added to its numbers of rows.
    segments : int
        To be added to its numbers of segments.
    is_break, is_hole : bool
        As in :class:`Step`, from the last record of the one to the first of the other.
    """

    ticks: int
    rows: int
    segments: int
    is_break: bool
    is_hole: bool


@dataclass(frozen=True)
class Ticks:
    """The time of the rows of a batch.

    Parameters
    ----------
    at : ndarray of int64, shape (n,), or None
        Ticks of each row since the first row of its part; it never falls. None where the model of time is not known.
    breaks : ndarray of intp
        The rows, ascending, from whose predecessor on it is not known how much time passed; none was counted.
    holes : ndarray of intp
        The rows, ascending, in front of which records may be missing; each is among the breaks.
    segment : int
        Number of breaks in the part before the batch.
    record_size : int
        Bytes of a record: 16 in 4DW, 32 in 8DW.
    """

    at: Ticks64 | None
    breaks: Rows
    holes: Rows
    segment: int = 0
    record_size: int = 32

    def segments(self, rows: Array | None = None) -> Array | int:
        """Return the number of the segment that holds each row: time between two rows is known if their numbers are equal.

        Parameters
        ----------
        rows : ndarray of integers, optional
            The rows that are asked for; by default all.

        Returns
        -------
        ndarray of int64, or int
            The numbers; one for all rows where there is no break.
        """
        if not len(self.breaks):
            return self.segment
        if rows is None:
            assert self.at is not None, "rows are named where time is not known"
            rows = np.arange(len(self.at))
        return np.searchsorted(self.breaks, rows, side="right") + self.segment


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
    full: int = 0


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
    full : int
        Number of differences that are the largest that the Time field can hold: more time may have passed (delta only).
    """

    def __init__(self, model: TimeModel = TimeModel.UNKNOWN, bits: int = 32) -> None:
        self.model = model
        self._bits = bits
        self.rows = 0
        self.elapsed = 0
        self.breaks = 0
        self.holes = 0
        self.back = 0
        self.full = 0
        self.first: Stamp | None = None
        self.last: Stamp | None = None

    def ticks(self, batch: Batch) -> Ticks:
        """Take the next rows of the part.

        Parameters
        ----------
        batch : Batch
            Rows with the columns of :data:`CLOCK_COLUMNS`. Analyses of one pass that take the same batch share the work.

        Returns
        -------
        Ticks
            Their time.
        """
        if not batch.size:
            return Ticks(None if self.model is TimeModel.UNKNOWN else np.empty(0, dtype=np.int64), _NO_ROWS, _NO_ROWS, self.breaks)
        marks = _marks_of(batch, self.model, self._bits)
        shift, segment, breaks, holes = 0, self.breaks, marks.breaks, marks.holes
        if self.last is not None:
            step = step_between(self.last, marks.first, self.model)
            shift = self.elapsed + step.ticks
            breaks = np.concatenate(([0], breaks)) if step.is_break else breaks
            holes = np.concatenate(([0], holes)) if step.is_hole else holes
            self._count(step)
        else:
            self.first = marks.first
        self.last = marks.last
        self.rows += marks.size
        self.breaks += len(marks.breaks)
        self.holes += len(marks.holes)
        self.back += marks.back
        self.full += marks.full
        if marks.at is None:
            return Ticks(None, breaks, holes, segment, marks.last.size)
        self.elapsed = shift + int(marks.at[-1])
        return Ticks(marks.at + shift if shift else marks.at, breaks, holes, segment, marks.last.size)

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
            self.first = later.first
        else:
            self._count(step_between(self.last, later.first, self.model))
        self.last = later.last
        self.rows += later.rows
        self.elapsed = seam.ticks + later.elapsed
        self.breaks += later.breaks
        self.holes += later.holes
        self.back += later.back
        self.full += later.full
        return seam

    def _count(self, step: Step) -> None:
        self.breaks += step.is_break
        self.holes += step.is_hole
        self.back += step.is_back


def step_between(last: Stamp, following: Stamp, model: TimeModel) -> Step:
    """Return what lies between two records."""
    if following.cpu != last.cpu or following.offset != last.offset + last.size or following.size != last.size:
        return Step(0, is_break=True, is_hole=True)
    if model is TimeModel.UNKNOWN:
        return Step(0, is_break=False, is_hole=False)
    if following.time is None:
        return Step(0, is_break=True, is_hole=False)
    if model is TimeModel.DELTA:
        return Step(following.time, is_break=False, is_hole=False)
    if last.time is None:
        return Step(0, is_break=True, is_hole=False)
    bits = _BITS_OF_SIZE[last.size]
    ticks = (following.time - last.time) & ((1 << bits) - 1)
    if bits == 32 and ticks >= _BACK:
        return Step(0, is_break=True, is_hole=False, is_back=True)
    return Step(ticks, is_break=False, is_hole=False)


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
    holes = _holes(offsets, cpus, size)
    array: Any = times.array
    first, last = (_stamp(row, array, times.valid, cpus, offsets, size) for row in (0, batch.size - 1))
    if model is TimeModel.UNKNOWN:
        return _Marks(batch.size, None, holes, holes, first, last)
    if array is None:  # nothing is a valid record
        return _Marks(batch.size, np.zeros(batch.size, dtype=np.int64), np.arange(1, batch.size), holes, first, last)
    mask = (1 << _BITS_OF_SIZE[size]) - 1
    steps = np.empty(batch.size, dtype=np.int64)
    steps[0] = 0
    back: Rows = _NO_ROWS
    full = 0
    if model is TimeModel.DELTA:
        steps[1:] = array[1:]
        full = int(np.count_nonzero(array == mask))
    else:
        differences = (array[1:] - array[:-1]) & np.uint32(mask)
        steps[1:] = differences
        if mask >> 31 and int(differences.max(initial=0)) >= _BACK:
            back = np.flatnonzero(differences >= _BACK) + 1
    breaks = holes
    if len(back) or times.valid is not None:
        broken = np.zeros(batch.size, dtype=np.bool_)
        broken[back] = True
        if times.valid is not None:
            broken |= ~times.valid
            if model is TimeModel.COUNTER:
                back = back[times.valid[back] & times.valid[back - 1]]
                broken[1:] |= ~times.valid[:-1]
            else:
                full = int(np.count_nonzero((array == mask) & times.valid))
        broken[holes] = True
        broken[0] = False
        breaks = np.flatnonzero(broken)
    back = np.setdiff1d(back, holes, assume_unique=True)
    steps[breaks] = 0
    at = np.cumsum(steps, out=steps)
    at.flags.writeable = False  # several analyses look at it
    return _Marks(batch.size, at, breaks, holes, first, last, len(back), full)


def _record_size(offsets: Values, times: Values, bits: int) -> int:
    """Return the bytes of a record: all records of a batch have one layout."""
    array: Any = offsets.array
    if isinstance(array, range):
        return array.step
    if times.array is not None and int(np.asarray(times.present()).max(initial=0)) >> 11:
        return _SIZE_OF_BITS[32]
    if len(array) > 1 and int((array[1:] - array[:-1]).min()) == _SIZE_OF_BITS[11]:
        return _SIZE_OF_BITS[11]
    return _SIZE_OF_BITS[bits]


def _holes(offsets: Values, cpus: Values, size: int) -> Rows:
    """Return the rows that do not follow on their predecessor in an AUX stream."""
    array: Any = offsets.array
    numbers: Any = cpus.array
    elsewhere = None if isinstance(array, range) else array[1:] - array[:-1] != size
    if numbers is not None:
        others = numbers[1:] != numbers[:-1]
        elsewhere = others if elsewhere is None else elsewhere | others
    return _NO_ROWS if elsewhere is None else np.flatnonzero(elsewhere) + 1


def _stamp(row: int, times: Array | None, valid: Mask | None, cpus: Values, offsets: Values, size: int) -> Stamp:
    numbers: Any = cpus.array
    where: Any = offsets.array
    return Stamp(
        None if times is None or (valid is not None and not valid[row]) else int(times[row]),
        -1 if numbers is None else int(numbers[row]),
        int(where[row]),
        size,
    )
