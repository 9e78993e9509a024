"""The TLPs that say when something happens to a command, in the order of the recording."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.time.ticks import Seam, Ticks
from ptttool.table.batch import Batch
from ptttool.table.values import plain, spread
from ptttool.tlp.columns import KINDS

Array = npt.NDArray[Any]

BLOCK_BITS: Final = 19
"""So many bits of a row's number do not say which block it is in."""

EVENTS = (
    BREAK, FETCH, RECORD, SMALL_READ, SMALL_WRITE, DATA_READ, DATA_WRITE, DATA_READ_END, DATA_WRITE_END, ANSWER, SMALL_ANSWER,
) = range(1, 12)  # fmt: skip
"""What happened:

- time or records are missing in front of a row;
- a read of entries of 64 bytes, and a write of entries of 16 bytes;
- a read and a write of 4 bytes;
- the first of the reads, or writes, of anything else between two other events of a requester, with the bytes of all; and the last one,
  if they are several;
- completions of 64 and of 4 bytes, for reads as long as that; the address is their Lower Address.
"""

WHAT_BITS, REQUESTER_BITS = 4, 16
WHAT, ADDRESS, AT, INDEX = range(4)
"""Columns of an event. The first one holds what it is, the requester, and above them slots or bytes."""
_SIZE_BIT = WHAT_BITS + REQUESTER_BITS
_ENTRY, _SLOT, _WORD, _SECTOR = 64, 16, 4, 512
_NONE: Final[Array] = np.empty((0, 4), dtype=np.int64)
_NOTHING: Final = (_NONE, _NONE[:, 0])
_KIND: Final[Array] = np.zeros(256, dtype=np.uint8)
_READ, _WRITE, _COMPLETION = 1, 2, 3
for _name, _role in (("MRd", _READ), ("MWr", _WRITE), ("CplD", _COMPLETION)):
    _KIND[KINDS.index(_name)] = _role
_DATA = np.zeros(16, dtype=np.bool_)
_DATA[[DATA_READ, DATA_WRITE]] = True


def what_of(events: Array) -> Array:
    """Return what events are."""
    what: Array = events[:, WHAT] & ((1 << WHAT_BITS) - 1)
    return what


def requester_of(events: Array) -> Array:
    """Return the Requester IDs of events."""
    ids: Array = events[:, WHAT] >> WHAT_BITS & ((1 << REQUESTER_BITS) - 1)
    return ids


def size_of(events: Array) -> Array:
    """Return the slots or the bytes of events."""
    sizes: Array = events[:, WHAT] >> _SIZE_BIT
    return sizes


class Events:
    """The events of a part of a recording.

    Attributes
    ----------
    is_first : bool
        Whether the part holds the recording's first row.
    is_timed : bool
        Whether ticks are known.
    """

    def __init__(self) -> None:
        self.is_first = False
        self.is_timed = True
        self._end = 0
        # Events with what is to be added to their ticks, and the numbers of the segments of the first and of the last one.
        self._parts: list[tuple[Array, int]] = []
        self._segments: tuple[int, int] | None = None

    def add(self, batch: Batch, ticks: Ticks) -> None:
        """Add the rows of a batch; their ticks are those of the part."""
        whole = batch if batch.whole is None else batch.whole.batch
        numbers: Any = whole.values("index").array
        if not whole.size or numbers is None:
            return
        self.is_first |= int(numbers[0]) == 0
        self._end = int(numbers[-1]) + 1
        self.is_timed &= ticks.at is not None
        rows, segments = _events(batch, ticks)
        if len(rows):
            self._append([(rows, 0)], (int(segments[0]), int(segments[-1])))

    def merge(self, later: Events, seam: Seam) -> None:
        """Add the events of the part behind."""
        if not later._end:
            return
        if later._segments is not None:
            first, last = later._segments
            self._append([(rows, shift + seam.ticks) for rows, shift in later._parts], (first + seam.segments, last + seam.segments))
        self.is_first |= later.is_first and not self._end
        self.is_timed &= later.is_timed
        self._end = later._end

    def _append(self, parts: list[tuple[Array, int]], segments: tuple[int, int]) -> None:
        if self._segments is not None and self._segments[1] != segments[0]:
            self._parts.append((_breaks(parts[0][0][:1]), 0))
        self._parts += parts
        self._segments = segments if self._segments is None else (self._segments[0], segments[1])

    def blocks(self, *, is_over: bool = False) -> Iterator[Array]:
        """Yield the events of blocks of rows, and let go of them.

        Parameters
        ----------
        is_over : bool
            Whether no more rows come; else a block is given if the whole of it was seen, and the recording from its first row on.
        """
        if not is_over and not (self.is_first and self._parts and self._end >> BLOCK_BITS > self._first_block()):
            return
        rows = np.concatenate([_NONE, *(_later(part, shift) for part, shift in self._parts)])
        blocks = rows[:, INDEX] >> BLOCK_BITS
        most = int(blocks.max(initial=0)) + 1 if is_over else self._end >> BLOCK_BITS
        ends = np.searchsorted(blocks, np.arange(int(blocks[0]) if len(blocks) else 0, most), side="right")
        for start, end in zip((0, *ends[:-1]), ends, strict=True):
            if end > start:
                yield rows[start:end]
        rest = rows[ends[-1] if len(ends) else 0 :]
        self._parts = [(rest.copy(), 0)] if len(rest) else []

    def _first_block(self) -> int:
        return next((int(rows[0, INDEX]) >> BLOCK_BITS for rows, _ in self._parts if len(rows)), self._end >> BLOCK_BITS)


