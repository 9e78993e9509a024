"""The formats of tracepoints: which fields a sample of an event has, and where.

perf copies the kernel's own descriptions (``events/*/*/format`` of tracefs) into the file. Layout of the section:
``tools/perf/util/trace-event-info.c`` of the Linux sources; layout of a description: ``Documentation/trace/events.rst``, section 2.3.
"""

from __future__ import annotations

import re
import string
from typing import Any

import numpy as np
from msgspec import Struct

from ptttool.perfdata.budget import MAX_FIELD_BYTES, MAX_FIELDS, MAX_TRACEPOINTS, OverBudgetError
from ptttool.perfdata.features import Cursor

MAGIC = b"\x17\x08\x44tracing"
_FIELD = re.compile(
    r"^\s*field:(?P<declared>[^;]*);"
    r"\s*offset:(?P<offset>\d{1,9});\s*size:(?P<size>\d{1,9});(?:\s*signed:(?P<signed>[01]);)?\s*$"
)
_LETTERS = f"{string.ascii_letters}{string.digits}_"
_NAME = re.compile(r"^name:\s*(?P<name>[\w.-]+)\s*$")
_ID = re.compile(r"^ID:\s*(?P<id>\d{1,9})\s*$")
# Texts that lie behind the fields; the field says where: 16 bits of offset, 16 bits of size.
_TEXT_BYTES = 32


class Field(Struct, frozen=True):
    """A field of a tracepoint.

    Parameters
    ----------
    name : str
        Its name.
    offset, size : int
        Where it is in the sample's raw data, in bytes.
    is_signed : bool
        Whether it is a signed number.
    is_text : bool
        Whether it is an array of characters.
    is_elsewhere : bool
        Whether the field only says where the array is (``__data_loc``).
    is_relative : bool
        Whether it says so from its own end (``__rel_loc``).
    is_array : bool
        Whether it is an array of anything else: bytes in the result.
    """

    name: str
    offset: int
    size: int
    is_signed: bool = False
    is_text: bool = False
    is_elsewhere: bool = False
    is_relative: bool = False
    is_array: bool = False

    @property
    def held(self) -> Any:
        """The dtype of the field as it is in the raw data."""
        if self.is_elsewhere:
            return np.dtype("<u4")
        if self.is_text:
            return np.dtype(f"S{self.size}")
        if self.size in (1, 2, 4, 8) and not self.is_array:
            return np.dtype(f"<{'i' if self.is_signed else 'u'}{self.size}")
        return np.dtype((np.uint8, (self.size,)))

    @property
    def dtype(self) -> Any:
        """The dtype of the field in the result: of a text that lies elsewhere, its first 32 bytes."""
        return np.dtype(f"S{_TEXT_BYTES}") if self.is_elsewhere else self.held


class Format(Struct, frozen=True):
    """The format of a tracepoint.

    Parameters
    ----------
    name : str
        System and event: ``nvme:nvme_setup_cmd``.
    id : int
        Its number, the ``config`` of the attribute.
    fields : tuple of Field
        The fields, without the common ones (``common_type`` …).
    """

    name: str
    id: int
    fields: tuple[Field, ...]

    @property
    def size(self) -> int:
        """Bytes that the raw data of a sample have at least."""
        return max((field.offset + field.size for field in self.fields), default=0)

    @property
    def held(self) -> Any:
        """The dtype of a sample's raw data."""
        return np.dtype(
            {
                "names": [field.name for field in self.fields],
                "formats": [field.held for field in self.fields],
                "offsets": [field.offset for field in self.fields],
                "itemsize": max(self.size, 1),
            }
        )

    @property
    def dtype(self) -> Any:
        """The dtype of samples in the result: time [ns], CPU, process and thread, the fields."""
        own = [(field.name, field.dtype) for field in self.fields]
        return np.dtype([("at", "<i8"), ("on_cpu", "<i4"), ("by_pid", "<i4"), ("by_tid", "<i4"), *own])


