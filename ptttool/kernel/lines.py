# cython: boundscheck=False, wraparound=False, cdivision=True
"""Rows as lines of text, one cell after the other.

This is plain Python. With the C types of ``lines.pxd`` it is compiled at install; without a compiler it runs as it is, and writes the same.
A check of each byte would take three times as long, so each cell is checked: its texts are there, and its longest form fits.
"""

from __future__ import annotations

from typing import Any

FORMS = UNSIGNED, SIGNED, HEX, LISTED, CSV_TEXT, JSON_TEXT, DIGITS = range(7)
"""What the numbers of a column are, and how they are written: digits; ``0x`` and digits; texts that are listed, by number; and of texts and
bytes where they begin in the data: a field of CSV; a string of JSON; two digits a byte."""

COLUMN = ("form", "before", "null", "first", "slot", "quoted")
"""Of a column: its form; numbers of listed texts: what is in front of its values, what stands for none, with what is in front of it, the
text of value 0; the row of its lengths; whether ``HEX`` and ``DIGITS`` stand in quotes."""

LONGEST, LONGEST_BYTE = 20, 6
"""The most bytes of a number, and of a byte of a text."""

# The same names as C numbers.
_UNSIGNED, _SIGNED, _HEX, _LISTED, _CSV_TEXT, _JSON_TEXT, _DIGITS = FORMS
_FORM, _BEFORE, _NULL, _FIRST, _SLOT, _QUOTED = range(len(COLUMN))
_SPACE, _QUOTE, _COMMA, _MINUS, _ZERO, _X, _U, _BACKSLASH, _LINE_FEED, _RETURN = b' ",-0xu\\\n\r'
_LONGEST, _LONGEST_BYTE = LONGEST, LONGEST_BYTE
_HEX_DIGITS = memoryview(b"0123456789abcdef")
# What JSON has a letter for: backspace, tab, line feed, form feed, carriage return.
_LETTERS = memoryview(bytes({8: 98, 9: 116, 10: 110, 12: 102, 13: 114}.get(code, 0) for code in range(32)))
_WORD = (1 << 64) - 1


def write_rows(out: Any, last: int, columns: Any, places: Any, listed: Any, values: Any, valid: Any, lengths: Any, data: Any) -> int:
    """Write rows, and return how many bytes they are.

    Parameters
    ----------
    out : uint8
        Where they are written; each number finds :data:`LONGEST` bytes, each text :data:`LONGEST_BYTE` a byte and 2.
    last : int
        The listed text behind the last cell of a row.
    columns : int64, shape (c, 6)
        :data:`COLUMN` of each.
    places : int64, shape (k, 2)
        Of each listed text its place in `listed` and its length.
    listed : uint8
        The bytes of all listed texts.
    values : int64, shape (c, rows)
        The numbers; those of 64 bits as they are.
    valid : uint8, shape (c, rows)
        Which cells have a value.
    lengths : int64, shape (s, rows)
        Bytes of texts.
    data : uint8
        The bytes of all texts.

    Raises
    ------
    IndexError
        `out` is too short, a number has no text, or the shapes differ.
    """
    count = columns.shape[0]
    if values.shape[0] != count or valid.shape[0] != count or valid.shape[1] != values.shape[1] or lengths.shape[1] != values.shape[1]:
        raise IndexError
    for column in range(count):
        if columns[column, _FORM] >= _CSV_TEXT and not 0 <= columns[column, _SLOT] < lengths.shape[0]:
            raise IndexError
    end = 0
    for row in range(values.shape[1]):
        # Behind the cells stands the last text.
        for column in range(count + 1):
            has_value = column < count and valid[column, row]
            text = last if column == count else columns[column, _BEFORE] if has_value else columns[column, _NULL]
            form = value = 0
            if has_value:
                form, value = columns[column, _FORM], values[column, row]
            if not 0 <= text < places.shape[0]:
                raise IndexError
            place, length = places[text, 0], places[text, 1]
            if place < 0 or place + length > listed.shape[0] or end + length + _LONGEST > out.shape[0]:
                raise IndexError
            for at in range(length):
                out[end + at] = listed[place + at]
            end += length
            if not has_value:
                continue
            if form == _LISTED:  # the lines above once more: a call for each cell would make CSV a fifth slower
                text = columns[column, _FIRST] + value
                if not 0 <= text < places.shape[0]:
                    raise IndexError
                place, length = places[text, 0], places[text, 1]
                if place < 0 or place + length > listed.shape[0] or end + length > out.shape[0]:
                    raise IndexError
                for at in range(length):
                    out[end + at] = listed[place + at]
                end += length
            elif form <= _SIGNED:
                number = value & _WORD
                if form == _SIGNED and value < 0:
                    out[end] = _MINUS
                    end, number = end + 1, -value & _WORD
                at, rest = end + 1, number // 10
                while rest:
                    at, rest = at + 1, rest // 10
                end = at
                while True:
                    at -= 1
                    out[at] = _ZERO + number % 10
                    number = number // 10
                    if not number:
                        break
            elif form == _HEX:
                number = value & _WORD
                if columns[column, _QUOTED]:
                    out[end] = _QUOTE
                    end += 1
                out[end], out[end + 1] = _ZERO, _X
                at, rest = end + 3, number >> 4
                while rest:
                    at, rest = at + 1, rest >> 4
                end = at
                for _ in range(16):
                    at -= 1
                    out[at] = _HEX_DIGITS[number & 15]
                    number = number >> 4
                    if not number:
                        break
                if columns[column, _QUOTED]:
                    out[end] = _QUOTE
                    end += 1
            else:
                end = _text(out, end, data, value, lengths[columns[column, _SLOT], row], form, columns[column, _QUOTED])
    return end


def _text(out: Any, end: int, data: Any, place: int, length: int, form: int, quoted: int) -> int:
    if place < 0 or length < 0 or place + length > data.shape[0] or end + length * _LONGEST_BYTE + 2 > out.shape[0]:
        raise IndexError
    if not length:
        quoted = 1
    elif form == _CSV_TEXT:
        quoted = 0
        for at in range(place, place + length):
            quoted = quoted or data[at] == _QUOTE or data[at] == _COMMA or data[at] == _LINE_FEED or data[at] == _RETURN
    if quoted:
        out[end] = _QUOTE
        end += 1
    for at in range(place, place + length):
        code = data[at]
        if form == _DIGITS:
            out[end], out[end + 1] = _HEX_DIGITS[code >> 4], _HEX_DIGITS[code & 15]
            end += 2
        elif form == _CSV_TEXT or (code >= _SPACE and code != _QUOTE and code != _BACKSLASH):
            if code == _QUOTE:
                out[end] = _QUOTE
                end += 1
            out[end] = code
            end += 1
        else:
            end = _escaped(out, end, code)
    if quoted:
        out[end] = _QUOTE
        end += 1
    return end


def _escaped(out: Any, end: int, code: int) -> int:
    """Write a byte that a JSON string cannot have."""
    out[end] = _BACKSLASH
    letter = code if code >= _SPACE else _LETTERS[code]
    if letter:
        out[end + 1] = letter
        return end + 2
    out[end + 1], out[end + 2], out[end + 3] = _U, _ZERO, _ZERO
    out[end + 4], out[end + 5] = _HEX_DIGITS[code >> 4], _HEX_DIGITS[code & 15]
    return end + 6
