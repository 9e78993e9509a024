"""Programs as ELF files: code, symbols, lines of source.

Sources: System V ABI, chapter 4; RISC-V ELF psABI. :mod:`~.elf_file` reads the file's structure, :mod:`~.elf_lines` the lines of source.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ptttool.budget import over_budget
from ptttool.decoders.budget import MAX_CODE_BYTES, MAX_NAME, MAX_SYMBOLS
from ptttool.decoders.elements.arrays import U64, Array
from ptttool.decoders.riscv.elf_file import ElfFile, Loaded, Section
from ptttool.decoders.riscv.elf_lines import Lines, printable
from ptttool.errors import AccessError, InputError, UsageError

_EXECUTABLE = 1  # PF_X
# Types of symbols in code; those without a type are labels in assembly, or marks of the compiler ("$x", ".L12"), which are ignored.
_CODE_SYMBOLS = (0, 2, 10)  # STT_NOTYPE, STT_FUNC, STT_GNU_IFUNC
_NO_SECTIONS = (0, 0xFFF1)  # SHN_UNDEF, SHN_ABS
# Elf64_Sym and Elf32_Sym.
_SYMBOL_64 = np.dtype([("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")])
_SYMBOL_32 = np.dtype([("name", "<u4"), ("value", "<u4"), ("size", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2")])
# Symbols before an address that are searched for one that contains it.
_NESTED = 64
_ATTRIBUTES = b".riscv.attributes"
_LONGEST_ATTRIBUTES = 1 << 16


class Segment(NamedTuple):
    """Bytes of code, from an address on."""

    address: int
    data: bytes | memoryview

    @property
    def end(self) -> int:
        """The address behind the last byte."""
        return self.address + len(self.data)


class Symbols(NamedTuple):
    """Symbols in code, sorted by address.

    Parameters
    ----------
    addresses, sizes : ndarray of uint64
        Their addresses and sizes.
    names : ndarray of uint32
        Where their names begin in `texts`.
    texts : bytes
        Names, each with a zero byte behind it.
    """

    addresses: U64
    sizes: U64
    names: Array
    texts: bytes

    @classmethod
    def of(cls, entries: Array, texts: bytes, segments: Sequence[Segment]) -> Symbols:
        """Keep the symbols in code that have a name, and that are not marks of a compiler."""
        letters = np.frombuffer(texts + bytes(4), dtype=np.uint8)
        entries = entries[np.isin(entries["info"] & 0xF, _CODE_SYMBOLS) & ~np.isin(entries["section"], _NO_SECTIONS)]
        entries = entries[(entries["name"] < len(texts)) & _in_code(entries["value"].astype(np.uint64), segments)]
        first, second, third = (letters[entries["name"].astype(np.int64) + at] for at in range(3))
        mark = (first == 0) | (first == ord("$")) | (first == ord(".")) & (second == ord("L"))
        entries = entries[~(mark | (first == ord("L")) & (second == ord("0")) & (third == 1))]
        order = np.lexsort((entries["size"], entries["value"]))
        entries = entries[order]
        return cls(entries["value"].astype(np.uint64), entries["size"].astype(np.uint64), entries["name"].copy(), texts)

    def at(self, address: int) -> str | None:
        """Return the symbol of an address: ``main+0x10``; None where no symbol is near."""
        position = int(np.searchsorted(self.addresses, np.uint64(address), side="right"))
        lowest = max(position - _NESTED, 0)
        near = zip(self.addresses[lowest:position].tolist(), self.sizes[lowest:position].tolist(), strict=True)
        symbols = sorted((start, size, -at) for at, (start, size) in enumerate(near, lowest))
        # Functions may be nested.
        for start, size, at in reversed(symbols):
            if not size or address < start + size:
                name = self._name(start, size, -at)
                return name if address == start else f"{name}+{address - start:#x}"
        return None

    def _name(self, start: int, size: int, row: int) -> str:
        """Return the name of a symbol; of several with the same address and size the last one in order of the alphabet."""
        same = range(row, min(row + _NESTED, len(self.addresses)))
        rows = [each for each in same if int(self.addresses[each]) == start and int(self.sizes[each]) == size]
        return printable(max(self._text(int(self.names[each])) for each in rows))

    def _text(self, at: int) -> str:
        end = self.texts.find(b"\0", at, at + MAX_NAME)
        return self.texts[at : end if end >= 0 else min(at + MAX_NAME, len(self.texts))].decode("utf-8", "replace")


def _in_code(addresses: U64, segments: Sequence[Segment]) -> Array:
    """Return which addresses are in segments; these are sorted and do not overlap."""
    starts = np.array([segment.address for segment in segments], dtype=np.uint64)
    sizes = np.array([len(segment.data) for segment in segments], dtype=np.uint64)
    at = np.searchsorted(starts, addresses, side="right")
    inside: Array = (at > 0) & (addresses - starts[np.maximum(at, 1) - 1] < sizes[np.maximum(at, 1) - 1])
    return inside


class Image:
    """One program at the addresses that it was loaded at.

    Parameters
    ----------
    path : str or Path
        The ELF file.
    base : int
        What is added to its addresses (position-independent code).

    Attributes
    ----------
    bits64 : bool
        Whether it has 64-bit addresses.
    extensions : frozenset of str
        Extensions that change the meaning of an encoding, as far as the file names them.
    symbols, lines : Symbols, Lines
        Its symbols in code, and its lines of source, by the addresses in the file.

    Raises
    ------
    InputError
        The file is not a linked RISC-V program, or cannot be loaded there (codes ``bad-elf``, ``other-machine``, ``no-code``,
        ``bad-address``, ``over-budget``).
    AccessError
        It may not be read.
    """

    def __init__(self, path: str | Path, base: int = 0) -> None:
        self.path = str(path)
        try:
            with ElfFile(path) as elf:
                self._read(elf)
        except PermissionError as error:
            raise AccessError(f"{path}: {error.strerror}") from None
        except (OSError, ValueError) as error:  # ValueError: a path with a zero byte
            raise InputError(path, getattr(error, "strerror", None) or str(error)) from None
        self.lines = Lines(self.path)
        self._load_at(base)

    def _load_at(self, base: int) -> None:
        if not 0 <= self._segments[0].address + base <= self._last + base <= 1 << (64 if self.bits64 else 32):
            raise self._bad_address(self._segments[0].address + base)
        self.base = base

    def _bad_address(self, address: int) -> InputError:
        return InputError(self.path, f"cannot be loaded at {address:#x}", hint="is the @OFFSET right?", code="bad-address")

    def moved(self, base: int) -> Image:
        """Return the same program, loaded at other addresses."""
        other = copy(self)
        other._load_at(base)
        return other

    def _read(self, elf: ElfFile) -> None:
        self.bits64 = elf.bits64
        loaded = [each for each in elf.loaded() if each.flags & _EXECUTABLE and each.size]
        self._last = max((each.address + each.size for each in loaded), default=0)
        for each in loaded:
            if each.offset + each.size > elf.size:
                raise elf.damaged("a segment is behind the file's end: is it cut off?", each.offset)
            if each.address + each.size > 1 << (64 if elf.bits64 else 32):
                raise self._bad_address(each.address)
        self._segments = list(_without_overlaps(sorted(loaded, key=lambda each: each.address), _Parts(elf, loaded)))
        self._starts = [segment.address for segment in self._segments]
        sections = elf.sections((b".symtab", b".dynsym", _ATTRIBUTES))
        self.extensions = _extensions(elf.content(sections[_ATTRIBUTES]).read(0, _LONGEST_ATTRIBUTES) if _ATTRIBUTES in sections else b"")
        if not self._segments:
            raise InputError(self.path, "holds no code to load", hint="give the linked program, not an object file", code="no-code")
        self.symbols = self._read_symbols(elf, sections.get(b".symtab") or sections.get(b".dynsym"))

    def _read_symbols(self, elf: ElfFile, section: Section | None) -> Symbols:
        layout = _SYMBOL_64 if self.bits64 else _SYMBOL_32
        if section is None:
            return Symbols.of(np.empty(0, dtype=layout), b"", self._segments)
        content = elf.content(section)
        if content.size > MAX_SYMBOLS * layout.itemsize:
            raise over_budget(self.path, "the program", MAX_SYMBOLS, "symbols", offset=section.offset, hint="strip it")
        data = content.read(0, content.size)
        entries = np.frombuffer(data, dtype=layout, count=len(data) // layout.itemsize)
        return Symbols.of(entries, elf.data(elf.section(section.link)), self._segments)

    @property
    def segments(self) -> list[Segment]:
        """Its code, sorted by address, without overlaps: where several segments have code, the first one counts."""
        return [Segment(segment.address + self.base, segment.data) for segment in self._segments]

    def read(self, address: int, size: int) -> bytes:
        """Return the bytes at an address, as many as there are."""
        address -= self.base
        position = bisect_right(self._starts, address) - 1
        if position < 0:
            return b""
        segment = self._segments[position]
        return bytes(segment.data[address - segment.address : address - segment.address + size])

    def symbol(self, address: int) -> str | None:
        """Return the symbol of an address: ``main+0x10``; None where no symbol is near."""
        return self.symbols.at(address - self.base) if self.read(address, 1) else None

    def line(self, address: int) -> str | None:
        """Return the line of source of an address: ``main.c:12``; None where it is unknown."""
        return self.lines.at(address - self.base)

    @property
    def problem(self) -> str | None:
        """What is wrong with the debugging information, as far as it was read."""
        return self.lines.problem


class _Parts:
    """The bytes of segments: those that several share are read once.

    Parameters
    ----------
    elf : ElfFile
        The file.
    loaded : sequence of Loaded
        The segments; all of them are within the file.
    """

    def __init__(self, elf: ElfFile, loaded: Sequence[Loaded]) -> None:
        ranges: list[tuple[int, int]] = []
        for start, end in sorted((each.offset, each.offset + each.size) for each in loaded):
            if ranges and start <= ranges[-1][1]:
                ranges[-1] = (ranges[-1][0], max(end, ranges[-1][1]))
            else:
                ranges.append((start, end))
        if sum(end - start for start, end in ranges) > MAX_CODE_BYTES:
            raise over_budget(elf.path, "the code of the program", MAX_CODE_BYTES, "bytes", hint="is it a program?")
        self._starts = [start for start, _ in ranges]
        self._data = [memoryview(elf.read(start, end - start)) for start, end in ranges]

    def of(self, offset: int, size: int) -> memoryview:
        """Return bytes by their offset in the file."""
        part = bisect_right(self._starts, offset) - 1
        at = offset - self._starts[part]
        return self._data[part][at : at + size]


def _without_overlaps(loaded: Sequence[Loaded], parts: _Parts) -> Iterator[Segment]:
    """Yield segments, of which each begins behind those before it: where several have code, the one with the lowest address counts."""
    end = 0
    for each in loaded:
        begin = max(each.address, end)
        if begin < each.address + each.size:
            yield Segment(begin, parts.of(each.offset + begin - each.address, each.address + each.size - begin))
            end = each.address + each.size


def _extensions(attributes: bytes) -> frozenset[str]:
    """Return the extensions that change the meaning of an encoding, as far as the program names them (RISC-V psABI, Tag_RISCV_arch)."""
    match = re.search(rb"rv(?:32|64)[a-z0-9_]+", attributes)
    return frozenset(name for name in ("zcmp", "zcmt") if match is not None and name.encode() in match[0])


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
        return next((data for image in self.images if (data := image.read(address, size))), b"")

    def symbol(self, address: int) -> str | None:
        """Return the symbol of an address: ``main+0x10``; None where no symbol is near."""
        return next((symbol for image in self.images if (symbol := image.symbol(address))), None)

    def line(self, address: int) -> str | None:
        """Return the line of source of an address: ``main.c:12``; None where it is unknown."""
        return next((line for image in self.images if image.read(address, 1) and (line := image.line(address))), None)
