"""Shown parts, made ready to be drawn as text: rows that are left out, bins put together, points put together."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ptttool.analyses.drawing.numbers import cell_text, number_text, with_unit
from ptttool.analyses.shown import Cell, Column, Histogram, Part, Scale, Table, Timeline, Unit
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


def cell_rows(table: Table) -> list[list[str]]:
    """Return the texts of the cells, row by row; the sum is the last row, where there is one."""
    rows = (*table.rows, *(() if table.total is None else (table.total,)))
    return [[cell_text(cell, column) for cell, column in zip(row, table.columns, strict=True)] for row in rows]


def table_of(part: Table | Histogram | Timeline) -> Table:
    """Return the numbers of a part."""
    if isinstance(part, Histogram):
        return histogram_table(part)
    return timeline_table(part) if isinstance(part, Timeline) else part


def with_common_unit(table: Table) -> Table:
    """Return a table with the unit of its times in the title, where several columns share it: heads are then short."""
    times = {column.unit for column in table.columns if column.unit in _TIMES}
    if len(times) != 1 or sum(column.unit in _TIMES for column in table.columns) < 2:
        return table
    (unit,) = times
    columns = [replace(column, unit=Unit.NONE) if column.unit is unit else column for column in table.columns]
    return replace(table, title=f"{table.title} (times in {unit.value})", columns=columns) if table.title else table


class Bar(Struct, frozen=True):
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
    """Return the bins of a histogram; neighbours are put together where there are too many.

    Parameters
    ----------
    histogram : Histogram
        The histogram.
    most : int or None
        Largest number of bars.
    """
    histogram = fewer_bins(histogram, most)
    whole = sum(histogram.counts)
    return [
        Bar(
            range_text(low, high),
            count,
            100 * count / whole,
            tuple(name for name, value in histogram.marks.items() if low <= value <= high),
        )
        for low, high, count in zip(histogram.lows, histogram.highs, histogram.counts, strict=True)
        if whole
    ]


def fewer_bins(histogram: Histogram, most: int | None) -> Histogram:
    """Return a histogram with at most so many bins: neighbours are put together."""
    step = 1 if most is None else -(-len(histogram.counts) // most)
    if step <= 1:
        return histogram
    counts = [sum(histogram.counts[at : at + step]) for at in range(0, len(histogram.counts), step)]
    highs = [*histogram.highs[step - 1 : -1 : step], histogram.highs[-1]]
    return replace(histogram, lows=histogram.lows[::step], highs=highs, counts=counts)


def range_text(low: float, high: float) -> str:
    """Return the values that a bin takes: ``96 to 127``, or ``256`` of a single one."""
    return number_text(low) if low == high else f"{number_text(low)} to {number_text(high)}"


def histogram_table(histogram: Histogram) -> Table:
    """Return the numbers of a histogram."""
    unit = f" [{histogram.unit.value}]" if histogram.unit is not Unit.NONE else ""
    columns = (
        Column(histogram.axis + unit, is_number=False),
        Column(histogram.what, Unit.TLPS),
        Column("Share", Unit.PERCENT),
        Column("Marks", is_number=False, weight=1),
    )
    all_bars = bars(histogram)
    has_marks = any(bar.marks for bar in all_bars)
    rows: list[Sequence[Cell]] = [(bar.label, bar.count, bar.share, ", ".join(bar.marks))[: 4 if has_marks else 3] for bar in all_bars]
    return Table(histogram.title, columns[: 4 if has_marks else 3], rows, note=marks_text(histogram))


def way_to(parts: Iterable[Part], path: str) -> str | None:
    """Return the command that shows the TLP that the first table with numbers of TLPs points out: in its sum, else in its first row."""
    for part in parts:
        places = [at for at, column in enumerate(part.columns) if column.unit is Unit.INDEX] if isinstance(part, Table) else []
        if isinstance(part, Table) and places and part.rows:
            for row in (part.total, part.rows[0]):
                index = None if row is None else row[places[0]]
                if isinstance(index, int):
                    return f"ptttool decode {shlex.quote(clean(path))} --follow {index}"
    return None


def marks_text(histogram: Histogram) -> str:
    """Return the marked values in one line, and what is odd about the bins: ``p50 12 ticks, p99 80 ticks``."""
    marks = ", ".join(f"{name} {with_unit(value, histogram.unit)}" for name, value in histogram.marks.items())
    return marks if histogram.scale is not Scale.LOGARITHMIC else f"{marks}; the bins are logarithmic: they widen with their values"


def timeline_table(timeline: Timeline) -> Table:
    """Return the numbers of a time line."""
    columns = [Column(clean(timeline.axis) or "From", timeline.time_unit), *(Column(clean(each.name)) for each in timeline.series)]
    if timeline.indexes is not None:
        columns.append(Column("First index", Unit.INDEX))
    rows: list[Sequence[Cell]] = []
    for number, time in enumerate(timeline.times):
        row: list[Cell] = [time, *(each.values[number] for each in timeline.series)]
        if timeline.indexes is not None:
            row.append(timeline.indexes[number])
        rows.append(row)
    return Table(timeline_title(timeline), columns, rows, note=limits_text(timeline))


def timeline_title(timeline: Timeline) -> str:
    """Return the title of a time line, with the unit of its values."""
    return f"{timeline.title} [{timeline.unit}]" if timeline.unit else timeline.title


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
