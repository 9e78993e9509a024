"""The structure of an ELF file: segments and sections, read within budgets.

Sources: System V ABI, chapters 4 and 5; RISC-V ELF psABI.

Nothing in a file is believed: counts are those that the file has bytes for, tables lie within the file, packed sections expand within
the budget.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from struct import Struct
from types import TracebackType
from typing import NamedTuple, Self
from weakref import finalize

from ptttool.budget import over_budget
from ptttool.decoders.budget import EXPANDED_FREE, EXPANDED_RATIO, MAX_SECTION_BYTES
from ptttool.errors import InputError

_MAGIC = b"\x7fELF"
_RISCV = 243
_MACHINES = {3: "386", 8: "MIPS", 21: "PPC64", 22: "S390", 40: "ARM", 62: "X86_64", 183: "AARCH64", 258: "LOONGARCH"}
# By class: file header from the type on, program header, section header, header of a packed section.
_HEADERS = {1: Struct("<HHIIIIIHHHHHH"), 2: Struct("<HHIQQQIHHHHHH")}
_PROGRAM_HEADERS = {1: Struct("<IIIIIIII"), 2: Struct("<IIQQQQQQ")}
_SECTION_HEADERS = {1: Struct("<IIIIIIIIII"), 2: Struct("<IIQQQQIIQQ")}
_PACKED_HEADERS = {1: Struct("<III"), 2: Struct("<IIQQ")}
_IDENTITY = 16
_LOAD, _NO_BITS, _PACKED, _ZLIB = 1, 8, 1 << 11, 1
# Stand for numbers that are in the first section header instead (PN_XNUM, SHN_XINDEX).
_ELSEWHERE = 0xFFFF
# No section that is asked for has a longer name.
_LONGEST_NAME = 32


class Loaded(NamedTuple):
    """A segment that is loaded: flags, offset in the file, address, and bytes in the file."""

    flags: int
    offset: int
    address: int
    size: int


class Section(NamedTuple):
    """A section header: name and type, flags, offset in the file, bytes in the file, and a related section."""

    name: bytes
    type: int
    flags: int
    offset: int
    size: int
    link: int


class Bytes(NamedTuple):
    """Bytes that are read in pieces: their number, and what returns those at an offset (fewer at the end) by offset and size."""

    size: int
    read: Callable[[int, int], bytes]


def in_memory(data: bytes) -> Bytes:
    """Return bytes that need not be read from a file."""
    return Bytes(len(data), lambda offset, size: data[offset : offset + size])


class ElfFile:
    """An open ELF file for RISC-V, little-endian; a context manager.

    Parameters
    ----------
    path : str or Path
        The file.

    Attributes
    ----------
    bits64 : bool
        Whether it has 64-bit addresses.
    size : int
        Its size in bytes.

    Raises
    ------
    InputError
        It is not such a file (codes ``bad-elf``, ``other-machine``).
    OSError
        It cannot be opened.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        # O_NONBLOCK: opening a named pipe would wait for its other end.
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        # Not __del__, which may be called when modules are gone.
        self._close = finalize(self, os.close, self._descriptor)
        try:
            status = os.fstat(self._descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise InputError(path, "not a regular file")
            self.size = status.st_size
            self._read_header()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._close()
        self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def damaged(self, reason: str, offset: int | None = None) -> InputError:
        """Make the error for a file that is not as it should be."""
        return InputError(self.path, reason, offset=offset, code="bad-elf")

    def read(self, offset: int, size: int) -> bytes:
        """Return the bytes at an offset.

        Raises
        ------
        InputError
            The file has fewer.
        """
        data = _read(self._descriptor, offset, size) if 0 <= offset <= self.size - size else b""
        if len(data) < size:
            raise self.damaged(f"not a readable ELF file, or cut off: {size} bytes are missing", offset)
        return data

    def _read_header(self) -> None:
        identity = self.read(0, _IDENTITY)
        self._class, order = identity[4], identity[5]
        if identity[:4] != _MAGIC or self._class not in _HEADERS or order not in (1, 2):
            raise self.damaged("not an ELF file", 0)
        self.bits64 = self._class == 2
        layout = _HEADERS[self._class]
        header = layout.unpack(self.read(_IDENTITY, layout.size))
        machine = int.from_bytes(header[1].to_bytes(2, "little"), "little" if order == 1 else "big")
        if machine != _RISCV:
            name = _MACHINES.get(machine, f"machine {machine}")
            raise InputError(self.path, f"a program for {name}, not for RISC-V", code="other-machine")
        if order != 1:
            raise InputError(self.path, "a big-endian program", code="other-machine")
        _, _, _, _, programs, sections, _, _, program_size, program_count, section_size, section_count, names = header
        section_layout = _SECTION_HEADERS[self._class]
        if sections and section_size >= section_layout.size:
            first = section_layout.unpack(self.read(sections, section_layout.size))
            section_count = section_count or first[5]
            names = first[6] if names == _ELSEWHERE else names
            program_count = first[7] if program_count == _ELSEWHERE else program_count
        self._programs = self._table(programs, program_size, program_count, _PROGRAM_HEADERS[self._class])
        self._sections = self._table(sections, section_size, section_count if sections else 0, section_layout)
        self._names = names

    def _table(self, offset: int, size: int, count: int, layout: Struct) -> tuple[bytes, int, Struct]:
        """Read a table of headers, and return it with the size of an entry and its layout."""
        if count and (size < layout.size or count * size > self.size):
            raise self.damaged("a table of headers is behind the file's end: is it cut off?", offset)
        return self.read(offset, count * size) if count else b"", max(size, layout.size), layout

    def loaded(self) -> Iterator[Loaded]:
        """Yield the segments that are loaded, in the file's order."""
        table, size, layout = self._programs
        for at in range(0, len(table), size):
            entry = layout.unpack_from(table, at)
            flags, offset, address, held = (entry[1], entry[2], entry[3], entry[5]) if self.bits64 else (entry[6], *entry[1:3], entry[4])
            if entry[0] == _LOAD:
                yield Loaded(flags, offset, address, held)

    def sections(self, names: Iterable[bytes]) -> dict[bytes, Section]:
        """Return the sections with these names; of several with one name, the first."""
        name_set = frozenset(names)
        table, size, layout = self._sections
        if self._names * size + layout.size > len(table):
            return {}
        strings = self.section(self._names)
        held = self._in_file(strings).read(0, MAX_SECTION_BYTES)
        sections: dict[bytes, Section] = {}
        for number, at in enumerate(range(0, len(table), size)):
            (start,) = _NAME.unpack_from(table, at)
            name = held[start : start + _LONGEST_NAME].partition(b"\0")[0]
            if name in name_set and name not in sections:
                sections[name] = self.section(number)._replace(name=name)
        return sections

    def section(self, number: int) -> Section:
        """Return a section by its number, without its name."""
        table, size, layout = self._sections
        if number * size + layout.size > len(table):
            raise self.damaged(f"there is no section {number}")
        entry = layout.unpack_from(table, number * size)
        return Section(b"", entry[1], entry[2], entry[4], entry[5], entry[6])

    def content(self, section: Section) -> Bytes:
        """Return the bytes of a section; those behind the file's end are missing.

        Raises
        ------
        InputError
            A packed section cannot be expanded, or expands to more than the budget allows (codes ``bad-elf``, ``over-budget``).
        """
        if section.type == _NO_BITS:
            return in_memory(b"")
        content = self._in_file(section)
        if not section.flags & _PACKED and not section.name.startswith(b".zdebug_"):
            return content
        return in_memory(self._expanded(section, content.read(0, content.size)))

    def _in_file(self, section: Section) -> Bytes:
        size = max(min(section.size, self.size - section.offset), 0)
        return Bytes(size, lambda offset, count: _read(self._descriptor, section.offset + offset, min(count, size - offset)))

    def data(self, section: Section) -> bytes:
        """Return all bytes of a section; raise InputError as :meth:`content`, and where there are more than the budget allows."""
        content = self.content(section)
        if content.size > MAX_SECTION_BYTES:
            raise over_budget(self.path, "a section of the program", MAX_SECTION_BYTES, "bytes", offset=section.offset)
        return content.read(0, content.size)

    def _expanded(self, section: Section, packed: bytes) -> bytes:
        if section.flags & _PACKED:
            layout = _PACKED_HEADERS[self._class]
            kind, *_, expanded = (*layout.unpack_from(packed.ljust(layout.size, b"\0"))[: 3 if self.bits64 else 2],)
            start = layout.size
        else:  # "ZLIB" and a big-endian size, of old compilers
            kind, expanded, start = packed[:4] == b"ZLIB", int.from_bytes(packed[4:12], "big"), 12
        if kind != _ZLIB:
            raise self.damaged("a section is packed in a way that is not supported", section.offset)
        limit = min(EXPANDED_FREE + EXPANDED_RATIO * len(packed), MAX_SECTION_BYTES)
        if expanded > limit:
            what = f"a packed section of {len(packed):,} bytes"
            hint = "unpack it: objcopy --decompress-debug-sections"
            raise over_budget(self.path, what, limit, "bytes when expanded", offset=section.offset, hint=hint)
        try:
            return zlib.decompressobj().decompress(packed[start:], expanded) if expanded else b""
        except zlib.error as error:
            raise self.damaged(f"a packed section cannot be expanded: {error}", section.offset) from None


_NAME = Struct("<I")


def _read(descriptor: int, offset: int, size: int) -> bytes:
    """Read at an offset, fewer bytes at the end of the file."""
    parts: list[bytes] = []
    while size > 0 and (part := os.pread(descriptor, min(size, 1 << 30), offset)):
        parts.append(part)
        offset += len(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