def _later(rows: Array, ticks: int) -> Array:
    if not ticks:
        return rows
    rows = rows.copy()
    rows[:, AT] += ticks
    return rows


def _events(batch: Batch, ticks: Ticks) -> tuple[Array, Array]:
    """Return the events of rows, and the segments of the first rows to the last one."""
    kinds = batch.values("kind").array
    requesters = batch.values("requester")
    if kinds is None or requesters.array is None:
        return _NOTHING
    role = _KIND[plain(kinds, np.uint8)]
    if requesters.valid is not None:
        role *= requesters.valid
    row = np.flatnonzero(role)
    role = role[row]

    def column(name: str) -> Array:
        array: Any = batch.values(name).array
        if array is None:
            return np.zeros(len(row), dtype=np.int64)
        taken: Array = (spread(array) if isinstance(array, range) else np.asarray(array))[row].astype(np.int64)
        return taken

    address, size = column("address"), column("length_dw") * 4
    what = np.zeros(len(row), dtype=np.int64)
    is_read, is_write = role == _READ, role == _WRITE
    is_entry = (size | address) & (_ENTRY - 1) == 0
    what[is_read] = DATA_READ
    what[is_read & is_entry & (size < _SECTOR)] = FETCH
    what[is_write] = DATA_WRITE
    what[is_write & ((size | address) & (_SLOT - 1) == 0) & (size <= _ENTRY)] = RECORD
    is_word = size == _WORD
    what[is_read & is_word] = SMALL_READ
    what[is_write & is_word] = SMALL_WRITE
    answers = np.flatnonzero(role == _COMPLETION)
    if len(answers):
        sizes = size[answers]
        whole = column("byte_count")[answers] == sizes
        what[answers] = np.where(whole & (sizes == _ENTRY), ANSWER, np.where(whole & (sizes == _WORD), SMALL_ANSWER, 0))
        address[answers] = column("lower_address")[answers]
    # Slots of entries, bytes of all else.
    size[what == FETCH] //= _ENTRY
    size[what == RECORD] //= _SLOT
    is_event = np.flatnonzero(what)
    if not len(is_event):
        return _NOTHING
    columns = (what, column("requester"), address, size, column("index"))
    return _joined(ticks, row[is_event], *(each[is_event] for each in columns))


def _joined(ticks: Ticks, row: Array, what: Array, requester: Array, address: Array, size: Array, index: Array) -> tuple[Array, Array]:
    """Return the events with a requester's reads and writes of data between two other events put together, and their segments."""
    segments = np.broadcast_to(ticks.segments(row), len(row))
    block = index >> BLOCK_BITS
    cuts = np.cumsum(np.append(False, (segments[1:] != segments[:-1]) | (block[1:] != block[:-1])))
    order = requester.astype(np.uint16).argsort(kind="stable")
    whose, sorted_what = (requester | cuts << REQUESTER_BITS)[order], what[order]
    # Other events of a requester, and cuts, begin a stretch of its data.
    stretch = np.cumsum(np.append(True, whose[1:] != whose[:-1]) | ~_DATA[sorted_what])
    others = np.flatnonzero(~_DATA[what])
    rows, words = [others], [what[others] | size[others] << _SIZE_BIT]
    for kind, end in ((DATA_READ, DATA_READ_END), (DATA_WRITE, DATA_WRITE_END)):
        is_kind = sorted_what == kind
        own, of = order[is_kind], stretch[is_kind]
        first = np.flatnonzero(np.append(True, of[1:] != of[:-1])[: len(of)])
        last = np.append(first[1:], len(of))[: len(first)] - 1
        rows += own[first], own[last[last > first]]
        words += kind | np.add.reduceat(size[own], first) << _SIZE_BIT, np.full(len(rows[-1]), end)
    row_of, word = np.concatenate(rows), np.concatenate(words)
    order = row_of.argsort()
    row_of = row_of[order]
    events = np.empty((len(row_of), 4), dtype=np.int64)
    events[:, WHAT] = word[order] | requester[row_of] << WHAT_BITS
    events[:, AT] = 0 if ticks.at is None else ticks.at[row[row_of]]
    events[:, ADDRESS], events[:, INDEX] = address[row_of], index[row_of]
    segments = segments[row_of]
    broken = np.flatnonzero(segments[1:] != segments[:-1]) + 1
    return np.insert(events, broken, _breaks(events[broken]), axis=0) if len(broken) else events, segments


def _breaks(behind: Array) -> Array:
    """Return the breaks in front of events."""
    rows = np.zeros_like(behind)
    rows[:, WHAT], rows[:, INDEX] = BREAK, behind[:, INDEX]
    return rows
