"""FlatBuffers, the writing half, as far as Arrow's schema needs it.

Source: the FlatBuffers documentation, "Internals". A buffer is made from its end to its beginning, so a thing's place is its distance from
the end: what it refers to is there before it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_CODES = {1: "B", 2: "H", 4: "i", 8: "q"}


@dataclass(frozen=True)
class Number:
    """A number in a table; ``size``: 1, 2, 4 or 8 bytes."""

    value: int
    size: int


@dataclass(frozen=True)
class Place:
    """Something that has been written, to be referred to. ``at``: bytes from its first one to the buffer's end."""

    at: int


class Builder:
    """A buffer that is being made."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []  # from the last to the first
        self._size = 0
        self._align = 1  # the widest so far
        self._beyond = 0  # bytes that the buffer ends before a place that is aligned
        self._texts: dict[str, Place] = {}
        self._shapes: dict[bytes, int] = {}  # places of vtables, which tables of one shape share

    def _pad(self, size: int, align: int, shift: int = 0) -> None:
        """Pad for so many bytes that are aligned from byte ``shift`` on. The end moves for it as long as nothing else is aligned so."""
        padding = -(self._beyond + self._size + size - shift) % align
        within = padding % self._align
        self._beyond += padding - within
        self._align = max(self._align, align)
        self._put(bytes(within))

    def _put(self, data: bytes) -> Place:
        self._parts.append(data)
        self._size += len(data)
        return Place(self._size)

    def text(self, text: str) -> Place:
        """A string, each once."""
        if text not in self._texts:
            raw = text.encode()
            data = struct.pack("<I", len(raw)) + raw + b"\0"
            self._pad(len(data), 4)
            self._texts[text] = self._put(data)
        return self._texts[text]

    def vector(self, items: Iterable[Place]) -> Place:
        """References to tables."""
        places = tuple(items)
        size = 4 * len(places)
        self._pad(4 + size, 4)
        offsets = (self._size + size - 4 * number - place.at for number, place in enumerate(places))
        return self._put(struct.pack(f"<I{len(places)}I", len(places), *offsets))

    def table(self, fields: Mapping[int, Number | Place]) -> Place:
        """A table: fields by number."""
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
            value = at - offsets[number] - field.at if isinstance(field, Place) else field.value
            data += struct.pack("<" + _CODES[_size_of(field)], value)
        return self._put(data)

    def finished(self, root: Place) -> bytes:
        """The buffer."""
        self._pad(4, self._align)
        self._put(struct.pack("<I", self._size + 4 - root.at))
        return b"".join(reversed(self._parts))


def _size_of(field: Number | Place) -> int:
    return 4 if isinstance(field, Place) else field.size
