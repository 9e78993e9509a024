"""Frames in the stream of a CoreSight trace port, with synchronisation packets between and inside them.

Source: Arm CoreSight Architecture Specification (IHI 0029), chapter "Trace Formatter". A full synchronisation, FF FF FF 7F, comes before
a frame, and these bytes are never anything else; a halfword synchronisation, FF 7F, may come between any two halfwords of a frame.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field

from ptttool.decoders.coresight.deformat import FRAME
from ptttool.decoders.elements.arrays import U8, U64, Array
from ptttool.decoders.offsets import Offsets

FSYNC = b"\xff\xff\xff\x7f"
_HSYNC = 0x7FFF
_NO_BYTES: U8 = np.empty(0, dtype=np.uint8)
_NO_PLACES: U64 = np.empty(0, dtype=np.uint64)


class SyncedPart(Struct, frozen=True, eq=False):
    """A part of the stream.

    Parameters
    ----------
    what : str
        ``frames``: whole frames; ``lost``: bytes before the first synchronisation; ``broken``: a frame without its end; ``fsync``;
        ``hsync``.
    index : ndarray of uint64
        Offsets of all bytes of frames; otherwise of each packet or run of bytes.
    data : ndarray of uint8
        Bytes of frames.
    size : int
        Bytes of each of the others.
    """

    what: str
    index: U64
    data: U8 = field(default_factory=lambda: _NO_BYTES)
    size: int = 0


class FrameFinder:
    """Finds the frames in a stream that comes piece by piece."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._in_step = False
        self._data, self._index = _NO_BYTES, _NO_PLACES  # of a frame that is incomplete so far

    def rest(self) -> tuple[U8, U64]:
        """Return the bytes of a frame that did not end, and their offsets; the finder is as new then."""
        rest = self._data, self._index
        self._begin()
        return rest

    def find(self, data: bytes, offsets: Offsets, last: bool) -> tuple[list[SyncedPart], int]:
        """Find the parts of the stream in some bytes.

        Returns
        -------
        parts : list of SyncedPart
            The parts.
        used : int
            Bytes that they take. Up to four are left to see what follows, unless they are the last.
        """
        values = np.frombuffer(data, dtype=np.uint8)
        parts: list[SyncedPart] = []
        at = 0
        for sync in _full_syncs(values):
            parts += self._segment(values, at, sync, offsets, closed=True)
            parts.append(SyncedPart("fsync", offsets.at(np.array([sync])), size=len(FSYNC)))
            at, self._in_step = sync + len(FSYNC), True
        end = len(data)
        if not last:
            end -= min(len(data) - len(data.rstrip(b"\xff")), len(FSYNC) - 1)
            end -= (end - at) % 2 if end > at else 0
            end = max(end, at)
        parts += self._segment(values, at, end, offsets, closed=False)
        return parts, end

    def _segment(self, values: U8, start: int, end: int, offsets: Offsets, *, closed: bool) -> list[SyncedPart]:
        """Return what is between full synchronisations; if it is closed by another one, a frame must end there."""
        if not self._in_step:
            return [SyncedPart("lost", offsets.at(np.array([start])), size=end - start)] if end > start else []
        parts = []
        whole = start + (end - start) // 2 * 2
        halves = values[start:whole].view("<u2") if start % 2 == 0 else np.frombuffer(values[start:whole].tobytes(), dtype="<u2")
        sync = halves == _HSYNC
        positions: Array = np.arange(start, end)
        if sync.any():
            parts.append(SyncedPart("hsync", offsets.at(start + 2 * np.flatnonzero(sync)), size=2))
            positions = positions[np.append(np.repeat(~sync, 2), np.ones(end - whole, dtype=np.bool_))]
        data = np.concatenate([self._data, values[positions]])
        index = np.concatenate([self._index, offsets.at(positions)])
        cut = len(data) // FRAME * FRAME
        if cut:
            parts.append(SyncedPart("frames", index[:cut], data[:cut]))
        self._data, self._index = data[cut:], index[cut:]
        if closed and len(self._data):
            parts.append(SyncedPart("broken", self._index[:1], size=len(self._data)))
            self._data, self._index = _NO_BYTES, _NO_PLACES
        return parts


def _full_syncs(values: U8) -> list[int]:
    """Return the positions of full synchronisations; they do not overlap."""
    if len(values) < len(FSYNC):
        return []
    syncs = values[3:] == FSYNC[3]
    for byte in range(3):
        syncs &= values[byte : len(values) - 3 + byte] == 0xFF
    positions: list[int] = np.flatnonzero(syncs).tolist()
    return positions
