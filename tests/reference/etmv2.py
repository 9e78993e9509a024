"""A slow and literal reading of ETMv2 trace, byte by byte, to hold the fast decoder against. Shares no code with ptttool."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

Packet = dict[str, Any]

# Table 6.2 of the specification, in its words.
TABLE = {
    "C0A0SS10": "data",
    "X0X1XX00": "reserved",
    "X0X1XX10": "reserved",
    "X10XXX10": "reserved",
    "X1100X10": "reserved",
    "C1101010": "value_not_traced",
    "C1101110": "context_id",
    "X111XX10": "reserved",
    "C1A1TT00": "load_miss",
    "CTT0SS00": "load_miss_data",
    "cXXXXXX1": "branch",
}
SIZES = {"00": 0, "01": 1, "10": 2, "11": 4}
ALIGNMENT = {"arm": 4, "thumb": 2, "jazelle": 1}


def classify(header: int) -> tuple[str, dict[str, str]]:
    """The type of packet, and the bits of each letter in its pattern."""
    bits = f"{header:08b}"
    found = []
    for pattern, name in TABLE.items():
        if re.fullmatch(re.sub("[A-Zc]", ".", pattern), bits):
            letters = {letter: "".join(b for p, b in zip(pattern, bits, strict=True) if p == letter) for letter in "CATSc"}
            found.append((name, letters))
    assert len(found) == 1, f"{bits} fits {len(found)} patterns"
    return found[0]


class Reader:
    """Bytes one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        value = self.data[self.at]  # IndexError: the packet has no end
        self.at += 1
        return value

    def number(self, count: int) -> int:
        return sum(self.byte() << 8 * place for place in range(count))

    def address(self) -> list[int]:
        """Up to five bytes, the last of which has bit 7 clear or is the fifth."""
        found: list[int] = []
        while len(found) < 5:
            found.append(self.byte())
            if not found[-1] & 0x80:
                break
        return found


def bits_of(values: list[int], first: int) -> str:
    """Address bits, highest first, as text: ``first`` of the first byte (its upper ones), seven of the others."""
    text = ""
    for place, value in enumerate(values):
        seven = f"{value & 0x7F:07b}"
        text = (seven[:first] if place == 0 else seven) + text
    return text


class Memory:
    """The last address: what did not come is as before."""

    def __init__(self) -> None:
        self.last = ""

    def replace(self, bits: str) -> str | None:
        self.last = self.last[: max(len(self.last) - len(bits), 0)] + bits
        return self.last if len(self.last) >= 34 else None


def decode(
    data: bytes, *, data_addr: bool, data_value: bool, contextid_bytes: int, isa: str | None = None, sync_at: Iterable[int] = ()
) -> list[Packet]:
    """Every element of a stream whose first byte has index 0."""
    edges = sorted({0, len(data), *(place for place in sync_at if place < len(data))})
    found: list[Packet] = []
    lost = False
    for start, end in pairwise(edges):
        some, lost_now = _segment(data[start:end], start, data_addr, data_value, contextid_bytes, isa)
        if lost and some:
            some[0]["flags"] = some[0]["flags"] | ({"resynced"} if "packet" in some[0]["fields"] else set())
        found += some
        lost = lost_now
    return found


def _segment(
    data: bytes, start: int, data_addr: bool, data_value: bool, contextid_bytes: int, isa: str | None
) -> tuple[list[Packet], bool]:
    reader = Reader(data)
    branches, addresses = Memory(), Memory()
    misses: dict[int, Packet] = {}
    cycle: int | None = None
    found: list[Packet] = []
    while reader.at < len(data):
        at = reader.at
        fields: dict[str, Any] = {}
        packet: Packet = {"index": start + at, "kind": "custom", "flags": set(), "fields": fields}
        try:
            header = reader.byte()
            name, letters = classify(header)
            fields["packet"] = name
            if name == "branch":
                packet["kind"] = "addr"
                reader.at = at
                sent = reader.address()
                bits = bits_of(sent, 6)
                whole = branches.replace(bits)
                if isa and whole:
                    fields["address"] = int(whole, 2) * ALIGNMENT[isa] % (1 << 32)
                else:
                    fields["address_bytes"], fields["address_bits"] = len(sent), int(bits, 2)
            elif name in ("data", "load_miss"):
                fields["first"] = letters["A"] == "1"
                if data_addr and fields["first"]:
                    sent = reader.address()
                    bits = bits_of(sent, 7)
                    whole = addresses.replace(bits)
                    if whole:
                        fields["data_address"] = int(whole, 2) % (1 << 32)
                    else:
                        fields["address_bytes"], fields["address_bits"] = len(sent), int(bits, 2)
                if name == "data" and data_value:
                    fields["data_value"] = reader.number(SIZES[letters["S"]])
            elif name == "load_miss_data":
                fields["data_value"] = reader.number(SIZES[letters["S"]])
            elif name == "context_id":
                packet["kind"] = "pe_context"
                if contextid_bytes:
                    fields["context_id"] = reader.number(contextid_bytes)
        except IndexError:
            found.append({"index": start + at, "size": len(data) - at, "kind": "unknown", "flags": {"truncated"}, "fields": {}})
            return found, False
        if name.startswith("load_miss"):
            tag = fields["tag"] = int(letters["T"], 2)
            if tag == 0:
                packet["flags"].add("reserved")
            if name == "load_miss":
                misses[tag] = packet
            elif tag in misses:
                miss = misses.pop(tag)
                fields["miss_index"] = miss["index"]
                if "data_address" in miss["fields"]:
                    fields["data_address"] = miss["fields"]["data_address"]
        packet["size"] = reader.at - at
        found.append(packet)
        if name == "reserved":
            packet["flags"].add("reserved")
            rest = len(data) - reader.at
            if rest:
                found.append({
                    "index": start + reader.at, "size": rest, "kind": "no_sync", "flags": set(), "fields": {"reason": "bad_packet"},
                })  # fmt: skip
            return found, True
        fields["cycle"] = cycle = start + at if cycle is None else cycle
        if name == "branch" or letters["C"] == "0":
            cycle = None
    return found, False
