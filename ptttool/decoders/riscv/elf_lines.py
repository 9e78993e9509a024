"""Lines of source in the debugging information of a program, read within budgets.

Sources: DWARF 5, 6.1.2 (lookup by address), 6.2 (line number information), 7.5 (units, abbreviations, forms).

The section .debug_aranges gives the compilation unit of an address, the unit's first entry its line number program. What no list of
addresses names is looked for in all other programs: some compilers list only assembly, others nothing.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

import numpy as np

from ptttool.decoders.budget import MAX_LINE_WORK_FREE, MAX_LINE_WORK_RATIO, MAX_NAME
from ptttool.decoders.elements.arrays import U64, Array
from ptttool.decoders.riscv.elf_file import Bytes, ElfFile, in_memory
from ptttool.errors import InputError

_SECTIONS = (".debug_aranges", ".debug_info", ".debug_abbrev", ".debug_line", ".debug_line_str", ".debug_str")
_MASK, _MASK_32 = (1 << 64) - 1, 0xFFFF_FFFF
# Bytes of a unit's first entry, and of the abbreviations before its own, that are looked at; and of the head of a line number program.
_ENTRY, _ABBREVIATIONS = 1 << 14, 1 << 10
_STATEMENTS = 0x10  # DW_AT_stmt_list
_PATH, _FOLDER = 1, 2  # DW_LNCT_path, DW_LNCT_directory_index
# Forms by size: fixed, as wide as an offset, as an address, LEB128; blocks by the size of their length (0: LEB128).
_FIXED = {
    0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x19: 0, 0x1C: 4, 0x1E: 16, 0x20: 8, 0x21: 0,
    0x24: 8, 0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, 0x29: 1, 0x2A: 2, 0x2B: 3, 0x2C: 4,
}  # fmt: skip
_OFFSETS = frozenset((0x0E, 0x10, 0x17, 0x1D, 0x1F, 0x1F20, 0x1F21))
_LEBS = frozenset((0x0D, 0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23))
_BLOCKS = {0x03: 2, 0x04: 4, 0x09: 0, 0x0A: 1, 0x18: 0}
_ADDRESS, _STRING, _IMPLICIT, _STR, _LINE_STR = 0x01, 0x08, 0x21, 0x0E, 0x1F
# Behind the header of a unit, by its type in DWARF 5: skeleton and split units have an ID, type units a signature and an offset.
_MORE = {2: (8, 1), 4: (8, 0), 5: (8, 0), 6: (8, 1)}
_HEAD = Struct("<bBB")  # line base, line range, opcode base


class DebugError(Exception):
    """The debugging information is damaged, or asks for too much."""


class _Cursor:
    """Reads numbers from bytes, and never behind their end."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def number(self, size: int) -> int:
        """Read a little-endian number."""
        return int.from_bytes(self.take(size), "little")

    def take(self, size: int) -> bytes:
        """Read bytes."""
        data = self.data[self.at : self.at + size]
        if size < 0 or len(data) < size:
            raise DebugError("it is cut off")
        self.at += size
        return data

    def leb(self) -> int:
        """Read an unsigned LEB128 of 64 bits."""
        number = shift = 0
        while True:
            byte = self.number(1)
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number
            if shift > 70:
                raise DebugError("a number has more than 64 bits")

    def string(self) -> bytes:
        """Read bytes up to a zero byte."""
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise DebugError("a text has no end")
        text = self.data[self.at : end]
        self.at = end + 1
        return text

    def value(self, form: int, width: int, address_size: int = 0, version: int = 5) -> int | bytes:
        """Read an attribute's value; `width` is the size of offsets in its unit."""
        if form in _FIXED:
            return self.number(_FIXED[form])
        if form in _OFFSETS:
            return self.number(address_size if form == 0x10 and version < 3 else width)
        if form in _LEBS:
            return self.leb()
        if form in _BLOCKS:
            return self.take(self.number(_BLOCKS[form]) if _BLOCKS[form] else self.leb())
        if form == _ADDRESS:
            return self.number(address_size)
        if form == _STRING:
            return self.string()
        raise DebugError(f"the form {form:#x} is not known")

    def length(self) -> tuple[int, int]:
        """Read the length of a unit; return it with the size of offsets in that unit."""
        length = self.number(4)
        return (self.number(8), 8) if length == _MASK_32 else (length, 4)


