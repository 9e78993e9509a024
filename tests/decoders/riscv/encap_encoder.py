"""Encoder of RISC-V packet encapsulation, for tests and generators, and as the plain reading of the format.

Every packet is built as one number, field after field from the least significant bit, in the order of the specification.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ptttool.decoders.riscv.encap.framing import ALIGNMENT, LENGTH, EncapSettings

IDLE = 0x00


def normal(
    form: EncapSettings,
    payload: int,
    bits: int,
    *,
    flow: int = 0,
    channel: int = 0,
    timestamp: int | None = None,
    type: int = 0,
    padding: int = 0,
) -> bytes:
    """Return a normal packet.

    Parameters
    ----------
    payload, bits : int
        The payload as a number, and its size in bits.
    timestamp : int or None
        Its low bits; None for a packet without timestamp.
    padding : int
        Bits that fill the last byte; any will do, -1 for ones.

    Raises
    ------
    ValueError
        Something does not fit.
    """
    inside = form.srcid_bits % 8 + form.type_bits + bits  # bits that the length covers
    length = -(-inside // 8)
    if not 0 < length <= LENGTH:
        raise ValueError(f"a payload of {bits} bits makes a length of {length} bytes")
    if timestamp is not None and not form.ts_bytes:
        raise ValueError("a timestamp in a format without timestamps")
    value, width = 0, 0

    def append(number: int, size: int) -> None:
        nonlocal value, width
        value |= (number & ((1 << size) - 1)) << width
        width += size

    append(length, 5)
    append(flow, 2)
    append(timestamp is not None, 1)
    append(channel, form.srcid_bits)
    if timestamp is not None:
        append(timestamp, 8 * form.ts_bytes)
    append(type, form.type_bits)
    append(payload, bits)
    append(padding, -width % 8)
    return value.to_bytes(width // 8, "little")


def null(*, alignment: bool = False, flow: int = 0) -> bytes:
    """Return a null.idle or null.alignment packet."""
    return bytes([(ALIGNMENT if alignment else IDLE) | flow << 5])


def synchronisation(form: EncapSettings) -> bytes:
    """Return N null.idle packets and a null.alignment, which ends a sequence in unframed and framed streams."""
    return bytes([IDLE]) * form.longest_null_run + bytes([ALIGNMENT])


@dataclass
class Writer:
    """A stream in blocks: a packet that does not fit into the rest of a block begins in the next, after null packets.

    Parameters
    ----------
    form : EncapSettings
        Format of the stream.
    data : bytearray
        What was written so far.
    """

    form: EncapSettings
    data: bytearray = field(default_factory=bytearray)

    def packet(self, packet: bytes) -> int:
        """Add a whole packet, and return its offset."""
        block = self.form.block_size
        if block and len(packet) > block:
            raise ValueError(f"a packet of {len(packet)} bytes, a block of {block}")
        if block and len(self.data) % block + len(packet) > block:
            self.pad(-len(self.data) % block)
        self.data += packet
        return len(self.data) - len(packet)

    def pad(self, count: int) -> None:
        """Add null packets; in an unframed stream the last one is a null.alignment."""
        if count:
            self.data += bytes([IDLE]) * (count - 1) + bytes([ALIGNMENT if self.form.unframed else IDLE])

    def synchronise(self) -> int:
        """Add a synchronisation sequence, and return the offset of what follows it."""
        self.data += synchronisation(self.form)
        return len(self.data)
