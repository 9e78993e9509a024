"""The text that perf prints for AUX data of PTT, once its faults of before June 2026 are fixed.

Per AUXTRACE payload a headline, then a line for each word that perf shows: of an 8DW record prefix, header words and Time, of a 4DW record
all four. Offsets begin again in each payload, and a payload is cut by perf's own rule: by its first word into records of one size.
Words are shown most significant byte first. Nothing here knows what a TLP is; all-zero records and whatever else is odd are shown as perf
shows them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]

# Records worked on at a time: their text, 250 to 370 bytes each, stays in the processor's cache.
STEP = 1 << 12
# Between a word's bytes and its label.
_GAP = 32

# Words of a record that perf shows, and their labels; 4DW's first line has fields instead.
SHOWN_8DW = ((1, "Prefix"), (2, "Header DW0"), (3, "Header DW1"), (4, "Header DW2"), (5, "Header DW3"), (7, "Time"))
SHOWN_4DW = ((1, "Header DW1"), (2, "Header DW2"), (3, "Header DW3"))
# The 4DW fields: label, lowest bit, bits.
FIELDS_4DW = (
    ("Format", 30, 2), ("Type", 25, 5), ("T9", 24, 1), ("T8", 23, 1), ("TH", 22, 1), ("SO", 21, 1), ("Length", 11, 10), ("Time", 0, 11),
)  # fmt: skip

_HEX = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
# Both digits of a byte, in the order they are printed, and with the space behind them.
_DIGITS = np.stack((np.repeat(_HEX, 16), np.tile(_HEX, 16)), axis=1)
_BYTE = np.ascontiguousarray(np.concatenate((_DIGITS, np.full((256, 1), ord(" "), dtype=np.uint8)), axis=1))
# Marks a byte of a template that a shorter number leaves out.
_NOTHING = 0


def headline(payload_size: int, record_size: int) -> bytes:
    """The line above a payload; its size as perf says it, without the end that is no whole record."""
    return f". ... HISI PTT data: size {payload_size // record_size * record_size} bytes\n".encode()


def records_text(records: U32, start: int) -> Iterator[bytes]:
    """The lines of whole records. ``records``: shape (n, 4 or 8), dtype ``<u4``; ``start``: of the first one in its payload, in bytes."""
    eight_dw = records.shape[1] == 8
    for first in range(0, len(records), STEP):
        part = records[first : first + STEP]
        at = start + first * records.shape[1] * 4
        yield _text_8dw(part, at) if eight_dw else _text_4dw(part, at)


def _line(label: str) -> bytes:
    return b".  00000000: 00 00 00 00 " + b" " * _GAP + label.encode() + b"\n"


def _text_8dw(records: U32, start: int) -> bytes:
    lines = [(word, _line(label)) for word, label in SHOWN_8DW]
    text = np.tile(np.frombuffer(b"".join(line for _, line in lines), dtype=np.uint8), (len(records), 1))
    column = 0
    for word, line in lines:
        _put_word(text, column, records, word, start)
        column += len(line)
    return text.tobytes()


def _text_4dw(records: U32, start: int) -> bytes:
    first = _line(" ".join(f"{name} {'0' * _digits(bits)}" for name, _, bits in FIELDS_4DW))
    lines = [(0, first), *((word, _line(label)) for word, label in SHOWN_4DW)]
    text = np.tile(np.frombuffer(b"".join(line for _, line in lines), dtype=np.uint8), (len(records), 1))
    column = 0
    for word, line in lines:
        _put_word(text, column, records, word, start)
        column += len(line)
    column = len(_line("")) - 1
    dw0 = records[:, 0]
    for name, low, bits in FIELDS_4DW:
        digits = _digits(bits)
        column += len(name) + 1
        _put_number(text[:, column : column + digits], dw0 >> low & ((1 << bits) - 1))
        column += digits + 1
    flat = text.reshape(-1)
    return flat[flat != _NOTHING].tobytes()


def _digits(bits: int) -> int:
    return (bits + 3) // 4


def _put_word(text: U8, column: int, records: U32, word: int, start: int) -> None:
    """A line's offset and bytes into its place, which begins at ``column``."""
    size = records.shape[1] * 4
    offsets = np.arange(start + 4 * word, start + 4 * word + size * len(records), size, dtype=np.uint64)
    text[:, column + 3 : column + 11] = _DIGITS[_bytes_of(offsets.astype(np.uint32))].reshape(-1, 8)
    text[:, column + 13 : column + 25] = _BYTE[_bytes_of(records[:, word])].reshape(-1, 12)


def _bytes_of(words: U32) -> U8:
    """Bytes of words, most significant first; shape (n, 4)."""
    return np.ascontiguousarray(words).astype(">u4").view(np.uint8).reshape(-1, 4)


def _put_number(place: U8, values: U32) -> None:
    """Hexadecimal digits without leading zeros, on the right; what stays free is marked to be left out."""
    digits = place.shape[1]
    for position in range(digits):
        shift = 4 * (digits - 1 - position)
        place[:, position] = _HEX[values >> shift & 0xF]
        if shift:
            place[values >> shift == 0, position] = _NOTHING
