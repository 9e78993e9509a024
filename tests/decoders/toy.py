"""A protocol in one file, as another package would bring it: a byte of length (1 to 9) and as many bytes; 0 is padding.

More than nine bytes of padding cannot be part of a packet: behind them one begins.
"""

from __future__ import annotations

import numpy as np

from ptttool.decoders.contract import PROTOCOLS, ByteDecoder, Protocol
from ptttool.decoders.element_batch import Batch, Spans
from ptttool.decoders.elements import Field, Flags, common
from ptttool.decoders.parameters import Parameter, Settings
from ptttool.decoders.places import Places

NAME = "toy"


class Toy(ByteDecoder):
    """Packets of ``longest`` bytes at most; a longer length is reserved and makes an element of one byte."""

    def __init__(self, longest: int) -> None:
        super().__init__(NAME)
        self._longest = longest

    def scan(self, data: bytes, places: Places, _last: bool) -> tuple[Batch, int]:
        starts, at = [], 0
        while at < len(data):
            needed = data[at] + 1 if data[at] <= self._longest else 1
            if at + needed > len(data):
                break
            starts.append(at)
            at += needed
        values = np.frombuffer(data, dtype=np.uint8)
        start = np.array(starts, dtype=np.int64)
        size = np.diff(start, append=at) if starts else start
        reserved = values[start] > self._longest
        batch = Batch(
            NAME, places.indexes(start), size, flags=np.where(reserved, int(Flags.RESERVED), 0), raw=Spans(values, start, size)
        )  # fmt: skip
        batch.put("length", size - 1)
        batch.put("payload", Spans(values, start + 1, size - 1))
        return batch, at


def make(settings: Settings) -> Toy:
    return Toy(settings["longest"])


PROTOCOLS.add(
    NAME,
    Protocol(
        name=NAME,
        meaning="a protocol of the tests",
        make=make,
        framings=("none", "coresight-16"),
        parameters=(Parameter("longest", "int", "longest packet", None, 1, 9),),
        fields=(Field("length", "u8", "bytes of the packet"), *common("payload")),
        resync="after ten zeros",
    ),
)