def parse_format(system: str, text: str) -> Format:
    """Parse the description of a tracepoint.

    Raises
    ------
    ValueError
        It has no name or no number, or a field of it cannot be.
    """
    name = number = None
    fields: dict[str, Field] = {}
    for line in text.splitlines():
        if line.startswith("print fmt:"):
            break
        if len(line) > MAX_FIELD_BYTES:
            raise ValueError(f"a line of a description of a tracepoint has {len(line)} characters")
        if found := _NAME.match(line):
            name = found["name"]
        elif found := _ID.match(line):
            number = int(found["id"])
        elif found := _FIELD.match(line):
            field = _field(found)
            if field.name and not field.name.startswith("common_") and field.name not in _OWN and field.size:
                fields[field.name] = field
            if len(fields) > MAX_FIELDS:
                raise OverBudgetError(f"has more than {MAX_FIELDS} fields", MAX_FIELDS)
    if name is None or number is None:
        raise ValueError("a description of a tracepoint has no name or no number")
    whole = Format(f"{system}:{name}", number, tuple(fields.values()))
    if sum(field.size for field in whole.fields) > whole.size:
        raise ValueError(f"the fields of {name} overlap")
    return whole


# Names of columns that each event has.
_OWN = frozenset(("at", "on_cpu", "by_pid", "by_tid"))


def _field(found: re.Match[str]) -> Field:
    offset, size = int(found["offset"]), int(found["size"])
    # Type, name, and [count], without an expression whose time grows with the square of a hostile text.
    declared, is_array = found["declared"], found["declared"].endswith("]")
    if is_array:
        declared = declared[:-1].rpartition("[")[0]
    kind = declared.rstrip(_LETTERS)
    name = declared[len(kind) :].lstrip(string.digits)
    if offset + size > MAX_FIELD_BYTES:
        raise ValueError(f"the field {name} is said to lie at byte {offset} and to have {size} bytes")
    is_elsewhere = kind.startswith(("__data_loc", "__rel_loc")) and size == 4
    is_text = is_array and size > 0 and re.search(r"\bchar\b", kind) is not None and "unsigned" not in kind
    return Field(name, offset, size, found["signed"] == "1", is_text and not is_elsewhere, is_elsewhere, "__rel_loc" in kind, is_array)


def parse_tracing_data(section: memoryview) -> dict[int, Format]:
    """Return the formats of a HEADER_TRACING_DATA section, by number.

    Raises
    ------
    ValueError
        The section is damaged, or not of a little-endian machine.
    """
    cursor = _Tracing(section)
    if bytes(cursor.take(len(MAGIC))) != MAGIC:
        raise ValueError("it does not begin as the description of tracepoints does")
    cursor.line()  # the version
    big_endian, _, _ = cursor.take(1)[0], cursor.take(1), cursor.u32()
    if big_endian:
        raise ValueError("it is of a big-endian machine")
    for what in ("header_page", "header_event"):
        if cursor.line() != what:
            raise ValueError(f"it has no {what}")
        cursor.take(cursor.u64())
    for _ in range(cursor.number()):
        cursor.take(cursor.u64())
    formats: dict[int, Format] = {}
    for _ in range(cursor.number()):
        system = cursor.line()
        for _ in range(cursor.number()):
            one = parse_format(system, bytes(cursor.take(cursor.u64())).decode(errors="replace"))
            formats[one.id] = one
            if len(formats) > MAX_TRACEPOINTS:
                raise OverBudgetError(f"describes more than {MAX_TRACEPOINTS} tracepoints", MAX_TRACEPOINTS)
    return formats


class _Tracing(Cursor):
    """Reads the section from its start; ValueError where it ends too early."""

    def line(self) -> str:
        """Return the text up to the next zero."""
        rest = bytes(self._section[self._at : self._at + MAX_FIELD_BYTES])
        end = rest.find(b"\0")
        if end < 0:
            raise ValueError("a text in it has no end")
        return bytes(self.take(end + 1)[:-1]).decode(errors="replace")

    def number(self) -> int:
        """Return the number of entries that follow: each has a size of 8 bytes, at least, or a name and a number."""
        number = self.u32()
        if number > len(self._section) - self._at:
            raise ValueError(f"it states {number} entries and ends {len(self._section) - self._at} bytes later")
        return number
