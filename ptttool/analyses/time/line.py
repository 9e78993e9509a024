"""Sums over time, in bounded memory: points for equal pieces of AUX data, which are joined in pairs where there are too many.

A point stands for the records of a piece of an AUX stream, aligned to its size: so points are the same wherever a recording is cut into
parts. It has the ticks of its first and its last record, and sums. A piece that a cut divides is made whole when the parts join.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_LINE_POINTS
from ptttool.analyses.time.model import FINEST

if TYPE_CHECKING:
    from ptttool.analyses.time.ticks import Seam, Ticks
    from ptttool.table.batch import Batch

Table = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]

# The columns of the table of points. In front of a point's sums: CPU, offset of its first record and of the end of its last, ticks of both,
# numbers and segments of both.
_CPU, _BEGIN, _END, _FIRST, _LAST, _ROW, _LAST_ROW, _SEGMENT, _LAST_SEGMENT = range(9)
_SUMS: Final = 9
_COARSEST: Final = 62
INTERVALS: Final = 200
"""Intervals that a time line is shown in."""


@dataclass(frozen=True)
class Groups:
    """The pieces of AUX data that the rows of a batch are in.

    Parameters
    ----------
    starts : ndarray of intp, shape (g,)
        The first row of each piece.
    size : int
        Number of rows.
    """

    starts: Rows
    size: int

    @property
    def of_rows(self) -> Rows:
        """The number of each row's piece, shape (size,)."""
        return np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=self.size))

    def sums(self, values: Any) -> Table:
        """Return the sum of the rows' values for each piece.

        Parameters
        ----------
        values : ndarray of integers, shape (size,)
            A value for each row.

        Returns
        -------
        ndarray of int64, shape (g,)
        """
        if not self.size:
            return np.zeros(0, dtype=np.int64)
        return np.add.reduceat(values, self.starts, dtype=np.int64)


@dataclass(frozen=True)
class Intervals:
    """A time line in intervals of equal width.

    Parameters
    ----------
    width : int
        Ticks of an interval; records where nothing is known of time.
    begins : ndarray of int64, shape (n,)
        Where each begins.
    rows : ndarray of int64, shape (n,)
        Number of the first record of each; between two points it is interpolated.
    sums : ndarray of int64, shape (n, m)
        The sums. A point that lies in several intervals is divided among them in proportion to its ticks.
    """

    width: int
    begins: Table
    rows: Table
    sums: Table


