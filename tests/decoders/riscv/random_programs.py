"""Programs of any instructions, and any way that a hart may take through them: what they compute is not looked at.

A loop always has a branch or a jump to anywhere in it: how often a hart has gone round one of plain jumps no trace tells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from tests.decoders.riscv import bits
from tests.decoders.riscv.bits import Memory
from tests.decoders.riscv.etrace_encoder import Cycle, Kind, Trap

# What goes on to the next instruction, and what looks like a jump and is none: reserved encodings, instructions of nobody's.
_PLAIN = (
    0x00000013, 0x00A50533, 0x00052283, 0x00A52023, 0x0000000F, 0x0000100F, 0x30529073, 0x00C5A5AF, 0x02A7E6BB, 0x10500073,
    0x00001067, 0x00002063, 0x00003063, 0x0000000B, 0xFFFFFF7B, 0x12000073, 0x00000057, 0xFFF00067 | 7 << 12,
)  # fmt: skip
_PLAIN2 = (0x0001, 0x0505, 0x4501, 0x8002, 0x60E2, 0x7139, 0x6105, 0x8D0D, 0x0141, 0x157D, 0x852E, 0x9002 | 10 << 7 | 11 << 2)
_REGISTERS = (1, 5, 6, 7, 10, 28)
_ILLEGAL = (0xFFFF_FFFF, 0)
PAGE = 0x1000


@dataclass(frozen=True)
class Program:
    """``starts``: addresses of the instructions. ``parts``: as :func:`~.riscv_bits.elf` takes them."""

    parts: tuple[tuple[int, bytes], ...]
    starts: tuple[int, ...]
    bits64: bool

    def write(self, path: Path) -> Memory:
        path.write_bytes(bits.elf(self.parts, bits64=self.bits64))
        return Memory(path)


def program(chance: Random, size: int, *, bits64: bool, compressed: bool = True) -> Program:
    """``size``: instructions, about."""
    mask = (1 << (64 if bits64 else 32)) - 1
    bases = [0x400, 0x1_E000, 0x8000_0000 & mask, mask - 0xFFF, *([0xFFFF_FFFF_8000_0000, 0x7FF_0000_0000] if bits64 else [0xC000_0000])]
    base = chance.choice(bases)
    # A hole, and code that begins where lui can tell.
    first = max(size * 2 // 3, 1)
    wanted = [_slots(chance, first, compressed=compressed), _slots(chance, size - first, compressed=compressed)]
    begins = [base, (base + PAGE if base != 0x400 else PAGE) & mask]
    if base == mask - 0xFFF:
        wanted.pop()
    places = []
    for begin, slots in zip(begins, wanted, strict=False):
        at = begin
        for name, length in slots:
            places.append((name, at))
            at += length
    targets = [at + (4 if name.startswith("late") else 0) for name, at in places]
    maker = _Maker(chance, targets, begins, bits64=bits64, compressed=compressed)
    parts = []
    starts: list[int] = []
    for begin, slots in zip(begins, wanted, strict=False):
        data = b""
        for name, length in slots:
            made = maker.make(name, begin + len(data))
            assert len(made) == length, name
            data += made
        if data:
            parts.append((begin, data))
            at = 0
            while at < len(data):
                starts.append(begin + at)
                at += bits.decode(int.from_bytes(data[at : at + 4], "little"), bits64=bits64).size
    return Program(tuple(parts), tuple(starts), bits64)


# Of each slot: bytes, and how often there is one.
_SLOTS = {
    "plain": (4, 6), "branch": (4, 6), "jump": (4, 2), "register": (4, 3), "lui": (8, 1), "auipc": (8, 2), "absolute": (4, 1),
    "call": (4, 1), "break": (4, 1), "return": (4, 2), "illegal": (4, 1), "lone": (4, 1),
}  # fmt: skip
_SLOTS2 = {
    "plain2": (2, 6), "branch2": (2, 5), "jump2": (2, 2), "register2": (2, 3), "c.lui": (4, 2), "break2": (2, 1), "illegal2": (2, 1),
    "long": (6, 1), "longer": (8, 1),
}  # fmt: skip


def _slots(chance: Random, count: int, *, compressed: bool) -> list[tuple[str, int]]:
    table = {**_SLOTS, **(_SLOTS2 if compressed else {})}
    names = chance.choices(list(table), [often for _, often in table.values()], k=count)
    return [(name, table[name][0]) for name in names]


_FIXED = {"call": bits.ECALL, "break": bits.EBREAK, "break2": bits.C_EBREAK, "illegal": bits.ILLEGAL, "illegal2": bits.C_ILLEGAL}


class _Maker:
    """Makes instructions. ``targets``: where they may go; ``begins``: addresses of the parts."""

    def __init__(self, chance: Random, targets: list[int], begins: list[int], *, bits64: bool, compressed: bool) -> None:
        self._chance, self._targets, self._begins, self._bits64 = chance, targets, begins, bits64
        self._step = 2 if compressed else 4  # addresses are multiples of it

    def _target(self, at: int, least: int, most: int) -> int | None:
        """An offset to an instruction, within limits."""
        near = [target - at for target in self._targets if least <= target - at <= most]
        return self._chance.choice(near) if near else None

    def make(self, name: str, at: int) -> bytes:
        chance = self._chance
        match name:
            case "plain":
                return bits.word(chance.choice(_PLAIN))
            case "plain2":
                return bits.word(chance.choice(_PLAIN2), 2)
            case "long":
                return bits.word(chance.getrandbits(32) << 16 | 0x801F, 6)
            case "longer":
                return bits.word(chance.getrandbits(48) << 16 | 0x803F, 8)
            case "branch":
                offset = self._target(at, -4096, 4094)
                return bits.branch(chance.choice((0, 1, 4, 5, 6, 7)), chance.randrange(32), chance.randrange(32), offset or 4)
            case "branch2":
                return bits.c_branch(zero=chance.random() < 0.5, rs1=chance.randint(8, 15), offset=self._target(at, -256, 254) or 2)
            case "jump":
                return bits.jal(chance.choice((0, 1, 5, 9)), self._target(at, 4, (1 << 20) - 2) or 4)
            case "jump2":
                return bits.c_jump(self._target(at, 2, 2046) or 2, link=not self._bits64 and chance.random() < 0.5)
            case "register":
                return bits.jalr(chance.choice((0, 1, 5, 9)), chance.choice(_REGISTERS), chance.randrange(-2048, 2048, self._step))
            case "register2":
                return chance.choice((bits.c_jr, bits.c_jalr))(chance.choice(_REGISTERS))
            case "absolute":
                low = [target for target in self._targets if at < target < 2048]
                return bits.jalr(chance.choice((0, 1)), 0, chance.choice(low)) if low else bits.NOP
            case "lui" | "auipc":
                return self._pair(name, at)
            case "c.lui":
                begin = self._begins[-1]
                if begin <= at or not begin >> 12 or begin >> 17:
                    return bits.C_NOP * 2
                register = chance.choice(_REGISTERS)
                return bits.c_lui(register, begin >> 12) + chance.choice((bits.c_jr, bits.c_jalr))(register)
            case "lone":  # no pair: another register, or an instruction between them
                return chance.choice((bits.lui, bits.auipc))(chance.choice(_REGISTERS), chance.randrange(1 << 20))
            case "call" | "break" | "break2" | "illegal" | "illegal2":
                return _FIXED[name]
            case _:
                return chance.choice((bits.MRET, bits.SRET))

    def _pair(self, name: str, at: int) -> bytes:
        """Two instructions that together tell a target."""
        register, keeps = self._chance.choice(_REGISTERS), self._chance.choice((0, 1, 5))
        offset = self._target(at, 8, 1 << 20) or 8
        value = offset if name == "auipc" else at + offset
        upper = value + 0x800 >> 12
        make = bits.auipc if name == "auipc" else bits.lui
        # lui of 64 bits reaches the lowest and the highest 2 GiB alone.
        if name == "lui" and self._bits64 and value >= 0x7FFF_F800 and value < 0xFFFF_FFFF_8000_0000:
            return bits.NOP * 2
        return make(register, upper) + bits.jalr(keeps, register, value - (upper << 12))


@dataclass(frozen=True)
class Run:
    """What a hart did. ``epcs``: of each trap."""

    cycles: tuple[Cycle, ...]
    epcs: tuple[int, ...]


class Hart:
    """Goes any way through a program. ``calls_retire``: system calls do."""

    def __init__(self, chance: Random, code: Memory, program: Program, *, calls_retire: bool = True, trap_chance: float = 0.04) -> None:
        self._chance, self._code, self._program = chance, code, program
        self._calls_retire, self._trap_chance = calls_retire, trap_chance
        self._mask = (1 << (64 if program.bits64 else 32)) - 1
        self.cycles: list[Cycle] = []
        self.epcs: list[int] = []
        self.pc = self.anywhere()
        self.privilege = chance.choice((0, 1, 3))

    def anywhere(self) -> int:
        if self._chance.random() < 0.03:
            return self._chance.choice((0x10, 0x5555_5550, self._program.starts[-1] + 0x800)) & self._mask
        return self._chance.choice(self._program.starts)

    def run(self, steps: int) -> Run:
        for _ in range(steps):
            self._step()
        return Run(tuple(self.cycles), tuple(self.epcs))

    def _trap(self, *, interrupt: bool) -> Trap:
        """Take a trap at pc."""
        self.epcs.append(self.pc)
        self.pc = self.anywhere()
        return Trap(self._chance.randrange(16), 0 if interrupt else self._chance.getrandbits(32) & self._mask, interrupt)

    def _trap_alone(self, *, interrupt: bool) -> None:
        address, privilege = self.pc, self.privilege
        self.cycles.append(Cycle(address, privilege=privilege, retired=False, trap=self._trap(interrupt=interrupt)))
        self.privilege = self._chance.choice((1, 3))

    def _step(self) -> None:
        chance = self._chance
        interrupt = chance.random() < 0.5
        here = self._code.at(self.pc) if self.pc in self._code else None
        cannot = here is None or here.word == _ILLEGAL[0] or (here.size == 2 and here.word == 0)
        if cannot or chance.random() < self._trap_chance:
            self._trap_alone(interrupt=interrupt and not cannot)
            return
        assert here is not None
        address, privilege, on = self.pc, self.privilege, (self.pc + here.size) & self._mask
        if here.kind == bits.SYSTEM_CALL:
            if not self._calls_retire:
                self._trap_alone(interrupt=False)
                return
            cycle = Cycle(address, privilege=privilege, trap=self._trap(interrupt=False))
            self.privilege = chance.choice((1, 3))
        else:
            pair = self._paired(address, here)
            kind, self.pc = self._go(address, here, on, pair=pair)
            cycle = Cycle(address, kind, privilege, sequential=pair is not None)
            if kind is Kind.TRAP_RETURN:
                self.privilege = chance.choice((0, 1, 3))
            elif kind is Kind.OTHER and chance.random() < self._trap_chance:
                cycle = replace(cycle, trap=self._trap(interrupt=interrupt))
                self.privilege = chance.choice((1, 3))
        self.cycles.append(cycle)

    def _paired(self, address: int, here: bits.Instruction) -> int | None:
        """The target, where the instruction before has told it."""
        last = self.cycles[-1] if self.cycles else None
        if here.kind != bits.REGISTER_JUMP or last is None or not last.retired or last.trap is not None:
            return None
        before = self._code.at(last.address)
        if before.loads != here.by or last.address + before.size != address:
            return None
        if before.size == 2:
            upper = (before.word >> 2 & 0x1F | before.word >> 7 & 0x20) << 12
            upper -= (upper & 1 << 17) << 1
        else:
            upper = before.word & 0xFFFF_F000
            upper -= (upper & 1 << 31) << 1
            if before.word & 0x7F == 0x17:
                upper += last.address
        low = (here.word >> 20) - (here.word >> 31 << 12) if here.size == 4 else 0
        return (upper + low) & self._mask & ~1

    def _go(self, address: int, here: bits.Instruction, on: int, *, pair: int | None) -> tuple[Kind, int]:
        if here.kind == bits.BRANCH:
            taken = self._chance.random() < 0.5
            return (Kind.TAKEN, bits.branch_target(here, address) & self._mask) if taken else (Kind.NOT_TAKEN, on)
        if here.kind == bits.JUMP:
            return Kind.JUMP, bits.jump_target(here, address) & self._mask
        if here.kind == bits.REGISTER_JUMP:
            return Kind.DISCONTINUITY, self.anywhere() if pair is None else pair
        if here.kind == bits.TRAP_RETURN:
            return Kind.TRAP_RETURN, self.anywhere()
        return Kind.OTHER, on


def watched(chance: Random, run: Run, *, off: float = 0.0, notify: float = 0.0, context: float = 0.0) -> Run:
    """Traced now and then, with notifications, and contexts that change: each is how often."""
    traced, current, changed = True, 0, []
    for cycle in run.cycles:
        if chance.random() < off:
            traced = not traced
        moved = chance.random() < context
        current += moved
        # Between the last packet and a context that is told precisely, what loops cannot be told apart: so ask for the instruction before.
        precise = moved and chance.random() < 0.5
        changed.append(replace(cycle, traced=traced, notify=chance.random() < notify, context=current & 15, precise=precise))
    return Run(tuple(changed), run.epcs)
