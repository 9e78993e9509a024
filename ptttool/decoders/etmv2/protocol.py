"""ETMv2: the trace packets of Arm's Embedded Trace Macrocell, version 2, as a byte stream.

Source: Arm "Embedded Trace Macrocell Architecture Specification" (IHI 0014Q), chapter 6, "ETMv2 Signal Protocol"; headers and lengths:
:mod:`ptttool.decoders.etmv2.headers`. Trace ports also have PIPESTAT signals, which say when instructions executed and where packets begin;
bytes alone do not. So decoding begins where the caller says, and after a reserved header it waits for the next such offset.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ptttool.decoders.byte_decoder import ByteDecoder, Run, no_sync, truncated
from ptttool.decoders.contract import ByteProtocol, StreamContext, register
from ptttool.decoders.elements.arrays import I64, U8, U64, Array, Bool, Elements, Strings
from ptttool.decoders.elements.model import ADDR, CUSTOM, PE_CONTEXT, Flags, column, common
from ptttool.decoders.etmv2.headers import (
    BRANCH,
    CONTEXT_ID,
    CONTINUES,
    DATA,
    FIRST_TRANSFER,
    LOAD_MISS,
    LOAD_MISS_DATA,
    LONGEST_ADDRESS,
    MARGIN,
    PACKET_OF,
    PACKETS,
    RESERVED,
    SHIFTS,
    Etmv2Settings,
    Lengths,
    packet_starts,
)  # fmt: skip
from ptttool.decoders.offsets import Offsets
from ptttool.table.schema import DType, Style

NAME = "etmv2"
_KINDS: U8 = np.full(len(PACKETS), CUSTOM, dtype=np.uint8)
_KINDS[[BRANCH, CONTEXT_ID]] = ADDR, PE_CONTEXT
# Masks of the address bits in up to five bytes of seven bits each, by the number of bytes.
_BITS: U64 = np.array([(1 << 7 * count) - 1 for count in range(LONGEST_ADDRESS + 1)], dtype=np.uint64)
_BYTES: U64 = np.array([(1 << 8 * count) - 1 for count in range(5)], dtype=np.uint64)
_ADDRESS = np.uint64(0xFFFF_FFFF)
_TAGS = 4


class Compressed:
    """Addresses of which packets have only the low bits: the others are those of the address before.

    Parameters
    ----------
    marker : int
        Bits of the first byte that do not belong to the address.
    """

    def __init__(self, marker: int = 0) -> None:
        self._marker = marker
        self._last: int | None = None

    def whole(self, bits: U64, count: I64) -> tuple[U64, Bool]:
        """Complete addresses.

        Parameters
        ----------
        bits : ndarray of uint64
            Bits that were sent.
        count : ndarray of int64
            In how many bytes (1 to 5).

        Returns
        -------
        addresses : ndarray of uint64
            All bits of each address.
        complete : ndarray of bool
            Which addresses are known completely.
        """
        order: I64 = np.arange(len(bits))
        addresses = bits.copy()
        for number in range(1, LONGEST_ADDRESS):
            # The last address that had bits of this byte.
            source = np.maximum.accumulate(np.where(count > number, order, -1))
            held = np.where(source < 0, np.uint64(self._last or 0), bits[source])
            addresses |= held & ((_BITS[number + 1] ^ _BITS[number]) >> np.uint64(self._marker))
        complete: Bool = np.logical_or.accumulate(count == LONGEST_ADDRESS)
        if self._last is not None:
            complete[:] = True
        if len(complete) and complete[-1]:
            self._last = int(addresses[-1])
        return addresses, complete


class Etmv2(ByteDecoder):
    """Decodes ETMv2 packets.

    Parameters
    ----------
    settings : Etmv2Settings
        What is traced. Packets behind an offset of `sync_at` do not build on those before.
    """

    def __init__(self, settings: Etmv2Settings) -> None:
        super().__init__(NAME)
        self._lengths = Lengths(settings)
        self._data_value, self._context_bytes = settings.data_value, int(settings.contextid_bytes)
        self._shift = None if settings.isa is None else np.uint64(SHIFTS[settings.isa])
        self._begins: Sequence[int] = sorted(set(settings.sync_at or ()))
        self._seen = -1  # offset up to which begins were looked up
        self._lost: Run | None = None  # bytes after a reserved header
        self._fresh = False  # the next packet is the first after skipped bytes
        self._forget()

    def _forget(self) -> None:
        """Forget what packets build on."""
        self._branch, self._data = Compressed(marker=1), Compressed()
        self._group: int | None = None  # offset of the first packet of a cycle that goes on
        self._misses: dict[int, tuple[int, int | None]] = {}  # by tag: offset and address of the load miss that waits for its data

    def boundaries(self, offsets: Sequence[int]) -> None:
        """Take note of offsets at which a packet begins; the sequence may grow."""
        self._begins = sorted({*self._begins, *offsets}) if self._begins else offsets

    def restart(self, reason: str, offset: int) -> Elements:
        """Forget what packets build on."""
        self._forget()
        self._fresh, self._seen = False, -1
        return no_sync(NAME, offset, 0, reason)

    def flush(self) -> Elements:
        """Return the run of bytes after a reserved header."""
        run, self._lost = self._lost, None
        return Elements.empty(NAME) if run is None or not run.size else no_sync(NAME, run.index, run.size, run.what)

    def scan(self, data: bytes, offsets: Offsets, _last: bool) -> tuple[Elements, int]:
        """Decode the whole packets in some bytes."""
        first = offsets.of(0)
        after = first + len(data)
        begins = self._begins[bisect_right(self._begins, max(self._seen, first - 1)) : bisect_left(self._begins, after)]
        self._seen = after - 1
        several: list[Elements] = []
        position = 0
        buffer = data + MARGIN
        sizes, addresses = self._lengths.of(buffer)
        edges = [0, *(index - first for index in begins), len(data)]
        for number, (start, end) in enumerate(pairwise(edges)):
            if number:
                several += self._begin(data[position:start], first + position)
            position = start
            if self._lost is None:
                starts, position = packet_starts(sizes, start, end)
                position = self._packets(buffer, starts, position, addresses, offsets, several)
            if self._lost is not None:
                self._lost.size += end - position
                position = end
        return Elements.join(several), position

    def _begin(self, rest: bytes, index: int) -> list[Elements]:
        """Begin at a known start of a packet; `rest` are bytes of a packet that does not end before it."""
        several = [truncated(NAME, index, rest)] if rest else []
        self._fresh = self._lost is not None
        several.append(self.flush())
        self._forget()
        return several

    def _packets(self, buffer: bytes, starts: I64, end: int, addresses: U8, offsets: Offsets, several: list[Elements]) -> int:
        """Add the elements of the packets from `starts` to `end`, up to a reserved header, and return where they end."""
        if not len(starts):
            return end
        values = np.frombuffer(buffer, dtype=np.uint8)
        headers = values[starts]
        packet = PACKET_OF[headers]
        reserved = np.flatnonzero(packet == RESERVED)
        if len(reserved):
            last = int(reserved[0])
            end = int(starts[last]) + 1
            starts, headers, packet = starts[: last + 1], headers[: last + 1], packet[: last + 1]
            self._lost = Run(offsets.of(0) + end, "bad_packet")
        sizes = np.diff(starts, append=end)
        elements = Elements(NAME, offsets.at(starts), sizes, kind=_KINDS[packet], raw=Strings(values, starts, sizes))
        elements.put("packet", packet)
        words: U64 = np.ndarray((len(values) - 7,), dtype="<u8", buffer=values, strides=(1,))
        self._put_cycles(elements, packet, headers)
        self._put_branches(elements, np.flatnonzero(packet == BRANCH), words, starts, addresses)
        self._put_data(elements, packet, headers, words, starts, addresses)
        contexts = np.flatnonzero(packet == CONTEXT_ID)
        if self._context_bytes and len(contexts):
            elements.put("context_id", words[starts[contexts] + 1] & _BYTES[self._context_bytes], contexts)
        if len(reserved):
            elements.flags[-1] |= np.uint32(Flags.RESERVED)
        if self._fresh:
            self._fresh = False
            elements.flags[0] |= np.uint32(Flags.RESYNCED)
        several.append(elements)
        return end

    def _put_cycles(self, elements: Elements, packet: U8, headers: U8) -> None:
        """Put the cycle: its packets have C, except the last one; a branch address does not have C and is always the last."""
        goes_on = (headers >= CONTINUES) & (packet != BRANCH) & (packet != RESERVED)
        opens = np.ones(len(packet), dtype=np.bool_)
        opens[1:] = ~goes_on[:-1]
        first = elements.index[np.maximum.accumulate(np.where(opens, np.arange(len(packet)), 0))]
        if self._group is not None:
            ends = np.flatnonzero(~goes_on)
            first[: int(ends[0]) + 1 if len(ends) else None] = self._group
        self._group = int(first[-1]) if goes_on[-1] else None
        if packet[-1] == RESERVED:  # its C is undefined
            elements.put("cycle", first[:-1], np.arange(len(first) - 1))
        else:
            elements.put("cycle", first)

    def _put_branches(self, elements: Elements, rows: I64, words: U64, starts: I64, addresses: U8) -> None:
        if not len(rows):
            return
        positions = starts[rows]
        count = addresses[positions].astype(np.int64)
        bits = _address_bits(words[positions], count) >> np.uint64(1)  # without the 1 that marks a branch address
        whole, complete = self._branch.whole(bits, count)
        if self._shift is None:
            complete = np.zeros_like(complete)
        else:
            elements.put("address", ((whole << self._shift) & _ADDRESS)[complete], rows[complete])
        _put_bits(elements, rows, bits, count, ~complete)

    def _put_data(self, elements: Elements, packet: U8, headers: U8, words: U64, starts: I64, addresses: U8) -> None:
        """Put A bits, tags, addresses and values of data packets and load misses."""
        miss, late = packet == LOAD_MISS, packet == LOAD_MISS_DATA
        data = packet == DATA
        rows = np.flatnonzero(data | miss)
        elements.put("first", headers[rows] & FIRST_TRANSFER != 0, rows)
        address, complete = np.zeros(len(packet), dtype=np.uint64), np.zeros(len(packet), dtype=np.bool_)
        rows = np.flatnonzero(self._lengths.has_address[headers])
        if len(rows):
            positions = starts[rows] + 1
            count = addresses[positions].astype(np.int64)
            bits = _address_bits(words[positions], count)
            whole, complete[rows] = self._data.whole(bits, count)
            address[rows] = whole & _ADDRESS
            _put_bits(elements, rows, bits, count, ~complete[rows])
        rows = np.flatnonzero(miss | late)
        if len(rows):
            self._put_misses(elements, rows, miss[rows], headers[rows], address, complete)
        rows = np.flatnonzero(complete)
        elements.put("data_address", address[rows], rows)
        rows = np.flatnonzero(late | data if self._data_value else late)
        if len(rows):
            size = self._lengths.value_bytes[headers[rows]]
            # Values are at the end of their packets.
            after = (starts[rows] + elements.size[rows].astype(np.int64)) - size
            elements.put("data_value", words[after] & _BYTES[size], rows)

    def _put_misses(self, elements: Elements, rows: I64, is_miss: Bool, headers: U8, address: U64, complete: Bool) -> None:
        """Put the load miss that data belong to: the last one with the same tag.

        `address` and `complete` are those of all packets; those of data packets are filled in.
        """
        tags = np.where(is_miss, headers >> 2, headers >> 5) & 3
        elements.put("tag", tags, rows)
        elements.flags[rows[tags == 0]] |= np.uint32(Flags.RESERVED)
        data_rows, sources = [], []
        for tag in range(_TAGS):
            mine = np.flatnonzero(tags == tag)
            if not len(mine):
                continue
            misses, own = is_miss[mine], rows[mine]
            before = self._misses.pop(tag, None)
            if before is not None and not misses[0]:
                row, (index, held) = int(own[0]), before
                data_rows.append(own[:1])
                sources.append(np.array([index], dtype=np.uint64))
                if held is not None:
                    address[row], complete[row] = held, True
            pairs = np.flatnonzero(misses[:-1] & ~misses[1:])
            miss, data = own[pairs], own[pairs + 1]
            data_rows.append(data)
            sources.append(elements.index[miss])
            address[data], complete[data] = address[miss], complete[miss]
            if misses[-1]:
                row = int(own[-1])
                self._misses[tag] = int(elements.index[row]), int(address[row]) if complete[row] else None
        if data_rows:
            row_of = np.concatenate(data_rows)
            order = np.argsort(row_of)
            elements.put("miss_index", np.concatenate(sources)[order], row_of[order])


def _address_bits(words: U64, count: Array) -> U64:
    """Return the address bits of `count` bytes, seven each, the first byte's lowest; `words` are the bytes and others behind them."""
    bits: U64 = words & np.uint64(0x7F)
    for number in range(1, LONGEST_ADDRESS):
        bits |= (words >> np.uint64(number)) & np.uint64(0x7F << 7 * number)
    bits &= _BITS[count]
    return bits


