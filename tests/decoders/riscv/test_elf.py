"""Programs as they are read: code, symbols, lines of source. For ``fixtures/riscv`` the result is that of objdump and addr2line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from ptttool.decoders.riscv import elf as elf_image
from ptttool.decoders.riscv.elf import Image, Program
from ptttool.decoders.riscv.elf_file import ElfFile
from ptttool.errors import InputError, UsageError
from tests import ROOT
from tests.decoders.riscv import bits
from tests.reference import riscv_elf as reference

FOLDER = ROOT / "fixtures" / "riscv"
# Of small.c, by the distance to the first function.
SMALL = {
    0x00: ("_start", "small.c:12"), 0x04: ("_start+0x4", "small.c:12"), 0x06: ("_start+0x6", "small.c:14"),
    0x1A: ("inner", "part/inner.h:3"), 0x1E: ("inner+0x4", "part/inner.h:4"), 0x22: ("twice", "small.c:9"),
    0x26: ("twice+0x4", "small.c:9"),
}  # fmt: skip
SMALL_PIE = {
    0x00: ("_start", "small.c:12"), 0x06: ("_start+0x6", "small.c:14"), 0x1C: ("inner", "part/inner.h:3"),
    0x20: ("inner+0x4", "part/inner.h:4"), 0x24: ("twice", "small.c:9"),
}  # fmt: skip


def program_of(*names: str, base: int = 0) -> Program:
    """``base``: of the last."""
    return Program([Image(FOLDER / f"{name}.elf", base if name == names[-1] else 0) for name in names])


def places(program: Program, base: int, distances: dict[int, tuple[str, str]]) -> dict[int, tuple[str | None, str | None]]:
    return {distance: (program.symbol(base + distance), program.line(base + distance)) for distance in distances}


@pytest.mark.parametrize(("name", "base", "wanted"), [("dwarf4", 0x10120, SMALL), ("mixed", 0x10120, SMALL), ("pie", 0x1E2, SMALL_PIE)])
def test_functions_and_lines(name: str, base: int, wanted: dict[int, tuple[str, str]]) -> None:
    """DWARF 4 and 5; line numbers listed by address, not listed, some of them; functions in another order than in the source."""
    program = program_of(name)
    assert places(program, base, wanted) == wanted
    assert not any(image.problem for image in program.images)


def test_a_file_that_is_open_when_python_ends_makes_no_noise() -> None:
    # What the module os holds goes when its functions are gone.
    code = "import os; from ptttool.decoders.riscv.elf_file import ElfFile; os.kept = ElfFile('dwarf4.elf')"
    done = subprocess.run([sys.executable, "-c", code], cwd=FOLDER, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_file_is_closed_once_whoever_closes_it() -> None:
    file = ElfFile(FOLDER / "dwarf4.elf")
    descriptor = file._descriptor
    file.close()
    file.close()
    with pytest.raises(OSError):
        os.fstat(descriptor)
    file = ElfFile(FOLDER / "dwarf4.elf")
    descriptor = file._descriptor
    del file
    with pytest.raises(OSError):
        os.fstat(descriptor)


def test_a_part_of_assembly() -> None:
    program = program_of("mixed")
    assert (program.symbol(0x1014C), program.line(0x1014C)) == ("thrice+0x4", "other.S:6")


@pytest.mark.parametrize("offset", [0x1000, 0x7FFF_FFFF_0000])
def test_a_program_that_was_loaded_elsewhere(offset: int) -> None:
    plain, moved = program_of("pie"), program_of("pie", base=offset)
    assert places(moved, 0x1E2 + offset, SMALL_PIE) == SMALL_PIE
    assert moved.read(0x1E2 + offset, 20) == plain.read(0x1E2, 20)
    assert moved.read(0x1E2, 4) == b""
    assert (moved.symbol(0x1E2), moved.line(0x1E2)) == (None, None)


def test_several_programs() -> None:
    """Where two have code, the first counts."""
    program = program_of("program", "dwarf4", "pie", base=0x40000)
    assert program.bits64
    assert (program.symbol(0x8000_024C), program.line(0x8000_024C)) == ("fibonacci", "main.c:93")
    assert places(program, 0x10120, SMALL) == SMALL
    assert places(program, 0x401E2, SMALL_PIE) == SMALL_PIE
    assert program.read(0x5000_0000, 4) == b""
    assert places(program_of("dwarf4", "stripped"), 0x10120, SMALL) == SMALL
    # What the first has no name for the next may have; the code is the first's.
    behind = program_of("stripped", "dwarf4")
    assert places(behind, 0x10120, SMALL) == SMALL


@pytest.mark.parametrize("name", ["dwarf4", "mixed", "pie", "program", "program32", "stripped"])
def test_symbols_and_lines_of_every_instruction_are_those_of_pyelftools(name: str) -> None:
    path = FOLDER / f"{name}.elf"
    image = Image(path)
    symbols, lines = reference.symbols(path), reference.lines(path)
    for segment in image.segments:
        for address in range(segment.address, segment.end, 2):
            assert image.symbol(address) == reference.symbol_at(symbols, address)
            assert image.line(address) == reference.line_at(lines, address)


def test_a_program_without_symbols() -> None:
    program = program_of("stripped")
    assert program.read(0x10120, 4) == program_of("dwarf4").read(0x10120, 4)
    assert program.symbol(0x10120) is None
    assert program.line(0x10120) is None
    assert program.images[0].problem is None


def test_code_ends_where_it_ends() -> None:
    image = Image(FOLDER / "dwarf4.elf")
    (segment,) = image.segments  # data is no code
    assert segment.end == 0x10148
    assert len(image.read(segment.end - 2, 8)) == 2
    assert image.read(segment.end, 8) == b""
    assert image.read(segment.address - 1, 8) == b""
    assert image.symbol(segment.end) is None
    assert image.symbol(0x10000) is None


def test_programs_of_both_widths() -> None:
    with pytest.raises(UsageError, match="of 32 and of 64 bits") as error:
        program_of("program", "program32")
    assert error.value.code == "mixed-programs"
    assert not program_of("program32").bits64


def test_an_object_file(tmp_path: Path) -> None:
    path = tmp_path / "object.o"
    path.write_bytes(bits.elf([], bits64=False))
    with pytest.raises(InputError) as error:
        Image(path)
    assert (error.value.code, error.value.hint) == ("no-code", "give the linked program, not an object file")


@pytest.mark.parametrize("name", ["program", "mixed", "pie", "stripped"])
def test_any_end_of_a_file(name: str, tmp_path: Path) -> None:
    """A file that is cut short is told of, or what is left can be read."""
    data = (FOLDER / f"{name}.elf").read_bytes()
    path = tmp_path / "short.elf"
    refused = 0
    for size in range(0, len(data), max(len(data) // 60, 1)):
        path.write_bytes(data[:size])
        try:
            program = Program([Image(path)])
        except InputError as error:
            assert error.code in ("bad-elf", "no-code")
            assert str(path) in str(error)
            refused += 1
        else:
            for image in program.images:
                program.symbol(image.segments[0].address)
                program.line(image.segments[0].address)
    assert refused > 1


@pytest.mark.parametrize(
    ("attributes", "wanted"),
    [
        (b"A3\0\0\0riscv\0\x01)\0\0\0\x04\x10\x05rv64i2p1_m2p0_zicsr2p0\0", set()),
        (b"A3\0\0\0riscv\0\x01)\0\0\0\x04\x10\x05rv32i2p1_c2p0_zcmp1p0_zcmt1p0\0", {"zcmp", "zcmt"}),
        (b"", set()),
    ],
)
def test_extensions_that_a_program_names(attributes: bytes, wanted: set[str]) -> None:
    """In the section .riscv.attributes, which the programs here do without."""
    assert elf_image._extensions(attributes) == wanted


def test_functions_inside_others() -> None:
    image = Image(FOLDER / "program.elf")
    start = image.segments[0].address
    addresses, sizes = np.array([start, start + 2], dtype=np.uint64), np.array([8, 2], dtype=np.uint64)
    image.symbols = elf_image.Symbols(addresses, sizes, np.array([0, 6], dtype=np.uint32), b"outer\0inner\0")
    assert [image.symbol(start + place) for place in (0, 2, 3, 4, 6, 8)] == ["outer", "inner", "inner+0x1", "outer+0x4", "outer+0x6", None]


def test_damaged_lines_of_source_are_told(tmp_path: Path) -> None:
    content = bytearray((FOLDER / "program.elf").read_bytes())
    with (FOLDER / "program.elf").open("rb") as file:
        section = ELFFile(file).get_section_by_name(".debug_line")
        assert section is not None
        place = section["sh_offset"]
    content[place + 4 : place + 40] = b"\xff" * 36
    path = tmp_path / "damaged.elf"
    path.write_bytes(content)
    image = Image(path)
    assert image.problem is None
    assert image.line(image.segments[0].address) is None
    assert image.problem is not None


def damaged(tmp_path: Path, name: str, section: str, content: bytes, *, at: int = 0) -> Image:
    """A program of the fixtures with other bytes in one of its sections."""
    data = bytearray((FOLDER / f"{name}.elf").read_bytes())
    with (FOLDER / f"{name}.elf").open("rb") as file:
        found = ELFFile(file).get_section_by_name(section)
        assert found is not None
        place = found["sh_offset"] + at
        content = content[: found["sh_size"] - at]
    data[place : place + len(content)] = content
    path = tmp_path / "damaged.elf"
    path.write_bytes(data)
    return Image(path)


@pytest.mark.parametrize(
    ("section", "at", "content"),
    [
        (".debug_line", 4, b"\x05\0\x08\0\x04\0\0\0\1\1\1\xfb\x0e\1\0" + b"\xff" * 7 + b"\x0f"),  # 2^56 folders, each without a byte
        (".debug_line", 0, b"\0" * 4096),
        (".debug_line", 0, b"\xff" * 4096),
        (".debug_info", 0, b"\xff" * 4096),
        (".debug_abbrev", 0, b"\xff" * 4096),
        (".debug_aranges", 0, b"\xff" * 4096),
        (".debug_aranges", 0, b"\x1c\0\0\0\2\0\0\0\0\0\x09\0" + b"\x11" * 64),
    ],
)
def test_damaged_lists_end(tmp_path: Path, section: str, at: int, content: bytes) -> None:
    image = damaged(tmp_path, "program", section, content, at=at)
    lines = [image.line(address) for segment in image.segments for address in range(segment.address, segment.end, 16)]
    assert image.problem is not None or not any(lines)


def test_segments_that_overlap(tmp_path: Path) -> None:
    """Where several have code, the one with the lowest address counts; what several share is held once."""
    path = tmp_path / "program.elf"
    path.write_bytes(bits.elf([(0x1000, b"a" * 32), (0x1010, b"b" * 8), (0x1018, b"c" * 32), (0x2000, b"d" * 4)], bits64=True))
    image = Image(path)
    assert [(segment.address, bytes(segment.data)) for segment in image.segments] == [
        (0x1000, b"a" * 32), (0x1020, b"c" * 24), (0x2000, b"d" * 4)
    ]  # fmt: skip
    assert [image.read(address, 2) for address in (0x0FFF, 0x1010, 0x101F, 0x1020, 0x1037, 0x1038, 0x2003)] == [
        b"", b"aa", b"a", b"cc", b"c", b"", b"d"
    ]  # fmt: skip


def test_long_names_are_cut() -> None:
    symbols = elf_image.Symbols(np.array([0x1000], dtype=np.uint64), np.array([8], dtype=np.uint64), np.array([0]), b"n" * 10_000)
    assert symbols.at(0x1000) == "n" * 4096
    assert symbols.at(0x1004) == "n" * 4096 + "+0x4"