class Line:
    """Sums over time of a part of a recording.

    Parameters
    ----------
    sums : int
        Number of sums that a point has.
    grain : int
        Size of the finest pieces, as an exponent of two in bytes; the same for all parts of a recording.
    limit : int
        Largest number of points.

    Attributes
    ----------
    points : ndarray of int64, shape (p, 9 + sums)
        The points.
    shift : int
        Size of the pieces, as an exponent of two in bytes.
    """

    def __init__(self, sums: int = 0, grain: int = FINEST, limit: int = MAX_LINE_POINTS) -> None:
        self.shift = grain
        self.points: Table = np.zeros((0, _SUMS + sums), dtype=np.int64)
        self._limit = limit

    @property
    def sums(self) -> Table:
        """The sums of the points, shape (p, sums)."""
        return self.points[:, _SUMS:]

    def groups(self, batch: Batch) -> Groups:
        """Return the pieces that a batch's rows are in; pieces become larger where there would be too many.

        Parameters
        ----------
        batch : Batch
            Rows with the columns ``offset`` and ``cpu``.
        """
        self.shift, groups = _groups_of(batch, self.shift, self._limit)
        return groups

    def add(self, batch: Batch, ticks: Ticks, groups: Groups, *sums: Any) -> None:
        """Add rows.

        Parameters
        ----------
        batch : Batch
            Rows with the columns ``offset`` and ``cpu``.
        ticks : Ticks
            Their time.
        groups : Groups
            What :meth:`groups` returned for the batch.
        *sums : ndarray of int64, shape (g,) or (g, k)
            The sums of each piece.
        """
        if not batch.size:
            return
        starts = groups.starts
        lasts = np.append(starts[1:], groups.size) - 1
        points = np.empty((len(starts), self.points.shape[1]), dtype=np.int64)
        offsets: Any = batch.values("offset").array
        cpus: Any = batch.values("cpu").array
        points[:, _CPU] = -1 if cpus is None else cpus[starts]
        if isinstance(offsets, range):
            points[:, _BEGIN] = starts * offsets.step + offsets.start
            points[:, _END] = (lasts + 1) * offsets.step + offsets.start
        else:
            points[:, _BEGIN] = offsets[starts]
            points[:, _END] = offsets[lasts] + np.uint64(ticks.record_size)
        points[:, _FIRST] = 0 if ticks.at is None else ticks.at[starts]
        points[:, _LAST] = 0 if ticks.at is None else ticks.at[lasts]
        points[:, _ROW] = ticks.numbers(starts)
        points[:, _LAST_ROW] = ticks.numbers(lasts)
        points[:, _SEGMENT] = ticks.segments(starts)
        points[:, _LAST_SEGMENT] = ticks.segments(lasts)
        at = _SUMS
        for each in sums:
            width = 1 if each.ndim == 1 else each.shape[1]
            points[:, at : at + width] = each.reshape(-1, width)
            at += width
        assert at == points.shape[1]
        self._join(points)

    def merge(self, later: Line, seam: Seam) -> None:
        """Add the points of the part behind.

        Parameters
        ----------
        later : Line
            Its line.
        seam : Seam
            What its numbers become.
        """
        points = later.points.copy()
        points[:, (_FIRST, _LAST)] += seam.ticks
        points[:, (_ROW, _LAST_ROW)] += seam.rows
        points[:, (_SEGMENT, _LAST_SEGMENT)] += seam.segments
        self.shift = max(self.shift, later.shift)
        self._join(points)

    def _join(self, points: Table) -> None:
        self.points = _coarse(np.concatenate((self.points, points)), self.shift)
        while len(self.points) > self._limit and self.shift < _COARSEST:
            self.shift += 1
            self.points = _coarse(self.points, self.shift)
        if len(self.points) > self._limit:
            # Streams that alternate all the time have no pieces that could be joined.
            starts = np.arange(0, len(self.points), 2)
            self.points = _joined(self.points, starts)

    def spread(self, column: int, begins: Table, ends: Table) -> None:
        """Add the time of spans to the points that they cover: a point lasts until the next one begins.

        Parameters
        ----------
        column : int
            Which of the sums.
        begins, ends : ndarray of int64, shape (k,)
            Ticks at which spans begin and end.
        """
        if not len(begins) or not len(self.points):
            return
        edges = np.append(self.points[:, _FIRST], max(int(self.points[-1, _LAST]), int(ends.max())))
        # The time of all spans up to a moment is piecewise linear: each adds what lies before the moment, and stops at its end.
        points = self.points.copy()
        points[:, _SUMS + column] += np.diff(_time_before(np.sort(begins), edges) - _time_before(np.sort(ends), edges))
        self.points = points

    def intervals(self, count: int = INTERVALS, *, by_rows: bool = False) -> Intervals:
        """Return the line in intervals of equal width.

        Parameters
        ----------
        count : int
            Largest number of intervals.
        by_rows : bool
            Whether records take the place of ticks.
        """
        points = self.points
        if not len(points):
            return Intervals(1, np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, points.shape[1] - _SUMS), np.int64))
        firsts = points[:, _ROW] if by_rows else points[:, _FIRST]
        lasts = points[:, _LAST_ROW] if by_rows else points[:, _LAST]
        extent = int(lasts[-1]) + 1
        width = -(-extent // count)
        number = -(-extent // width)
        edges = np.arange(number + 1, dtype=np.int64) * width
        values = points[:, _SUMS:]
        before = np.concatenate((np.zeros((1, values.shape[1]), np.int64), np.cumsum(values, axis=0)))
        # The points end in order, and each begins where the one before has ended: at most one lies across an edge.
        whole = np.searchsorted(lasts, edges, side="left")
        across = np.minimum(whole, len(points) - 1)
        share = np.clip((edges - firsts[across]) / (lasts[across] - firsts[across] + 1), 0.0, 1.0)
        share[whole == len(points)] = 0.0
        found = before[whole] + np.floor(values[across] * share[:, None]).astype(np.int64)
        count_in = points[across, _LAST_ROW] - points[across, _ROW] + 1
        rows = points[across, _ROW] + np.floor(count_in * share).astype(np.int64)
        return Intervals(width, edges[:-1], rows[:-1], np.diff(found, axis=0))

    def moments(self, cpu: int, ends: Table) -> tuple[Table, Table]:
        """Return when the records came that end at offsets of an AUX stream.

        Parameters
        ----------
        cpu : int
            The CPU of the stream; -1 where it is not known.
        ends : ndarray of int64, shape (n,)
            Where the records end; inside a point, time is interpolated.

        Returns
        -------
        ticks : ndarray of int64, shape (n,)
            Their ticks.
        segments : ndarray of int64, shape (n,)
            Their segments; -1 where no point has the record, or where it is not known when it came.
        """
        points = self.points[self.points[:, _CPU] == cpu]
        if not len(points) or (points[1:, _BEGIN] < points[:-1, _END]).any():  # some of the stream twice
            return np.zeros(len(ends), np.int64), np.full(len(ends), -1, np.int64)
        held = points[np.minimum(np.searchsorted(points[:, _END], ends, side="left"), len(points) - 1)]
        share = (ends - held[:, _BEGIN]) / (held[:, _END] - held[:, _BEGIN])
        ticks = held[:, _FIRST] + np.rint((held[:, _LAST] - held[:, _FIRST]) * share).astype(np.int64)
        known = (held[:, _BEGIN] < ends) & (held[:, _END] >= ends)
        known &= (held[:, _SEGMENT] == held[:, _LAST_SEGMENT]) | (held[:, _END] == ends)
        return ticks, np.where(known, held[:, _LAST_SEGMENT], -1)


def _time_before(moments: Table, edges: Table) -> Table:
    """Return for each edge how long ago the moments before it are, all together."""
    count = np.searchsorted(moments, edges)
    sums = np.concatenate(([0], np.cumsum(moments)))
    return count * edges - sums[count]


def _coarse(points: Table, shift: int) -> Table:
    """Join adjacent points of one piece."""
    if len(points) < 2:
        return points
    pieces = points[:, _BEGIN] >> shift
    new = np.empty(len(points), dtype=np.bool_)
    new[0] = True
    np.not_equal(pieces[1:], pieces[:-1], out=new[1:])
    new[1:] |= points[1:, _CPU] != points[:-1, _CPU]
    return points if new.all() else _joined(points, np.flatnonzero(new))


def _joined(points: Table, starts: Rows) -> Table:
    lasts = np.append(starts[1:], len(points)) - 1
    joined = points[starts]
    for column in (_END, _LAST, _LAST_ROW, _LAST_SEGMENT):
        joined[:, column] = points[lasts, column]
    joined[:, _SUMS:] = np.add.reduceat(points[:, _SUMS:], starts, axis=0)
    return joined


_latest: tuple[ref[Any], int, int, int, Groups] | None = None


def _groups_of(batch: Batch, shift: int, limit: int) -> tuple[int, Groups]:
    """Return the size of the pieces and the pieces, found once for all who ask for them one after the other."""
    global _latest
    offsets: Any = batch.values("offset").array
    if _latest is not None and _latest[0]() is batch and _latest[1:3] == (shift, limit):
        return _latest[3], _latest[4]
    found, groups = _new_groups(batch, offsets, shift, limit)
    _latest = (ref(batch), shift, limit, found, groups)
    return found, groups


def _new_groups(batch: Batch, offsets: Any, shift: int, limit: int) -> tuple[int, Groups]:
    if not batch.size:
        return shift, Groups(np.zeros(0, dtype=np.intp), 0)
    cpus: Any = batch.values("cpu").array
    others = None if cpus is None else np.flatnonzero(cpus[1:] != cpus[:-1]) + 1
    if isinstance(offsets, range):
        shift = max(shift, offsets.step.bit_length() - 1)  # a record lies in one piece
        while (offsets[-1] >> shift) - (offsets[0] >> shift) >= limit:
            shift += 1
        first = (offsets[0] >> shift) + 1
        edges = np.arange(first, (offsets[-1] >> shift) + 1, dtype=np.int64) << shift
        starts = np.concatenate(([0], -((offsets.start - edges) // offsets.step)))
    else:
        while True:
            pieces = offsets >> np.uint64(shift)
            starts = np.concatenate(([0], np.flatnonzero(pieces[1:] != pieces[:-1]) + 1))
            if len(starts) <= limit or shift == _COARSEST:
                break
            shift += 1
    if others is not None and len(others):
        starts = np.union1d(starts, others)
    return shift, Groups(starts, batch.size)
