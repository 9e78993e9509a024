"""The columns of ``ptttool top``: what they show, what they are sorted by, which of them a narrow terminal leaves out; samples as lines."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from ptttool.api.live import Sample, SampleRow
from ptttool.wording import clean


class TopColumn(Struct, frozen=True):
    """A column.

    Parameters
    ----------
    title : str
        Its head.
    width : int
        Cells that it takes.
    text : callable
        Returns what it shows of a row.
    key : callable
        Returns what rows are sorted by.
    weight : int
        The largest weights are left out first where there is no room; 0 is never left out.
    is_number : bool
        Whether it is aligned to the right, and sorted from the largest value.
    """

    title: str
    width: int
    text: Callable[[SampleRow], str]
    key: Callable[[SampleRow], float | str]
    weight: int = 0
    is_number: bool = True


def amount(value: float | None) -> str:
    """Write a number in four digits at most, with a letter for thousands: ``12.3k``."""
    if value is None:
        return "-"
    for limit, letter in ((1e3, ""), (1e6, "k"), (1e9, "M"), (1e12, "G")):
        if value < limit * 0.9995:
            scaled = value / (limit / 1e3)
            if letter == "" and scaled == int(scaled):
                return f"{int(scaled)}"
            return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f}{letter}"
    return f"{value / 1e12:.1f}T"


_SHORT = {"inbound": "in", "outbound": "out"}


def _number(title: str, width: int, value: Callable[[SampleRow], float | None], weight: int = 0) -> TopColumn:
    """Return a column of numbers; rows without one are behind all others."""
    return TopColumn(title, width, lambda row: amount(value(row)), lambda row: _known(value(row)), weight)


def _known(value: float | None) -> float:
    return -1.0 if value is None else value


COLUMNS: tuple[TopColumn, ...] = (
    TopColumn("Requester", 10, lambda row: row.requester, lambda row: row.requester, 8, is_number=False),
    TopColumn("Name", 14, lambda row: clean(row.name or "")[:14], lambda row: row.name or "", is_number=False),
    TopColumn("Dir", 4, lambda row: _SHORT.get(row.direction, "?"), lambda row: row.direction, is_number=False),
    TopColumn("Class", 6, lambda row: row.class_, lambda row: row.class_, is_number=False),
    _number("TLPs", 7, lambda row: row.tlps, 9),
    _number("TLPs/s", 7, lambda row: row.tlps_per_second, 2),
    _number("Bytes/s", 8, lambda row: row.bytes_per_second, 1),
    _number("Asked/s", 8, lambda row: row.requested_per_second, 3),
    _number("Payload", 8, lambda row: row.payload, 5),
    _number("p50 tk", 7, lambda row: row.latency_p50, 4),
    _number("p99 tk", 7, lambda row: row.latency_p99, 6),
)
"""All columns, in the order of the screen; each has a cell for the arrow of sorting.

