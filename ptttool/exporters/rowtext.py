"""Blocks of TLPs as lines of text, CSV or JSON: a line a TLP, made for thousands of them at once.

How it is fast: nothing is formatted row by row. Every row has a slot in a buffer and is filled from its right end to its left one; a
column is one look-up (its text by its value) and one write for all rows. Texts are at the right end of what is written, and what lies
to the left of them is written over by the next column. In the end the used parts of all slots are pushed together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from ptttool.pci import format_id
from ptttool.table.block import Array, Block, Mask, Values, spread
from ptttool.tlp.columns import BY_NAME, ENUMS

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.intp]

# Bytes of slots that are filled before they are pushed together: they stay in a processor's second-level cache.
_SLOTS = 1 << 21
# Widths of items that numpy copies fastest.
_WIDTHS = (8, 16, 32, 64)


@dataclass(frozen=True)
class Form:
    """What a line looks like. ``start``: before a column's value, by its name and place. ``quote``: around texts. ``null``: what is absent.
    ``end``: of a line."""

    start: Callable[[str, int], str]
    quote: str
    null: str
    end: str


def csv_form(columns: Sequence[str]) -> Form:
    """Comma-separated values. Nothing of a single column would be an empty line, which readers pass over."""
    return Form(lambda _name, place: "," if place else "", "", '""' if len(columns) == 1 else "", "\n")


def json_form(_columns: Sequence[str]) -> Form:
    """JSON lines."""
    return Form(lambda name, place: f'{"," if place else "{"}"{name}":', '"', "null", "}\n")


@dataclass
class _Cell:
    """Text that differs from row to row. ``items``: shape (n,), dtype void: the text at the right end. ``lengths``: of the texts."""

    items: npt.NDArray[np.void]
    lengths: Numbers


_Cells = list[_Cell | bytes]
"""What a line is made of; bytes are the same in every row."""


class Lines:
    """Makes lines of blocks with these columns."""

    def __init__(self, columns: Sequence[str], form: Form) -> None:
        self._form = form
        self._tables = {name: _Table(name, form.start(name, place), form) for place, name in enumerate(columns)}
        self._slots: Bytes = np.empty(0, dtype=np.uint8)

    def text(self, block: Block) -> Iterator[bytes]:
        """The lines of a block, in pieces of whole lines."""
        step = _SLOTS // sum(table.longest for table in self._tables.values())
        for start in range(0, block.size, step):
            part = block.part(start, start + step)
            cells: _Cells = []
            for name, values in part.columns.items():
                cells += self._tables[name].cells(values)
            cells.append(self._form.end.encode())
            yield self._drawn(_merged(cells), part.size)

    def _drawn(self, cells: _Cells, rows: int) -> bytes:
        widths = [len(cell) if isinstance(cell, bytes) else cell.items.itemsize for cell in cells]
        stride = sum(widths) + max(widths)
        if self._slots.size < rows * stride:
            self._slots = np.empty(rows * stride, dtype=np.uint8)
        slots = self._slots
        last = np.arange(1, rows + 1) * stride
        ends = last.copy()
        for cell, width in zip(reversed(cells), reversed(widths), strict=True):
            # Items of this array overlap.
            places = np.ndarray(slots.size - width + 1, f"V{width}", slots, 0, 1)
            if isinstance(cell, bytes):
                places[ends - width] = np.frombuffer(cell, f"V{width}")
                ends -= width
            else:
                places[ends - width] = cell.items
                ends -= cell.lengths
        return _pushed_together(slots, stride, last - ends)


def _pushed_together(slots: Bytes, stride: int, lengths: Numbers) -> bytes:
    """The right ends of slots, of these lengths, one after the other."""
    width = int(lengths.max())
    rows = np.ndarray(len(lengths), f"V{width}", slots, stride - width, stride)
    ends = np.cumsum(lengths)
    size = int(ends[-1])
    drawn: Bytes = np.empty(width + size, dtype=np.uint8)
    # From the last row to the first: what is left of a row's text is written over by the row before it.
    np.ndarray(size + 1, f"V{width}", drawn, 0, 1)[ends[::-1]] = rows[::-1]
    return drawn[width:].tobytes()


def _merged(cells: _Cells) -> _Cells:
    """Bytes that follow one another as one."""
    merged: _Cells = []
    for cell in cells:
        if isinstance(cell, bytes) and merged and isinstance(merged[-1], bytes):
            merged[-1] += cell
        elif cell != b"":
            merged.append(cell)
    return merged


class _Table:
    """How one column becomes text. ``start``: what stands before its value."""

    def __init__(self, name: str, start: str, form: Form) -> None:
        self._name = name
        self._start = start
        self._quote = "" if BY_NAME[name].text == "int" else form.quote
        self._null = start + form.null
        self._looked_up: tuple[npt.NDArray[np.void], Numbers] | None = None
        self.longest = len(start) + 16

    def cells(self, values: Values) -> _Cells:
        """The text of a part of the column."""
        array, having = values
        if array is None or (having is not None and not having.any()):
            return [self._null.encode()]
        if isinstance(array, range):
            array = spread(array)
        if having is not None and having.all():
            having = None
        if BY_NAME[self._name].dtype in ("u8", "u16", "enum"):
            return self._by_table(array, having)
        return self._by_digits(array, having)

    def _by_table(self, array: Array, having: Mask | None) -> _Cells:
        if self._looked_up is None:
            self._looked_up = self._made()
        texts, lengths = self._looked_up
        codes = array.astype(np.intp)
        if having is not None:
            codes = np.where(having, codes, len(texts) - 1)  # what the last one is for
        elif array.min() == array.max():
            only = codes[0]
            return [texts[only].tobytes()[texts.itemsize - int(lengths[only]) :]]
        return [_Cell(texts.take(codes, mode="clip"), lengths.take(codes, mode="clip"))]

    def _made(self) -> tuple[npt.NDArray[np.void], Numbers]:
        """Texts by value, and their lengths; the last one is that of nothing."""
        values = [f"{self._start}{self._quote}{text}{self._quote}" for text in _texts(self._name)]
        return _right_aligned([*values, self._null])

    def _by_digits(self, array: Array, having: Mask | None) -> _Cells:
        column = BY_NAME[self._name]
        present = array if having is None else np.where(having, array, 0)
        if column.text == "hex":
            items, lengths = _hexadecimal(present, self._quote.encode())
            before = f"{self._start}{self._quote}0x"
        else:
            items, lengths = _decimal(present)
            before = self._start
        if having is None:
            return [before.encode(), _Cell(items, lengths)]
        starts, start_lengths = _right_aligned([self._null, before])
        codes = having.astype(np.intp)
        return [_Cell(starts.take(codes, mode="clip"), start_lengths.take(codes, mode="clip")), _Cell(items, lengths * codes)]


def _texts(name: str) -> Sequence[str]:
    """What a column's values look like, by value."""
    column = BY_NAME[name]
    if column.text == "enum":
        return (*ENUMS[name], "")  # a spare entry, for what is absent
    return _numbers(column.text, 1 << 8 if column.dtype == "u8" else 1 << 16)


