"""RISC-V programs as blocks: instructions up to the next one that may jump. What decides where a program goes is at their ends.

Sources: "The RISC-V Instruction Set Manual", volume I; "Efficient Trace for RISC-V" 2.0, chapter "Decoder" (which jumps can be inferred).
Instructions are decoded by capstone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ptttool.decoders.riscv.elf import Program
from ptttool.errors import MissingPackageError

# Where a block goes: on, by a branch, by a jump that the program tells, by one that it does not.
ON, BRANCH, JUMP, DISCONTINUITY = range(4)
# Instructions of a block: more would be no program.
_LONGEST = 1 << 14
# Instructions that are remembered.
_MOST_HELD = 1 << 20
# Bytes that are decoded at a time.
_PIECE = 256
_LINKS = (1, 5)  # registers that hold return addresses
_RA, _NO_LINK = 1, 2
_FIRST_CALL = 32  # entry of the jump table (Zcmt)
# Instructions by the names that capstone has for their numbers.
_BRANCHES = ("BEQ", "BNE", "BLT", "BGE", "BLTU", "BGEU", "C_BEQZ", "C_BNEZ")
_JUMPS = ("JAL", "C_J", "C_JAL")
_REGISTER_JUMPS = ("JALR", "C_JR", "C_JALR")
_SYSTEM_CALLS = ("ECALL", "EBREAK", "C_EBREAK")
_TRAP_RETURNS = ("MRET", "SRET", "URET", "DRET", "MNRET")
_UPPER = ("AUIPC", "LUI", "C_LUI")
_NONE = ("UNIMP", "C_UNIMP")
# What capstone does not know: return from debug mode and from a non-maskable interrupt.
_UNKNOWN_RETURNS = {0x7B20_0073: "DRET", 0x7020_0073: "MNRET"}


class NoCodeError(Exception):
    """An address of which the program has no code."""

    def __init__(self, address: int) -> None:
        super().__init__(address)
        self.address = address


class IllegalInstructionError(Exception):
    """An address at which nothing can be executed."""


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions from ``start`` on to the one at ``last``, which alone may go elsewhere than to ``end``, the address behind it.

    ``way``: where from there. ``target``: of a branch or jump. ``sequential``: target of a discontinuity that the instruction before tells.
    ``addresses``: of the instructions, ascending. ``size``: of the last in bytes. ``link``: it keeps a return address; ``back``: it goes
    to one; ``trap_return``, ``system_call``: it is such an instruction.
    """

    start: int
    last: int
    end: int
    way: int
    addresses: tuple[int, ...]
    target: int = 0
    sequential: int | None = None
    link: bool = False
    back: bool = False
    trap_return: bool = False
    system_call: bool = False

    @property
    def size(self) -> int:
        """Bytes of the last instruction."""
        return self.end - self.last

    def has_branch_at(self, address: int) -> bool:
        """Whether the instruction at an address is a branch."""
        return self.way == BRANCH and address == self.last

    def after(self, address: int) -> int:
        """The instruction behind one that is not the last."""
        return self.addresses[self.addresses.index(address) + 1]


@dataclass(frozen=True, slots=True)
class _Instruction:
    """What counts of one instruction. ``immediate``: its last operand. ``kept``, ``by``: registers rd and rs1 of a jump, rd of others."""

    name: str
    size: int
    immediate: int = 0
    kept: int = 0
    by: int = 0

    @property
    def way(self) -> int:
        """Where it goes."""
        if self.name in _BRANCHES:
            return BRANCH
        if self.name in _JUMPS or (self.name in _REGISTER_JUMPS and not self.by):
            return JUMP
        if self.name in (*_REGISTER_JUMPS, *_TRAP_RETURNS, *_SYSTEM_CALLS):
            return DISCONTINUITY
        return ON


