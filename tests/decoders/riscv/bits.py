"""RISC-V instructions by their bits, and programs of them as ELF files: what the decoder reads with the help of others, read plainly.

Sources: "The RISC-V Instruction Set Manual", volume I, chapters "RV32/64G Instruction Set Listings" and "C"; System V ABI, chapter 4.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

# What instructions do to the way of a program.
OTHER, BRANCH, JUMP, REGISTER_JUMP, TRAP_RETURN, SYSTEM_CALL = "other", "branch", "jump", "register jump", "trap return", "system call"
_TRAP_RETURNS = (0x3020_0073, 0x1020_0073, 0x0020_0073, 0x7B20_0073, 0x7020_0073)  # mret, sret, uret, dret, mnret
_SYSTEM_CALLS = (0x0000_0073, 0x0010_0073)  # ecall, ebreak


@dataclass(frozen=True)
class Instruction:
    """``loads``: the register that lui or auipc sets; ``by``: the one that a jump goes by; ``keeps``: the one that it sets. 0 for none."""

    word: int
    size: int
    kind: str = OTHER
    loads: int = 0
    by: int = 0
    keeps: int = 0


def decode(word: int, *, bits64: bool) -> Instruction:
    """``word``: four bytes from the instruction's first on."""
    if word & 3 != 3:
        return _compressed(word & 0xFFFF, bits64=bits64)
    if word & 0x3F == 0x1F or word & 0x7F == 0x3F:
        return Instruction(word, 6 if word & 0x3F == 0x1F else 8)
    opcode, rd, funct3, rs1 = word & 0x7F, word >> 7 & 31, word >> 12 & 7, word >> 15 & 31
    if opcode == 0x63 and funct3 not in (2, 3):
        return Instruction(word, 4, BRANCH)
    if opcode == 0x6F:
        return Instruction(word, 4, JUMP, keeps=rd)
    if opcode == 0x67 and funct3 == 0:
        return Instruction(word, 4, REGISTER_JUMP if rs1 else JUMP, by=rs1, keeps=rd)
    if opcode in (0x37, 0x17):
        return Instruction(word, 4, loads=rd)
    return Instruction(word, 4, TRAP_RETURN if word in _TRAP_RETURNS else SYSTEM_CALL if word in _SYSTEM_CALLS else OTHER)


def _compressed(word: int, *, bits64: bool) -> Instruction:
    quadrant, funct3, bit12, rd, rs2 = word & 3, word >> 13, word >> 12 & 1, word >> 7 & 31, word >> 2 & 31
    if quadrant == 1:
        if funct3 in (6, 7):
            return Instruction(word, 2, BRANCH)
        if funct3 == 5:
            return Instruction(word, 2, JUMP)
        if funct3 == 1 and not bits64:
            return Instruction(word, 2, JUMP, keeps=1)
        if funct3 == 3 and rd not in (0, 2) and (bit12 or rs2):
            return Instruction(word, 2, loads=rd)
    if quadrant == 2 and funct3 == 4 and not rs2:
        if rd:
            return Instruction(word, 2, REGISTER_JUMP, by=rd, keeps=bit12)
        if bit12:
            return Instruction(word, 2, SYSTEM_CALL)
    return Instruction(word, 2)


