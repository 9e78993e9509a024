"""RISC-V packet encapsulation: packets of several trace sources in one byte stream.

Source: "Unformatted Trace & Diagnostic Data Packet Encapsulation for RISC-V" 1.0, chapters "Packet Encapsulation", "E-Trace specifics".
Fields follow one another least significant bit first: header of 8 bits (length 5, flow 2, extend 1), source ID of 0 to 16, timestamp of T
bytes where extend is 1, type, trace payload. A source ID that is no whole number of bytes moves what is behind it off the byte boundaries.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ptttool.decoders.byte_decoder import ByteDecoder, no_sync
from ptttool.decoders.channels import Channels
from ptttool.decoders.contract import Carries, ChannelDecoders, FramingProtocol, StreamContext, register
from ptttool.decoders.element_batch import I64, U8, U64, Bool, Elements, Strings
from ptttool.decoders.elements import CUSTOM, Flags, column, common
from ptttool.decoders.offsets import Offsets
from ptttool.decoders.packets import MARGIN, Packets
from ptttool.decoders.riscv.encap.framing import EXTEND, LENGTH, EncapSettings, Format, Search, packet_starts, packet_starts_in_blocks
from ptttool.decoders.timestamps import Unwrapper
from ptttool.table.schema import DType

NAME = "riscv-encap"
PACKETS = ("normal", "null")


@dataclass
class _Run:
    """Bytes taken one after the other that make one element when they end: null packets, or bytes passed over."""

    index: int
    size: int = 0
    alignment: int = 0
    reason: str = ""


class RiscvEncap(ByteDecoder):
    """Decodes an encapsulated stream: packets shown raw, or given to a decoder of each source.

    In step, every byte after a packet is the header of the next. Out of step (after a header that cannot be, a packet across a block's end,
    lost bytes), bytes are passed over up to a synchronisation sequence or the next block.
    """

    def __init__(self, form: Format, channels: ChannelDecoders | None = None) -> None:
        super().__init__(NAME)
        self.form = form
        self._channels = None if channels is None else Channels(channels)
        # None where there is no such packet: adding it ends the loop that looks for packets.
        self._sizes = [form.size_of(header) for header in range(256)]
        self._unwrapper = Unwrapper(8 * form.ts_bytes)
        self._nulls: _Run | None = None
        self._lost: _Run | None = None  # out of step
        self._search = Search(form)
        self._fresh = False  # the next packet is the first after bytes passed over
        if form.anywhere:
            self._lost = _Run(-1, reason="init")

    def restart(self, reason: str, offset: int) -> Elements:
        self._nulls, self._fresh = None, False
        self._search = Search(self.form)
        if self._channels is not None:
            self._channels.lost(reason)
        if reason == "init":
            self._unwrapper = Unwrapper(8 * self.form.ts_bytes)
            if self._channels is not None:
                self._channels.clear()
        self._lost = _Run(-1 if reason == "init" else offset, reason=reason) if self.form.anywhere else None
        return Elements.empty(NAME) if self.form.anywhere else no_sync(NAME, offset, 0, reason)

    def flush(self) -> Elements:
        channels = [] if self._channels is None else self._channels.end()
        return Elements.join([*channels, self._end_nulls(), self._end_lost()])

    def scan(self, data: bytes, offsets: Offsets, _last: bool) -> tuple[Elements, int]:
        batches: list[Elements] = []
        buffer = np.frombuffer(data + bytes(MARGIN), dtype=np.uint8)
        position, block = 0, self.form.block_size
        while position < len(data):
            if self._lost is not None:
                position = self._pass_over(self._lost, data, position, offsets)
                if position < len(data):
                    # What begins with a block has lost nothing.
                    self._fresh = self._lost.size > 0 or self._lost.reason != "init"
                    batches.append(self._end_lost())
                continue
            if block:
                starts, position, good = packet_starts_in_blocks(data, position, self._sizes, block, offsets.of(position))
            else:
                starts, position, good = packet_starts(data, position, self._sizes)
            batches += self._decode(buffer, starts, position, offsets)
            if good:
                break
            batches.append(self._end_nulls())
            self._lost = _Run(offsets.of(position), reason="bad_packet")
            if self._channels is not None:
                batches += self._channels.end()
                self._channels.lost("bad_packet")
            self._search = Search(self.form)
        return Elements.join(batches, by_index=True), position

    def _pass_over(self, run: _Run, data: bytes, position: int, offsets: Offsets) -> int:
        """Pass over bytes up to where a packet begins for sure; the end of ``data`` where there is no such place."""
        if run.index < 0:
            run.index = offsets.of(position)
        end, block = len(data), self.form.block_size
        if block:
            # The first byte that is passed over is no packet's, even if a block begins with it; of what follows a gap that is not known.
            away = -offsets.of(position) % block
            end = min(end, position + (away or (block if run.reason == "bad_packet" and not run.size else 0)))
        found = self._search.first_packet(data, position, end)
        found = end if found is None else found
        run.size += found - position
        return found

    def _end_lost(self) -> Elements:
        run, self._lost = self._lost, None
        if run is None or run.index < 0 or (run.reason == "init" and not run.size):
            return Elements.empty(NAME)
        return no_sync(NAME, run.index, run.size, run.reason)

    def _end_nulls(self) -> Elements:
        run, self._nulls = self._nulls, None
        if run is None:
            return Elements.empty(NAME)
        return self._null_batch(
            np.array([run.index], dtype=np.uint64), np.array([run.size], dtype=np.uint64), np.array([run.alignment], dtype=np.uint64)
        )

    @staticmethod
    def _null_batch(index: U64, size: U64, alignment: U64) -> Elements:
        batch = Elements(NAME, index, size)
        batch.put("packet", PACKETS.index("null"))
        batch.put("idle", size - alignment)
        batch.put("alignment", alignment)
        return batch

    def _decode(self, buffer: U8, starts: I64, end: int, offsets: Offsets) -> list[Elements]:
        """Elements of the packets that begin at ``starts`` and end at ``end``."""
        if not len(starts):
            return []
        headers = buffer[starts]
        null = (headers & LENGTH) == 0
        batches = self._take_nulls(buffer, starts, null, offsets) if null.any() or self._nulls is not None else []
        sizes = np.diff(starts, append=end)
        normal = np.flatnonzero(~null) if null.any() else None
        if normal is not None:
            starts, sizes, headers = starts[normal], sizes[normal], headers[normal]
        if len(starts):
            packets, types = self._packets(buffer, starts, sizes, headers, offsets)
            batches += self._elements(packets, headers, types)
        return batches

    def _take_nulls(self, buffer: U8, starts: I64, null: Bool, offsets: Offsets) -> list[Elements]:
        """Runs of null packets as one element each; one that may go on is kept."""
        batches = []
        if not null[0]:
            batches.append(self._end_nulls())
        if not null.any():
            return batches
        edges = np.flatnonzero(np.diff(null.astype(np.int8), prepend=0, append=0))
        first, after = edges[::2], edges[1::2]
        total = np.concatenate([[0], np.cumsum(null & (buffer[starts] >= EXTEND))])
        index = offsets.at(starts[first])
        size, alignment = (after - first).astype(np.uint64), (total[after] - total[first]).astype(np.uint64)
        if null[0] and self._nulls is not None:
            run, self._nulls = self._nulls, None
            index[0] = run.index
            size[0] += np.uint64(run.size)
            alignment[0] += np.uint64(run.alignment)
        if null[-1]:
            self._nulls = _Run(int(index[-1]), int(size[-1]), int(alignment[-1]))
            index, size, alignment = index[:-1], size[:-1], alignment[:-1]
        if len(index):
            batches.append(self._null_batch(index, size, alignment))
        return batches

    def _packets(self, buffer: U8, starts: I64, sizes: I64, headers: U8, offsets: Offsets) -> tuple[Packets, U64]:
        """The fields before the payload, and where that lies."""
        form = self.form
        view: U64 = np.ndarray((len(buffer) - 7,), dtype="<u8", buffer=buffer, strides=(1,))
        count = len(starts)
        timed = headers >= EXTEND
        odd = np.uint64(form.srcid_bits % 8)
        channel = np.full(count, -1, dtype=np.int32)
        if form.srcid_bits:
            channel = (view[starts + 1] & np.uint64((1 << form.srcid_bits) - 1)).astype(np.int32)
        timestamp = np.zeros(count, dtype=np.uint64)
        after = starts + 1 + form.srcid_bits // 8  # of the byte that holds what follows the source ID
        if timed.any():
            held = view[after[timed]]
            if odd:
                held = (held >> odd) | (view[after[timed] + 8] << (np.uint64(64) - odd))
            if form.ts_bytes < 8:
                held &= np.uint64((1 << 8 * form.ts_bytes) - 1)
            timestamp[timed] = self._unwrapper.unwrap(channel[timed], held) if form.unwrap else held
            after = after + form.ts_bytes * timed
        types = np.zeros(count, dtype=np.uint64)
        if form.type_bits:
            types = (view[after] >> odd) & np.uint64((1 << form.type_bits) - 1)
        before = form.srcid_bits % 8 + form.type_bits  # bits of the length that are no payload
        length = headers.astype(np.int64) & LENGTH
        short = 8 * length < before
        if short.any():  # what lies behind the packet is none of it
            types[short] &= (np.uint64(1) << (8 * length[short] - form.srcid_bits % 8).astype(np.uint64)) - np.uint64(1)
        flags = np.where(short, np.uint32(Flags.RESERVED), np.uint32(0))
        if self._fresh:
            self._fresh = False
            flags[0] |= np.uint32(Flags.RESYNCED)
        packets = Packets(
            data=buffer, start=starts, size=sizes, index=offsets.at(starts), channel=channel, timestamp=timestamp, timed=timed,
            payload=after + before // 8, length=np.maximum(length - before // 8, 0), shift=before % 8, flags=flags,
        )  # fmt: skip
        return packets, types

    def _elements(self, packets: Packets, headers: U8, types: U64) -> list[Elements]:
        """What packets are: of the decoder behind, or shown raw."""
        if self._channels is None:
            return [self._raw_packets(packets, headers, types)]
        if self.form.payload_type is None or not self.form.type_bits:
            return self._channels.decode(packets)
        mine = types == np.uint64(self.form.payload_type)
        if mine.all():
            return self._channels.decode(packets)
        batches = self._channels.decode(packets.take(np.flatnonzero(mine)))
        return [*batches, self._raw_packets(packets.take(~mine), headers[~mine], types[~mine])]

    def _raw_packets(self, packets: Packets, headers: U8, types: U64) -> Elements:
        batch = packets.elements(NAME, kind=CUSTOM)
        batch.put("packet", PACKETS.index("normal"))
        batch.put("flow", (headers >> 5) & 3)
        if self.form.type_bits:
            batch.put("type", types)
        batch.put("payload", _payloads(packets))
        return batch


def _payloads(packets: Packets) -> Strings:
    """The payloads as bytes of their own: moved to byte boundaries, bits beyond their end 0."""
    if not packets.shift:
        return Strings(packets.data, packets.payload, packets.length)
    data = packets.data
    moved = np.zeros_like(data)
    moved[:-1] = (data[:-1] >> packets.shift) | (data[1:] << (8 - packets.shift))
    some = packets.length > 0
    last = (packets.payload + packets.length - 1)[some]
    moved[last] = data[last] >> packets.shift
    return Strings(moved, packets.payload, packets.length)


FIELDS = (
    column("packet", DType.ENUM, "normal, or a run of null packets", PACKETS),
    column("flow", DType.U8, "flow indicator: which sink the packet was for"),
    column("type", DType.U16, "type of the payload, where the source has several"),
    *common("payload"),
    column("idle", DType.U64, "null.idle packets in the run"),
    column("alignment", DType.U64, "null.alignment packets in the run"),
)


@register
class EncapProtocol(FramingProtocol[EncapSettings]):
    """RISC-V packet encapsulation, for the registry."""

    name = NAME
    meaning = "RISC-V packet encapsulation: headers, source IDs, timestamps, null packets; payloads raw"
    resync = "after a synchronisation sequence (more than 31 + ts_bytes + srcid_bits // 8 null bytes), or at the next block"
    settings_type = EncapSettings
    fields = FIELDS
    carries = Carries.PACKETS

    def decoder(self, settings: EncapSettings, context: StreamContext) -> RiscvEncap:
        """Return a decoder that shows packets raw."""
        return RiscvEncap(Format.of(settings))

    def framed(self, settings: EncapSettings, context: StreamContext, channels: ChannelDecoders) -> RiscvEncap:
        """Return a decoder that gives packets to a decoder of each source."""
        return RiscvEncap(Format.of(settings), channels)