class _Table(NamedTuple):
    """The rows of line number programs, sorted by address.

    Parameters
    ----------
    addresses : ndarray of uint64
        Where the instructions of a line begin.
    lines, files : ndarray of uint32
        Numbers of the line, and of the file.
    ends : ndarray of bool
        Whether no source follows.
    programs : ndarray of uint32
        Which of `files_of` names the files.
    files_of : sequence of _Files
        Files of the programs.
    """

    addresses: U64
    lines: Array
    files: Array
    ends: Array
    programs: Array
    files_of: Sequence[_Files]

    def at(self, address: int) -> str | None:
        """Return the line of an address."""
        if not 0 <= address <= _MASK:
            return None
        row = int(np.searchsorted(self.addresses, np.uint64(address), side="right")) - 1
        if row < 0 or self.ends[row]:
            return None
        return f"{self.files_of[int(self.programs[row])].name(int(self.files[row]))}:{int(self.lines[row])}"


class _Files:
    """The files of a line number program.

    Parameters
    ----------
    first : int
        Number of the first file, and of the first folder.
    folders : list of (int, int or bytes)
        Folders: form and value of each.
    files : list of (int, int or bytes, int)
        Files: form and value of the name, and the number of the folder.
    texts : Mapping[int, Bytes]
        The sections that hold names, by form.
    """

    def __init__(
        self, first: int, folders: list[tuple[int, int | bytes]], files: list[tuple[int, int | bytes, int]], texts: Mapping[int, Bytes]
    ) -> None:
        self._first, self._folders, self.files, self._texts = first, folders, files, texts
        self._names: dict[int, str] = {}

    def name(self, number: int) -> str:
        """Return the path of a file."""
        if number not in self._names:
            self._names[number] = self._name(number)
        return self._names[number]

    def _name(self, number: int) -> str:
        if not 0 <= number - self._first < len(self.files):
            return "?"
        form, value, folder = self.files[number - self._first]
        name = self._text(form, value)
        # Number 0 is the compiler's working directory.
        if folder and 0 <= folder - self._first < len(self._folders) and not name.startswith("/"):
            name = f"{self._text(*self._folders[folder - self._first])}/{name}"
        return printable(name)

    def _text(self, form: int, value: int | bytes) -> str:
        """Return the text that a form names; long ones are cut."""
        if isinstance(value, int):
            value = self._texts[form if form == _LINE_STR else _STR].read(value, MAX_NAME).partition(b"\0")[0]
        return value[:MAX_NAME].decode("utf-8", "replace")


