"""Symbols and lines of source of a program, slowly, by pyelftools."""

from __future__ import annotations

import re
from bisect import bisect_right
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

_MARK = re.compile(r"\$|\.L|L0\x01|$")


def symbols(path: Path) -> list[tuple[int, int, str]]:
    """Return address, size and name of the symbols in code, sorted."""
    with path.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".symtab")
        if not isinstance(section, SymbolTableSection):
            return []
        return sorted(
            (each["st_value"], each["st_size"], each.name)
            for each in section.iter_symbols()
            if each["st_info"]["type"] in ("STT_NOTYPE", "STT_FUNC") and isinstance(each["st_shndx"], int) and not _MARK.match(each.name)
        )


def symbol_at(table: list[tuple[int, int, str]], address: int) -> str | None:
    """Return the symbol of an address."""
    for start, size, name in reversed(table[: bisect_right(table, address, key=lambda row: row[0])]):
        if not size or address < start + size:
            return name if address == start else f"{name}+{address - start:#x}"
    return None


def lines(path: Path) -> list[tuple[int, str | None]]:
    """Return address and text of the rows of all line number programs, sorted; the text is None where no source follows."""
    found: list[tuple[int, str | None]] = []
    with path.open("rb") as file:
        elf = ELFFile(file)
        if not elf.has_dwarf_info():
            return []
        dwarf = elf.get_dwarf_info()
        for unit in dwarf.iter_CUs():
            program = dwarf.line_program_for_CU(unit)
            names = {} if program is None else _file_names(program.header)
            for entry in () if program is None else program.get_entries():
                if entry.state is not None:
                    text = None if entry.state.end_sequence else f"{names.get(entry.state.file, '?')}:{entry.state.line}"
                    found.append((entry.state.address, text))
    return sorted(found, key=lambda row: (row[0], row[1] is not None))


def line_at(table: list[tuple[int, str | None]], address: int) -> str | None:
    """Return the line of an address."""
    position = bisect_right(table, address, key=lambda row: row[0]) - 1
    return table[position][1] if position >= 0 else None


def _file_names(header) -> dict[int, str]:  # type: ignore[no-untyped-def]
    first = 0 if header.version >= 5 else 1
    folders = [each.decode() for each in header.get("include_directory") or ()]
    names = {}
    for number, entry in enumerate(header.file_entry, first):
        name = entry.name.decode()
        if entry.dir_index and entry.dir_index - first < len(folders) and not name.startswith("/"):
            name = f"{folders[entry.dir_index - first]}/{name}"
        names[number] = name
    return names
