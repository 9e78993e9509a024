"""A slow and literal reading of PTT recordings, one dict a TLP, to hold the fast decoder against. Shares no code with ptttool.

The perf.data walk knows files and pipe mode as perf writes them and trusts its input.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]

FIELDS = (
    "time", "kind", "class", "direction", "length_dw", "payload_bytes", "requested_bytes", "requester", "completer", "tag", "address",
    "first_be", "last_be", "destination", "register", "status", "byte_count", "bcm", "lower_address", "message", "routing", "tc",
    "attr", "at", "th", "td", "ep", "so", "ln", "ph", "st", "prefix", "segment", "completer_segment", "dw0", "dw1", "dw2", "dw3",
)  # fmt: skip


def bits(word: int, high: int, low: int) -> int:
    """Bits high:low of a word."""
    return word >> low & (1 << (high - low + 1)) - 1


def kind_and_class(fmt: int, type_: int) -> tuple[str, str | None]:
    """By Fmt and Type, in the words of the specification's table."""
    with_data = fmt in (0b010, 0b011)
    four_dws = fmt in (0b001, 0b011)
    if fmt > 0b011:
        return "Unknown", None
    if type_ == 0b00000:
        return ("MWr", "P") if with_data else ("MRd", "NP")
    if type_ == 0b00001 and not with_data:
        return "MRdLk", "NP"
    if type_ == 0b00010 and not four_dws:
        return ("IOWr", "NP") if with_data else ("IORd", "NP")
    if type_ == 0b00100 and not four_dws:
        return ("CfgWr0", "NP") if with_data else ("CfgRd0", "NP")
    if type_ == 0b00101 and not four_dws:
        return ("CfgWr1", "NP") if with_data else ("CfgRd1", "NP")
    if type_ == 0b11011:
        if fmt == 0b000:
            return "TCfgRd", "NP"
        if with_data:
            return "DMWr", "NP"
    if type_ >> 3 == 0b10 and four_dws:
        return ("MsgD", "P") if with_data else ("Msg", "P")
    if type_ == 0b01010 and not four_dws:
        return ("CplD", "CPL") if with_data else ("Cpl", "CPL")
    if type_ == 0b01011 and not four_dws:
        return ("CplDLk", "CPL") if with_data else ("CplLk", "CPL")
    if type_ == 0b01100 and with_data:
        return "FetchAdd", "NP"
    if type_ == 0b01101 and with_data:
        return "Swap", "NP"
    if type_ == 0b01110 and with_data:
        return "CAS", "NP"
    return "Unknown", None


Way = dict[str, Any]
"""What a recording says of directions: ``in`` and ``out`` (sets of classes), ``buses`` (a set, or None)."""
ANY_WAY: Way = {"in": {"P", "NP", "CPL"}, "out": {"P", "NP", "CPL"}, "buses": None}


def way_of(config: int, buses: set[int] | None = None) -> Way:
    """The directions that an event's config asks for, by the two tables of the kernel's document."""
    direction, eight_dw = bits(config, 23, 20), bits(config, 35, 32) == 1
    everything = {"P", "NP", "CPL"}
    inbound, outbound = {
        (False, 0): (everything, set()),
        (False, 1): (set(), everything),
        (False, 2): (everything, everything),
        (False, 3): ({"CPL"}, everything),
        (True, 0): (everything, everything),
        (True, 1): (set(), everything),
        (True, 2): (everything, set()),
        (True, 3): ({"CPL"}, set()),
    }[eight_dw, direction]
    return {"in": inbound, "out": outbound, "buses": buses}


def direction_of(record: Record, way: Way) -> str | None:
    """Inbound or outbound, by the classes that are recorded, else by IDs, message codes and buses."""
    if record["class"] is None:
        return None
    if not way["out"]:
        return "inbound"
    if not way["in"]:
        return "outbound"
    if (record["class"] in way["in"]) != (record["class"] in way["out"]):
        return "inbound" if record["class"] in way["in"] else "outbound"
    buses = way["buses"]

    def is_behind(identity: int) -> bool | None:
        bus = identity >> 8
        return False if bus == 0 else None if buses is None else bus in buses

    if "Cfg" in record["kind"]:
        return "outbound"
    if record["class"] == "CPL":
        if is_behind(record["completer"]):
            return "inbound"
        return "outbound" if is_behind(record["completer"]) is False and is_behind(record["requester"]) else "unknown"
    if record["kind"].startswith("Msg"):
        code = record["message"]
        if code in (0x02, 0x04, 0x10, 0x18, 0x1B, 0x30, 0x31, 0x33, 0x52) or 0x20 <= code <= 0x27:
            return "inbound"
        if code in (0x00, 0x01, 0x05, 0x12, 0x14, 0x19, 0x50, 0x53):
            return "outbound"
        if record["routing"] in (0, 5):
            return "inbound"
        if record["routing"] == 3:
            return "outbound"
        if record["requester"] == 0:
            return "unknown"
    return {True: "inbound", False: "outbound", None: "unknown"}[is_behind(record["requester"])]


