"""PTT records of a profile, of any number: one block is simulated, the rest are copies of it that differ.

A block begins and ends with an idle link, so every request in it is answered in it. A copy has the order, kinds, sizes and time
differences of the block. It has other addresses of data and other tags: each copy inverts some of their bits, which no rule of PCIe
depends on, and inverts the same ones in a request and in its completions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ptttool.capture.event.terms import Flow
from ptttool.generate.functions import Host
from ptttool.generate.link import Link, Sent
from ptttool.generate.profiles import Profile
from ptttool.tlp.codes import TYPES

U32 = npt.NDArray[np.uint32]

# TLPs after which a block begins nothing new.
BLOCK = 1 << 15
# Nanoseconds of a tick of the Time field. The unit is not documented; this value fits the project's recordings of real devices.
TICK = 4
# An idle link between two blocks, nanoseconds.
PAUSE = 100
# DW 0 of an 8DW record, which marks it: all bits but the lowest ones, which are reserved, are checked.
CHECK_WORD = 0xFFFF_FFFF
TIME_4DW = 0x7FF


class Records:
    """Records of a profile in one format. Equal arguments give equal records.

    Parameters
    ----------
    profile : Profile
        The traffic.
    eight_dw : bool
        Whether the format is 8DW, else 4DW.
    pattern : int
        Header pattern: 0 legacy, 1 PCIe 6 parts.
    seed : int
        Seed of the random choices.
    flow : Flow, optional
        The TLPs that are traced; None: all TLPs on the link.

    Attributes
    ----------
    record_size : int
        Bytes of a record.
    """

    def __init__(self, profile: Profile, *, eight_dw: bool, pattern: int = 0, seed: int = 0, flow: Flow | None = None) -> None:
        self._seed = seed
        self._eight_dw = eight_dw
        self.record_size = 32 if eight_dw else 16
        sent = _simulate(profile, seed, v1=pattern == 1)
        self._period = int(sent[-1].time + PAUSE) // TICK
        sent = [one for one in sent if flow is None or _is_traced(one, flow)]
        words = np.array([one.tlp for one in sent], dtype=np.uint32).reshape(-1, 10)
        header = words[:, 1:5]
        if pattern == 1:
            header[:, 2:] |= words[:, 8:]
        self._base = _records(header, words[:, 5], eight_dw)
        self._vary = np.zeros_like(self._base)
        first = 3 if eight_dw else 1
        self._vary[:, first : first + 2] = [(one.vary1, one.vary2) for one in sent]
        self._vary[:, first + 1 : first + 3] |= words[:, 6:8]
        self._ticks = (np.array([one.time for one in sent]) // TICK).astype(np.uint32)

    @property
    def block(self) -> int:
        """Number of records in a block."""
        return len(self._base)

    def time_at(self, record: int) -> int:
        """Return the time of a record in nanoseconds from the beginning of the trace."""
        copy, place = divmod(record, self.block)
        return (copy * self._period + int(self._ticks[place])) * TICK

    def blocks(self) -> Iterator[U32]:
        """Yield blocks without end, shape (n, 8 or 4), dtype ``<u4``; each is valid until the next."""
        block = np.empty_like(self._base)
        copy = 0
        while True:
            turned = 0 if copy == 0 else random.Random(f"{self._seed} {copy}").getrandbits(32)
            np.bitwise_and(self._vary, np.uint32(turned), out=block)
            np.bitwise_xor(block, self._base, out=block)
            times = self._ticks + np.uint32(copy * self._period & 0xFFFF_FFFF)
            if self._eight_dw:
                block[:, 7] = times
            else:
                block[:, 0] |= times & np.uint32(TIME_4DW)
            yield block
            copy += 1

    def pieces(self, count: int) -> Iterator[memoryview]:
        """Yield the bytes of the first `count` records; each piece is valid until the next."""
        for block in self.blocks():
            part = block[: min(count, len(block))]
            yield part.data.cast("B")
            count -= len(part)
            if not count:
                return


def _simulate(profile: Profile, seed: int, *, v1: bool) -> list[Sent]:
    """Return the TLPs of a block, in order."""
    link = Link(random.Random(f"{profile.name} {seed}"), profile.rate, v1=v1)
    profile.start(Host(link, profile.port.routing_id, payload=profile.payload))
    link.run(BLOCK)
    return sorted(link.sent, key=lambda one: one.time)


def _is_traced(sent: Sent, flow: Flow) -> bool:
    """Return whether a TLP is traced. All inbound completions answer the host: CPL A. An unknown type counts as posted."""
    tlp_type = TYPES.get(sent.tlp.dw0 >> 24)
    group = "P" if tlp_type is None else tlp_type.tlp_class
    if not sent.inbound:
        return group in flow.outbound
    return ("CPL A" if group == "CPL" else group) in flow.inbound


def _records(header: U32, prefix: U32, eight_dw: bool) -> U32:
    """Make records without times, shape (n, 8 or 4), from header DWs, shape (n, 4). Layouts: :mod:`ptttool.decoders.hisi_ptt.layout`."""
    records = np.zeros((len(header), 8 if eight_dw else 4), dtype="<u4")
    if eight_dw:
        records[:, 0] = CHECK_WORD
        records[:, 1] = prefix
        records[:, 2:6] = header
        return records
    dw0 = header[:, 0]
    # Fmt and Type 30:24 go to 31:25, T9 23 to 24, T8 19 to 23, TH 16 to 22, Length 9:0 to 20:11.
    records[:, 0] = (dw0 & 0x7F80_0000) << 1 | (dw0 & 0x0008_0000) << 4 | (dw0 & 0x0001_0000) << 6 | (dw0 & 0x3FF) << 11
    records[:, 1:] = header[:, 1:]
    return records