def printable(name: str) -> str:
    """Return a name without control characters, for terminals."""
    return name if name.isprintable() else "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in name)


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
        self._file: ElfFile | None = None
        self._opened = self._usable = False
        self._units: dict[int | None, _Table | None] = {}

    def at(self, address: int) -> str | None:
        """Return the line of an address: ``main.c:12``; None where it is unknown."""
        try:
            if not self._opened:
                self._opened = True
                self._open()
                self._usable = True
            if not self._usable:
                return None
            table = self._table_of(address)
            return None if table is None else table.at(address)
        except (DebugError, InputError, OSError, StructError) as error:
            self.problem = error.reason if isinstance(error, InputError) else str(error)
            return None

    def _open(self) -> None:
        # It stays open: parts are read when they are needed.
        self._file = file = ElfFile(self._path)
        sections = file.sections([name.encode() for name in (*_SECTIONS, *(f".z{name[1:]}" for name in _SECTIONS))])
        contents = {name: file.content(section) for name, section in sections.items()}

        def content(name: str) -> Bytes:
            return contents.get(name.encode()) or contents.get(f".z{name[1:]}".encode()) or in_memory(b"")

        self._info, self._abbreviations, self._line = content(".debug_info"), content(".debug_abbrev"), content(".debug_line")
        self._texts = {_STR: content(".debug_str"), _LINE_STR: content(".debug_line_str")}
        ranges = content(".debug_aranges")
        self._work = MAX_LINE_WORK_FREE + MAX_LINE_WORK_RATIO * (self._line.size + ranges.size)
        self._starts: list[int] = []
        self._ranges: list[tuple[int, int, int]] = []
        if self._line.size:
            self._spend(ranges.size >> 3)
            self._ranges = sorted(_ranges(ranges.read(0, ranges.size)))
            self._starts = [start for start, _, _ in self._ranges]

    def _spend(self, steps: int) -> None:
        """Count work before it is done."""
        self._work -= steps
        if self._work < 0:
            raise DebugError("the debugging information asks for more work than its size allows")

    def _table_of(self, address: int) -> _Table | None:
        """Return the rows of the compilation unit of an address."""
        unit: int | None = None
        position = bisect_right(self._starts, address) - 1
        if position >= 0 and address < self._ranges[position][0] + self._ranges[position][1]:
            unit = self._ranges[position][2]
        if unit not in self._units:
            self._units[unit] = None  # stays so if reading fails: it is not tried again
            self._units[unit] = self._read(unit)
        return self._units[unit]

    def _read(self, unit: int | None) -> _Table | None:
        """Read the rows of one compilation unit, or of all that have no list of addresses."""
        if unit is not None:
            offset = self._program_of(unit)
            offsets = [] if offset is None else [offset]
        else:
            listed = {self._program_of(each) for each in {unit for _, _, unit in self._ranges}}
            offsets = [offset for offset in self._programs() if offset not in listed]
        rows: list[Array] = []
        files: list[_Files] = []
        try:
            for offset in offsets:
                lines, names = self._run(offset)
                rows.append(np.column_stack([lines, np.full(len(lines), len(files), dtype=np.uint64)]))
                files.append(names)
        except (DebugError, StructError) as error:  # what was read before it is good
            self.problem = str(error)
        return _sorted(rows, files)

    def _programs(self) -> Iterator[int]:
        """Yield the offsets of all line number programs."""
        at = 0
        while at + 4 <= self._line.size:
            yield at
            self._spend(8)
            head = _Cursor(self._line.read(at, 12))
            length, _ = head.length()
            at += head.at + length

    def _program_of(self, unit: int) -> int | None:
        """Return the offset of a compilation unit's line number program."""
        entry = _Cursor(self._info.read(unit, _ENTRY))
        _, width = entry.length()
        version = entry.number(2)
        kind = entry.number(1) if version >= 5 else 0
        if version >= 5:
            address_size, abbreviations = entry.number(1), entry.number(width)
            more, offsets = _MORE.get(kind, (0, 0))
            entry.take(more + offsets * width)
        else:
            abbreviations, address_size = entry.number(width), entry.number(1)
        for name, form, implicit in self._attributes(abbreviations, entry.leb()):
            self._spend(1)
            if name == _STATEMENTS:
                return implicit if form == _IMPLICIT else entry.number(_FIXED.get(form, width))
            entry.value(form, width, address_size, version)
        return None

    def _attributes(self, offset: int, abbreviation: int) -> Iterator[tuple[int, int, int]]:
        """Yield name, form and implicit value of the attributes of an abbreviation."""
        table = _Cursor(self._abbreviations.read(offset, _ABBREVIATIONS + _ENTRY))
        while code := table.leb():
            table.leb()
            table.take(1)
            while True:
                self._spend(1)
                name, form = table.leb(), table.leb()
                implicit = table.leb() if form == _IMPLICIT else 0
                if not name and not form:
                    break
                if code == abbreviation:
                    yield name, form, implicit
            if code == abbreviation or table.at > _ABBREVIATIONS:
                return

    def _run(self, offset: int) -> tuple[Array, _Files]:
        """Return the rows of a line number program, and its files."""
        if not 0 <= offset < self._line.size:
            raise DebugError("a line number program is not there")
        head = _Cursor(self._line.read(offset, 12))
        length, width = head.length()
        self._spend(min(length, self._line.size))
        program = _Cursor(self._line.read(offset + head.at, length))
        version = program.number(2)
        if not 2 <= version <= 5:
            raise DebugError(f"line number information of version {version} is not known")
        if version >= 5:
            program.take(2)
        behind = program.number(width)
        start = program.at + behind
        minimum = program.number(1)
        operations = program.number(1) if version >= 4 else 1
        program.take(1)
        base, span, first = _HEAD.unpack(program.take(_HEAD.size))
        if not span or not operations or not first:
            raise DebugError("line number information has a zero where none can be")
        lengths = program.take(first - 1)
        folders, files = _entries_5(program, width) if version >= 5 else _entries(program)
        names = _Files(0 if version >= 5 else 1, folders, files, self._texts)
        rows = _rows(_Cursor(program.data, start), minimum, operations, base, span, lengths, names)
        return np.frombuffer(rows, dtype=np.uint64).reshape(-1, 4) if rows else np.empty((0, 4), dtype=np.uint64), names


