"""Whole packets that a framing has found, as arrays, and the bits of their payloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ptttool.decoders.contract import PacketDecoder
from ptttool.decoders.element_batch import I64, U8, U64, Array, Batch, Bool, Spans

# A payload of 248 bits lies in four words.
WORDS = 4
# Bytes behind the last payload that may be looked at.
MARGIN = 8 * WORDS + 8
ALL_ONES = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
# By the number of bytes of a word that count: the bits that do.
_KEEP: U64 = np.array([(1 << 8 * count) - 1 for count in range(9)], dtype=np.uint64)


@dataclass(frozen=True)
class Packets:
    """Packets of one feed, in order. All arrays have one entry a packet.

    ``data``: u8, what they lie in, at least :data:`MARGIN` bytes longer than the last of them. ``start``, ``size``: i64, the whole packet
    in ``data``, bytes. ``index``: u64, of its first byte in the stream. ``channel``: i32, -1 for none. ``timestamp``: u64, where ``timed``.
    ``payload``, ``length``: i64, the payload in ``data``, whole bytes. ``shift``: bits of the first payload byte that do not belong to it
    (0 to 7). ``flags``: u32, of :class:`~.elements.Flags`.
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
        """Some of them, in the order of ``rows``."""
        return Packets(
            self.data, self.start[rows], self.size[rows], self.index[rows], self.channel[rows], self.timestamp[rows], self.timed[rows],
            self.payload[rows], self.length[rows], self.shift, self.flags[rows],
        )  # fmt: skip

    def raw(self) -> Spans:
        """The whole packets."""
        return Spans(self.data, self.start, self.size)

    def words(self, count: int = WORDS) -> list[U64]:
        """Payloads as numbers: word i of the list holds bits 64i to 64i+63, least significant bit first.

        Bits beyond the payload's last byte equal that byte's most significant bit (sign extension), as E-Trace compresses. ``count``: words
        that are wanted.
        """
        # Every byte of the buffer as the start of a word; numpy reads words at any address.
        view: U64 = np.ndarray((len(self.data) - 7,), dtype="<u8", buffer=self.data, strides=(1,))
        last = self.data[np.maximum(self.payload + self.length - 1, 0)]
        fill = np.where((last >= 0x80) & (self.length > 0), ALL_ONES, np.uint64(0))
        longest = int(self.length.max(initial=0))
        found = []
        for number in range(count + (1 if self.shift else 0)):
            if 8 * number >= longest:
                found.append(fill)
                continue
            keep = _KEEP[np.clip(self.length - 8 * number, 0, 8)]
            found.append((view[self.payload + 8 * number] & keep) | (fill & ~keep))
        if not self.shift:
            return found
        low, high = np.uint64(self.shift), np.uint64(64 - self.shift)
        return [(found[number] >> low) | (found[number + 1] << high) for number in range(count)]

    @property
    def bits(self) -> I64:
        """Bits of each payload that have been received."""
        return self.length * 8 - self.shift

    def batch(self, protocol: str, rows: I64 | None = None, *, kind: Array | int, flags: Array | int = 0) -> Batch:
        """Elements of these packets: ``rows``, ascending, says of which packet each is (default: one of each).

        Index, channel and timestamp are the packet's; its size, bytes and flags go to its first element. ``flags``: further ones.
        """
        if rows is None:
            batch = Batch(
                protocol, self.index, self.size, kind=kind, channel=self.channel, flags=self.flags, timestamp=self.timestamp,
                timed=self.timed, raw=self.raw(),
            )  # fmt: skip
        else:
            first = np.ones(len(rows), dtype=np.bool_)
            first[1:] = rows[1:] != rows[:-1]
            batch = Batch(
                protocol, self.index[rows], np.where(first, self.size[rows], 0), kind=kind, channel=self.channel[rows],
                flags=np.where(first, self.flags[rows], 0), timestamp=self.timestamp[rows], timed=self.timed[rows],
                raw=Spans(self.data, np.where(first, self.start[rows], -1), self.size[rows]),
            )  # fmt: skip
        batch.flags |= np.asarray(flags, dtype=np.uint32)
        return batch


def field(words: list[U64], position: int, width: int) -> U64:
    """A field of payloads: ``width`` bits (0 to 64) from bit ``position`` on, of :meth:`Packets.words`; a width of 0 is 0."""
    word, bit = divmod(position, 64)
    if not width:
        return np.zeros(len(words[0]), dtype=np.uint64)
    value = words[word] >> np.uint64(bit)
    if bit + width > 64:
        value = value | (words[word + 1] << np.uint64(64 - bit))
    return value if width == 64 else value & np.uint64((1 << width) - 1)


class Channels:
    """A decoder for every channel, made when its first packet comes."""

    def __init__(self, make: Callable[[int], PacketDecoder]) -> None:
        self._make = make
        self._decoders: dict[int, PacketDecoder] = {}

    def decode(self, packets: Packets) -> list[Batch]:
        """Elements of packets, a batch for each channel."""
        if not len(packets):
            return []
        channels = packets.channel
        if (channels == channels[0]).all():
            return [self._decoder(int(channels[0])).decode(packets)]
        return [self._decoder(int(channel)).decode(packets.take(np.flatnonzero(channels == channel))) for channel in np.unique(channels)]

    def _decoder(self, channel: int) -> PacketDecoder:
        if channel not in self._decoders:
            self._decoders[channel] = self._make(channel)
        return self._decoders[channel]

    def end(self) -> list[Batch]:
        """What was held back, of every channel: no packet follows on those before."""
        return [self._decoders[channel].end() for channel in sorted(self._decoders)]

    def lost(self, reason: str) -> None:
        """Bytes are missing: every channel may have lost packets."""
        for decoder in self._decoders.values():
            decoder.lost(reason)

    def clear(self) -> None:
        """Forget every channel."""
        self._decoders.clear()
