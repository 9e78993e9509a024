"""The blocks of pcapng that hold no packet, and the options that every block can have.

Source: IETF, "PCAP Now Generic (pcapng) Capture File Format", draft-ietf-opsawg-pcapng. All numbers are little-endian here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

SECTION_HEADER, INTERFACE_DESCRIPTION, INTERFACE_STATISTICS, ENHANCED_PACKET = 0x0A0D0D0A, 1, 5, 6
BYTE_ORDER_MAGIC = 0x1A2B3C4D

COMMENT = 1
SECTION_USER_APPLICATION = 4
INTERFACE_NAME, INTERFACE_TEXT, TIMESTAMP_RESOLUTION = 2, 3, 9
RECEIVED_PACKETS = 4
PACKET_FLAGS = 2

# The length of an option has 16 bits; a comment is cut well below.
MOST_BYTES = 32_000

Option = tuple[int, bytes]


def text_option(code: int, text: str) -> Option:
    """Return an option that is a text; it is cut at :data:`MOST_BYTES`, with an ellipsis."""
    data = text.encode("utf-8", "replace")
    if len(data) > MOST_BYTES:
        data = data[:MOST_BYTES].decode("utf-8", "ignore").encode() + "…".encode()
    return code, data


def options_of(options: Iterable[Option]) -> bytes:
    """Return options as they are written, with the mark of their end; nothing for none."""
    written = b"".join(struct.pack("<HH", code, len(data)) + _padded(data) for code, data in options)
    return written + bytes(4) if written else b""


def block(kind: int, body: bytes, options: Iterable[Option] = ()) -> bytes:
    """Return a block: type, length, body, options, length again."""
    content = _padded(body) + options_of(options)
    length = struct.pack("<I", len(content) + 12)
    return struct.pack("<I", kind) + length + content + length


def section_header(options: Iterable[Option]) -> bytes:
    """Return the block that begins a section, whose length is not known."""
    return block(SECTION_HEADER, struct.pack("<IHHq", BYTE_ORDER_MAGIC, 1, 0, -1), options)


def interface(link_type: int, options: Iterable[Option]) -> bytes:
    """Return the block that describes an interface; interfaces are numbered in the order of these blocks."""
    return block(INTERFACE_DESCRIPTION, struct.pack("<HHI", link_type, 0, 0), options)


def statistics(number: int, timestamp: int, options: Iterable[Option]) -> bytes:
    """Return the block with what was counted on an interface."""
    return block(INTERFACE_STATISTICS, struct.pack("<III", number, timestamp >> 32 & 0xFFFFFFFF, timestamp & 0xFFFFFFFF), options)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
