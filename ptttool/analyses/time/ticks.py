"""The time of records: what is said of the rows of a batch, and of the place where parts of a recording join."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ptttool.table.values import Array, Mask

# Bytes of a record by the bits of its Time field, and the reverse.
SIZE_OF_BITS: Final = {11: 16, 32: 32}
BITS_OF_SIZE: Final = {16: 11, 32: 32}

Rows = npt.NDArray[np.intp]
Ticks64 = npt.NDArray[np.int64]


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
    is_behind_hole : bool
        Whether records may be missing in front of it, although its offset follows on.
    """

    time: int | None
    cpu: int
    offset: int
    size: int
    is_behind_hole: bool = False


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
        Whether, between the two, it is not known how much time passed, and whether records may be missing.
    is_other_cpu : bool
        Whether the later part begins with the AUX stream of another CPU.
    """

    ticks: int
    rows: int
    segments: int
    is_break: bool = False
    is_hole: bool = False
    is_other_cpu: bool = False


class Ticks(NamedTuple):
    """The time of the rows of a batch.

    Parameters
    ----------
    at : ndarray of int64, shape (n,), or None
        Ticks of each row since the first row of its part; it never falls. None where the model of time is not known.
    breaks : ndarray of intp
        The rows, ascending, from whose predecessor on it is not known how much time passed; none was counted. The first row is among them
        where that is so from the last row of the batch before on. Where only some rows were taken, a row is there once for each break in
        front of it.
    holes : ndarray of intp
        The rows, ascending, in front of which records may be missing; each is among the breaks.
    segment : int
        Number of breaks in the part before the batch.
    record_size : int
        Bytes of a record: 16 in 4DW, 32 in 8DW.
    row : int
        Number of records of the part before the batch.
    rows : ndarray of intp or None
        Where only some rows of the batch were taken: which ones.
    """

    at: Ticks64 | None
    breaks: Rows
    holes: Rows
    segment: int = 0
    record_size: int = 32
    row: int = 0
    rows: Rows | None = None

    def numbers(self, rows: Array) -> Array:
        """Return the numbers of rows in their part: with the first record of the recording in it, their ``index``."""
        return (rows if self.rows is None else self.rows[rows]) + self.row

    def taken(self, mask: Mask) -> Ticks:
        """Return the time of the rows for which a mask is true."""
        rows = np.flatnonzero(mask)
        at = None if self.at is None else self.at[rows]
        # Several breaks in front of one row each count: segments are numbered as in the part without the condition.
        breaks, holes = np.searchsorted(rows, self.breaks), np.unique(np.searchsorted(rows, self.holes))
        return Ticks(at, breaks[breaks < len(rows)], holes[holes < len(rows)], self.segment, self.record_size, self.row, rows)

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