class Memory:
    """Code of a program: of its ELF file, the parts that are loaded and may be executed."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        self.bits64 = data[4] == 2
        place, count = struct.unpack_from("<Q", data, 32)[0] if self.bits64 else struct.unpack_from("<I", data, 28)[0], 0
        size, count = struct.unpack_from("<HH", data, 54 if self.bits64 else 42)
        self.parts: list[tuple[int, bytes]] = []
        for number in range(count):
            at = place + number * size
            if self.bits64:
                kind, flags, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, at)
            else:
                kind, offset, address, _, length, _, flags = struct.unpack_from("<7I", data, at)
            if kind == 1 and flags & 1:
                self.parts.append((address, data[offset : offset + length]))
        self._found: dict[int, Instruction] = {}

    def __contains__(self, address: int) -> bool:
        return any(start <= address < start + len(data) for start, data in self.parts)

    def at(self, address: int) -> Instruction:
        """The instruction at an address."""
        if address not in self._found:
            start, data = next((start, data) for start, data in self.parts if start <= address < start + len(data))
            word = int.from_bytes(data[address - start : address - start + 4], "little")
            self._found[address] = decode(word, bits64=self.bits64)
        return self._found[address]


def elf(parts: Iterable[tuple[int, bytes]], *, bits64: bool) -> bytes:
    """An executable file of nothing but code. ``parts``: address and bytes of each."""
    parts = list(parts)
    head, entry = (64, 56) if bits64 else (52, 32)
    offset = head + entry * len(parts)
    table, body = b"", b""
    for address, data in parts:
        place = offset + len(body)
        if bits64:
            table += struct.pack("<IIQQQQQQ", 1, 5, place, address, address, len(data), len(data), 1)
        else:
            table += struct.pack("<8I", 1, place, address, address, len(data), len(data), 5, 1)
        body += data
    ident = b"\x7fELF" + bytes([2 if bits64 else 1, 1, 1]) + bytes(9)
    form = "<HHIQQQIHHHHHH" if bits64 else "<HHIIIIIHHHHHH"
    header = struct.pack(form, 2, 243, 1, parts[0][0] if parts else 0, head, 0, 0, head, entry, len(parts), 0, 0, 0)
    return ident + header + table + body


# Instructions, as bytes.
def word(value: int, size: int = 4) -> bytes:
    return (value & (1 << 8 * size) - 1).to_bytes(size, "little")


NOP, C_NOP, ECALL, EBREAK, C_EBREAK = word(0x13), word(1, 2), word(0x73), word(0x10_0073), word(0x9002, 2)
MRET, SRET = word(0x3020_0073), word(0x1020_0073)
ILLEGAL, C_ILLEGAL = word(-1), word(0, 2)


def lui(rd: int, value: int) -> bytes:
    """``value``: the upper 20 bits."""
    return word((value & 0xF_FFFF) << 12 | rd << 7 | 0x37)


def auipc(rd: int, value: int) -> bytes:
    return word((value & 0xF_FFFF) << 12 | rd << 7 | 0x17)


def c_lui(rd: int, value: int) -> bytes:
    """``value``: -32 to 31, not 0."""
    return word(0x6001 | (value & 0x20) << 7 | rd << 7 | (value & 0x1F) << 2, 2)


def jalr(rd: int, rs1: int, offset: int = 0) -> bytes:
    return word((offset & 0xFFF) << 20 | rs1 << 15 | rd << 7 | 0x67)


def c_jr(rs1: int) -> bytes:
    return word(0x8002 | rs1 << 7, 2)


def c_jalr(rs1: int) -> bytes:
    return word(0x9002 | rs1 << 7, 2)


def _scattered(offset: int, places: Iterable[int]) -> int:
    """Bits of an offset one after the other, the highest place first."""
    found = 0
    for place in places:
        found = found << 1 | offset >> place & 1
    return found


def jal(rd: int, offset: int) -> bytes:
    return word(_scattered(offset, (20, *range(10, 0, -1), 11, *range(19, 11, -1))) << 12 | rd << 7 | 0x6F)


def branch(funct3: int, rs1: int, rs2: int, offset: int) -> bytes:
    high, low = _scattered(offset, (12, *range(10, 4, -1))), _scattered(offset, (4, 3, 2, 1, 11))
    return word(high << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | low << 7 | 0x63)


def c_branch(*, zero: bool, rs1: int, offset: int) -> bytes:
    """``rs1``: 8 to 15; ``offset``: -256 to 254."""
    high, low = _scattered(offset, (8, 4, 3)), _scattered(offset, (7, 6, 2, 1, 5))
    return word((0xC001 if zero else 0xE001) | high << 10 | (rs1 - 8) << 7 | low << 2, 2)


def c_jump(offset: int, *, link: bool = False) -> bytes:
    """c.j, or (``link``, in 32 bits alone) c.jal. ``offset``: -2048 to 2046."""
    return word((0x2001 if link else 0xA001) | _scattered(offset, (11, 4, 9, 8, 10, 6, 7, 3, 2, 1, 5)) << 2, 2)


def _gathered(value: int, places: Iterable[int]) -> int:
    """The opposite of :func:`_scattered`; the first place is the sign's."""
    places = tuple(places)
    found = sum((value >> len(places) - 1 - number & 1) << place for number, place in enumerate(places))
    return found - ((found >> places[0] & 1) << places[0] + 1)


def branch_target(here: Instruction, address: int) -> int:
    """Where a taken branch goes."""
    if here.size == 2:
        return address + _gathered(here.word >> 10 << 5 & 0xE0 | here.word >> 2 & 0x1F, (8, 4, 3, 7, 6, 2, 1, 5))
    return address + _gathered(here.word >> 25 << 5 | here.word >> 7 & 0x1F, (12, *range(10, 4, -1), 4, 3, 2, 1, 11))


def jump_target(here: Instruction, address: int) -> int:
    """Where a jump goes that says so itself."""
    if here.size == 2:
        return address + _gathered(here.word >> 2 & 0x7FF, (11, 4, 9, 8, 10, 6, 7, 3, 2, 1, 5))
    if here.word & 0x7F == 0x67:
        return (here.word >> 20) - (here.word >> 31 << 12)
    return address + _gathered(here.word >> 12, (20, *range(10, 0, -1), 11, *range(19, 11, -1)))
