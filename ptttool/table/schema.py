"""What a table's columns are: names, types, meaning, and how a value is written. Nothing here imports numpy or polars."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from ptttool.errors import UsageError
from ptttool.wording import did_you_mean


class DType(StrEnum):
    """The type of a column's values; any value may be null."""

    U8 = "u8"
    U16 = "u16"
    U32 = "u32"
    U64 = "u64"
    I32 = "i32"
    I64 = "i64"
    BOOL = "bool"
    ENUM = "enum"  # a code: position in the column's `values`
    TEXT = "text"  # UTF-8 of any length
    BYTES = "bytes"  # byte strings of any length

    @property
    def is_integer(self) -> bool:
        """Whether values are numbers."""
        return self.value[0] in "ui"


class Style(StrEnum):
    """How a value is written as text."""

    INT = "int"  # decimal
    HEX = "hex"  # 0x1f
    ID = "id"  # 01:00.0, a PCI ID of 16 bits
    PLAIN = "plain"  # texts and enums as they are; bytes as hexadecimal digits


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : str
        Unique in its schema.
    dtype : DType
        Type of the values.
    meaning : str
        One line for documentation.
    values : tuple of str
        The names of an enum's codes.
    style : Style
        How CSV and JSON lines write a value.
    shown : Style or None
        How people see a value, where that differs from `style`.
    default : bool
        Whether CSV holds the column by default.
    on_request : bool
        Whether the column is written only where it is named.
    near : bool
        Whether a number tends to be close to the one before it; only the compression of files depends on this.
    names : tuple of (int, str)
        What some IDs are called, by ID: texts have the name before the ID.
    """

    name: str
    dtype: DType
    meaning: str = ""
    values: tuple[str, ...] = ()
    style: Style = Style.INT
    shown: Style | None = None
    default: bool = False
    on_request: bool = False
    near: bool = False
    names: tuple[tuple[int, str], ...] = ()

    @property
    def shown_style(self) -> Style:
        """How people see a value."""
        return self.shown or self.style


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order, each name once."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {column.name: column for column in self.columns})
        if len(self._columns_by_name) != len(self.columns):
            raise ValueError("a column name occurs twice")

    @property
    def _columns_by_name(self) -> dict[str, Column]:
        columns: dict[str, Column] = self.__dict__["_by_name"]
        return columns

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns, in order."""
        return tuple(self._columns_by_name)

    @property
    def usual_names(self) -> tuple[str, ...]:
        """Names of the columns that are written where none are named."""
        return tuple(column.name for column in self.columns if not column.on_request)

    @property
    def default_names(self) -> tuple[str, ...]:
        """Names of the columns that CSV holds by default; the usual ones where none is marked."""
        return tuple(column.name for column in self.columns if column.default) or self.usual_names

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns_by_name

    def __getitem__(self, name: str) -> Column:
        return self._columns_by_name[name]

    def select(self, names: Iterable[str]) -> Schema:
        """Return the schema of these columns alone, in this order.

        Raises
        ------
        UsageError
            A name is unknown (code ``unknown-column``, with the nearest names as hint) or occurs twice (``column-twice``).
        """
        return Schema(tuple(self[name] for name in self.checked(list(names))))

    def named(self, names: Mapping[int, str]) -> Schema:
        """Return the schema with the names of IDs."""
        pairs = tuple(sorted(names.items()))
        return Schema(tuple(replace(column, names=pairs) if column.style is Style.ID else column for column in self.columns))

    def checked(self, names: Sequence[str]) -> tuple[str, ...]:
        """Check that each name is a column and occurs once, and return the names; raises as `select` does."""
        for name in names:
            if name not in self:
                near = difflib.get_close_matches(name, self.names, n=3)
                hint = did_you_mean(near) if near else "columns: " + ", ".join(self.names)
                raise UsageError(f"unknown column {name!r}", hint=hint, code="unknown-column")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"column {twice!r} is named twice", code="column-twice")
        return tuple(names)
