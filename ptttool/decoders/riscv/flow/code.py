"""RISC-V programs as blocks: instructions up to the next one that may jump.

Sources: "The RISC-V Instruction Set Manual", volume I; "Efficient Trace for RISC-V" 2.0, chapter "Decoder" (which jumps can be inferred).
Instructions are decoded by capstone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from enum import IntEnum
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ptttool.decoders.riscv.elf import Program
from ptttool.decoders.riscv.flow.problems import Problem, WalkError
from ptttool.errors import MissingPackageError

# A block with so many instructions ends where the next page of code begins; real programs have far fewer. So all paths through long
# code without a jump share their blocks.
_LONG, _CODE_PAGE = 1 << 9, 12
# Instructions that are kept, of all blocks.
_MOST_HELD = 1 << 20
# Bytes that are decoded at a time.
_PIECE = 256
_LINKS = (1, 5)  # registers that hold return addresses
_RA, _NO_LINK = 1, 2
_FIRST_CALL = 32  # entry of the jump table (Zcmt)
# Instructions by capstone's names for their numbers.
_BRANCHES = ("BEQ", "BNE", "BLT", "BGE", "BLTU", "BGEU", "C_BEQZ", "C_BNEZ")
_JUMPS = ("JAL", "C_J", "C_JAL")
_REGISTER_JUMPS = ("JALR", "C_JR", "C_JALR")
_SYSTEM_CALLS = ("ECALL", "EBREAK", "C_EBREAK")
_TRAP_RETURNS = ("MRET", "SRET", "URET", "DRET", "MNRET")
_UPPER = ("AUIPC", "LUI", "C_LUI")
_NONE = ("UNIMP", "C_UNIMP")
# Unknown to capstone: return from debug mode and from a non-maskable interrupt.
_UNKNOWN_RETURNS = {0x7B20_0073: "DRET", 0x7020_0073: "MNRET"}


class Exit(IntEnum):
    """How a block ends."""

    ON = 0  # the next instruction follows
    BRANCH = 1
    JUMP = 2  # to a target that the program tells
    DISCONTINUITY = 3  # to a target that only the trace tells


class Block(Struct, frozen=True):
    """Instructions of which only the last may jump.

    Parameters
    ----------
    start, last, end : int
        Addresses of the first instruction, of the last, and behind that.
    exit : Exit
        How the block ends.
    addresses : tuple of int
        Addresses of the instructions, ascending.
    target : int
        Target of a branch or jump.
    sequential : int or None
        Target of a discontinuity that follows from the instruction before it.
    link, back : bool
        Whether the last instruction keeps a return address, or jumps to one.
    trap_return, system_call : bool
        Whether it is such an instruction.
    """

    start: int
    last: int
    end: int
    exit: Exit
    addresses: tuple[int, ...]
    target: int = 0
    sequential: int | None = None
    link: bool = False
    back: bool = False
    trap_return: bool = False
    system_call: bool = False

    @property
    def size(self) -> int:
        """Size of the last instruction in bytes."""
        return self.end - self.last

    def has_branch_at(self, address: int) -> bool:
        """Whether the instruction at an address is a branch."""
        return self.exit == Exit.BRANCH and address == self.last

    def after(self, address: int) -> int:
        """Return the address of the instruction behind one that is not the last."""
        return self.addresses[self.addresses.index(address) + 1]


class _Instruction(NamedTuple):
    """What matters of one instruction.

    Parameters
    ----------
    name : str
        Name in capstone; empty if it does not matter.
    size : int
        Bytes.
    immediate : int
        Its last operand.
    kept : int
        Register rd.
    by : int
        Register rs1 of a jump.
    """

    name: str
    size: int
    immediate: int = 0
    kept: int = 0
    by: int = 0

    @property
    def exit(self) -> Exit:
        """How a block ends with it."""
        if self.name in _BRANCHES:
            return Exit.BRANCH
        if self.name in _JUMPS or (self.name in _REGISTER_JUMPS and not self.by):
            return Exit.JUMP
        if self.name in (*_REGISTER_JUMPS, *_TRAP_RETURNS, *_SYSTEM_CALLS):
            return Exit.DISCONTINUITY
        return Exit.ON


# What matters of instructions that neither jump nor prepare a jump, by their size.
_PLAIN = {2: _Instruction("", 2), 4: _Instruction("", 4)}
# Addresses of a page of their sizes, as a power of two.
_PAGE = 16


class Code:
    """Blocks of a program, decoded when they are first needed.

    Parameters
    ----------
    program : Program
        The program.
    """

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
        # By number, since capstone's names depend on the operands: jalr may be ret, jr or jalr.
        names = (*_BRANCHES, *_JUMPS, *_REGISTER_JUMPS, *_SYSTEM_CALLS, *_TRAP_RETURNS, *_UPPER, *_NONE)
        self._names = {getattr(riscv, f"RISCV_INS_{name}", -1): name for name in names}
        self._immediate = capstone.CS_OP_IMM
        self._blocks: dict[int, Block] = {}
        self._held = 0  # their instructions
        # Sizes of instructions that do not matter, by halfword; such parts of the program are decoded again and again.
        self._plain: dict[int, bytearray] = {}

    def block(self, start: int) -> Block:
        """Return the block that begins at an address.

        Raises
        ------
        WalkError
            The program has no code there, or the address does not hold an instruction.
        """
        block = self._blocks.get(start) or self._shared(start)
        if block is None:
            if self._held >= _MOST_HELD:
                self._blocks.clear()
                self._held = 0
            block = self._blocks[start] = self._make(start)
            self._held += len(block.addresses)
        return block

    def _shared(self, start: int) -> Block | None:
        """Return a block that is a part of the long one at the beginning of its page of code; None where there is no such block.

        What the first instruction of a block jumps to may depend on the one before, so that it has to be decoded as a part of that block.
        """
        longer = self._blocks.get(start >> _CODE_PAGE << _CODE_PAGE)
        if longer is None or len(longer.addresses) < _LONG:
            return None
        first = bisect_left(longer.addresses, start)
        if first + 1 >= len(longer.addresses) or longer.addresses[first] != start:
            return None
        part = replace(longer, start=start, addresses=longer.addresses[first:])
        if part.exit != Exit.ON or len(part.addresses) >= _LONG:
            return part
        try:
            rest = self.block(part.end)
        except WalkError:
            return part
        return replace(rest, start=start, addresses=(*part.addresses, *rest.addresses)) if len(rest.addresses) > 1 else None

    def _make(self, start: int) -> Block:
        addresses: list[int] = []
        address, before = start, None
        for instruction in self._instructions(start):
            if instruction.name in _NONE:
                if not addresses:
                    raise WalkError(Problem.ILLEGAL)
                break  # execution cannot go past it
            addresses.append(address)
            end = (address + instruction.size) & self._mask
            if instruction.exit != Exit.ON:
                return self._ended(instruction, addresses, end, before)
            before = instruction
            is_new_page, address = end >> _CODE_PAGE != address >> _CODE_PAGE, end
            if is_new_page and len(addresses) >= _LONG:
                break
        if not addresses:
            raise WalkError(Problem.NO_CODE, start)
        return Block(start, addresses[-1], address, Exit.ON, tuple(addresses))

    def _ended(self, instruction: _Instruction, addresses: list[int], end: int, before: _Instruction | None) -> Block:
        last, name = addresses[-1], instruction.name
        link = name in (*_JUMPS, *_REGISTER_JUMPS) and instruction.kept in _LINKS
        # A jump by register 0 has an absolute target; the others are relative.
        relative = last if name in (*_BRANCHES, *_JUMPS) else 0
        return Block(
            start=addresses[0],
            last=last,
            end=end,
            exit=instruction.exit,
            addresses=tuple(addresses),
            target=(instruction.immediate + relative) & self._mask & ~1 if instruction.exit in (Exit.BRANCH, Exit.JUMP) else 0,
            sequential=self._sequential(instruction, addresses, before),
            link=link,
            back=name in _REGISTER_JUMPS and instruction.by in _LINKS and not link,
            trap_return=name in _TRAP_RETURNS,
            system_call=name in _SYSTEM_CALLS,
        )

    def _sequential(self, jump: _Instruction, addresses: list[int], before: _Instruction | None) -> int | None:
        """Return the target of a jump by a register that the instruction before it has set; None for other jumps."""
        if before is None or jump.name not in _REGISTER_JUMPS or before.name not in _UPPER or before.kept != jump.by:
            return None
        upper = (before.immediate & 0xF_FFFF) << 12
        upper -= (upper & 1 << 31) << 1
        base = addresses[-2] if before.name == "AUIPC" else 0
        return (base + upper + jump.immediate) & self._mask & ~1

    def _instructions(self, address: int) -> Iterator[_Instruction]:
        """Yield the instructions from an address on, as far as there is code."""
        while True:
            data = self.program.read(address, _PIECE)
            used = 0
            while size := _size(data[used : used + 2]):
                if used + size > len(data):
                    break
                here = address + used
                page = self._plain.get(here >> _PAGE)
                if page is None:
                    page = self._plain[here >> _PAGE] = bytearray(1 << (_PAGE - 1))
                at = (here & ((1 << _PAGE) - 1)) >> 1
                if page[at] and not here & 1:
                    yield _PLAIN[page[at]]
                else:
                    instruction = self._decode(data[used : used + size], here)
                    if not instruction.name and instruction.size in _PLAIN and not here & 1:
                        page[at] = instruction.size
                    yield instruction
                used += size
            if not used:
                return
            address = (address + used) & self._mask

    def _decode(self, data: bytes, address: int) -> _Instruction:
        number = int.from_bytes(data, "little")
        if len(data) == 2 and self.program.extensions:
            # They reuse encodings that capstone decodes as other instructions.
            if "zcmp" in self.program.extensions and number & 0xFD03 == 0xBC02:  # cm.popret, cm.popretz
                return _Instruction("C_JR", 2, 0, 0, _RA)
            if "zcmt" in self.program.extensions and number & 0xFC03 == 0xA002:  # cm.jt, cm.jalt: by the number of the entry
                calls = number >> 2 & 0xFF >= _FIRST_CALL
                return _Instruction("C_JALR" if calls else "C_JR", 2, 0, _RA if calls else 0, _NO_LINK)
        instruction = next(self._decoder.disasm(data, address, 1), None)
        if instruction is None:
            # Vendors' own instructions are taken for ones that do not jump; 0 and all ones are illegal by definition.
            illegal = number in (0, (1 << 8 * len(data)) - 1)
            return _Instruction("UNIMP" if illegal else _UNKNOWN_RETURNS.get(number, ""), len(data))
        name = self._names.get(instruction.id, "")
        immediate = next((each.imm for each in instruction.operands if each.type == self._immediate), 0) if name else 0
        kept, by = number >> 7 & 31, 0
        if name == "JALR":
            # capstone leaves default operands out.
            by, immediate = number >> 15 & 31, (number >> 20) - (number >> 31 << 12)
        elif name in ("C_JR", "C_JALR"):
            kept, by = int(name == "C_JALR"), kept
        elif name in ("C_J", "C_JAL"):
            kept = int(name == "C_JAL")
        return _Instruction(name, len(data), immediate, kept, by)


def _size(start: bytes) -> int:
    """Return the size of an instruction, from its first two bytes; 0 without them (volume I, "Instruction Length Encoding")."""
    if len(start) < 2:
        return 0
    low = start[0]
    if low & 3 != 3:
        return 2
    if low & 0x1F != 0x1F:
        return 4
    return 6 if low & 0x3F == 0x1F else 8 if low & 0x7F == 0x3F else 4