def requested_bytes(record: Record) -> int | None:
    """Bytes that a request asks for or writes, byte by byte."""
    kind, length = record["kind"], record["length_dw"]
    if kind == "Unknown" or kind.startswith(("Cpl", "Msg")):
        return None
    if kind == "CAS":
        return int(length) * 2
    if record["first_be"] is None:  # implied
        return int(length) * 4
    enabled = [True] * (4 * length)
    ends = [(0, record["first_be"])] + ([(length - 1, record["last_be"])] if length > 1 else [])
    for dw, enables in ends:
        for byte in range(4):
            enabled[4 * dw + byte] = bool(enables >> byte & 1)
    if record["payload_bytes"]:
        return sum(enabled)
    if length == 1:
        return 4 - enabled.index(True) - enabled[::-1].index(True) if any(enabled) else 0
    head, tail = enabled[:4], enabled[:-5:-1]
    return 4 * int(length) - (head.index(True) if any(head) else 4) - (tail.index(True) if any(tail) else 4)


def decode(words: list[int], *, pattern: int = 0, way: Way = ANY_WAY) -> Record | None:
    """One record of 4 or 8 words; None for one that is all zero."""
    record = _decoded(words, pattern)
    if record is not None and record["kind"] != "Unknown":
        record["direction"] = direction_of(record, way)
        record["requested_bytes"] = requested_bytes(record)
    return record


def _decoded(words: list[int], pattern: int) -> Record | None:
    if not any(words):
        return None
    record: Record = dict.fromkeys(FIELDS)
    if len(words) == 8:
        record["dw0"], record["dw1"], record["dw2"], record["dw3"] = words[2:6]
        if bits(words[0], 31, 11) != 0x1FFFFF:
            record["kind"] = "Unknown"
            return record
        _eight(record, words, pattern)
    else:
        record["dw0"], record["dw1"], record["dw2"], record["dw3"] = words
        _four(record, words, pattern)
    return record


def _eight(record: Record, words: list[int], pattern: int) -> None:
    dw0 = words[2]
    record["time"] = words[7]
    record["prefix"] = words[1] if words[1] != 0 else None
    record["length_dw"] = bits(dw0, 9, 0) or 1024
    fmt, type_ = bits(dw0, 31, 29), bits(dw0, 28, 24)
    record["kind"], record["class"] = kind_and_class(fmt, type_)
    if record["kind"] == "Unknown":
        return
    record["tc"] = bits(dw0, 22, 20)
    record["attr"] = bits(dw0, 18, 18) << 2 | bits(dw0, 13, 12)
    record["ln"] = bits(dw0, 17, 17)
    record["th"] = bits(dw0, 16, 16)
    record["td"] = bits(dw0, 15, 15)
    record["ep"] = bits(dw0, 14, 14)
    if record["kind"] in ("MRd", "MRdLk", "MWr", "DMWr", "FetchAdd", "Swap", "CAS"):
        record["at"] = bits(dw0, 11, 10)
    _header(record, fmt, type_, bits(dw0, 23, 23), bits(dw0, 19, 19), words[3:6], words[1], pattern)


def _four(record: Record, words: list[int], pattern: int) -> None:
    dw0 = words[0]
    record["time"] = bits(dw0, 10, 0)
    record["length_dw"] = bits(dw0, 20, 11) or 1024
    fmt, type_ = bits(dw0, 31, 30), bits(dw0, 29, 25)
    record["kind"], record["class"] = kind_and_class(fmt, type_)
    if record["kind"] == "Unknown":
        return
    record["th"] = bits(dw0, 22, 22)
    record["so"] = bits(dw0, 21, 21)
    _header(record, fmt, type_, bits(dw0, 24, 24), bits(dw0, 23, 23), words[1:4], 0, pattern)


