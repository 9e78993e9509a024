"""RISC-V packet encapsulation: packets of several trace sources in one byte stream.

Source: "Unformatted Trace & Diagnostic Data Packet Encapsulation for RISC-V" 1.0, chapters "Packet Encapsulation", "E-Trace specifics".
Fields follow one another, least significant bit first: header of 8 bits (length 5, flow 2, extend 1), source ID of 0 to 16 bits, timestamp
of T bytes if extend is 1, type, trace payload. After a source ID that is not a whole number of bytes, fields are not aligned to bytes.
"""

from __future__ import annotations

import numpy as np

from ptttool.decoders.budget import MAX_CHANNELS
from ptttool.decoders.byte_decoder import ByteDecoder, Run, no_sync, skipped
from ptttool.decoders.channels import Channels
from ptttool.decoders.contract import Carries, ChannelDecoders, FramingProtocol, StreamContext, register
from ptttool.decoders.elements.arrays import I64, U8, U64, Bool, Elements, Strings
from ptttool.decoders.elements.model import CUSTOM, Flags, column, common
from ptttool.decoders.offsets import Offsets
from ptttool.decoders.packets import MARGIN, Packets
from ptttool.decoders.riscv.encap.framing import EXTEND, LENGTH, EncapSettings, Search, packet_starts, packet_starts_in_blocks
from ptttool.decoders.timestamps import Unwrapper
from ptttool.table.schema import DType

NAME = "riscv-encap"
PACKETS = ("normal", "null")


