"""What people see of a result, for any medium: facts, tables, histograms, time lines and notes.

A result that has a method ``shown(names)`` says once what is to be seen of it. The terminal, Markdown and the HTML report each draw the
same parts in their own form. Texts are plain: whoever draws them escapes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from ptttool.diagnostics import Severity

Cell: TypeAlias = str | int | float | None
"""A value of a table: numbers stay numbers, so that they are aligned, grouped and sorted as such; None is an empty cell."""


class Unit(StrEnum):
    """What a number counts; it decides how the number is written."""

    NONE = ""
    TLPS = "TLPs"
    BYTES = "bytes"
    TICKS = "ticks"
    NANOSECONDS = "ns"
    PERCENT = "%"
    INDEX = "index"
    """Number of a TLP in its recording: written without groups of digits, and a link where the medium has links."""


class Column(Struct, frozen=True):
    """A column of a shown table.

    Parameters
    ----------
    title : str
        Its head.
    unit : Unit
        What its numbers are.
    is_number : bool
        Whether it is aligned to the right.
    weight : int
        Where there is no room for all columns, those of the largest weight are left out first; 0 is never left out.
    """

    title: str
    unit: Unit = Unit.NONE
    is_number: bool = True
    weight: int = 0


def text_column(title: str, weight: int = 0) -> Column:
    """Return a column of texts."""
    return Column(title, is_number=False, weight=weight)


class Facts(Struct, frozen=True):
    """Single values, each with its label; shown one a line."""

    rows: Sequence[tuple[str, str]]
    title: str = ""


class Table(Struct, frozen=True):
    """A table.

    Parameters
    ----------
    title : str
        What it shows.
    columns : sequence of Column
        Its columns.
    rows : sequence of sequence of Cell
        Its rows, in the order that says most.
    total : sequence of Cell or None
        The last row, where columns are summed up.
    more : int
        How many rows were left out behind the last one.
    note : str
        One sentence below the table.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    total: Sequence[Cell] | None = None
    more: int = 0
    note: str = ""


class Scale(StrEnum):
    """How the bins of a histogram stand side by side."""

    LINEAR = "linear"
    """Where their values are; all bins are equally wide."""
    LOGARITHMIC = "logarithmic"
    """Where the logarithms of their values are; each bin is as many times the one before, as far as whole numbers allow."""
    CATEGORIES = "categories"
    """One beside the other, whatever lies between."""


class Histogram(Struct, frozen=True):
    """How often values of each size occur.

    Parameters
    ----------
    title : str
        What it shows.
    axis : str
        What the values are.
    lows, highs : sequence of float
        The smallest and the largest value that each bin takes, ascending. The first low is the smallest value that was seen, the last high
        the largest one.
    counts : sequence of int
        Values in each bin: ``lows[i] <= value <= highs[i]``.
    unit : Unit
        Of the values.
    what : str
        What is counted.
    marks : Mapping[str, float]
        Values to point out by name, such as ``p99``.
    scale : Scale
        How the bins stand side by side.
    """

    title: str
    axis: str
    lows: Sequence[float]
    highs: Sequence[float]
    counts: Sequence[int]
    unit: Unit
    what: str = "TLPs"
    marks: Mapping[str, float] = {}
    scale: Scale = Scale.LINEAR


class Series(Struct, frozen=True):
    """A line of a time line: its name, and a value for each point; None where nothing was seen."""

    name: str
    values: Sequence[float | None]


class Timeline(Struct, frozen=True):
    """Values over time.

    Parameters
    ----------
    title : str
        What it shows.
    times : sequence of float
        Where each interval begins, ascending.
    time_unit : Unit
        Unit of the times.
    series : sequence of Series
        The lines, all as long as ``times``.
    unit : str
        Unit of the values.
    indexes : sequence of int or None
        Number of the first TLP of each interval.
    limits : Mapping[str, float]
        Values to draw as level lines, such as the rate of the link.
    axis : str
        What stands in the place of time, where something else does.
    """

    title: str
    times: Sequence[float]
    time_unit: Unit
    series: Sequence[Series]
    unit: str
    indexes: Sequence[int] | None = None
    limits: Mapping[str, float] = {}
    axis: str = ""


class Note(Struct, frozen=True):
    """A sentence that must not be overlooked.

    Parameters
    ----------
    text : str
        The sentence.
    severity : Severity
        How much it matters.
    """

    text: str
    severity: Severity = Severity.INFO


Part: TypeAlias = Facts | Table | Histogram | Timeline | Note

Names: TypeAlias = Callable[[str], str]
"""Returns what an ID is called, such as ``nvme0`` for ``01:00.0``; the ID itself where it has no name."""


def named(names: Names, identity: str | None) -> str | None:
    """Return what an ID is called; None where it has no name."""
    name = None if identity is None else names(identity)
    return None if name == identity else name


def no_names(identity: str) -> str:
    """Return the ID as it is: nothing is known of the machine."""
    return identity
