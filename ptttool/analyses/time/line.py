"""Sums over time, in bounded memory: points for equal pieces of AUX data, which are joined in pairs where there are too many.

A point stands for the records of a piece of an AUX stream, aligned to its size: so points are the same wherever a recording is cut into
parts. It has the ticks of its first and its last record, and sums. A piece that a cut divides is made whole when the parts join.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_LINE_POINTS
from ptttool.analyses.sums import starts_of
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


class Intervals(NamedTuple):
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


class Spans(NamedTuple):
    """Where each point of a time line lies.

    Parameters
    ----------
    first, last : ndarray of int64, shape (p,)
        Ticks of its first and of its last record.
    row : ndarray of int64, shape (p,)
        Number of its first record.
    segment, last_segment : ndarray of int64, shape (p,)
        Segments of both: between two points the time is known if no segment begins.
    """

    first: Table
    last: Table
    row: Table
    segment: Table
    last_segment: Table


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

    @property
    def spans(self) -> Spans:
        """Where the points lie."""
        return Spans(*(self.points[:, column] for column in (_FIRST, _LAST, _ROW, _SEGMENT, _LAST_SEGMENT)))

    def starts(self, batch: Batch) -> Rows:
        """Return the first row of each piece that a batch's rows are in; pieces become larger where there would be too many.

        Parameters
        ----------
        batch : Batch
            Rows with the columns ``offset`` and ``cpu``.
        """
        if not batch.size:
            return np.zeros(0, dtype=np.intp)
        offsets: Any = batch.values("offset").array
        cpus: Any = batch.values("cpu").array
        if isinstance(offsets, range):
            self.shift = max(self.shift, offsets.step.bit_length() - 1)  # a record lies in one piece
            while (offsets[-1] >> self.shift) - (offsets[0] >> self.shift) >= self._limit:
                self.shift += 1
            first, last = offsets[0] >> self.shift, offsets[-1] >> self.shift
            edges = np.arange(first + 1, last + 1, dtype=np.int64) << self.shift
            starts = np.append(0, -((offsets.start - edges) // offsets.step))
        else:
            starts = starts_of(offsets >> np.uint64(self.shift))
            while len(starts) > self._limit and self.shift < _COARSEST:
                self.shift += 1
                starts = starts_of(offsets >> np.uint64(self.shift))
        return starts if cpus is None else np.union1d(starts, starts_of(cpus))

    def add(self, batch: Batch, ticks: Ticks, starts: Rows, *sums: Any) -> None:
        """Add rows.

        Parameters
        ----------
        batch : Batch
            Rows with the columns ``offset`` and ``cpu``.
        ticks : Ticks
            Their time.
        starts : ndarray of intp, shape (g,)
            What :meth:`starts` returned for the batch.
        *sums : ndarray of int64, shape (g,) or (g, k)
            The sums of each piece.
        """
        if not batch.size:
            return
        lasts = np.append(starts[1:], batch.size) - 1
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
        for rows, at, number, segment in ((starts, _FIRST, _ROW, _SEGMENT), (lasts, _LAST, _LAST_ROW, _LAST_SEGMENT)):
            points[:, at] = 0 if ticks.at is None else ticks.at[rows]
            points[:, number] = ticks.numbers(rows)
            points[:, segment] = ticks.segments(rows)
        if sums:
            points[:, _SUMS:] = np.column_stack(sums)
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
        totals = before[whole] + np.floor(values[across] * share[:, None]).astype(np.int64)
        count_in = points[across, _LAST_ROW] - points[across, _ROW] + 1
        rows = points[across, _ROW] + np.floor(count_in * share).astype(np.int64)
        return Intervals(width, edges[:-1], rows[:-1], np.diff(totals, axis=0))

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
        inside = (held[:, _BEGIN] < ends) & (held[:, _END] >= ends)
        inside &= (held[:, _SEGMENT] == held[:, _LAST_SEGMENT]) | (held[:, _END] == ends)
        return ticks, np.where(inside, held[:, _LAST_SEGMENT], -1)


def _time_before(moments: Table, edges: Table) -> Table:
    """Return for each edge how long ago the moments before it are, all together."""
    count = np.searchsorted(moments, edges)
    sums = np.concatenate(([0], np.cumsum(moments)))
    return count * edges - sums[count]


def _coarse(points: Table, shift: int) -> Table:
    """Join adjacent points of one piece."""
    starts = np.union1d(starts_of(points[:, _BEGIN] >> shift), starts_of(points[:, _CPU]))
    return points if len(starts) == len(points) else _joined(points, starts)


def _joined(points: Table, starts: Rows) -> Table:
    lasts = np.append(starts[1:], len(points)) - 1
    joined = points[starts]
    for column in (_END, _LAST, _LAST_ROW, _LAST_SEGMENT):
        joined[:, column] = points[lasts, column]
    joined[:, _SUMS:] = np.add.reduceat(points[:, _SUMS:], starts, axis=0)
    return joined


def piece_of_rows(starts: Rows, size: int) -> Rows:
    """Return the number of each row's piece, shape (size,): parameters as of :meth:`Line.add`."""
    return np.repeat(np.arange(len(starts)), np.diff(starts, append=size))