class RiscvEncap(ByteDecoder):
    """Decodes an encapsulated stream: packets are shown raw, or given to a decoder of each source.

    In step, the byte after a packet is the header of the next. Out of step (after an impossible header, a packet across the end of a block,
    or lost bytes), bytes are skipped up to a synchronisation sequence or the next block.

    Parameters
    ----------
    form : EncapSettings
        Format of the stream.
    channels : callable, optional
        Makes the decoder of a source.
    """

    def __init__(self, form: EncapSettings, channels: ChannelDecoders | None = None) -> None:
        super().__init__(NAME)
        self.form = form
        self._type_behind = form.type_behind
        self._channels = None if channels is None else Channels(channels)
        # None for an impossible packet: adding it ends the loop that looks for packets.
        self._sizes = [form.size_of(header) for header in range(256)]
        self._unwrapper = Unwrapper(8 * form.ts_bytes)
        self._nulls: tuple[int, int, int] | None = None  # index, packets, and those for alignment of a run that may go on
        self._lost: Run | None = None  # out of step
        self._search = Search(form)
        self._fresh = False  # the next packet is the first after skipped bytes
        if form.anywhere:
            self._lost = Run(-1, "init")

    def restart(self, reason: str, offset: int) -> Elements:
        """Forget runs and partial timestamps, and report to the sources that packets may be lost."""
        self._nulls, self._fresh = None, False
        self._search = Search(self.form)
        if self._channels is not None:
            self._channels.lost(reason)
        if reason == "init":
            self._unwrapper = Unwrapper(8 * self.form.ts_bytes)
            if self._channels is not None:
                self._channels.clear()
        self._lost = Run(-1 if reason == "init" else offset, reason) if self.form.anywhere else None
        return Elements.empty(NAME) if self.form.anywhere else no_sync(NAME, offset, 0, reason)

    def flush(self) -> Elements:
        """Return what sources held back, and runs."""
        channels = [] if self._channels is None else self._channels.end()
        return Elements.join([*channels, self._end_nulls(), self._end_lost()])

    def scan(self, data: bytes, offsets: Offsets, _last: bool) -> tuple[Elements, int]:
        """Decode the whole packets in some bytes."""
        several: list[Elements] = []
        buffer = np.frombuffer(data + bytes(MARGIN), dtype=np.uint8)
        position, block = 0, self.form.block_size
        while position < len(data):
            if self._lost is not None:
                position = self._pass_over(self._lost, data, position, offsets)
                if position < len(data):
                    # A stream that begins with a block has not lost anything.
                    self._fresh = self._lost.size > 0 or self._lost.what != "init"
                    several.append(self._end_lost())
                continue
            if block:
                starts, position, good = packet_starts_in_blocks(data, position, self._sizes, block, offsets.of(position))
            else:
                starts, position, good = packet_starts(data, position, self._sizes)
            several += self._decode(buffer, starts, position, offsets)
            if good:
                break
            several.append(self._end_nulls())
            self._lost = Run(offsets.of(position), "bad_packet")
            if self._channels is not None:
                several += self._channels.end()
                self._channels.lost("bad_packet")
            self._search = Search(self.form)
        return Elements.join(several, by_index=True), position

    def _pass_over(self, run: Run, data: bytes, position: int, offsets: Offsets) -> int:
        """Skip bytes up to a certain start of a packet, and return its position; the end of `data` if there is none."""
        if run.index < 0:
            run.index = offsets.of(position)
        end, block = len(data), self.form.block_size
        if block:
            # A bad packet's first byte is skipped even if it begins a block; after a gap, the first byte may be good.
            away = -offsets.of(position) % block
            end = min(end, position + (away or (block if run.what == "bad_packet" and not run.size else 0)))
        start = self._search.first_packet(data, position, end)
        start = end if start is None else start
        run.size += start - position
        return start

    def _end_lost(self) -> Elements:
        run, self._lost = self._lost, None
        return skipped(NAME, run)

    def _end_nulls(self) -> Elements:
        run, self._nulls = self._nulls, None
        if run is None:
            return Elements.empty(NAME)
        return self._nulls_of(*np.array(run, dtype=np.uint64).reshape(3, 1))

    @staticmethod
    def _nulls_of(index: U64, size: U64, alignment: U64) -> Elements:
        elements = Elements(NAME, index, size)
        elements.put("packet", PACKETS.index("null"))
        elements.put("idle", size - alignment)
        elements.put("alignment", alignment)
        return elements

    def _decode(self, buffer: U8, starts: I64, end: int, offsets: Offsets) -> list[Elements]:
        """Return the elements of the packets from `starts` to `end`."""
        if not len(starts):
            return []
        headers = buffer[starts]
        null = (headers & LENGTH) == 0
        several = self._take_nulls(buffer, starts, null, offsets) if null.any() or self._nulls is not None else []
        sizes = np.diff(starts, append=end)
        normal = np.flatnonzero(~null) if null.any() else None
        if normal is not None:
            starts, sizes, headers = starts[normal], sizes[normal], headers[normal]
        if len(starts):
            packets, types = self._packets(buffer, starts, sizes, headers, offsets)
            several += self._elements(packets, headers, types)
        return several

    def _take_nulls(self, buffer: U8, starts: I64, null: Bool, offsets: Offsets) -> list[Elements]:
        """Return runs of null packets as one element each, and keep a run that may go on."""
        several = []
        if not null[0]:
            several.append(self._end_nulls())
        if not null.any():
            return several
        edges = np.flatnonzero(np.diff(null.astype(np.int8), prepend=0, append=0))
        first, after = edges[::2], edges[1::2]
        total = np.concatenate([[0], np.cumsum(null & (buffer[starts] >= EXTEND))])
        index = offsets.at(starts[first])
        size, alignment = (after - first).astype(np.uint64), (total[after] - total[first]).astype(np.uint64)
        if null[0] and self._nulls is not None:
            run, self._nulls = self._nulls, None
            index[0] = run[0]
            size[0] += np.uint64(run[1])
            alignment[0] += np.uint64(run[2])
        if null[-1]:
            self._nulls = int(index[-1]), int(size[-1]), int(alignment[-1])
            index, size, alignment = index[:-1], size[:-1], alignment[:-1]
        if len(index):
            several.append(self._nulls_of(index, size, alignment))
        return several

    def _packets(self, buffer: U8, starts: I64, sizes: I64, headers: U8, offsets: Offsets) -> tuple[Packets, U64]:
        """Read the fields before the payload; return the packets and their types."""
        form = self.form
        view: U64 = np.ndarray((len(buffer) - 7,), dtype="<u8", buffer=buffer, strides=(1,))
        count = len(starts)
        timed = headers >= EXTEND
        odd = np.uint64(form.srcid_bits % 8)
        channel = np.full(count, -1, dtype=np.int32)
        if form.srcid_bits:
            channel = (view[starts + 1] & np.uint64((1 << form.srcid_bits) - 1)).astype(np.int32)
        timestamp = np.zeros(count, dtype=np.uint64)
        after = starts + 1 + form.srcid_bits // 8  # the byte that has the bits behind the source ID
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
        before = form.srcid_bits % 8 + form.type_bits  # bits that the length covers and that are not payload
        length = headers.astype(np.int64) & LENGTH
        short = 8 * length < before
        if short.any():  # bits behind the packet do not belong to it
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
        """Return the elements of packets: from the decoder of their source, or raw."""
        if self._channels is None:
            return [self._raw_packets(packets, headers, types)]
        type_behind = self._type_behind
        mine = np.ones(len(packets), dtype=np.bool_) if type_behind is None else types == np.uint64(type_behind)
        if 1 << self.form.srcid_bits > MAX_CHANNELS:
            mine[mine] = self._channels.accepts(packets.take(np.flatnonzero(mine)))
        if mine.all():
            return self._channels.decode(packets)
        several = self._channels.decode(packets.take(np.flatnonzero(mine)))
        return [*several, self._raw_packets(packets.take(~mine), headers[~mine], types[~mine])]

    def _raw_packets(self, packets: Packets, headers: U8, types: U64) -> Elements:
        elements = packets.elements(NAME, kind=CUSTOM)
        elements.put("packet", PACKETS.index("normal"))
        elements.put("flow", (headers >> 5) & 3)
        if self.form.type_bits:
            elements.put("type", types)
        elements.put("payload", _payloads(packets))
        return elements


def _payloads(packets: Packets) -> Strings:
    """Return the payloads, moved to byte boundaries; bits behind their end are 0."""
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
        return RiscvEncap(settings)

    def framed(self, settings: EncapSettings, context: StreamContext, channels: ChannelDecoders) -> RiscvEncap:
        """Return a decoder that gives packets to a decoder of each source."""
        return RiscvEncap(settings, channels)
