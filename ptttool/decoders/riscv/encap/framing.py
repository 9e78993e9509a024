"""Starts of packets in a RISC-V encapsulated stream: in step, and out of step.

Source: "Unformatted Trace & Diagnostic Data Packet Encapsulation for RISC-V" 1.0, "Packet Length" and "Synchronization".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ptttool.decoders.elements.arrays import I64
from ptttool.decoders.parameters import Settings, choice, flag, number
from ptttool.errors import UsageError

LENGTH, EXTEND = 0x1F, 0x80
ALIGNMENT = 0x80  # header of a null.alignment packet, without flow
# Bytes in which packets are searched at a time.
_PART = 1 << 15
# Bytes that are searched for a synchronisation sequence at first; the window doubles with each failure.
_WINDOW = 1 << 10


@dataclass(frozen=True, kw_only=True)
class EncapSettings(Settings):
    """The format of an encapsulated stream."""

    srcid_bits: int = number("bits of the source ID (trTeSrcBits); 0 where a side-band bus has it", 0, 0, 16)
    ts_bytes: int = number("bytes of a timestamp (trTsWidth); 0 for none", 0, 0, 8)
    type_bits: int = number("bits of the type field; 0 where sources have one type of packet each", 0, 0, 16)
    payload_type: int | None = number(
        "type of the packets for the decoder behind, others are shown raw; by default 0 of one type bit, else it gets all",
        None, 0, 65535, optional=True,
    )  # fmt: skip
    sync: str = choice("framed: any null packets end a gap; unframed: null.alignment must be the last", ("framed", "unframed"), "framed")
    block_size: int = number("bytes of the blocks of memory that no packet lies across; 0 for no blocks", 0, 0, 1 << 40)
    start: str = choice(
        "what the first byte is, also after a gap: a packet's first, or any byte, and then a synchronisation is looked for",
        ("packet", "anywhere"), "packet",
    )  # fmt: skip
    unwrap: bool = flag("add the wraps of partial timestamps, for each source; by default they are raw", False)

    @property
    def unframed(self) -> bool:
        """Whether a null.alignment must end a synchronisation sequence."""
        return self.sync == "unframed"

    @property
    def anywhere(self) -> bool:
        """Whether the stream may begin with any byte of a packet."""
        return self.start == "anywhere"

    @property
    def type_behind(self) -> int | None:
        """Type of the packets for the decoder behind; None for all.

        Raises
        ------
        UsageError
            Parameters exclude each other (code ``bad-parameter``).
        """
        payload_type, width = self.payload_type, self.type_bits
        if payload_type is not None and (not width or payload_type >> width):
            what = f"has {width} bit{'s'[: width != 1]}" if width else "is absent (type_bits=0)"
            raise UsageError(f"payload_type={payload_type}: the type field {what}", hint="give -p type_bits=…, too", code="bad-parameter")
        # With one bit, 0 is instruction trace ("E-Trace specifics"); the meaning of more bits depends on the encoder.
        return 0 if payload_type is None and width == 1 else payload_type

    @property
    def longest_null_run(self) -> int:
        """N: how many null bytes a normal packet may have; the specification's 31 + T + S."""
        return 31 + self.ts_bytes + self.srcid_bits // 8

    def size_of(self, header: int) -> int | None:
        """Return the size in bytes of a packet with this header; None for a header that is not possible."""
        length, extend = header & LENGTH, header >> 7
        if not length:
            return 1
        if extend and not self.ts_bytes:
            return None
        return 1 + self.srcid_bits // 8 + self.ts_bytes * extend + length


def packet_starts(data: bytes, at: int, sizes: list[int | None]) -> tuple[I64, int, bool]:
    """Find the whole packets from a position on.

    Parameters
    ----------
    data : bytes
        The bytes.
    at : int
        Where a packet begins.
    sizes : list of int or None
        Sizes by header; None for one that is not possible.

    Returns
    -------
    starts : ndarray of int64
        Positions of the packets.
    end : int
        Position behind the last of them.
    good : bool
        Whether a packet may begin there.
    """
    table: list[Any] = sizes
    positions: list[I64] = []
    good = True
    while good and at < len(data):
        first, part = at, data[at : at + _PART]
        if part.count(0) == len(part):  # only null packets, as in the unused part of a buffer
            positions.append(np.arange(at, at + len(part)))
            at += len(part)
            continue
        marks = bytearray(len(part))
        at = 0
        # Two exceptions end the loop: a comparison at each packet would take twice as long.
        try:
            while True:
                marks[at] = 1
                at += table[part[at]]
        except IndexError:
            pass
        except TypeError:
            marks[at], good = 0, False
        positions.append(np.flatnonzero(np.frombuffer(marks, dtype=np.bool_)) + first)
        at += first
    starts = np.concatenate(positions) if positions else np.empty(0, dtype=np.int64)
    return (starts, at, good) if at <= len(data) else (starts[:-1], int(starts[-1]), good)


def packet_starts_in_blocks(data: bytes, at: int, sizes: list[int | None], block: int, index: int) -> tuple[I64, int, bool]:
    """Find packets as :func:`packet_starts` does; none crosses a multiple of `block` bytes. `index` is the offset of ``data[at]``."""
    starts: list[int] = []
    end = len(data)
    limit = at + block - index % block
    while at < end:
        size = sizes[data[at]]
        if size is None or at + size > limit:
            return np.array(starts, dtype=np.int64), at, False
        if at + size > end:
            break
        starts.append(at)
        at += size
        if at == limit:
            limit += block
    return np.array(starts, dtype=np.int64), at, True


class Search:
    """Searches for the end of a synchronisation sequence in bytes that come piece by piece.

    Parameters
    ----------
    form : EncapSettings
        Format of the stream.
    """

    def __init__(self, form: EncapSettings) -> None:
        self._form = form
        self._nulls = 0  # null bytes seen last
        self._last = -1  # the byte seen last

    def first_packet(self, data: bytes, start: int, end: int) -> int | None:
        """Return where the first packet behind a sequence begins, between two positions; None if there is no complete sequence."""
        window = _WINDOW
        while start < end:
            upto = min(start + window, end)
            position = self._look(data[start:upto])
            if position is not None:
                return start + position
            start, window = upto, 2 * window
        return None

    def _look(self, data: bytes) -> int | None:
        """Return the position of the first byte behind a sequence; None if there is none.

        More null bytes than a packet can have (N) end in null packets, so the next byte that is not null is a header. In an unframed stream
        a null.alignment must be right before it.
        """
        values = np.frombuffer(data, dtype=np.uint8)
        other = np.flatnonzero(values & LENGTH)
        if len(other):
            before = np.diff(other, prepend=-1 - self._nulls) - 1
            good = before > self._form.longest_null_run
            if self._form.unframed:
                good &= np.where(other > 0, values[other - 1], self._last) & (LENGTH | EXTEND) == ALIGNMENT
            sequences = np.flatnonzero(good)
            if len(sequences):
                return int(other[sequences[0]])
            self._nulls = len(data) - 1 - int(other[-1])
        else:
            self._nulls += len(data)
        self._last = data[-1]
        return None
