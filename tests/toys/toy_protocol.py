"""A protocol in one file, as another package would bring it: a byte of length (1 to 9) and as many bytes; 0 is padding.

More than nine bytes of padding cannot be part of a packet: behind them one begins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ptttool.decoders.byte_decoder import ByteDecoder
from ptttool.decoders.contract import ByteProtocol, StreamContext, register
from ptttool.decoders.elements.arrays import Elements, Strings
from ptttool.decoders.elements.model import Flags, column, common
from ptttool.decoders.offsets import Offsets
from ptttool.decoders.parameters import Settings, number
from ptttool.table.schema import DType

NAME = "toy"


class Toy(ByteDecoder):
    """Packets of ``longest`` bytes at most; a longer length is reserved and makes an element of one byte."""

    def __init__(self, longest: int) -> None:
        super().__init__(NAME)
        self._longest = longest

    def scan(self, data: bytes, offsets: Offsets, _last: bool) -> tuple[Elements, int]:
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
        batch = Elements(
            NAME, offsets.at(start), size, flags=np.where(reserved, int(Flags.RESERVED), 0), raw=Strings(values, start, size)
        )  # fmt: skip
        batch.put("length", size - 1)
        batch.put("payload", Strings(values, start + 1, size - 1))
        return batch, at


@dataclass(frozen=True, kw_only=True)
class ToySettings(Settings):
    longest: int = number("longest packet", None, 1, 9)


@register
class ToyProtocol(ByteProtocol[ToySettings]):
    name = NAME
    meaning = "a protocol of the tests"
    resync = "after ten zeros"
    settings_type = ToySettings
    framings = ("none", "coresight-16")
    fields = (column("length", DType.U8, "bytes of the packet"), *common("payload"))

    def decoder(self, settings: ToySettings, context: StreamContext) -> Toy:
        return Toy(settings.longest)