def _put_bits(elements: Elements, rows: I64, bits: U64, count: I64, chosen: Bool) -> None:
    """Put the bits that were sent of addresses that are not known completely."""
    if chosen.any():
        elements.put("address_bits", bits[chosen], rows[chosen])
        elements.put("address_bytes", count[chosen], rows[chosen])


FIELDS = (
    column("packet", DType.ENUM, "type of the packet", PACKETS),
    column("cycle", DType.U64, "index of the first packet of the cycle: packets that went into the FIFO in one cycle have the same"),
    column("first", DType.BOOL, "A bit: the first transfer of its instruction"),
    column("tag", DType.U8, "TT bits: which load miss; 0 is reserved"),
    *common("address"),
    column(
        "data_address",
        DType.U32,
        "address of the transfer; of a load miss's data that of the miss; absent until one is whole",
        style=Style.HEX,
    ),
    column("address_bits", DType.U64, "where that is not known, bits that came, lowest first: 6 (data: 7), 7, 7, 7, 7", style=Style.HEX),
    column("address_bytes", DType.U8, "and the bytes that they came in"),
    column("data_value", DType.U32, "value of the transfer", style=Style.HEX),
    column("miss_index", DType.U64, "of a load miss's data: index of the packet of the miss"),
    *common("context_id"),
)


@register
class Etmv2Protocol(ByteProtocol[Etmv2Settings]):
    """ETMv2, for the registry."""

    name = NAME
    meaning = "Arm ETMv2: branch addresses, data, load misses and context IDs of TRACEPKT bytes"
    resync = "at the next offset that is given with sync_at, at the next AUX record, after lost bytes"
    settings_type = Etmv2Settings
    fields = FIELDS

    def decoder(self, settings: Etmv2Settings, context: StreamContext) -> Etmv2:
        """Return a decoder for one stream."""
        return Etmv2(settings)
