"""The TLPs that say when something happens to a command, in the order of the recording."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.io.counts import columns_of
from ptttool.analyses.time.ticks import Seam, Ticks
from ptttool.kernel import events as ev
from ptttool.table.batch import Batch
from ptttool.tlp.columns import KINDS

Array = npt.NDArray[Any]

_NONE: Final[Array] = np.empty((0, 4), dtype=np.int64)
_NOTHING: Final = (_NONE, _NONE[:, 0])
_KIND: Final[Array] = np.zeros(256, dtype=np.uint8)
for _name, _role in zip(("MRd", "MWr", "CplD"), ev.ROLES, strict=True):
    _KIND[KINDS.index(_name)] = _role
_TYPES: Final[dict[str, type[np.generic]]] = {
    "kind": np.uint8, "requester": np.uint16, "address": np.int64, "length_dw": np.uint16, "byte_count": np.uint16,
    "lower_address": np.uint8, "index": np.int64,
}  # fmt: skip


def what_of(events: Array) -> Array:
    """Return what events are."""
    what: Array = events[:, ev.WHAT] & ((1 << ev.WHAT_BITS) - 1)
    return what


def requester_of(events: Array) -> Array:
    """Return the Requester IDs of events."""
    ids: Array = events[:, ev.WHAT] >> ev.WHAT_BITS & ((1 << ev.REQUESTER_BITS) - 1)
    return ids


def size_of(events: Array) -> Array:
    """Return the slots or the bytes of events."""
    sizes: Array = events[:, ev.WHAT] >> ev.SIZE_BIT
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
        if not is_over and not (self.is_first and self._parts and self._end >> ev.BLOCK_BITS > self._first_block()):
            return
        rows = np.concatenate([_NONE, *(_later(part, shift) for part, shift in self._parts)])
        blocks = rows[:, ev.INDEX] >> ev.BLOCK_BITS
        most = int(blocks.max(initial=0)) + 1 if is_over else self._end >> ev.BLOCK_BITS
        ends = np.searchsorted(blocks, np.arange(int(blocks[0]) if len(blocks) else 0, most), side="right")
        for start, end in zip((0, *ends[:-1]), ends, strict=True):
            if end > start:
                yield rows[start:end]
        rest = rows[ends[-1] if len(ends) else 0 :]
        self._parts = [(rest.copy(), 0)] if len(rest) else []

    def _first_block(self) -> int:
        return next((int(rows[0, ev.INDEX]) >> ev.BLOCK_BITS for rows, _ in self._parts if len(rows)), self._end >> ev.BLOCK_BITS)


def _later(rows: Array, ticks: int) -> Array:
    if not ticks:
        return rows
    rows = rows.copy()
    rows[:, ev.AT] += ticks
    return rows


def _events(batch: Batch, ticks: Ticks) -> tuple[Array, Array]:
    """Return the events of rows, and the segments of the first and of the last one: none if there are no events."""
    columns = columns_of(batch, _TYPES, ticks.at)
    if not columns or not batch.size:
        return _NOTHING
    columns.append(np.atleast_1d(np.asarray(ticks.segments(np.arange(batch.size) if len(ticks.breaks) else None), dtype=np.int64)))
    # Of a row at most an event, with a break in front of it.
    rows, segments = np.empty((2 * batch.size, 4), dtype=np.int64), np.zeros(2, dtype=np.int64)
    used = ev.collect(*(memoryview(column) for column in (_KIND, *columns, rows, segments)))
    return rows[:used].copy(), segments[: 2 * bool(used)]


def _breaks(behind: Array) -> Array:
    """Return the breaks in front of events."""
    rows = np.zeros_like(behind)
    rows[:, ev.WHAT], rows[:, ev.INDEX] = ev.BREAK, behind[:, ev.INDEX]
    return rows
