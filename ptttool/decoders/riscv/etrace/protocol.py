"""RISC-V E-Trace: packets of instruction trace (te_inst), behind RISC-V packet encapsulation.

Sources: "Efficient Trace for RISC-V" 2.0; its draft of April 2019. :mod:`~.fields` reads the packets; here they become elements, and
differences of addresses become addresses. What was executed between them follows only from the program.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptttool.decoders.contract import PacketDecoder, PacketProtocol, StreamContext, register
from ptttool.decoders.elements.arrays import I64, U64, Array, Elements
from ptttool.decoders.elements.model import NO_SYNC, PE_CONTEXT, REASON_CODES, TRACE_ON, Flags, column, common
from ptttool.decoders.packets import Packets
from ptttool.decoders.riscv.etrace.fields import NO_PACKET, Reader
from ptttool.decoders.riscv.etrace.found import PacketFields
from ptttool.decoders.riscv.etrace.setup import EtraceSettings
from ptttool.table.schema import DType, Style

NAME = "riscv-etrace"
# Reasons why trace begins again, by the qual_status of the support packet before.
_REASONS = np.array([REASON_CODES[name] for name in ("normal", "normal", "overflow", "normal")], dtype=np.int64)
_NONE = -1


class Addresses:
    """The address that packets of one channel reported last, which differences are added to.

    Parameters
    ----------
    bits : int
        Bits of the address field.
    """

    def __init__(self, bits: int) -> None:
        self._mask = np.uint64((1 << bits) - 1)
        self._last: U64 = np.zeros(1, dtype=np.uint64)
        self._known = False
        self._unsure = False

    def forget(self) -> None:
        """Forget it: packets are missing. One of them may have changed options, so a full address may look like a difference."""
        self._known, self._unsure = False, True

    def add_up(self, count: int, packet_fields: PacketFields) -> tuple[U64, Array]:
        """Return the addresses of `count` packets, with differences added up, and a mask of those that are known."""
        value: U64 = np.zeros(count, dtype=np.uint64)
        fresh = np.zeros(count, dtype=np.bool_)  # does not build on packets before
        addressed = slice(None) if packet_fields.addressed is None else packet_fields.addressed
        value[addressed] = packet_fields.address
        fresh[addressed] = packet_fields.full
        if self._unsure:
            syncs = np.concatenate([packet_fields.starts[0], packet_fields.traps[0]])
            first = int(syncs.min(initial=count))
            fresh[:first] = False
            self._unsure = first == count
        for rows, addresses in (packet_fields.starts, packet_fields.traps):
            value[rows] = addresses
            fresh[rows] = True
        lost = np.zeros(count, dtype=np.bool_)
        for rows in packet_fields.lost:
            lost[rows] = True
        fresh |= lost
        value[lost] = 0
        total = np.cumsum(value, dtype=np.uint64)
        if not fresh.any():
            address = (total + self._last) & self._mask
            valid = np.full(count, self._known)
        else:
            origin = np.maximum.accumulate(np.where(fresh, np.arange(count), -1))
            # Element -1 is the address before these packets.
            base = np.append(value - total, self._last)[origin]
            address = (total + base) & self._mask
            valid = np.append(~lost, self._known)[origin]
        self._last, self._known = address[-1:], bool(valid[-1])
        return address, valid


class Pieces:
    """The elements of each packet: format 3.0 has a pe_context and an address, and trace may begin before them.

    Parameters
    ----------
    count : int
        Number of packets.
    starts, begun : ndarray of int64
        Packets of format 3.0, and packets at which trace begins.

    Attributes
    ----------
    rows : ndarray of int64 or None
        The packet of each element; None where every packet has one element.
    first, last : ndarray of int64 or None
        First and last element of each packet.
    """

    def __init__(self, count: int, starts: I64, begun: I64) -> None:
        self.rows: I64 | None = None
        self.first: I64 | None = None
        self.last: I64 | None = None
        if len(starts) or len(begun):
            parts = np.ones(count, dtype=np.int64)
            parts[starts] += 1
            parts[begun] += 1
            self.rows = np.repeat(np.arange(count), parts)
            self.last = np.cumsum(parts) - 1
            self.first = self.last - parts + 1

    def firsts(self, packets: I64) -> I64:
        """Return the first elements of some packets."""
        return packets if self.first is None else self.first[packets]

    def lasts(self, packets: I64 | None) -> I64 | None:
        """Return the last elements of some packets, or of all."""
        if self.last is None:
            return packets
        return self.last if packets is None else self.last[packets]

    def contexts(self, starts: I64) -> I64:
        """Return the pe_context elements of packets of format 3.0."""
        return starts if self.last is None else self.last[starts] - 1

    def spread(self, values: Array) -> Array:
        """Return values of packets for all their elements."""
        return values if self.rows is None else values[self.rows]


class RiscvEtrace(PacketDecoder):
    """Decodes the packets of one encoder.

    Parameters
    ----------
    settings : EtraceSettings
        Parameters of the encoder.
    """

    def __init__(self, settings: EtraceSettings) -> None:
        self._settings = settings
        self._reader = Reader(settings)
        self._addresses = Addresses(settings.address_bits)
        # Why trace begins at the next packet with an address; _NONE while it goes on.
        self._begins = REASON_CODES["normal"]

    def lost(self, reason: str) -> None:
        """Forget the address, and expect trace to begin again."""
        self._addresses.forget()
        self._begins = REASON_CODES[reason]

    def decode(self, packets: Packets) -> Elements:
        """Return the elements of packets."""
        if not len(packets):
            return Elements.empty(NAME)
        packet_fields = self._reader.read(packets)
        starts = packet_fields.starts[0]
        begun, reasons = self._begun(packet_fields)
        pieces = Pieces(len(packets), starts, begun)
        kind = pieces.spread(packet_fields.kind)
        kind[pieces.contexts(starts)] = PE_CONTEXT
        kind[pieces.firsts(begun)] = TRACE_ON
        elements = packets.elements(NAME, pieces.rows, kind=kind)
        odd = np.flatnonzero(packet_fields.flags)
        elements.flags[pieces.firsts(odd)] |= packet_fields.flags[odd]
        _put_formats(elements, packet_fields, pieces)
        _put_fields(elements, packet_fields, pieces)
        elements.put("reason", reasons, pieces.firsts(begun))
        self._put_addresses(elements, packet_fields, pieces)
        return elements

    def _begun(self, packet_fields: PacketFields) -> tuple[I64, I64]:
        """Return the packets of formats 3.0 and 3.1 at which trace begins, and why; at a trap it begins with the handler."""
        starts, traps, (ended, status) = packet_fields.starts[0], packet_fields.handlers, packet_fields.ended
        if not len(starts) and not len(traps):
            if len(ended):
                self._begins = int(_REASONS[int(status[-1])])
            return starts, starts
        rows = np.concatenate([starts, traps, ended])
        codes = np.full(len(rows), _NONE)
        codes[len(starts) + len(traps) :] = _REASONS[status.astype(np.intp)]
        order = np.argsort(rows)
        rows, codes = rows[order], codes[order]
        before = np.concatenate([[self._begins], codes[:-1]])
        self._begins = int(codes[-1])
        begun = (codes == _NONE) & (before != _NONE)
        return rows[begun], before[begun]

    def _put_addresses(self, elements: Elements, packet_fields: PacketFields, pieces: Pieces) -> None:
        address, valid = self._addresses.add_up(len(packet_fields.format), packet_fields)
        shift = np.uint64(self._settings.iaddress_lsb_p)
        for mine in (packet_fields.addressed, packet_fields.starts[0], packet_fields.traps[0]):
            if mine is not None:
                mine = mine[valid[mine]]
            elif not valid.all():
                mine = np.flatnonzero(valid)
            elements.put("address", (address if mine is None else address[mine]) << shift, pieces.lasts(mine))
        rows, values = packet_fields.returns
        elements.put("address", values << shift, pieces.lasts(rows))


def _put_formats(elements: Elements, packet_fields: PacketFields, pieces: Pieces) -> None:
    """Put format and subformat into every element."""
    form = pieces.spread(packet_fields.format)
    some = np.flatnonzero(form != NO_PACKET)
    elements.put("format", form[some], some if len(some) < len(form) else None)
    packets, subformat = packet_fields.subformats
    if pieces.rows is None:
        elements.put("subformat", subformat, packets)
        return
    # The elements of a packet are adjacent.
    whole = np.full(len(packet_fields.format), _NONE)
    whole[packets] = subformat
    spread = whole[pieces.rows]
    some = np.flatnonzero(spread != _NONE)
    elements.put("subformat", spread[some], some)


def _put_fields(elements: Elements, packet_fields: PacketFields, pieces: Pieces) -> None:
    """Put the other fields into the last element of each packet, and those about the context into the pe_context."""
    moved: dict[int, I64 | None] = {}  # fields of one group of packets share their rows
    for name, parts in packet_fields.put.items():
        for mine, values in parts:
            if id(mine) not in moved:
                moved[id(mine)] = pieces.lasts(mine)
            elements.put(name, values, moved[id(mine)])
    rows = pieces.contexts(packet_fields.starts[0])
    for name, values in packet_fields.context.items():
        elements.put(name, values, rows)
    lost = np.flatnonzero(elements.kind == NO_SYNC)
    elements.put("reason", np.full(len(lost), REASON_CODES["overflow"], dtype=np.uint8), lost)


FIELDS = (
    column("format", DType.U8, "format of the packet"),
    column("subformat", DType.U8, "subformat of formats 0 and 3; of format 0 the options may say it"),
    *common("address", "branches", "branch_map", "context_id", "exception_number"),
    column("address_field", DType.U64, "address as in the packet: not shifted; of formats 0 to 2 a difference, unless addresses are full",
          style=Style.HEX),
    column("branch", DType.U8, "of the instruction at the address: 0 is a branch that was taken, 1 is not"),
    column("branch_count", DType.U32, "correctly predicted branches less 31"),
    column("branch_fmt", DType.U8, "what follows branch_count: 0 nothing, 2 an address, 3 that of a branch that was not as predicted; "
          "in version 2019: 0 a branch map, 1 a count"),
    column("no_mispred", DType.U8, "version 2019: 0 where the next branch was not as predicted"),
    column("cache_index", DType.U16, "entry of the jump target cache (the specification's index)"),
    column("privilege", DType.U8, "privilege level"),
    column("time", DType.U64, "time"),
    column("context", DType.U64, "context", style=Style.HEX),
    column("ecause", DType.U32, "cause of an exception or interrupt"),
    column("interrupt", DType.U8, "1 for an interrupt"),
    column("thaddr", DType.U8, "1: the address is the trap handler's; 0: that of the exception where it came right behind an uninferable "
          "discontinuity, else it has no meaning"),
    column("tval", DType.U64, "trap value", style=Style.HEX),
    column("notify", DType.U8, "the bit; it matters where it differs from the address's most significant one"),
    column("updiscon", DType.U8, "the bit; it matters where it differs from notify"),
    column("irreport", DType.U8, "the bit; it matters where it differs from the bit before"),
    column("irdepth", DType.U64, "the bits; they matter where irreport does"),
    column("is_notify", DType.BOOL, "notify says: reported because that was asked for"),
    column("is_updiscon", DType.BOOL, "updiscon says: after an uninferable discontinuity, and right before a packet of format 3"),
    column("is_irreport", DType.BOOL, "irreport says: a return that was not as predicted, or a depth that must be known; irdepth holds"),
    column("ienable", DType.U8, "1 while the encoder is enabled (version 2019: enable)"),
    column("encoder_mode", DType.U32, "trace algorithm: 0 is branch trace"),
    column("qual_status", DType.U8, "0 no change, 1 and 3 tracing ended (1: the packet before was sent for that), 2 packets were lost"),
    column("ioptions", DType.U32, "options in force from here on (version 2019: options)", style=Style.HEX),
    column("denable", DType.U8, "1 while data trace is enabled"),
    column("dloss", DType.U8, "1 where packets of data trace were lost"),
    column("doptions", DType.U32, "options of data trace", style=Style.HEX),
)  # fmt: skip


def misfits(elements: Elements, settings: EtraceSettings) -> Iterator[str]:
    """Yield a sentence for each packet that is longer than its fields: its encoder has other widths."""
    for _ in range(np.count_nonzero(elements.flags & np.uint32(Flags.LEFTOVER))):
        yield (
            f"a packet is longer than its fields, so parameters do not fit and values may be wrong (iaddress_width_p is "
            f"{settings.iaddress_width_p}): give those of the encoder with --params or -p"
        )


@register
class EtraceProtocol(PacketProtocol[EtraceSettings]):
    """RISC-V E-Trace, for the registry."""

    name = NAME
    meaning = "RISC-V E-Trace: instruction trace packets (te_inst) of 2.0 and of 2019"
    resync = "as riscv-encap; addresses from the next packet of format 3.0 or 3.1 on, options from the next support packet on"
    settings_type = EtraceSettings
    framings = ("riscv-encap",)
    fields = FIELDS

    def channel_decoder(self, settings: EtraceSettings, context: StreamContext, channel: int) -> RiscvEtrace:
        """Return a decoder for the packets of one encoder."""
        return RiscvEtrace(settings)

    def remarks(self, elements: Elements, settings: EtraceSettings) -> Iterator[str]:
        """Yield that the widths do not fit, for each packet that shows it."""
        return misfits(elements, settings)
