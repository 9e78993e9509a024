"""The fields of RISC-V E-Trace packets of instruction trace (te_inst), read for all packets of a feed at once.

Sources: "Efficient Trace for RISC-V" 2.0, chapter "Instruction Trace Encoder Output Packets", and the same of April 2019
(``payload.tex``). Fields come least significant bit first. Bits that were not received equal the last one that was.
"""

from __future__ import annotations

import functools

import numpy as np

from ptttool.decoders.elements.arrays import I64, U8, U64
from ptttool.decoders.elements.model import ADDR, BRANCH_MAP, CUSTOM, UNKNOWN, Flags
from ptttool.decoders.packets import Packets
from ptttool.decoders.packets import field as bits
from ptttool.decoders.riscv.etrace.bits import BRANCHES, OPTIONAL, SYNC, Tables, bit_of, merged, shifted
from ptttool.decoders.riscv.etrace.found import PacketFields
from ptttool.decoders.riscv.etrace.setup import EtraceSettings
from ptttool.decoders.riscv.etrace.sync import SyncReader

NO_PACKET = 4  # format of payloads without bits
COUNT, CACHE = range(2)  # subformats of format 0
tables_of = functools.lru_cache(maxsize=16)(Tables)  # one for all channels


class Reader:
    """Reads the fields of the packets of one channel.

    Parameters
    ----------
    settings : EtraceSettings
        Parameters of the encoder.
    """

    def __init__(self, settings: EtraceSettings) -> None:
        self.settings = settings
        self._sync = SyncReader(settings)
        self._tables = tables_of(settings)

    def read(self, packets: Packets) -> PacketFields:
        """Return all fields of packets, in order."""
        words = packets.words(self.settings.words)
        first = words[0].astype(np.uint8)
        packet_fields = PacketFields(
            (first & 3).astype(np.uint8), self._tables.kind[first], self._tables.need[first], np.zeros(len(packets), dtype=np.uint32)
        )
        empty = packets.bits <= 0
        if empty.any():
            packet_fields.format[empty], packet_fields.kind[empty], packet_fields.need[empty] = NO_PACKET, UNKNOWN, -1
            packet_fields.flags[empty] |= np.uint32(Flags.RESERVED)
            packet_fields.lost.append(np.flatnonzero(empty))
        position, mask = self._tables.position[first], self._tables.mask[first]
        if empty.any():
            position[empty] = mask[empty] = 0
        sync = np.flatnonzero(packet_fields.format == SYNC)
        options: U64 | None = None
        if len(sync):
            options = self._sync.read(packet_fields, words, sync)
        optional = np.flatnonzero(packet_fields.format == OPTIONAL)
        if len(optional):
            self._optional(packet_fields, words, optional, options, position)
        self._maps(packet_fields, words, first, mask)
        self._addresses(packet_fields, words, position, options)
        self._check(packet_fields, packets)
        return packet_fields

    def _maps(self, packet_fields: PacketFields, words: list[U64], first: U8, mask: U64) -> None:
        """Read format 1: branches and their outcomes."""
        rows = np.flatnonzero(packet_fields.format == BRANCHES)
        if not len(rows):
            return
        first = first[rows]
        if self.settings.old:
            full = np.flatnonzero(first >> 2 & 31 == 0)
            packet_fields.add(rows[full], branch_fmt=first[full] >> 7)
            counts = full[first[full] >= 0x80]
            if len(counts):
                counted = [words[0][rows[counts]]]
                packet_fields.add(rows[counts], branch_count=bits(counted, 8, 16), no_mispred=bits(counted, 24, 1))
                maps = np.flatnonzero(mask[rows])
                rows, first = rows[maps], first[maps]
        packet_fields.add(rows, branches=first >> 2 & 31, branch_map=words[0][rows] >> self._tables.shift[first] & mask[rows])

    def _addresses(self, packet_fields: PacketFields, words: list[U64], position: U64, options: U64 | None) -> None:
        """Read the address of formats 0 to 2 and what follows it."""
        settings = self.settings
        some = np.flatnonzero(position)
        rows = packet_fields.addressed = some if len(some) < len(position) else None
        if not len(some):
            return
        if rows is not None:
            words, position = [word[rows] for word in words], position[rows]
        count = -(-(settings.address_bits + settings.tail_bits) // 64)
        body = shifted(words, position, count)
        packet_fields.address = bits(body, 0, settings.address_bits)
        packet_fields.add(rows, address_field=packet_fields.address)
        packet_fields.full = bit_of(self._now(options, rows), settings.full_address_bit)
        if settings.old:
            return
        # The address's most significant bit, notify, updiscon, irreport: each matters where it differs from the bit before it.
        four = bits(body, settings.address_bits - 1, 4).astype(np.uint8)
        changes = four ^ (four >> 1)
        packet_fields.add(rows, notify=four >> 1 & 1, updiscon=four >> 2 & 1, irreport=four >> 3)
        packet_fields.add(rows, is_notify=changes & 1, is_updiscon=changes >> 1 & 1, is_irreport=changes >> 2 & 1)
        if settings.irdepth_bits:
            packet_fields.add(rows, irdepth=bits(body, settings.address_bits + 3, settings.irdepth_bits))

    def _now(self, options: U64 | None, rows: I64 | None) -> U64 | int:
        """Return the options in force at packets."""
        if options is None:
            return self._sync.options
        return options if rows is None else options[rows]

    def _optional(self, packet_fields: PacketFields, words: list[U64], rows: I64, options: U64 | None, position: U64) -> None:
        """Read format 0: counts of predicted branches, and entries of the jump target cache."""
        settings = self.settings
        if settings.old:
            self._reserved(packet_fields, rows)
            return
        if settings.f0s_width_p:
            subformat = bits([word[rows] for word in words], 2, settings.f0s_width_p)
            packet_fields.subformats = merged(packet_fields.subformats, (rows, subformat))
        else:
            subformat = self._subformat(self._now(options, rows), len(rows))
            defined = np.flatnonzero(subformat <= CACHE)
            packet_fields.subformats = merged(packet_fields.subformats, (rows[defined], subformat[defined]))
        self._reserved(packet_fields, rows[subformat > CACHE])
        self._counts(packet_fields, words, rows[subformat == COUNT], position)
        self._cached(packet_fields, words, rows[subformat == CACHE])

    def _subformat(self, options: U64 | int, count: int) -> U64:
        """Return the only optional format in use, by the options, else by what the encoder has; 2 if that is ambiguous."""
        settings = self.settings
        has = {(True, False): COUNT, (False, True): CACHE}.get((settings.bpred_size_p > 0, settings.cache_size_p > 0), 2)
        prediction = np.broadcast_to(bit_of(options, settings.branch_prediction_bit), count)
        cache = np.broadcast_to(bit_of(options, settings.jump_target_cache_bit), count)
        subformat: U64 = np.where(prediction == cache, has, np.where(prediction, COUNT, CACHE)).astype(np.uint64)
        return subformat

    def _reserved(self, packet_fields: PacketFields, rows: I64) -> None:
        """Flag packets of formats that do not exist."""
        if len(rows):
            packet_fields.flags[rows] |= np.uint32(Flags.RESERVED)
            packet_fields.need[rows] = -1
            packet_fields.lost.append(rows)

    def _counts(self, packet_fields: PacketFields, words: list[U64], rows: I64, position: U64) -> None:
        if not len(rows):
            return
        settings, at = self.settings, 2 + self.settings.f0s_width_p
        words = [word[rows] for word in words]
        form = bits(words, at + 32, 2)
        packet_fields.add(rows, branch_count=bits(words, at, 32), branch_fmt=form)
        packet_fields.need[rows] = at + 34
        packet_fields.kind[rows] = CUSTOM
        self._reserved(packet_fields, rows[form == 1])
        with_address = rows[form >= 2]
        position[with_address] = at + 34
        packet_fields.need[with_address] = at + 34 + settings.address_bits + settings.tail_bits
        packet_fields.kind[with_address] = ADDR

    def _cached(self, packet_fields: PacketFields, words: list[U64], rows: I64) -> None:
        if not len(rows):
            return
        settings, at = self.settings, 2 + self.settings.f0s_width_p
        words = [word[rows] for word in words]
        branches = bits(words, at + settings.cache_size_p, 5)
        size = self._tables.sizes[branches.astype(np.intp)]
        end = size + np.uint64(at + settings.cache_size_p + 5)
        packet_fields.add(rows, cache_index=bits(words, at, settings.cache_size_p))
        some = np.flatnonzero(branches)
        maps = bits(words, at + settings.cache_size_p + 5, 31) & ((np.uint64(1) << size) - np.uint64(1))
        packet_fields.add(rows[some], branches=branches[some], branch_map=maps[some])
        # irreport and the bit before it, which is the last of the branch map or of branches.
        body = shifted(words, end - np.uint64(1), 2)
        before = bits(body, 0, 1)
        irreport = bits(body, 1, 1)
        packet_fields.add(rows, irreport=irreport, is_irreport=before ^ irreport)
        if settings.irdepth_bits:
            packet_fields.add(rows, irdepth=bits(body, 2, settings.irdepth_bits))
        packet_fields.kind[rows] = np.where(branches, BRANCH_MAP, CUSTOM)
        packet_fields.need[rows] = end.astype(np.int64) + 1 + settings.irdepth_bits
        # The target is in a cache that only a decoder with the program can model.
        packet_fields.lost.append(rows)

    def _check(self, packet_fields: PacketFields, packets: Packets) -> None:
        """Flag wrong bits behind the last field: up to the end of the byte there may be some, all of one value."""
        left = packets.bits - packet_fields.need
        some = np.flatnonzero((left > 0) & (packet_fields.need >= 0))
        if not len(some):
            return
        left = left[some]
        packet_fields.flags[some[left > 7]] |= np.uint32(Flags.LEFTOVER)
        few = left <= 7
        some, left = some[few], left[few]
        last = packets.data[packets.payload[some] + packets.length[some] - 1].view(np.int8)
        rest = last >> (8 - left).astype(np.int8)
        packet_fields.flags[some[(rest != 0) & (rest != -1)]] |= np.uint32(Flags.PADDING_ODD)