class Code:
    """Blocks of a program, decoded as they are asked for."""

    def __init__(self, program: Program) -> None:
        try:
            import capstone
            from capstone import riscv
        except ImportError:
            raise MissingPackageError.of_extra("flow", "capstone", "flow") from None
        self.program = program
        self._mask = program.mask
        width = capstone.CS_MODE_RISCV64 if program.bits64 else capstone.CS_MODE_RISCV32
        self._decoder: Any = capstone.Cs(capstone.CS_ARCH_RISCV, width | capstone.CS_MODE_RISCVC)
        self._decoder.detail = True
        # Numbers, as names differ by operands: jalr may be called ret, jr or jalr.
        wanted = (*_BRANCHES, *_JUMPS, *_REGISTER_JUMPS, *_SYSTEM_CALLS, *_TRAP_RETURNS, *_UPPER, *_NONE)
        self._names = {getattr(riscv, f"RISCV_INS_{name}", -1): name for name in wanted}
        self._immediate = capstone.CS_OP_IMM
        self._blocks: dict[int, Block] = {}
        self._held = 0  # their instructions

    def block(self, start: int) -> Block:
        """The block that begins at an address. Raises NoCodeError, IllegalInstructionError."""
        found = self._blocks.get(start)
        if found is None:
            if self._held >= _MOST_HELD:
                self._blocks.clear()
                self._held = 0
            found = self._blocks[start] = self._make(start)
            self._held += len(found.addresses)
        return found

    def _make(self, start: int) -> Block:
        addresses: list[int] = []
        address, before = start, None
        for instruction in self._instructions(start):
            way = instruction.way
            if instruction.name in _NONE:
                if not addresses:
                    raise IllegalInstructionError
                break  # nothing gets past it
            addresses.append(address)
            end = (address + instruction.size) & self._mask
            if way != ON:
                return self._ended(instruction, way, addresses, end, before)
            address, before = end, instruction
            if len(addresses) >= _LONGEST:
                break
        if not addresses:
            raise NoCodeError(start)
        return Block(start, addresses[-1], address, ON, tuple(addresses))

    def _ended(self, instruction: _Instruction, way: int, addresses: list[int], end: int, before: _Instruction | None) -> Block:
        last, name = addresses[-1], instruction.name
        link = name in (*_JUMPS, *_REGISTER_JUMPS) and instruction.kept in _LINKS
        # A jump by no register is to an address of its own, others of these are relative.
        relative = last if name in (*_BRANCHES, *_JUMPS) else 0
        return Block(
            start=addresses[0],
            last=last,
            end=end,
            way=way,
            addresses=tuple(addresses),
            target=(instruction.immediate + relative) & self._mask & ~1 if way in (BRANCH, JUMP) else 0,
            sequential=self._sequential(instruction, addresses, before),
            link=link,
            back=name in _REGISTER_JUMPS and instruction.by in _LINKS and not link,
            trap_return=name in _TRAP_RETURNS,
            system_call=name in _SYSTEM_CALLS,
        )

    def _sequential(self, jump: _Instruction, addresses: list[int], before: _Instruction | None) -> int | None:
        """The target of a jump whose register the instruction before it has set."""
        if before is None or jump.name not in _REGISTER_JUMPS or before.name not in _UPPER or before.kept != jump.by:
            return None
        upper = (before.immediate & 0xF_FFFF) << 12
        upper -= (upper & 1 << 31) << 1
        base = addresses[-2] if before.name == "AUIPC" else 0
        return (base + upper + jump.immediate) & self._mask & ~1

    def _instructions(self, address: int) -> Iterator[_Instruction]:
        """Instructions from an address on, as far as there is code."""
        while True:
            data = self.program.read(address, _PIECE)
            used = 0
            while size := _size(data[used : used + 2]):
                if used + size > len(data):
                    break
                yield self._decode(data[used : used + size], address + used)
                used += size
            if not used:
                return
            address = (address + used) & self._mask

    def _decode(self, data: bytes, address: int) -> _Instruction:
        number = int.from_bytes(data, "little")
        if len(data) == 2 and self.program.extensions:
            # They take encodings that capstone knows as others'.
            if "zcmp" in self.program.extensions and number & 0xFD03 == 0xBC02:  # cm.popret, cm.popretz
                return _Instruction("C_JR", 2, 0, 0, _RA)
            if "zcmt" in self.program.extensions and number & 0xFC03 == 0xA002:  # cm.jt, cm.jalt: by the number of the entry
                calls = number >> 2 & 0xFF >= _FIRST_CALL
                return _Instruction("C_JALR" if calls else "C_JR", 2, 0, _RA if calls else 0, _NO_LINK)
        found = next(self._decoder.disasm(data, address, 1), None)
        if found is None:
            # Instructions of a vendor's own go on to the next, as far as anybody knows. Of 0 and all ones it is known.
            illegal = number in (0, (1 << 8 * len(data)) - 1)
            return _Instruction("UNIMP" if illegal else _UNKNOWN_RETURNS.get(number, ""), len(data))
        name = self._names.get(found.id, "")
        immediate = next((each.imm for each in found.operands if each.type == self._immediate), 0) if name else 0
        kept, by = number >> 7 & 31, 0
        if name == "JALR":
            # capstone leaves operands out that are so by default.
            by, immediate = number >> 15 & 31, (number >> 20) - (number >> 31 << 12)
        elif name in ("C_JR", "C_JALR"):
            kept, by = int(name == "C_JALR"), kept
        elif name in ("C_J", "C_JAL"):
            kept = int(name == "C_JAL")
        return _Instruction(name, len(data), immediate, kept, by)


def _size(start: bytes) -> int:
    """Bytes of an instruction, by its first two; 0 where there are none (volume I, "Instruction Length Encoding")."""
    if len(start) < 2:
        return 0
    low = start[0]
    if low & 3 != 3:
        return 2
    if low & 0x1F != 0x1F:
        return 4
    return 6 if low & 0x3F == 0x1F else 8 if low & 0x7F == 0x3F else 4
