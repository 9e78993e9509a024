"""Programs as ELF files: code, symbols, lines of source.

Sources: System V ABI, chapter 4; RISC-V ELF psABI; DWARF 5, 6.2. pyelftools reads the files.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Any

from ptttool.errors import AccessError, InputError, MissingPackageError, UsageError

_EXECUTABLE = 1  # PF_X
# Types of symbols in code; those without a type are labels in assembly, or marks of the compiler ("$x", ".L12"), which are ignored.
_CODE_SYMBOLS = (0, 2, 10)  # STT_NOTYPE, STT_FUNC, STT_GNU_IFUNC
_NO_SECTIONS = (0, 0xFFF1)  # SHN_UNDEF, SHN_ABS
# Elf64_Sym: name, info, other, section, value, size; Elf32_Sym: name, value, size, info, other, section.
_SYMBOL_64, _SYMBOL_32 = Struct("<IBBHQQ"), Struct("<IIIBBH")
# Symbols before an address that are searched for one that contains it.
_NESTED = 64
_MARK = re.compile(r"\$|\.L|L0\x01|$")


@dataclass(frozen=True)
class Segment:
    """Bytes of code, from an address on."""

    address: int
    data: bytes

    @property
    def end(self) -> int:
        """The address behind the last byte."""
        return self.address + len(self.data)


@dataclass
class _Line:
    """The address at which the instructions of a line begin; the text is None where no source follows."""

    address: int
    text: str | None


class Lines:
    """Lines of source of one file; each compilation unit is read when it is first needed.

    Parameters
    ----------
    path : str
        The file.

    Attributes
    ----------
    problem : str or None
        What is wrong with the debugging information; damaged parts do not give lines.
    """

    def __init__(self, path: str) -> None:
        self.problem: str | None = None
        self._path = path
        self._opened = False
        self._dwarf: Any = None
        self._ranges: Any = None
        self._units: dict[int | None, list[_Line]] = {}

    def at(self, address: int) -> str | None:
        """Return the line of an address: ``main.c:12``; None where it is unknown."""
        try:
            lines = self._lines_near(address)
        except Exception as error:  # pyelftools raises many types of exceptions for damaged files
            self.problem = f"{type(error).__name__}: {error}".rstrip(": ")
            return None
        position = bisect_right(lines, address, key=lambda line: line.address) - 1
        return lines[position].text if position >= 0 else None

    def _lines_near(self, address: int) -> Sequence[_Line]:
        """Return the lines of the compilation unit of an address."""
        if not self._opened:
            self._open()
        if self._dwarf is None:
            return ()
        unit: int | None = None
        if self._ranges is not None:
            unit = self._ranges.cu_offset_at_addr(address)
        if unit not in self._units:
            self._units[unit] = []  # stays empty if reading fails: it is not tried again
            # At an address where one piece of code ends and the next begins, the next counts.
            self._units[unit] = sorted(self._read(unit), key=lambda line: (line.address, line.text is not None))
        return self._units[unit]

    def _open(self) -> None:
        from elftools.elf.elffile import ELFFile

        self._opened = True
        with Path(self._path).open("rb") as file:
            elf = ELFFile(file)
            if elf.has_dwarf_info():
                dwarf = elf.get_dwarf_info()
                self._ranges = dwarf.get_aranges()
                self._dwarf = dwarf

    def _read(self, unit: int | None) -> Iterator[_Line]:
        """Yield the lines of one compilation unit, or of all that have no list of addresses: some compilers list only assembly."""
        listed = set() if self._ranges is None else {entry.info_offset for entry in self._ranges.entries}
        for each in self._dwarf.iter_CUs() if unit is None else (self._dwarf.get_CU_at(unit),):
            if unit is None and each.cu_offset in listed:
                continue
            program = self._dwarf.line_program_for_CU(each)
            if program is None:
                continue
            names = _file_names(program.header)
            for entry in program.get_entries():
                state = entry.state
                if state is not None:
                    yield _Line(state.address, None if state.end_sequence else f"{names.get(state.file, '?')}:{state.line}")


def _file_names(header: Any) -> dict[int, str]:
    """Return the names of source files by their numbers, which begin with 0 since DWARF 5."""
    first = 0 if header.version >= 5 else 1
    directories = [_text(each) for each in header.get("include_directory") or ()]
    names = {}
    for number, entry in enumerate(header.file_entry, first):
        name, directory = _text(entry.name), entry.dir_index
        # Number 0 is the compiler's working directory.
        if directory and directory - first < len(directories) and not name.startswith("/"):
            name = f"{directories[directory - first]}/{name}"
        names[number] = name
    return names


def _text(value: bytes | str) -> str:
    return _printable(value.decode("utf-8", "replace") if isinstance(value, bytes) else value)


def _printable(name: str) -> str:
    """Return a name without control characters, for terminals."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)


def _extensions(elf: Any) -> frozenset[str]:
    """Return the extensions that change the meaning of an encoding, as far as the program names them (RISC-V psABI, Tag_RISCV_arch)."""
    section = elf.get_section_by_name(".riscv.attributes")
    found = re.search(rb"rv(?:32|64)[a-z0-9_]+", section.data()) if section is not None else None
    return frozenset(name for name in ("zcmp", "zcmt") if found is not None and name.encode() in found[0])


