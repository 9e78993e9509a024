"""The decoders of the channels behind a framing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ptttool.decoders.contract import PacketDecoder
from ptttool.decoders.elements.arrays import Elements
from ptttool.decoders.packets import Packets


class Channels:
    """The decoders of all channels behind a framing that carries packets. A decoder is made at the first packet of its channel.

    Parameters
    ----------
    make : callable
        Makes the decoder of a channel.
    """

    def __init__(self, make: Callable[[int], PacketDecoder]) -> None:
        self._make = make
        self._decoders: dict[int, PacketDecoder] = {}

    def decode(self, packets: Packets) -> list[Elements]:
        """Return the elements of packets, channel by channel."""
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

    def end(self) -> list[Elements]:
        """Return the elements that the channels held back, because no more packets follow."""
        return [self._decoders[channel].end() for channel in sorted(self._decoders)]

    def lost(self, reason: str) -> None:
        """Tell every channel that packets may be missing."""
        for decoder in self._decoders.values():
            decoder.lost(reason)

    def clear(self) -> None:
        """Forget all channels."""
        self._decoders.clear()
