"""A slow and literal reading of RISC-V E-Trace packets, one packet and one field at a time, to hold the fast decoder against.

Shares no code with ptttool. Payloads are numbers: of one whose last bit is set a negative one, so that all bits behind it are set, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Fields = dict[str, Any]


@dataclass
class Unit:
    """The encoder's parameters, named as those of ptttool; bits of ioptions are None where there is no such option."""

    version: str = "2.0"
    iaddress_width_p: int = 32
    iaddress_lsb_p: int = 1
    privilege_width_p: int = 2
    context_width_p: int = 1
    nocontext_p: bool = True
    time_width_p: int = 1
    notime_p: bool = True
    ecause_width_p: int = 4
    notval_p: bool = False
    return_stack_size_p: int = 0
    call_counter_size_p: int = 0
    f0s_width_p: int = 0
    cache_size_p: int = 0
    bpred_size_p: int = 0
    encoder_mode_bits: int = 1
    ioptions_bits: int = 5
    data_trace: bool = False
    doptions_bits: int = 4
    full_address_bit: int | None = 2
    implicit_exception_bit: int | None = 1
    branch_prediction_bit: int | None = 4
    jump_target_cache_bit: int | None = 3


@dataclass
class Packet:
    """What a packet is: elements (kind and fields each), and what is odd about it."""

    elements: list[tuple[str, Fields]] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)


class NoSuchFormat(Exception):
    """A value that the specification does not know."""


class Bits:
    """A payload that is read from its first bit on."""

    def __init__(self, payload: bytes) -> None:
        self.number = int.from_bytes(payload, "little", signed=True)
        self.received = 8 * len(payload)
        self.at = 0

    def take(self, count: int) -> int:
        value = (self.number >> self.at) & ((1 << count) - 1)
        self.at += count
        return value

    def bit(self, place: int) -> int:
        return (self.number >> place) & 1


