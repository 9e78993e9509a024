"""FlatBuffers: the part of writing that Arrow's schema needs.

Source: the FlatBuffers documentation, "Internals". A buffer is built from its end to its start, so the position of an object is its
distance from the end: everything that an object refers to is written before it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_CODES = {1: "B", 2: "H", 4: "i", 8: "q"}


@dataclass(frozen=True)
class Number:
    """A number in a table, of `size` 1, 2, 4 or 8 bytes."""

    value: int
    size: int


@dataclass(frozen=True)
class Reference:
    """An object that has been written; `at` is the distance in bytes from its start to the end of the buffer."""

    at: int


class Builder:
    """A buffer under construction."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # last part first
        self._size = 0
        self._align = 1  # the widest alignment so far
        self._beyond = 0  # bytes from the end of the buffer to the next aligned position
        self._texts: dict[str, Reference] = {}
        self._shapes: dict[bytes, int] = {}  # positions of vtables; tables of one shape share one

    def _pad(self, size: int, align: int, shift: int = 0) -> None:
        """Pad so that the byte at `shift` of the next `size` bytes is aligned. The end moves as long as nothing else is aligned so."""
        padding = -(self._beyond + self._size + size - shift) % align
        within = padding % self._align
        self._beyond += padding - within
        self._align = max(self._align, align)
        self._put(bytes(within))

    def _put(self, data: bytes) -> Reference:
        self._parts.append(data)
        self._size += len(data)
        return Reference(self._size)

    def text(self, text: str) -> Reference:
        """Write a string; equal strings are written once."""
        if text not in self._texts:
            raw = text.encode()
            data = struct.pack("<I", len(raw)) + raw + b"\0"
            self._pad(len(data), 4)
            self._texts[text] = self._put(data)
        return self._texts[text]

    def vector(self, items: Iterable[Reference]) -> Reference:
        """Write a vector of references to tables."""
        references = tuple(items)
        size = 4 * len(references)
        self._pad(4 + size, 4)
        offsets = (self._size + size - 4 * number - reference.at for number, reference in enumerate(references))
        return self._put(struct.pack(f"<I{len(references)}I", len(references), *offsets))

    def table(self, fields: Mapping[int, Number | Reference]) -> Reference:
        """Write a table of fields by number."""
        numbers = sorted(fields, key=lambda number: (-_size_of(fields[number]), number))  # the largest first
        offsets = [0] * (max(fields, default=-1) + 1)
        end = 4
        for number in numbers:
            offsets[number] = end
            end += _size_of(fields[number])
        shape = struct.pack(f"<HH{len(offsets)}H", 4 + 2 * len(offsets), end, *offsets)
        if shape not in self._shapes:
            self._pad(len(shape), 2)
            self._shapes[shape] = self._put(shape).at
        # The first field, the largest, follows four bytes.
        largest = _size_of(fields[numbers[0]]) if numbers else 0
        self._pad(end, *((8, 4) if largest == 8 else (4, 0)))
        at = self._size + end
        data = struct.pack("<i", self._shapes[shape] - at)
        for number in numbers:
            field = fields[number]
            value = at - offsets[number] - field.at if isinstance(field, Reference) else field.value
            data += struct.pack("<" + _CODES[_size_of(field)], value)
        return self._put(data)

    def finished(self, root: Reference) -> bytes:
        """Return the whole buffer."""
        self._pad(4, self._align)
        self._put(struct.pack("<I", self._size + 4 - root.at))
        return b"".join(reversed(self._parts))


def _size_of(field: Number | Reference) -> int:
    return 4 if isinstance(field, Reference) else field.size
