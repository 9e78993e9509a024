"""Where RISC-V instructions go, against a plain reading of their bits: all of two bytes, and of four some of every opcode."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from ptttool.decoders.riscv.elf import Image, Program
from ptttool.decoders.riscv.flow.code import Block, Code, Exit
from ptttool.decoders.riscv.flow.problems import Problem, WalkError
from tests.decoders.riscv import bits

AT = 0x1_0000
RETURN = bits.c_jr(1)
WAYS = {
    bits.OTHER: Exit.ON, bits.BRANCH: Exit.BRANCH, bits.JUMP: Exit.JUMP, bits.REGISTER_JUMP: Exit.DISCONTINUITY,
    bits.TRAP_RETURN: Exit.DISCONTINUITY,
    bits.SYSTEM_CALL: Exit.DISCONTINUITY,
}  # fmt: skip
# All zeros, all ones, and what assemblers call unimp: a write to a counter that can only be read.
ILLEGAL = (0, 0xFFFF_FFFF, 0xC000_1073)
both_widths = pytest.mark.parametrize("bits64", [False, True], ids=["32", "64"])


def code_of(path: Path, data: bytes, *, bits64: bool) -> Code:
    path.write_bytes(bits.elf([(AT, data)], bits64=bits64))
    return Code(Program([Image(path)]))


def check(block: Block, here: bits.Instruction, *, bits64: bool) -> None:
    """``block``: begins with the instruction, and has a return behind it."""
    mask = (1 << (64 if bits64 else 32)) - 1
    address, way = block.start, WAYS[here.kind]
    if way == Exit.ON:
        assert block.addresses == (address, address + here.size), hex(here.word)
        return
    link = here.kind in (bits.JUMP, bits.REGISTER_JUMP) and here.keeps in (1, 5)
    assert (block.exit, block.last, block.size, block.end) == (way, address, here.size, address + here.size), hex(here.word)
    assert (block.link, block.back) == (link, here.kind == bits.REGISTER_JUMP and here.by in (1, 5) and not link), hex(here.word)
    assert (block.trap_return, block.system_call) == (here.kind == bits.TRAP_RETURN, here.kind == bits.SYSTEM_CALL), hex(here.word)
    if here.kind == bits.BRANCH:
        assert block.target == bits.branch_target(here, address) & mask, hex(here.word)
    if here.kind == bits.JUMP:
        assert block.target == bits.jump_target(here, address) & mask, hex(here.word)


def check_all(words: Sequence[int], size: int, path: Path, *, bits64: bool) -> None:
    step = size + len(RETURN)
    code = code_of(path, b"".join(bits.word(each, size) + RETURN for each in words), bits64=bits64)
    for number, each in enumerate(words):
        if each in ILLEGAL:
            with pytest.raises(WalkError) as error:
                code.block(AT + number * step)
            assert error.value.problem == Problem.ILLEGAL
        else:
            check(code.block(AT + number * step), bits.decode(each, bits64=bits64), bits64=bits64)


@both_widths
def test_every_instruction_of_two_bytes(bits64: bool, tmp_path: Path) -> None:
    check_all([each for each in range(1 << 16) if each & 3 != 3], 2, tmp_path / "it.elf", bits64=bits64)


@both_widths
def test_instructions_of_four_bytes(bits64: bool, tmp_path: Path) -> None:
    chance = Random(1)
    words = list(ILLEGAL)
    for opcode in range(3, 128, 4):
        if opcode & 0x1F != 0x1F:
            words += [chance.getrandbits(32) & ~0x707F | funct3 << 12 | opcode for funct3 in range(8) for _ in range(40)]
    words += [function << 20 | registers | 0x73 for function in range(4096) for registers in (0, 8 << 16, 1 << 7)]
    check_all(words, 4, tmp_path / "it.elf", bits64=bits64)


@pytest.mark.parametrize(("instruction", "size"), [(0x1234_5678_801F, 6), (0x1234_5678_9ABC_803F, 8)])
def test_longer_instructions(instruction: int, size: int, tmp_path: Path) -> None:
    """Whose ever they are, they go on to the next."""
    code = code_of(tmp_path / "it.elf", bits.word(instruction, size) + RETURN, bits64=True)
    assert code.block(AT).addresses == (AT, AT + size)


@both_widths
def test_targets_that_two_instructions_tell(bits64: bool, tmp_path: Path) -> None:
    top = (0xFFFF_FFFF if bits64 else 0) << 32
    pairs: list[tuple[bytes, int | None]] = [
        (bits.lui(6, 0x12345) + bits.jalr(0, 6, -4), 0x1234_4FFC),
        (bits.lui(6, 0x80000) + bits.jalr(1, 6, 8), top | 0x8000_0008),
        (bits.lui(6, 0x12345) + bits.c_jalr(6), 0x1234_5000),
        (bits.auipc(1, 1) + bits.jalr(1, 1, 0x7FF), AT + 0x1000 + 0x7FE),
        (bits.auipc(6, -1) + bits.c_jr(6), AT - 0x1000),
        (bits.c_lui(10, 31) + bits.c_jr(10), 31 << 12),
        (bits.c_lui(10, -32) + bits.jalr(0, 10, 2), top | 0xFFFE_0002),
        (bits.lui(7, 0x12345) + bits.c_jr(6), None),
        (bits.lui(6, 0x12345) + bits.C_NOP + bits.c_jr(6), None),
        (bits.word(0x0003_0313) + bits.c_jr(6), None),  # addi of the same register
    ]
    for number, (pair, target) in enumerate(pairs):
        code = code_of(tmp_path / f"{number}.elf", pair, bits64=bits64)
        block = code.block(AT)
        assert (block.exit, block.sequential) == (Exit.DISCONTINUITY, target), number
        # Who comes to the jump from elsewhere has not passed the first instruction.
        assert code.block(block.last).sequential is None


def test_the_end_of_the_code(tmp_path: Path) -> None:
    """An instruction that is not all there is none."""
    code = code_of(tmp_path / "it.elf", bits.NOP + bits.NOP[:2], bits64=True)
    assert (code.block(AT).addresses, code.block(AT).exit) == ((AT,), Exit.ON)
    for address in (AT + 4, AT + 6, AT - 2):
        with pytest.raises(WalkError) as error:
            code.block(address)
        assert (error.value.problem, error.value.missing) == (Problem.NO_CODE, address)


def test_code_of_two_programs(tmp_path: Path) -> None:
    """Where one ends and the other begins a block goes on."""
    for name, at, data in (("one", AT, bits.NOP + bits.C_NOP), ("two", AT + 6, bits.NOP + RETURN)):
        (tmp_path / name).write_bytes(bits.elf([(at, data)], bits64=True))
    code = Code(Program([Image(tmp_path / "one"), Image(tmp_path / "two")]))
    assert code.block(AT).addresses == (AT, AT + 4, AT + 6, AT + 10)


@pytest.mark.parametrize(
    ("extension", "word", "link", "back"),
    [
        ("zcmp", 0xBE42, False, True),
        ("zcmp", 0xBC42, False, True),
        ("zcmt", 0xA002 | 31 << 2, False, False),
        ("zcmt", 0xA002 | 32 << 2, True, False),
    ],
)
def test_instructions_of_extensions_that_take_others_places(tmp_path: Path, extension: str, word: int, link: bool, back: bool) -> None:
    """Without the extension they store floating-point numbers."""
    code = code_of(tmp_path / "plain.elf", bits.word(word, 2) + RETURN, bits64=False)
    assert code.block(AT).addresses == (AT, AT + 2)
    code = code_of(tmp_path / "program.elf", bits.word(word, 2) + RETURN, bits64=False)
    code.program.extensions = frozenset((extension,))
    block = code.block(AT)
    assert (block.addresses, block.exit, block.link, block.back) == ((AT,), Exit.DISCONTINUITY, link, back)


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_long_blocks_are_as_if_decoded(seed: int, tmp_path: Path) -> None:
    """Long code without a jump has blocks that several starts share; which of them were asked for before does not matter."""
    random = Random(seed)
    pieces = (
        b"\x13\0\0\0", b"\x01\0", b"\x1f\0\0\0\0\0", b"\x6f\0\0\0", b"\x17\x05\0\0\x67\0\x05\0", b"\0\0", b"\x63\x04\x05\0",
    )  # fmt: skip
    body = b"".join(random.choice(pieces[:3]) * random.randrange(1500) + random.choice(pieces[3:]) for _ in range(12))
    path = tmp_path / "program.elf"
    path.write_bytes(bits.elf([(0x10000, body)], bits64=True))
    program = Program([Image(path)])
    starts = [0x10000 + random.randrange(0, len(body), 2) for _ in range(40)] + [*range(0x10000, 0x10000 + len(body), 1 << 12)]
    random.shuffle(starts)
    warm = Code(program)

    def ended(code: Code, start: int) -> object:
        try:
            return code.block(start)
        except WalkError as error:
            return error.problem

    for start in (*starts, *starts):
        assert ended(warm, start) == ended(Code(program), start)
