"""Whole packets that a framing has found, as arrays, and the bits of their payloads."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ptttool.decoders.elements.arrays import I64, U8, U64, Array, Bool, Elements, Strings

# A payload of 248 bits lies in four words.
WORDS = 4
# Bytes behind the last payload that may be read.
MARGIN = 8 * WORDS + 8
ALL_ONES = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
# Masks of the bits of a word, by the number of its bytes that belong to the payload.
_KEEP: U64 = np.array([(1 << 8 * count) - 1 for count in range(9)], dtype=np.uint64)


class Packets(Struct, frozen=True, eq=False):
    """Packets of one feed, in order. All arrays but `data` have one entry a packet.

    Parameters
    ----------
    data : ndarray of uint8
        The bytes the packets are in, and at least :data:`MARGIN` more.
    start, size : ndarray of int64
        Position in `data` and bytes of the whole packet.
    index : ndarray of uint64
        Offset of its first byte in the stream.
    channel : ndarray of int32
        Source ID or trace ID; -1 for none.
    timestamp : ndarray of uint64
        Timestamps; any value where `timed` is false.
    timed : ndarray of bool
        Which packets have a timestamp.
    payload, length : ndarray of int64
        Position in `data` and bytes of the payload.
    shift : int
        Bits of the first payload byte that do not belong to the payload (0 to 7).
    flags : ndarray of uint32
        :class:`~.elements.model.Flags`.
    """

    data: U8
    start: I64
    size: I64
    index: U64
    channel: Array
    timestamp: U64
    timed: Bool
    payload: I64
    length: I64
    shift: int
    flags: Array

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: I64 | Bool) -> Packets:
        """Return some packets, in the order of `rows`."""
        names = ("start", "size", "index", "channel", "timestamp", "timed", "payload", "length", "flags")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def raw(self) -> Strings:
        """Return the bytes of the whole packets."""
        return Strings(self.data, self.start, self.size)

    def words(self, count: int = WORDS) -> list[U64]:
        """Return the payloads as numbers.

        Parameters
        ----------
        count : int
            How many words are wanted.

        Returns
        -------
        list of ndarray of uint64
            Word i holds bits 64i to 64i+63, the least significant bit first. Bits behind the payload equal its last bit (sign
            extension), as E-Trace compresses.
        """
        # Every byte of the buffer as the start of a word; numpy reads words at any address.
        view: U64 = np.ndarray((len(self.data) - 7,), dtype="<u8", buffer=self.data, strides=(1,))
        last = self.data[np.maximum(self.payload + self.length - 1, 0)]
        fill = np.where((last >= 0x80) & (self.length > 0), ALL_ONES, np.uint64(0))
        longest = int(self.length.max(initial=0))
        words = []
        for number in range(count + (1 if self.shift else 0)):
            if 8 * number >= longest:
                words.append(fill)
                continue
            keep = _KEEP[np.clip(self.length - 8 * number, 0, 8)]
            words.append((view[self.payload + 8 * number] & keep) | (fill & ~keep))
        if not self.shift:
            return words
        low, high = np.uint64(self.shift), np.uint64(64 - self.shift)
        return [(words[number] >> low) | (words[number + 1] << high) for number in range(count)]

    @property
    def bits(self) -> I64:
        """Bits of each payload that were received."""
        return self.length * 8 - self.shift

    def elements(self, protocol: str, rows: I64 | None = None, *, kind: Array | int, flags: Array | int = 0) -> Elements:
        """Return elements of the packets, with their index, channel and timestamp; size, bytes and flags go to a packet's first element.

        Parameters
        ----------
        protocol : str
            Name of the protocol.
        rows : ndarray of int64, optional
            The packet of each element, ascending; by default each packet has one element.
        kind : ndarray of uint8 or int
            Kinds of the elements.
        flags : ndarray of uint32 or int
            Further flags of the elements.
        """
        if rows is None:
            elements = Elements(
                protocol, self.index, self.size, kind=kind, channel=self.channel, flags=self.flags, timestamp=self.timestamp,
                timed=self.timed, raw=self.raw(),
            )  # fmt: skip
        else:
            first = np.ones(len(rows), dtype=np.bool_)
            first[1:] = rows[1:] != rows[:-1]
            elements = Elements(
                protocol, self.index[rows], np.where(first, self.size[rows], 0), kind=kind, channel=self.channel[rows],
                flags=np.where(first, self.flags[rows], 0), timestamp=self.timestamp[rows], timed=self.timed[rows],
                raw=Strings(self.data, np.where(first, self.start[rows], -1), self.size[rows]),
            )  # fmt: skip
        elements.flags |= np.asarray(flags, dtype=np.uint32)
        return elements


def field(words: list[U64], position: int, width: int) -> U64:
    """Return a field of payloads: `width` bits (0 to 64) from bit `position` on, of :meth:`Packets.words`; without bits it is 0."""
    word, bit = divmod(position, 64)
    if not width:
        return np.zeros(len(words[0]), dtype=np.uint64)
    value = words[word] >> np.uint64(bit)
    if bit + width > 64:
        value = value | (words[word + 1] << np.uint64(64 - bit))
    return value if width == 64 else value & np.uint64((1 << width) - 1)