def _ranges(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield start, length and compilation unit of the ranges of addresses."""
    at = 0
    while at + 4 <= len(data):
        head = _Cursor(data, at)
        length, width = head.length()
        end = head.at + length
        head.take(2)
        unit = head.number(width)
        size, segment = head.number(1), head.number(1)
        if size not in (4, 8) or segment:
            raise DebugError("a list of addresses has an unknown form")
        first = -(-head.at // (2 * size)) * 2 * size
        pair = Struct("<II" if size == 4 else "<QQ")
        stop = min(end, len(data))
        for start, count in pair.iter_unpack(data[first : first + max(stop - first, 0) // pair.size * pair.size]):
            if not start and not count:
                break
            yield start, count, unit
        at = end


def _entries(program: _Cursor) -> tuple[list[tuple[int, int | bytes]], list[tuple[int, int | bytes, int]]]:
    """Read the folders and files of DWARF 2 to 4."""
    folders: list[tuple[int, int | bytes]] = []
    while name := program.string():
        folders.append((_STRING, name))
    files: list[tuple[int, int | bytes, int]] = []
    while name := program.string():
        files.append(_file(program, name))
    return folders, files


def _file(program: _Cursor, name: bytes) -> tuple[int, int | bytes, int]:
    folder = program.leb()
    program.leb()
    program.leb()
    return _STRING, name, folder


def _entries_5(program: _Cursor, width: int) -> tuple[list[tuple[int, int | bytes]], list[tuple[int, int | bytes, int]]]:
    """Read the folders and files of DWARF 5."""
    folders = [(form, value) for form, value, _ in _list_5(program, width)]
    return folders, list(_list_5(program, width))


def _list_5(program: _Cursor, width: int) -> Iterator[tuple[int, int | bytes, int]]:
    """Yield form and value of names, and the number of the folder."""
    fields = [(program.leb(), program.leb()) for _ in range(program.number(1))]
    for _ in range(program.leb()):
        before = program.at
        name: tuple[int, int | bytes] = (_STRING, b"?")
        folder = 0
        for content, form in fields:
            if form == _ADDRESS or (form in _OFFSETS and form not in (_STR, _LINE_STR)):
                raise DebugError(f"the form {form:#x} is not known")
            value = program.value(form, width)
            if content == _PATH:
                name = (form, value)
            elif content == _FOLDER and isinstance(value, int):
                folder = value
        if program.at == before:
            raise DebugError("a list of files has entries without a byte")
        yield *name, folder


def _rows(program: _Cursor, minimum: int, operations: int, base: int, span: int, lengths: bytes, names: _Files) -> array[int]:
    """Run a line number program; return address, line, file and end of each row, one after the other (6.2.5)."""
    rows = array("Q")
    first, size = len(lengths) + 1, len(program.data)
    address, line, file, operation = 0, 1, 1, 0
    data = program.data
    while program.at < size:
        opcode = data[program.at]
        program.at += 1
        if opcode >= first:  # special
            advance, more = divmod(opcode - first, span)
            if operations == 1:
                address += minimum * advance
            else:
                steps, operation = divmod(operation + advance, operations)
                address += minimum * steps
            line += base + more
            rows.extend((address & _MASK, line & _MASK_32, min(file, _MASK_32), 0))
        elif opcode == 0:
            length = program.leb()
            end = program.at + length
            kind = program.number(1) if length else 0
            if kind == 1:  # end of a sequence
                rows.extend((address & _MASK, line & _MASK_32, min(file, _MASK_32), 1))
                address, line, file, operation = 0, 1, 1, 0
            elif kind == 2:
                address, operation = program.number(length - 1), 0
            elif kind == 3:
                names.files.append(_file(program, program.string()))
            program.at = max(end, program.at)
        elif opcode == 1:
            rows.extend((address & _MASK, line & _MASK_32, min(file, _MASK_32), 0))
        elif opcode == 2:
            steps, operation = divmod(operation + program.leb(), operations)
            address += minimum * steps
        elif opcode == 3:
            line += _signed(program)
        elif opcode == 4:
            file = program.leb()
        elif opcode == 8:
            steps, operation = divmod(operation + (255 - first) // span, operations)
            address += minimum * steps
        elif opcode == 9:
            address, operation = address + program.number(2), 0
        else:  # column, statement, block, ISA, and those of later versions
            for _ in range(lengths[opcode - 1]):
                program.leb()
        address &= _MASK
    return rows


def _signed(program: _Cursor) -> int:
    """Read a signed LEB128."""
    before = program.at
    number = program.leb()
    bits = 7 * (program.at - before)
    return number - (1 << bits) if number >> bits - 1 else number


def _sorted(rows: Sequence[Array], files: Sequence[_Files]) -> _Table | None:
    """Return the rows sorted by address. Where one piece of code ends and the next begins, the next counts."""
    if not rows:
        return None
    table = np.concatenate(rows)
    order = np.lexsort((1 - table[:, 3].astype(np.int8), table[:, 0]))
    addresses, lines, numbers, ends, programs = (table[order, column] for column in range(5))
    return _Table(addresses, lines.astype(np.uint32), numbers.astype(np.uint32), ends.astype(bool), programs.astype(np.uint32), files)
