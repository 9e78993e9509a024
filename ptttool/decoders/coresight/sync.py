"""Where the frames of a CoreSight trace port stream lie: frames come with synchronisation packets between and inside them.

Source: Arm CoreSight Architecture Specification (IHI 0029), chapter "Trace Formatter". A full synchronisation, FF FF FF 7F, lies before a
frame and cannot be anything else, wherever bytes begin; a halfword synchronisation, FF 7F, may lie between any two halfwords of a frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ptttool.decoders.coresight.deformat import FRAME
from ptttool.decoders.element_batch import U8, U64, Array
from ptttool.decoders.offsets import Offsets

FSYNC = b"\xff\xff\xff\x7f"
_HSYNC = 0x7FFF
_NO_BYTES: U8 = np.empty(0, dtype=np.uint8)
_NO_PLACES: U64 = np.empty(0, dtype=np.uint64)


@dataclass(frozen=True)
class Found:
    """One thing after the other. ``what``: ``frames``, ``lost`` (not in step), ``broken`` (a frame without its end), ``fsync``, ``hsync``.

    ``index``: u64, of every byte of frames; else of every one of them. ``data``: the frames' bytes. ``size``: of each of the others, bytes.
    """

    what: str
    index: U64
    data: U8 = field(default_factory=lambda: _NO_BYTES)
    size: int = 0


class FrameFinder:
    """Takes a stream apart that comes piece by piece."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._in_step = False
        self._data, self._index = _NO_BYTES, _NO_PLACES  # of a frame that is not whole yet

    def rest(self) -> tuple[U8, U64]:
        """What there is of a frame whose end never came, and where its bytes lie; the finder is as new then."""
        found = self._data, self._index
        self._begin()
        return found

    def find(self, data: bytes, offsets: Offsets, last: bool) -> tuple[list[Found], int]:
        """What the bytes are, and how many of them that takes: up to four are left to see what follows, unless they are the ``last``."""
        values = np.frombuffer(data, dtype=np.uint8)
        found: list[Found] = []
        at = 0
        for sync in _full_syncs(values):
            found += self._segment(values, at, sync, offsets, closed=True)
            found.append(Found("fsync", offsets.at(np.array([sync])), size=len(FSYNC)))
            at, self._in_step = sync + len(FSYNC), True
        end = len(data)
        if not last:
            end -= min(len(data) - len(data.rstrip(b"\xff")), len(FSYNC) - 1)
            end -= (end - at) % 2 if end > at else 0
            end = max(end, at)
        found += self._segment(values, at, end, offsets, closed=False)
        return found, end

    def _segment(self, values: U8, start: int, end: int, offsets: Offsets, *, closed: bool) -> list[Found]:
        """What lies between full synchronisations. ``closed``: another one follows, so a frame must end here."""
        if not self._in_step:
            return [Found("lost", offsets.at(np.array([start])), size=end - start)] if end > start else []
        found = []
        whole = start + (end - start) // 2 * 2
        halves = values[start:whole].view("<u2") if start % 2 == 0 else np.frombuffer(values[start:whole].tobytes(), dtype="<u2")
        sync = halves == _HSYNC
        positions: Array = np.arange(start, end)
        if sync.any():
            found.append(Found("hsync", offsets.at(start + 2 * np.flatnonzero(sync)), size=2))
            positions = positions[np.append(np.repeat(~sync, 2), np.ones(end - whole, dtype=np.bool_))]
        data = np.concatenate([self._data, values[positions]])
        index = np.concatenate([self._index, offsets.at(positions)])
        cut = len(data) // FRAME * FRAME
        if cut:
            found.append(Found("frames", index[:cut], data[:cut]))
        self._data, self._index = data[cut:], index[cut:]
        if closed and len(self._data):
            found.append(Found("broken", self._index[:1], size=len(self._data)))
            self._data, self._index = _NO_BYTES, _NO_PLACES
        return found


def _full_syncs(values: U8) -> list[int]:
    """Positions of full synchronisations; they cannot overlap."""
    if len(values) < len(FSYNC):
        return []
    found = values[3:] == FSYNC[3]
    for place in range(3):
        found &= values[place : len(values) - 3 + place] == 0xFF
    return [int(place) for place in np.flatnonzero(found)]