class Reference:
    """Reads the packets of one encoder."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.ioptions = 0
        self.last: int | None = None  # address field of the last packet that had one
        self.begins: str | None = "normal"

    def option(self, bit: int | None) -> bool:
        return bit is not None and self.ioptions >> bit & 1 == 1

    def read(self, payload: bytes) -> Packet:
        packet = Packet()
        bits = Bits(payload)
        form = bits.take(2)
        fields: Fields = {"format": form}
        try:
            if form == 0:
                self.format_0(bits, fields, packet)
            elif form == 1:
                self.format_1(bits, fields, packet)
            elif form == 2:
                self.address(bits, fields)
                packet.elements.append(("addr", fields))
            else:
                self.format_3(bits, fields, packet)
        except NoSuchFormat:
            packet.flags.add("reserved")
            self.last = None
            return packet
        left = bits.received - bits.at
        if left > 7:
            packet.flags.add("leftover")
        elif left > 0 and len({bits.bit(place) for place in range(bits.at, bits.received)}) > 1:
            packet.flags.add("padding_odd")
        return packet

    def map_size(self, branches: int) -> int:
        if self.unit.version == "2019":
            return 1 if branches == 1 else 9 if branches <= 9 else 17 if branches <= 17 else 25 if branches <= 25 else 31
        return 1 if branches == 1 else 3 if branches <= 3 else 7 if branches <= 7 else 15 if branches <= 15 else 31

    def irdepth_width(self) -> int:
        size = self.unit.return_stack_size_p
        return size + (1 if size > 0 else 0) + self.unit.call_counter_size_p

    def irreport(self, bits: Bits, fields: Fields) -> None:
        before = bits.bit(bits.at - 1)
        fields["irreport"] = bits.take(1)
        fields["is_irreport"] = fields["irreport"] != before
        if self.irdepth_width():
            fields["irdepth"] = bits.take(self.irdepth_width())

    def address(self, bits: Bits, fields: Fields) -> None:
        """Of formats 0, 1 and 2, and what follows it."""
        unit = self.unit
        width = unit.iaddress_width_p - unit.iaddress_lsb_p
        fields["address_field"] = bits.take(width)
        if self.option(unit.full_address_bit):
            self.last = fields["address_field"]
        elif self.last is not None:
            self.last = (self.last + fields["address_field"]) % (1 << width)
        if self.last is not None:
            fields["address"] = self.last << unit.iaddress_lsb_p
        if unit.version == "2019":
            return
        for name in ("notify", "updiscon"):
            before = bits.bit(bits.at - 1)
            fields[name] = bits.take(1)
            fields["is_" + name] = fields[name] != before
        self.irreport(bits, fields)

    def format_0(self, bits: Bits, fields: Fields, packet: Packet) -> None:
        unit = self.unit
        if unit.version == "2019":
            packet.elements.append(("unknown", fields))
            raise NoSuchFormat
        if unit.f0s_width_p:
            fields["subformat"] = bits.take(unit.f0s_width_p)
        else:
            prediction, cache = self.option(unit.branch_prediction_bit), self.option(unit.jump_target_cache_bit)
            if prediction == cache:
                prediction, cache = unit.bpred_size_p > 0, unit.cache_size_p > 0
            if prediction != cache:
                fields["subformat"] = 0 if prediction else 1
        if fields.get("subformat") == 0:
            fields["branch_count"] = bits.take(32)
            fields["branch_fmt"] = bits.take(2)
            if fields["branch_fmt"] in (2, 3):
                self.address(bits, fields)
                packet.elements.append(("addr", fields))
            else:
                packet.elements.append(("custom", fields))
                if fields["branch_fmt"] == 1:
                    raise NoSuchFormat
        elif fields.get("subformat") == 1:
            fields["cache_index"] = bits.take(unit.cache_size_p)
            fields["branches"] = bits.take(5)
            if fields["branches"]:
                fields["branch_map"] = bits.take(self.map_size(fields["branches"]))
            self.irreport(bits, fields)
            self.last = None
            if not fields["branches"]:
                del fields["branches"]
            packet.elements.append(("branch_map" if "branch_map" in fields else "custom", fields))
        else:
            packet.elements.append(("unknown", fields))
            raise NoSuchFormat

    def format_1(self, bits: Bits, fields: Fields, packet: Packet) -> None:
        fields["branches"] = bits.take(5)
        kind = "branch_map"
        if fields["branches"]:
            fields["branch_map"] = bits.take(self.map_size(fields["branches"]))
            self.address(bits, fields)
        elif self.unit.version != "2019":
            fields["branch_map"] = bits.take(31)
        else:
            fields["branch_fmt"] = bits.take(1)
            if fields["branch_fmt"] == 0:
                fields["branch_map"] = bits.take(31)
            else:
                fields["branch_count"] = bits.take(16)
                fields["no_mispred"] = bits.take(1)
                kind = "custom"
                del fields["branches"]  # there is no map to have branches in
        packet.elements.append((kind, fields))

    def format_3(self, bits: Bits, fields: Fields, packet: Packet) -> None:
        fields["subformat"] = bits.take(2)
        if fields["subformat"] == 3:
            self.support(bits, fields, packet)
            return
        old, unit = self.unit.version == "2019", self.unit
        both = dict(fields)
        place: Fields = {}  # of the pe_context of format 3.0
        if fields["subformat"] == 2:
            if not old:
                self.some(bits, fields, "privilege", unit.privilege_width_p)
                self.time(bits, fields)
            self.some(bits, fields, "context", 0 if unit.nocontext_p and not old else unit.context_width_p)
            if "context" in fields:
                fields["context_id"] = fields["context"]
            packet.elements.append(("pe_context", fields))
            return
        where = place if fields["subformat"] == 0 else fields
        context = 0 if unit.nocontext_p else unit.context_width_p
        if old:
            self.some(bits, where, "context", context)
            self.some(bits, where, "privilege", unit.privilege_width_p)
            fields["branch"] = bits.take(1)
        else:
            fields["branch"] = bits.take(1)
            self.some(bits, where, "privilege", unit.privilege_width_p)
            self.time(bits, where)
            self.some(bits, where, "context", context)
        if fields["subformat"] == 0:
            if "context" in place:
                place["context_id"] = place["context"]
            self.begin(packet, both)
            packet.elements.append(("pe_context", {**both, **place}))
            self.absolute(bits, fields)
            packet.elements.append(("addr", fields))
            return
        if old:
            self.absolute(bits, fields)
        fields["ecause"] = fields["exception_number"] = bits.take(unit.ecause_width_p)
        fields["interrupt"] = bits.take(1)
        if not old:
            fields["thaddr"] = bits.take(1)
            if not fields["thaddr"]:
                fields["address_field"] = bits.take(unit.iaddress_width_p - unit.iaddress_lsb_p)
                if not fields["interrupt"]:
                    fields["address"] = fields["address_field"] << unit.iaddress_lsb_p
            elif self.option(unit.implicit_exception_bit):
                self.last = None
            else:
                self.absolute(bits, fields)
            if not fields["interrupt"]:
                fields["tval"] = bits.take(unit.iaddress_width_p)
        elif not unit.notval_p:
            fields["tval"] = bits.take(unit.iaddress_width_p)
        if fields.get("thaddr", 1):
            self.begin(packet, both)
        packet.elements.append(("exception", fields))

    def begin(self, packet: Packet, fields: Fields) -> None:
        if self.begins is not None:
            packet.elements.append(("trace_on", {**fields, "reason": self.begins}))
            self.begins = None

    def some(self, bits: Bits, fields: Fields, name: str, width: int) -> None:
        if width:
            fields[name] = bits.take(width)

    def time(self, bits: Bits, fields: Fields) -> None:
        self.some(bits, fields, "time", 0 if self.unit.notime_p else self.unit.time_width_p)

    def absolute(self, bits: Bits, fields: Fields) -> None:
        self.last = fields["address_field"] = bits.take(self.unit.iaddress_width_p - self.unit.iaddress_lsb_p)
        fields["address"] = self.last << self.unit.iaddress_lsb_p

    def support(self, bits: Bits, fields: Fields, packet: Packet) -> None:
        unit = self.unit
        fields["ienable"] = bits.take(1)
        self.some(bits, fields, "encoder_mode", unit.encoder_mode_bits)
        fields["qual_status"] = bits.take(2)
        self.some(bits, fields, "ioptions", unit.ioptions_bits)
        self.ioptions = fields.get("ioptions", self.ioptions)
        if unit.data_trace and unit.version != "2019":
            fields["denable"] = bits.take(1)
            fields["dloss"] = bits.take(1)
            self.some(bits, fields, "doptions", unit.doptions_bits)
        kind = "event"
        if fields["qual_status"] in (1, 3):
            kind, self.begins = "eo_trace", "normal"
        elif fields["qual_status"] == 2:
            kind, self.begins, self.last = "no_sync", "overflow", None
            fields["reason"] = "overflow"
        packet.elements.append((kind, fields))
