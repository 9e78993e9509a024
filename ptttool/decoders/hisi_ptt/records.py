"""PTT records on their way to a decoder: where they lie, cut into units of work, without those that are all zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.table.values import Array, Mask
from ptttool.tlp.bulk import U32

Places = npt.NDArray[np.intp]

# Records of a unit, at most. Its columns are some 20 MB; the unit is a row group of Parquet.
UNIT_RECORDS = 1 << 18
# Records below which pieces are put together before they are worked on.
_SMALL = 1 << 14


@dataclass(frozen=True, slots=True)
class Piece:
    """Whole records that lie one after the other.

    ``path``: of the file, empty where the data come with the piece; ``file_offset``: of the first record there. ``size``: bytes.
    ``offset``: of the first record in its AUX stream. ``cpu``: -1 where it is not known. ``data``: the records where they are at hand
    (a view of the mapped file, or a buffer); a piece without data is fetched by whoever works on it.
    """

    path: str
    file_offset: int
    size: int
    offset: int
    cpu: int
    data: memoryview | None = None


@dataclass(frozen=True)
class _Run:
    """Where the records of one piece come from. ``places``: numbers of those that are left, None for all."""

    count: int
    offset: int
    cpu: int
    places: Places | None


@dataclass
class Records:
    """Records without those that are all zero. ``words``: arrays of shape (n, 4 or 8), dtype ``<u4``, in order. ``zeros``: left out."""

    layout: Layout
    words: list[U32] = field(default_factory=list)
    runs: list[_Run] = field(default_factory=list)
    zeros: int = 0

    @property
    def size(self) -> int:
        """Records that are left."""
        return sum(run.count for run in self.runs)

    def offsets(self) -> Array | range:
        """Offsets in their AUX streams, in bytes."""
        if not self.runs:
            return range(0)
        size = self.layout.record_size
        first = self.runs[0]
        expected = first.offset
        for run in self.runs:
            if run.places is not None or run.offset != expected:
                return np.concatenate([_offsets(run, size) for run in self.runs])
            expected += run.count * size
        return range(first.offset, expected, size)

    def cpus(self) -> tuple[Array | None, Mask | None]:
        """CPUs of the AUX streams that hold the records, and which records have one; None where none has one, where all have one."""
        cpus = np.repeat(np.array([run.cpu for run in self.runs], dtype=np.int32), [run.count for run in self.runs])
        valid = cpus >= 0
        if not valid.any():
            return None, None
        return cpus, None if valid.all() else valid

    def taken(self, wanted: Mask) -> Records:
        """Only those that are wanted. ``wanted``: shape (size,)."""
        words, runs, at = [], [], 0
        for array in self.words:
            words.append(array[wanted[at : at + len(array)]])
            at += len(array)
        at = 0
        for run in self.runs:
            places = np.flatnonzero(wanted[at : at + run.count])
            at += run.count
            runs.append(_Run(len(places), run.offset, run.cpu, places if run.places is None else run.places[places]))
        return Records(self.layout, words, runs, self.zeros)


def _offsets(run: _Run, record_size: int) -> Array:
    places = np.arange(run.count) if run.places is None else run.places
    return places.astype(np.uint64) * np.uint64(record_size) + np.uint64(run.offset)


def records_of(layout: Layout, pieces: Sequence[Piece], data: Sequence[memoryview | None]) -> Records:
    """Make the records of pieces from the bytes of each, ``data``. All-zero records are left out."""
    records = Records(layout)
    small: list[U32] = []
    for piece, part in zip(pieces, data, strict=True):
        words = _words(piece, part, layout)
        kept, places = without_zeros(words)
        records.zeros += len(words) - len(kept)
        records.runs.append(_Run(len(kept), piece.offset, piece.cpu, places))
        if len(kept) >= _SMALL:
            _put_together(small, records.words)
            records.words.append(kept)
        elif len(kept):
            small.append(kept)
    _put_together(small, records.words)
    return records


def _words(piece: Piece, data: memoryview | None, layout: Layout) -> U32:
    assert data is not None, "a piece without data"
    return np.frombuffer(data, dtype="<u4", count=piece.size // 4).reshape(-1, layout.words)


def _put_together(small: list[U32], words: list[U32]) -> None:
    if small:
        words.append(small[0] if len(small) == 1 else np.concatenate(small))
        small.clear()


def without_zeros(records: U32) -> tuple[U32, Places | None]:
    """Return the records that are not all zero, and their indexes (None: all records).

    Older drivers (seen: Linux 6.1) may commit memory that the hardware never wrote: no TLP looks like that.
    """
    suspects = np.flatnonzero(records[:, 0] == 0)
    zeros = suspects[~records[suspects].any(axis=1)] if len(suspects) else suspects
    if not len(zeros):
        return records, None
    kept = np.ones(len(records), dtype=np.bool_)
    kept[zeros] = False
    places = np.flatnonzero(kept)
    return records[places], places