``tk``: ticks of the Time field, whose unit is not documented.
"""

REQUESTER, NAME = 0, 1
"""Two of them: where there is no room for both, the name stays, and stands in for the other."""

TLPS, SORTED_BY = 4, 5
"""The column of counts beside the rates, and the column that rows are sorted by at first."""

COUNTED: tuple[TopColumn, ...] = (
    *COLUMNS[:SORTED_BY],
    _number("TLPs", 7, lambda row: row.tlps, 2),
    _number("Bytes", 8, lambda row: row.bytes, 1),
    _number("Asked", 8, lambda row: row.requested_bytes, 3),
    *COLUMNS[8:],
)
"""The columns of a sample without rates: counts of the sample stand in their places, and none beside them."""


def columns_of(sample: Sample) -> tuple[TopColumn, ...]:
    """Return the columns of a sample: with rates, or with counts where it has no rates."""
    has_rates = any(row.tlps_per_second is not None for row in sample.rows) if sample.rows else sample.window is not None
    return COLUMNS if has_rates else COUNTED


def fitting(width: int, sorted_by: int = SORTED_BY, columns: tuple[TopColumn, ...] = COLUMNS) -> tuple[int, ...]:
    """Return the numbers of the columns that fit into a terminal of so many cells, in their order; that of sorting is always there."""
    kept = [number for number in range(len(columns)) if number != TLPS or columns is not COUNTED]
    while sum(columns[number].width + 2 for number in kept) > width:
        heaviest = max((number for number in kept if number != sorted_by), key=lambda number: (columns[number].weight, number))
        if columns[heaviest].weight == 0:
            break
        kept.remove(heaviest)
    return tuple(kept)


def texts(row: SampleRow, shown: Sequence[int], columns: tuple[TopColumn, ...] = COLUMNS) -> list[str]:
    """Return what these columns show of a row."""
    cells = {number: columns[number].text(row) for number in shown}
    if NAME in cells and REQUESTER not in cells:
        cells[NAME] = cells[NAME] or row.requester
    return list(cells.values())


def ordered(
    rows: Sequence[SampleRow], column: int, *, backwards: bool, text: str, columns: tuple[TopColumn, ...] = COLUMNS
) -> list[SampleRow]:
    """Return the rows that hold a text, sorted by a column: numbers from the largest one, texts from the first one."""
    matches = [row for row in rows if not text or text.casefold() in searched(row)]
    how = columns[column]
    return sorted(matches, key=how.key, reverse=how.is_number != backwards)


def searched(row: SampleRow) -> str:
    """Return the text of a row that the filter looks at."""
    return " ".join((row.requester, row.name or "", row.direction, row.class_)).casefold()


def summary(sample: Sample, width: int) -> list[str]:
    """Return the lines above the table: what was sampled, how much of the time it saw, sums, errors and loss.

    The first ones are folded to so many cells; messages are as long as they are.
    """
    window = "window not known" if sample.window is None else f"window {sample.window * 1e3:.0f} ms"
    share = "" if sample.share is None else f": {sample.share:.1f} % of the time was seen"
    lines = [
        f"{sample.device}  sample {sample.number}  {sample.time[11:19]}  {window}{share}",
        f"{amount(sample.tlps)} TLPs, {amount(sample.bytes)} bytes carried, {amount(sample.requested_bytes)} asked for",
    ]
    lines = [part for line in lines for part in textwrap.wrap(line, max(width, 20), subsequent_indent="  ")]
    if sample.counters is not None:
        counted = "  ".join(
            f"{one.event} {amount(None if one.value is None or not one.seconds else one.value / one.seconds)}/s"
            for one in sample.counters.counted
        )
        lines.append(f"{sample.counters.pmu}, about {sample.counters.seconds:g} s: {counted}")
    if sample.errors:
        lines.append("errors: " + ", ".join(f"{one.kind} {one.count}" for one in sample.errors))
    lines += [f"{one.severity}: {clean(one.message)}" for one in sample.loss]
    return lines


def sample_lines(sample: Sample, width: int) -> Iterator[str]:
    """Yield the lines of a sample: its summary, and a table that fits into so many cells.

    Parameters
    ----------
    sample : Sample
        The sample.
    width : int
        Cells of a line.
    """
    yield from summary(sample, width)
    columns = columns_of(sample)
    numbers = fitting(width, columns=columns)
    shown = [columns[number] for number in numbers]
    yield _line([column.title.rjust(column.width) if column.is_number else column.title.ljust(column.width) for column in shown])
    for row in ordered(sample.rows, SORTED_BY, backwards=False, text="", columns=columns):
        cells = zip(shown, texts(row, numbers, columns), strict=True)
        yield _line([text.rjust(column.width) if column.is_number else text.ljust(column.width) for column, text in cells])


def _line(cells: list[str]) -> str:
    return "  ".join(cells).rstrip()
