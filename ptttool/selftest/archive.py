"""The archive of a self-test: what ``ptttool collect`` takes of the machine, the recordings, their readings, and the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.capture.event.terms import Format
from ptttool.perfdata import layout
from ptttool.perfdata.header import parse_header
from ptttool.pipeline.recording import OpenRecording, Request
from ptttool.selftest.evidence import Evidence
from ptttool.selftest.readings import SUFFIX

MOST_BYTES: Final = 16 << 20
"""Bytes of a recording that is taken along, at most."""
_PAGE, _APART = 12, 1 << 20
_FOUR_GIB: Final = 1 << 32
# Types of TLPs with an address (PCI Express Base Specification, 2.2.1): memory, locked, I/O, atomics, deferrable writes.
_ADDRESSED: Final = np.array([0b00000, 0b00001, 0b00010, 0b01100, 0b01101, 0b01110, 0b11011], dtype=np.uint32)
# Messages that ask for a page have its address where requests have theirs (section 10.4.1): type 10rrr, and the code.
_MESSAGES, _PAGE_REQUEST = 0b10, 0x04
Words = npt.NDArray[np.uint32]


def files_of(evidence: Sequence[Evidence], *, anonymize: bool) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of recordings and readings; ``anonymize``: addresses are replaced, and the host's name.

    Raises
    ------
    InputError, OSError
        A recording cannot be read any more.
    """
    taken = [one for one in evidence if one.path.stat().st_size <= MOST_BYTES and one.path.suffix == ".data"]
    contents = {one.name: bytearray(one.path.read_bytes()) for one in taken}
    if anonymize:
        _anonymize(taken, contents)
    for one in taken:
        yield f"{one.name}.data", bytes(contents[one.name])
        beside = one.path.with_name(f"{one.name}{SUFFIX}")
        if beside.exists():
            yield beside.name, beside.read_bytes()


def _anonymize(evidence: Sequence[Evidence], contents: Mapping[str, bytearray]) -> None:
    """Replace addresses by those of an invented machine: places in a region, and what is beside what, stay as they are."""
    parts = [(one, *part) for one in evidence for part in _payloads(one, contents[one.name])]
    pages = np.unique(np.concatenate([_addresses(one, words)[1] >> _PAGE for one, words in parts] or [np.zeros(0, np.uint64)]))
    begins = np.flatnonzero(np.diff(pages, prepend=np.uint64(0)) > _APART >> _PAGE) if len(pages) else pages
    begins = np.unique(np.concatenate([[0], begins])).astype(np.intp) if len(pages) else np.zeros(0, np.intp)
    bases = np.zeros(len(begins), dtype=np.uint64)
    low, high = _APART, _FOUR_GIB
    for number, first in enumerate(begins.tolist()):
        last = begins[number + 1] - 1 if number + 1 < len(begins) else len(pages) - 1
        size = (int(pages[last]) - int(pages[first]) + 1) << _PAGE
        is_low = int(pages[last]) << _PAGE < _FOUR_GIB
        bases[number] = low if is_low else high
        step = -(-(size + _APART) // _APART) * _APART
        low, high = (low + step, high) if is_low else (low, high + step)
    for one, words in parts:
        rows, addresses = _addresses(one, words)
        region = np.searchsorted(pages[begins], addresses >> _PAGE, side="right") - 1
        _replace(one, words, rows, bases[region] + addresses - (pages[begins][region] << _PAGE))
    for one in evidence:
        _hide_host(str(one.path), contents[one.name])


def _hide_host(path: str, content: bytearray) -> None:
    """Overwrite the host's name in the header's section of that name. Sections stand behind the data, in the order of their numbers."""
    header = parse_header(path, bytes(content[: layout.FILE_HEADER_SIZE]))
    number = next(number for number, name in layout.FEATURES.items() if name == "hostname")
    if header is None or number not in header.features:
        return
    at = header.data_end + layout.SECTION.size * header.features.index(number)
    if at + layout.SECTION.size > len(content):
        return
    begin, size = layout.SECTION.unpack_from(content, at)
    name = slice(begin + layout.U32.size, min(begin + size, len(content)))
    content[name] = bytes(ord("x") if byte else 0 for byte in content[name])


def _payloads(one: Evidence, content: bytearray) -> Iterator[tuple[Words]]:
    """Yield the records of a recording, as words that can be written: shape (n, 4) or (n, 8)."""
    width = 8 if one.event.format is Format.DW8 else 4
    with OpenRecording(Request(str(one.path))) as recording:
        for chunk in recording.source().chunks():
            count = chunk.size // (4 * width)
            yield (np.frombuffer(content, dtype="<u4", count=count * width, offset=chunk.file_offset).reshape(-1, width),)


def _addresses(one: Evidence, words: Words) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.uint64]]:
    """Return the rows that have an address, and the addresses."""
    kind, is_long, first = _shape(one, words)
    asks_page = (kind >> 3 == _MESSAGES) & (words[:, first - 1] & 0xFF == _PAGE_REQUEST)
    rows = np.flatnonzero(np.isin(kind, _ADDRESSED) | asks_page)
    high = np.where(is_long[rows], words[rows, first], 0).astype(np.uint64)
    low = np.where(is_long[rows], words[rows, first + 1], words[rows, first]) & np.uint32(0xFFFFFFFC)
    return rows, high << np.uint64(32) | low.astype(np.uint64)


def _shape(one: Evidence, words: Words) -> tuple[Any, Any, int]:
    """Return the type of each record, whether its address has 64 bits, and the word in which the address begins."""
    if one.event.format is Format.DW8:
        return words[:, 2] >> 24 & 31, words[:, 2] >> 29 & 1 == 1, 4
    return words[:, 0] >> 25 & 31, words[:, 0] >> 30 & 1 == 1, 2


def _replace(one: Evidence, words: Words, rows: npt.NDArray[np.intp], addresses: npt.NDArray[np.uint64]) -> None:
    _, is_long, first = _shape(one, words)
    long, short = rows[is_long[rows]], rows[~is_long[rows]]
    of_long, of_short = addresses[is_long[rows]], addresses[~is_long[rows]]
    words[long, first] = (of_long >> np.uint64(32)).astype(np.uint32)
    words[long, first + 1] = of_long.astype(np.uint32) | words[long, first + 1] & 3
    words[short, first] = of_short.astype(np.uint32) | words[short, first] & 3