def _header(record: Record, fmt: int, type_: int, t9: int, t8: int, words: list[int], prefix: int, pattern: int) -> None:
    dw1, dw2, dw3 = words
    kind = record["kind"]
    record["payload_bytes"] = record["length_dw"] * 4 if fmt & 0b010 else 0
    tag_98 = t9 << 9 | t8 << 8
    if kind.startswith("Cpl"):
        record["completer"] = bits(dw1, 31, 16)
        record["status"] = {0: "SC", 1: "UR", 2: "RRS", 4: "CA"}.get(bits(dw1, 15, 13), "reserved")
        record["bcm"] = bits(dw1, 12, 12)
        record["byte_count"] = bits(dw1, 11, 0) or 4096
        record["requester"] = bits(dw2, 31, 16)
        record["tag"] = tag_98 | bits(dw2, 15, 8)
        record["lower_address"] = bits(dw2, 6, 0)
        if pattern == 1:
            record["tag"] |= bits(dw3, 3, 0) << 10
            record["segment"] = bits(dw3, 31, 24)
            record["completer_segment"] = bits(dw3, 23, 16)
        return
    record["requester"] = bits(dw1, 31, 16)
    record["tag"] = tag_98 | bits(dw1, 15, 8)
    if kind.startswith("Msg"):
        record["message"] = bits(dw1, 7, 0)
        record["routing"] = bits(type_, 2, 0)
        if record["routing"] == 0b010:
            record["destination"] = bits(dw2, 31, 16)
        return
    record["last_be"] = bits(dw1, 7, 4)
    record["first_be"] = bits(dw1, 3, 0)
    if "Cfg" in kind:
        record["destination"] = bits(dw2, 31, 16)
        record["register"] = bits(dw2, 11, 8) << 8 | bits(dw2, 7, 2) << 2
        if pattern == 1:
            record["tag"] |= bits(dw3, 19, 16) << 10
            record["segment"] = bits(dw3, 30, 23)
        return
    if fmt & 0b001:
        high = bits(dw2, 15, 0) if pattern == 1 else dw2
        record["address"] = high << 32 | bits(dw3, 31, 2) << 2
        hint = bits(dw3, 1, 0)
        if pattern == 1:
            record["tag"] |= bits(dw2, 19, 16) << 10
            record["segment"] = bits(dw2, 30, 23)
    else:
        record["address"] = bits(dw2, 31, 2) << 2
        hint = bits(dw2, 1, 0)
        if pattern == 1:
            record["tag"] |= bits(dw3, 3, 0) << 10
            record["segment"] = bits(dw3, 31, 24)
    if kind.startswith("IO"):
        return
    if record["th"]:
        record["ph"] = hint
    if kind in ("FetchAdd", "Swap", "CAS"):
        record["first_be"] = record["last_be"] = None
        return
    if record["th"]:
        upper = 0
        if pattern == 1 and not fmt & 0b001:
            upper = bits(dw3, 23, 16)
        if bits(prefix, 31, 24) == 0x90:
            upper = bits(prefix, 23, 16)
        if kind in ("MRd", "DMWr"):
            record["st"] = upper << 8 | bits(dw1, 7, 0)
            record["first_be"] = record["last_be"] = None
        elif kind == "MWr":
            record["st"] = upper << 8 | bits(dw1, 15, 8)
            record["tag"] = None


def decode_bytes(data: bytes, *, eight_dw: bool, pattern: int = 0, way: Way = ANY_WAY) -> Iterator[tuple[int, Record]]:
    """Whole records of a payload, each with its place in bytes; all-zero ones are left out, and a tail."""
    size = 32 if eight_dw else 16
    for place in range(0, len(data) - size + 1, size):
        record = decode(list(struct.unpack_from(f"<{size // 4}I", data, place)), pattern=pattern, way=way)
        if record is not None:
            yield place, record


def read_recording(path: Path, buses: set[int] | None = None) -> Iterator[Record]:
    """Every TLP of a perf.data file, with index, offset and cpu."""
    data = path.read_bytes()
    configs, payloads = walk(data)
    (config,) = configs
    eight_dw, pattern = bits(config, 35, 32) == 1, bits(config, 39, 36)
    index = 0
    for offset, cpu, payload in payloads:
        for place, record in decode_bytes(payload, eight_dw=eight_dw, pattern=pattern, way=way_of(config, buses)):
            yield {"index": index, "offset": offset + place, "cpu": cpu if cpu >= 0 else None, **record}
            index += 1


def walk(data: bytes) -> tuple[set[int], list[tuple[int, int, bytes]]]:
    """Configs of the PTT events; offset, cpu and bytes of every AUXTRACE payload."""
    assert data[:8] == b"PERFILE2"
    attributes: list[tuple[int, int]] = []
    (header_size,) = struct.unpack_from("<Q", data, 8)
    if header_size == 16:
        place, end = 16, len(data)
    else:
        attr_size, attrs_at, attrs_size, place, data_size = struct.unpack_from("<5Q", data, 16)
        end = place + data_size if data_size else len(data)
        attributes += [struct.unpack_from("<I4xQ", data, at) for at in range(attrs_at, attrs_at + attrs_size, attr_size)]
    ptt_type, payloads = None, []
    while place + 8 <= end:
        kind, _misc, size = struct.unpack_from("<IHH", data, place)
        if kind == 64:  # HEADER_ATTR
            attributes.append(struct.unpack_from("<I4xQ", data, place + 8))
        elif kind == 70:  # AUXTRACE_INFO
            aux_type, ptt_type = struct.unpack_from("<I4xQ", data, place + 8)
            assert aux_type == 6
        elif kind == 71:  # AUXTRACE: its payload is not counted in its size
            length, offset, _reference, _idx, _tid, cpu = struct.unpack_from("<QQQIii", data, place + 8)
            body = place + size
            payloads.append((offset, cpu, data[body : body + length]))
            size += length
        elif kind == 66:  # HEADER_TRACING_DATA: the same
            size += (struct.unpack_from("<I", data, place + 8)[0] + 7) & ~7
        place += size
    return {config for type_, config in attributes if type_ == ptt_type}, payloads
