"""Shown parts, made ready to be drawn as text: rows that are left out, bins put together, points put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ptttool.analyses.drawing.numbers import number_text, with_unit
from ptttool.analyses.shares import percentages
from ptttool.analyses.shown import Cell, Column, Histogram, Table, Timeline, Unit
from ptttool.wording import clean

_TIMES = (Unit.TICKS, Unit.NANOSECONDS)


def first_rows(table: Table, most: int | None) -> Table:
    """Return a table with at most so many rows; None: all that it has."""
    if most is None or len(table.rows) <= most:
        return table
    return replace(table, rows=table.rows[:most], more=table.more + len(table.rows) - most)


def without_empty_columns(table: Table) -> Table:
    """Return a table without the columns that are empty in every row, such as names where no machine is known."""
    rows = (*table.rows, *(() if table.total is None else (table.total,)))
    kept = [at for at in range(len(table.columns)) if any(row[at] is not None for row in rows)]
    if not table.rows or len(kept) == len(table.columns):
        return table
    total = None if table.total is None else [table.total[at] for at in kept]
    return replace(table, columns=[table.columns[at] for at in kept], rows=[[row[at] for at in kept] for row in table.rows], total=total)


def with_common_unit(table: Table) -> Table:
    """Return a table with the unit of its times in the title, where several columns share it: heads are then short."""
    times = {column.unit for column in table.columns if column.unit in _TIMES}
    if len(times) != 1 or sum(column.unit in _TIMES for column in table.columns) < 2:
        return table
    (unit,) = times
    columns = [replace(column, unit=Unit.NONE) if column.unit is unit else column for column in table.columns]
    return replace(table, title=f"{table.title} (times in {unit.value})", columns=columns) if table.title else table


@dataclass(frozen=True)
class Bar:
    """A bin of a histogram.

    Parameters
    ----------
    label : str
        Its limits.
    count : int
        Values in it.
    share : float
        Percent of all values.
    marks : tuple of str
        Names of the marked values in it.
    """

    label: str
    count: int
    share: float
    marks: tuple[str, ...] = ()


def bars(histogram: Histogram, most: int | None = None) -> list[Bar]:
    """Return the bins of a histogram from the first to the last that is not empty; neighbours are put together where there are too many.

    Parameters
    ----------
    histogram : Histogram
        The histogram.
    most : int or None
        Largest number of bars.
    """
    edges, counts = list(histogram.edges), list(histogram.counts)
    filled = [number for number, count in enumerate(counts) if count]
    if not filled:
        return []
    edges, counts = edges[filled[0] : filled[-1] + 2], counts[filled[0] : filled[-1] + 1]
    together = 1 if most is None else -(-len(counts) // most)
    counts = [sum(counts[at : at + together]) for at in range(0, len(counts), together)]
    edges = [*edges[:-1:together], edges[-1]]
    whole = sum(counts)
    found: list[Bar] = []
    for number, count in enumerate(counts):
        low, high = edges[number], edges[number + 1]
        is_last = number == len(counts) - 1
        marks = tuple(name for name, value in histogram.marks.items() if low <= value < high or (is_last and value == high))
        found.append(Bar(_label(low, high), count, 100 * count / whole, marks))
    return found


def _label(low: float, high: float) -> str:
    if not (float(low).is_integer() and float(high).is_integer()):
        return f"{number_text(low)} to {number_text(high)}"
    return number_text(low) if high - low == 1 else f"{number_text(low)} to {number_text(high - 1)}"


def histogram_table(histogram: Histogram) -> Table:
    """Return the numbers of a histogram."""
    unit = f" [{histogram.unit.value}]" if histogram.unit is not Unit.NONE else ""
    columns = (
        Column(f"Size{unit}" if histogram.unit is Unit.BYTES else f"Range{unit}", is_number=False),
        Column(histogram.what, Unit.TLPS),
        Column("Share", Unit.PERCENT),
        Column("Marks", is_number=False, weight=1),
    )
    found = bars(histogram)
    has_marks = any(bar.marks for bar in found)
    shares = percentages([bar.count for bar in found])
    rows: list[Sequence[Cell]] = [
        (bar.label, bar.count, share, ", ".join(bar.marks))[: 4 if has_marks else 3] for bar, share in zip(found, shares, strict=True)
    ]
    return Table(histogram.title, columns[: 4 if has_marks else 3], rows, note=marks_text(histogram))


def marks_text(histogram: Histogram) -> str:
    """Return the marked values in one line: ``p50 12 ticks, p99 80 ticks``."""
    return ", ".join(f"{name} {with_unit(value, histogram.unit)}" for name, value in histogram.marks.items())


def timeline_table(timeline: Timeline) -> Table:
    """Return the numbers of a time line."""
    columns = [Column("From", timeline.time_unit), *(Column(clean(each.name)) for each in timeline.series)]
    if timeline.indexes is not None:
        columns.append(Column("First index", Unit.INDEX))
    rows: list[Sequence[Cell]] = []
    for number, time in enumerate(timeline.times):
        row: list[Cell] = [time, *(each.values[number] for each in timeline.series)]
        if timeline.indexes is not None:
            row.append(timeline.indexes[number])
        rows.append(row)
    return Table(f"{timeline.title} [{timeline.unit}]" if timeline.unit else timeline.title, columns, rows, note=limits_text(timeline))


def limits_text(timeline: Timeline) -> str:
    """Return the level lines in one line: ``link 3,938``."""
    return ", ".join(f"{name} {number_text(value)} {timeline.unit}".rstrip() for name, value in timeline.limits.items())


def together(values: Sequence[float | None], most: int) -> tuple[list[float | None], int]:
    """Put neighbouring points together, so that there are at most so many: each shows the largest.

    Returns
    -------
    values : list of float or None
        The points; None where none of them has a value.
    count : int
        How many points became one.
    """
    count = max(-(-len(values) // most), 1)
    groups = [[value for value in values[at : at + count] if value is not None] for at in range(0, len(values), count)]
    return [max(group, default=None) for group in groups], count