@cache
def _numbers(style: str, count: int) -> Sequence[str]:
    match style:
        case "id":
            return [format_id(number) for number in range(count)]
        case "hex":
            return [f"{number:#x}" for number in range(count)]
        case _:
            return [str(number) for number in range(count)]


def _right_aligned(texts: Sequence[str]) -> tuple[npt.NDArray[np.void], Numbers]:
    """Texts as items of one width, and their lengths."""
    raw = [text.encode() for text in texts]
    longest = max(map(len, raw))
    width = next((width for width in _WIDTHS if width >= longest), longest)
    items: npt.NDArray[np.void] = np.frombuffer(b"".join(text.rjust(width) for text in raw), f"V{width}")
    return items, np.array([len(text) for text in raw], dtype=np.intp)


@cache
def _four_digits(base: int) -> npt.NDArray[np.uint32]:
    """Four digits of every number below the base's fourth power, as four bytes of text."""
    text = "".join(f"{number:04d}" if base == 10 else f"{number:04x}" for number in range(base**4))
    return np.frombuffer(text.encode(), dtype=np.uint32)


def _decimal(numbers: Array) -> tuple[npt.NDArray[np.void], Numbers]:
    """Unsigned numbers in decimal digits, right-aligned, and how many digits they have."""
    count = len(str(int(numbers.max())))
    groups = -(-count // 4)
    digits = np.empty((len(numbers), groups), dtype=np.uint32)
    rest: Array = numbers.astype(np.uint32 if count < 10 else np.uint64)
    for group in range(groups - 1, -1, -1):
        above = rest // 10000
        digits[:, group] = _four_digits(10).take((rest - above * 10000).astype(np.intp), mode="clip")
        rest = above
    lengths = np.ones(len(numbers), dtype=np.intp)
    for power in range(1, count):
        lengths += numbers >= 10**power
    return digits.view(f"V{4 * groups}")[:, 0], lengths


def _hexadecimal(numbers: Array, suffix: bytes) -> tuple[npt.NDArray[np.void], Numbers]:
    """Unsigned numbers in hexadecimal digits without leading zeros, right-aligned, a suffix behind them; and their lengths with it."""
    largest = int(numbers.max())
    count = max(1, -(-largest.bit_length() // 4))
    groups = -(-count // 4)
    width = 4 * groups + len(suffix)
    text = np.empty((len(numbers), width), dtype=np.uint8)
    digits = np.empty((len(numbers), groups), dtype=np.uint32)
    wide = numbers.astype(np.uint64)
    for group in range(groups):
        digits[:, group] = _four_digits(16).take(
            (wide >> np.uint64(16 * (groups - 1 - group)) & np.uint64(0xFFFF)).astype(np.intp), mode="clip"
        )
    text[:, : 4 * groups] = digits.view(np.uint8)
    text[:, 4 * groups :] = np.frombuffer(suffix, dtype=np.uint8)
    lengths = np.full(len(numbers), 1 + len(suffix), dtype=np.intp)
    for place in range(1, count):
        lengths += wide >= np.uint64(1 << 4 * place)
    return text.view(f"V{width}")[:, 0], lengths
