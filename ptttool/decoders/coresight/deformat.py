"""Deformatting of CoreSight frames: 16 bytes each, with the data of several trace sources and their IDs.

Source: Arm CoreSight Architecture Specification (IHI 0029), chapter "Trace Formatter"; CoreSight Components TRM (DDI 0314), "Formatter data
processing". A frame has 15 bytes of data or IDs, and byte 15 has a bit for each of the eight even bytes. An even byte with bit 0 set is an
ID, in its bits 7 to 1: the data that follow are that source's, except the next byte if the bit in byte 15 is set. An even byte with bit 0
clear is data, and its bit 0 is the bit in byte 15. Odd bytes are data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ptttool.decoders.elements.arrays import I64, U8, U64, Bool

FRAME = 16
# In effect before the first ID: the source of the data is unknown.
NO_ID = 0x80

# A frame is handled as two little-endian words. Bit 0 of each of the four even bytes of one:
_ID_BITS = np.uint64(0x0001_0001_0001_0001)
# By the value of byte 15: bit 0 of each even byte of the first and of the second word.
_LOW_BITS: U64 = np.array(
    [[sum((value >> (4 * word + i) & 1) << 16 * i for i in range(4)) for word in (0, 1)] for value in range(256)], dtype=np.uint64
)
# A byte of 1 for each byte of a frame that may hold data: all but byte 15.
_ONES: U64 = np.array([0x0101_0101_0101_0101, 0x0001_0101_0101_0101], dtype=np.uint64)


class Deformatted(NamedTuple):
    """The contents of frames.

    Parameters
    ----------
    data : ndarray of uint8
        One byte for each byte of the frames.
    held : ndarray of bool
        Which of them are data; the others are IDs, or byte 15.
    start : ndarray of int64
        Positions at which another ID comes into effect, ascending; the first is 0.
    id : ndarray of uint8
        These IDs; :data:`NO_ID` where the ID is unknown.
    last : int
        The ID in effect after the frames.
    """

    data: U8
    held: Bool
    start: I64
    id: U8
    last: int

    def streams(self) -> Iterator[tuple[int, U8, Bool]]:
        """Yield each ID that has data, its bytes in order, and a mask of the bytes of the frames that they are."""
        ids: U8 = np.repeat(self.id, np.diff(self.start, append=len(self.data)))
        for number in np.unique(self.id).tolist():
            mine = (ids == number) & self.held
            data = self.data[mine]
            if len(data):
                yield number, data, mine


def deformat(frames: U8, current: int = NO_ID) -> Deformatted:
    """Separate the data in frames from IDs.

    Parameters
    ----------
    frames : ndarray of uint8
        Whole frames.
    current : int
        The ID in effect before them.
    """
    words = np.ascontiguousarray(frames).view("<u8").reshape(-1, 2)
    id_bits = words & _ID_BITS
    data = ((words & ~_ID_BITS) | _LOW_BITS[frames[15::FRAME]]).view(np.uint8).reshape(-1)
    held = (id_bits ^ _ONES).view(np.bool_).reshape(-1)
    position = np.flatnonzero(id_bits.view(np.bool_).reshape(-1))
    # An ID is in effect from its own byte on, or from the byte after the next; in byte 14 always from the next frame on.
    delayed = data[position] & np.uint8(1)
    start = position + np.where(position % FRAME == FRAME - 2, 2, 2 * delayed)
    start = np.concatenate([[0], start])
    ids = np.concatenate([np.array([current], dtype=np.uint8), frames[position] >> np.uint8(1)])
    # Of two IDs that come into effect at one byte, the later one counts.
    kept = np.append(start[1:] != start[:-1], True)
    start, ids = start[kept], ids[kept]
    # Formatters repeat IDs: one that is in effect already changes nothing.
    kept = np.append(True, ids[1:] != ids[:-1])
    start, ids = start[kept], ids[kept]
    last = int(ids[-1])
    if start[-1] == len(data) and len(start) > 1:
        start, ids = start[:-1], ids[:-1]
    return Deformatted(data, held, start, ids, last)
