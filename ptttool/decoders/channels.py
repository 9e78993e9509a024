"""The decoders of the channels behind a framing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptttool.decoders.budget import MAX_CHANNELS
from ptttool.decoders.contract import PacketDecoder
from ptttool.decoders.elements.arrays import Bool, Elements
from ptttool.decoders.packets import Packets


class Channels:
    """The decoders of all channels behind a framing that carries packets. A decoder is made at the first packet of its channel.

    A stream may have many channels and many losses, so only those channels are looked at that had packets meanwhile.

    Parameters
    ----------
    make : callable
        Makes the decoder of a channel.
    """

    def __init__(self, make: Callable[[int], PacketDecoder]) -> None:
        self._make = make
        self._decoders: dict[int, PacketDecoder] = {}
        self._open: set[int] = set()  # had packets since their last end
        self._reason = ""
        self._losses = 0
        self._known: dict[int, int] = {}  # losses that each decoder was told

    def accepts(self, packets: Packets) -> Bool:
        """Return which packets are of a channel that has a decoder or can get one: a stream has so many decoders at most."""
        channels = np.unique(packets.channel)
        fresh = channels[~np.isin(channels, list(self._decoders))]
        room = MAX_CHANNELS - len(self._decoders)
        if len(fresh) <= room:
            return np.ones(len(packets), dtype=np.bool_)
        first = [int(channel) for channel in dict.fromkeys(packets.channel.tolist()) if channel not in self._decoders]
        accepted: Bool = np.isin(packets.channel, [*self._decoders, *first[:room]])
        return accepted

    def decode(self, packets: Packets) -> list[Elements]:
        """Return the elements of packets, channel by channel."""
        if not len(packets):
            return []
        channels = packets.channel
        if (channels == channels[0]).all():
            return [self._decoder(int(channels[0])).decode(packets)]
        order = np.argsort(channels, kind="stable")
        edges = np.flatnonzero(np.diff(channels[order])) + 1
        return [self._decoder(int(channels[rows[0]])).decode(packets.take(rows)) for rows in np.split(order, edges)]

    def _decoder(self, channel: int) -> PacketDecoder:
        """Return the decoder of a channel, which has packets."""
        if channel not in self._decoders:
            self._decoders[channel] = self._make(channel)
        elif self._known[channel] != self._losses:
            self._decoders[channel].lost(self._reason)
        self._known[channel] = self._losses
        self._open.add(channel)
        return self._decoders[channel]

    def end(self) -> list[Elements]:
        """Return the elements that the channels held back, because no more packets follow."""
        ended = [self._decoders[channel].end() for channel in sorted(self._open)]
        self._open.clear()
        return ended

    def lost(self, reason: str) -> None:
        """Report to every channel, before its next packet, that packets may be missing."""
        self._reason = reason
        self._losses += 1

    def clear(self) -> None:
        """Forget all channels."""
        self._decoders.clear()
        self._open.clear()
        self._known.clear()
