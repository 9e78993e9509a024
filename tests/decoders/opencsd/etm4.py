"""Builds ETMv4 trace, packet by packet, and A64 instructions: what decoding by libopencsd is tested with.

Source: Arm Embedded Trace Macrocell Architecture Specification ETMv4 (IHI 0064), chapter 6.
"""

from __future__ import annotations

from collections.abc import Mapping

# A unit with 64-bit addresses and without speculation, context ID and virtual machine ID; timestamps of 8 bytes.
REGISTERS: Mapping[str, str] = {"TRCIDR0": "0x28000ea1", "TRCIDR1": "0x4100f403", "TRCIDR2": "0x488", "TRCCONFIGR": "0x801"}
PARAMETERS: Mapping[str, str] = {"unit": "etm4", **REGISTERS}

NOP, RET = 0xD503_201F, 0xD65F_03C0
SYNC = bytes(11) + b"\x80"  # alignment synchronisation
INFO = b"\x01\x01\x00"  # trace information: nothing special
ON, RETURN = b"\x04", b"\x07"
EXECUTED, NOT_EXECUTED = b"\xf7", b"\xf6"  # atoms
OVERFLOW = b"\x00\x05"


def address(value: int) -> bytes:
    """A 64-bit address of A64 code, with the context EL1, not secure, 64-bit."""
    return bytes([0x85, value >> 2 & 0x7F, value >> 9 & 0x7F]) + (value >> 16).to_bytes(6, "little") + b"\x31"


def address_alone(value: int) -> bytes:
    """The same without context."""
    return bytes([0x9D, value >> 2 & 0x7F, value >> 9 & 0x7F]) + (value >> 16).to_bytes(6, "little")


def timestamp(value: int) -> bytes:
    """A whole timestamp: seven bits a byte, the ninth byte has eight."""
    return b"\x02" + bytes(value >> 7 * i & 0x7F | 0x80 for i in range(8)) + bytes([value >> 56 & 0xFF])


def exception(number: int, returns_to: int) -> bytes:
    """An exception and where it returns to."""
    return bytes([0x06, (number & 0x1F) << 1 | 1]) + address_alone(returns_to)


def branch(distance: int) -> int:
    """``b`` by so many bytes."""
    return 0x1400_0000 | distance >> 2 & 0x3FF_FFFF


def branch_if_equal(distance: int) -> int:
    """``b.eq`` by so many bytes."""
    return 0x5400_0000 | (distance >> 2 & 0x7FFFF) << 5


def program(*instructions: int) -> bytes:
    """A memory image."""
    return b"".join(instruction.to_bytes(4, "little") for instruction in instructions)
