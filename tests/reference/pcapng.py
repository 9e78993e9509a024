"""A slow and literal reader of pcapng, block by block. Shares no code with ptttool. Source: the IETF's draft of the format."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

SECTION, INTERFACE, STATISTICS, PACKET = 0x0A0D0D0A, 1, 5, 6


@dataclass
class Block:
    """One block: its type, the fields before the options, its options in order, the data of a packet."""

    kind: int
    fields: tuple[int, ...]
    options: list[tuple[int, bytes]]
    data: bytes = b""
    interface: int | None = None

    def option(self, code: int) -> bytes | None:
        return next((value for number, value in self.options if number == code), None)

    @property
    def comments(self) -> list[str]:
        return [value.decode() for number, value in self.options if number == 1]


@dataclass
class Capture:
    """A file of one section."""

    section: Block
    interfaces: list[Block] = field(default_factory=list)
    packets: list[Block] = field(default_factory=list)
    statistics: list[Block] = field(default_factory=list)


_HEADS = {SECTION: "<IHHq", INTERFACE: "<HHI", STATISTICS: "<III", PACKET: "<IIIII"}


def read(content: bytes) -> Capture:
    """Read a little-endian file of one section; anything that is not as the format says is an AssertionError."""
    capture = None
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        assert length % 4 == 0
        assert length >= 12
        assert struct.unpack_from("<I", content, at + length - 4)[0] == length
        body = content[at + 8 : at + length - 4]
        block = _block(kind, body)
        at += length
        if kind == SECTION:
            assert capture is None
            assert block.fields[0] == 0x1A2B3C4D
            capture = Capture(block)
            continue
        assert capture is not None
        if kind == INTERFACE:
            capture.interfaces.append(block)
            continue
        assert block.fields[0] < len(capture.interfaces)
        (capture.packets if kind == PACKET else capture.statistics).append(block)
    assert at == len(content)
    assert capture is not None
    return capture


def _block(kind: int, body: bytes) -> Block:
    head = _HEADS[kind]
    size = struct.calcsize(head)
    fields = struct.unpack_from(head, body)
    data = b""
    if kind == PACKET:
        data = body[size : size + fields[3]]
        assert len(data) == fields[3] <= fields[4]
        size += -(-fields[3] // 4) * 4
    return Block(kind, fields, _options(body[size:]), data)


def _options(data: bytes) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    while data:
        code, length = struct.unpack_from("<HH", data)
        if code == 0:
            assert (length, len(data)) == (0, 4)
            return found
        assert len(data) >= 4 + length
        found.append((code, data[4 : 4 + length]))
        data = data[4 + -(-length // 4) * 4 :]
    assert not found, "options without their end"
    return found
