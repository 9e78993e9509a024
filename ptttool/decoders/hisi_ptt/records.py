"""PTT records before they are decoded: where they are, and their DWs, without all-zero records."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.files.local import LocalFile
from ptttool.table.values import Array, Mask
from ptttool.tlp.bulk import U32
from ptttool.tlp.direction import EITHER, DirectionRule

Rows = npt.NDArray[np.intp]

# Largest number of records in a unit. Its columns take about 20 MB; a unit becomes one row group of Parquet.
UNIT_RECORDS = 1 << 18
# Pieces with fewer records are joined before they are decoded.
_SMALL = 1 << 14


class Piece(Struct, frozen=True, eq=False):
    """Consecutive whole records.

    Parameters
    ----------
    path : str
        The file; empty where no other process can read it.
    file_offset : int
        Offset of the first record in the file, in bytes.
    size : int
        Bytes of the records.
    offset : int
        Offset of the first record in its AUX stream, in bytes.
    cpu : int
        CPU of the AUX stream; -1 if unknown.
    data : memoryview or None
        The bytes, where they came through a pipe. If None, whoever decodes the piece reads them.
    file : LocalFile or None
        The file, where this process has it open.
    identity : tuple of int, or None
        Device and inode of the file, for other processes of this machine.
    holes : ndarray of int64, shape (n,), or None
        Records in front of which TLPs may be missing, although their offsets follow on: bytes from the first record.
    """

    path: str
    file_offset: int
    size: int
    offset: int
    cpu: int
    data: memoryview | None = None
    file: LocalFile | None = None
    identity: tuple[int, int] | None = None
    holes: Rows | None = None


class _Run(Struct, frozen=True, eq=False):
    """Origin of the records of one piece; ``rows`` are the indexes of those that are left, None for all."""

    count: int
    offset: int
    cpu: int
    rows: Rows | None


class Records(Struct, eq=False):
    """Records, without all-zero ones.

    Parameters
    ----------
    layout : Layout
        Their layout.
    dws : list of ndarray of uint32, shape (n, 4 or 8)
        Their DWs, in order.
    runs : list of _Run
        Where they come from.
    zeros : int
        Number of all-zero records that were left out.
    holes : tuple of ndarray, or None
        CPUs (int64) and offsets (uint64) of the records in front of which TLPs may be missing, although the offset follows on.
    direction : DirectionRule
        How their direction is found.
    """

    layout: Layout
    dws: list[U32] = field(default_factory=list)
    runs: list[_Run] = field(default_factory=list)
    zeros: int = 0
    holes: tuple[Array, Array] | None = None
    direction: DirectionRule = EITHER

    @property
    def size(self) -> int:
        """Number of records."""
        return sum(run.count for run in self.runs)

    def offsets(self) -> Array | range:
        """Return the offsets of the records in their AUX streams, in bytes."""
        if not self.runs:
            return range(0)
        size = self.layout.record_size
        first = self.runs[0]
        expected = first.offset
        for run in self.runs:
            if run.rows is not None or run.offset != expected:
                return np.concatenate([_offsets(run, size) for run in self.runs])
            expected += run.count * size
        return range(first.offset, expected, size)

    def cpus(self) -> tuple[Array | None, Mask | None]:
        """Return the CPUs of the AUX streams that hold the records, and the validity mask.

        Returns
        -------
        cpus : ndarray of int32, shape (size,), or None
            None if no CPU is known.
        valid : ndarray of bool, shape (size,), or None
            Which CPUs are known; None if all are, or none.
        """
        cpus = np.repeat(np.array([run.cpu for run in self.runs], dtype=np.int32), [run.count for run in self.runs])
        valid = cpus >= 0
        if not valid.any():
            return None, None
        return cpus, None if valid.all() else valid

    def taken(self, mask: Mask) -> Records:
        """Return the records for which the mask, of shape (size,), is true."""
        dws, runs, at = [], [], 0
        for array in self.dws:
            dws.append(array[mask[at : at + len(array)]])
            at += len(array)
        at = 0
        for run in self.runs:
            rows = np.flatnonzero(mask[at : at + run.count])
            at += run.count
            runs.append(_Run(len(rows), run.offset, run.cpu, rows if run.rows is None else run.rows[rows]))
        return Records(self.layout, dws, runs, self.zeros, self.holes, self.direction)


def _offsets(run: _Run, record_size: int) -> Array:
    rows = np.arange(run.count) if run.rows is None else run.rows
    return rows.astype(np.uint64) * np.uint64(record_size) + np.uint64(run.offset)


def records_of(layout: Layout, pieces: Sequence[Piece], data: Sequence[memoryview], direction: DirectionRule) -> Records:
    """Make the records of pieces, from the bytes of each. All-zero records are left out."""
    records = Records(layout, holes=_holes(pieces), direction=direction)
    parts: list[U32] = []
    for piece, part in zip(pieces, data, strict=True):
        dws = np.frombuffer(part, dtype="<u4", count=piece.size // 4).reshape(-1, layout.dws)
        kept, rows = without_zeros(dws)
        records.zeros += len(dws) - len(kept)
        records.runs.append(_Run(len(kept), piece.offset, piece.cpu, rows))
        if len(kept):
            parts.append(kept)
    for is_large, group in groupby(parts, key=lambda kept: len(kept) >= _SMALL):
        some = list(group)
        records.dws += some if is_large else [np.concatenate(some)]
    return records


def _holes(pieces: Sequence[Piece]) -> tuple[Array, Array] | None:
    held = [(piece, piece.holes) for piece in pieces if piece.holes is not None and len(piece.holes)]
    if not held:
        return None
    cpus = np.repeat([piece.cpu for piece, _ in held], [len(holes) for _, holes in held])
    return cpus, np.concatenate([holes.astype(np.uint64) + np.uint64(piece.offset) for piece, holes in held])


def without_zeros(records: U32) -> tuple[U32, Rows | None]:
    """Return the records that are not all zero, and their indexes (None: all records).

    Older drivers (seen with Linux 6.1) may commit memory that the hardware never wrote. A TLP record is never all zero.
    """
    suspects = np.flatnonzero(records[:, 0] == 0)
    zeros = suspects[~records[suspects].any(axis=1)] if len(suspects) else suspects
    if not len(zeros):
        return records, None
    kept = np.ones(len(records), dtype=np.bool_)
    kept[zeros] = False
    rows = np.flatnonzero(kept)
    return records[rows], rows