class Image:
    """One program.

    Parameters
    ----------
    path : str or Path
        The ELF file.
    base : int
        What is added to its addresses (position-independent code).

    Raises
    ------
    InputError
        The file is not a linked RISC-V program (codes ``bad-elf``, ``other-machine``, ``bad-address``, ``no-code``).
    AccessError
        It may not be read.
    MissingPackageError
        pyelftools is missing.
    """

    def __init__(self, path: str | Path, base: int = 0) -> None:
        try:
            from elftools.elf.elffile import ELFFile
        except ImportError:
            raise MissingPackageError.of_extra("flow", "pyelftools", "flow") from None
        self.path, self.base = str(path), base
        try:
            size = Path(path).stat().st_size
            if not Path(path).is_file():
                raise InputError(path, "not a regular file")
            with Path(path).open("rb") as file:
                self._read(ELFFile(file), size)
        except PermissionError as error:
            raise AccessError(f"{path}: {error.strerror}") from None
        except OSError as error:
            raise InputError(path, error.strerror or str(error)) from None
        except InputError:
            raise
        except Exception as error:  # pyelftools raises many types of exceptions for damaged files
            raise InputError(path, f"not a readable ELF file, or damaged or cut off: {error}", code="bad-elf") from None

    def _read(self, elf: Any, size: int) -> None:
        if elf["e_machine"] != "EM_RISCV":
            machine = str(elf["e_machine"]).removeprefix("EM_")
            raise InputError(self.path, f"a program for {machine}, not for RISC-V", code="other-machine")
        if not elf.little_endian:
            raise InputError(self.path, "a big-endian program", code="other-machine")
        self.bits64 = elf.elfclass == 64
        self.segments = []
        for segment in elf.iter_segments("PT_LOAD"):
            if not segment["p_flags"] & _EXECUTABLE or not segment["p_filesz"]:
                continue
            if segment["p_offset"] + segment["p_filesz"] > size:
                raise InputError(
                    self.path, "a segment is behind the file's end: is it cut off?", offset=segment["p_offset"], code="bad-elf"
                )
            address = segment["p_vaddr"] + self.base
            if not 0 <= address <= (1 << elf.elfclass) - segment["p_filesz"]:
                raise InputError(self.path, f"cannot be loaded at {address:#x}", hint="is the @OFFSET right?", code="bad-address")
            self.segments.append(Segment(address, segment.data()))
        self.segments.sort(key=lambda segment: segment.address)
        self.extensions = _extensions(elf)
        if not self.segments:
            raise InputError(self.path, "holds no code to load", hint="give the linked program, not an object file", code="no-code")
        self._symbols = sorted(self._read_symbols(elf))
        self._starts = [start for start, _, _ in self._symbols]
        self._lines = Lines(self.path)

    def _read_symbols(self, elf: Any) -> Iterator[tuple[int, int, str]]:
        """Yield address, size and name of the symbols in code."""
        section = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
        if section is None:
            return
        # Not with pyelftools, which is slow: a kernel has hundreds of thousands.
        names: bytes = elf.get_section(section["sh_link"]).data()
        data, layout = section.data(), _SYMBOL_64 if self.bits64 else _SYMBOL_32
        for words in layout.iter_unpack(data[: len(data) // layout.size * layout.size]):
            name, info, _, section_number, value, size = words if self.bits64 else (words[0], *words[3:], *words[1:3])
            address = value + self.base
            if info & 0xF not in _CODE_SYMBOLS or section_number in _NO_SECTIONS or not self.read(address, 1):
                continue
            text = names[name : names.find(b"\0", name)].decode("utf-8", "replace")
            if not _MARK.match(text):
                yield address, size, _printable(text)

    def read(self, address: int, size: int) -> bytes:
        """Return the bytes at an address, as many as there are."""
        for segment in self.segments:
            if segment.address <= address < segment.end:
                return segment.data[address - segment.address : address - segment.address + size]
        return b""

    def symbol(self, address: int) -> str | None:
        """Return the symbol of an address: ``main+0x10``; None where no symbol is near."""
        position = bisect_right(self._starts, address)
        if not self.read(address, 1):
            return None
        # Functions may be nested.
        for start, size, name in reversed(self._symbols[max(position - _NESTED, 0) : position]):
            if not size or address < start + size:
                return name if address == start else f"{name}+{address - start:#x}"
        return None

    def line(self, address: int) -> str | None:
        """Return the line of source of an address: ``main.c:12``; None where it is unknown."""
        return self._lines.at(address - self.base)

    @property
    def problem(self) -> str | None:
        """What is wrong with the debugging information, as far as it was read."""
        return self._lines.problem


class Program:
    """The programs of one trace: firmware, kernel, application.

    Parameters
    ----------
    images : sequence of Image
        The programs; where several have code at an address, the first one counts.

    Raises
    ------
    UsageError
        Programs of 32 and of 64 bits are mixed (code ``mixed-programs``).
    """

    def __init__(self, images: Sequence[Image]) -> None:
        self.images = tuple(images)
        widths = {image.bits64 for image in images}
        if len(widths) > 1:
            raise UsageError("programs of 32 and of 64 bits cannot belong to one trace", code="mixed-programs")
        self.bits64 = widths.pop()
        self.mask = (1 << (64 if self.bits64 else 32)) - 1
        self.extensions = frozenset().union(*(image.extensions for image in images))

    def read(self, address: int, size: int) -> bytes:
        """Return the bytes of code at an address, as many as there are."""
        return next((found for image in self.images if (found := image.read(address, size))), b"")

    def symbol(self, address: int) -> str | None:
        """Return the symbol of an address: ``main+0x10``; None where no symbol is near."""
        return next((found for image in self.images if (found := image.symbol(address))), None)

    def line(self, address: int) -> str | None:
        """Return the line of source of an address: ``main.c:12``; None where it is unknown."""
        return next((found for image in self.images if image.read(address, 1) and (found := image.line(address))), None)
