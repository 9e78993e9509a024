"""The columns of ``ptttool top``: what they show, what they are sorted by, and which of them a narrow terminal leaves out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ptttool.api.sample import Sample, SampleRow
from ptttool.wording import clean


@dataclass(frozen=True)
class TopColumn:
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
    return TopColumn(title, width, lambda row: amount(value(row)), lambda row: _known(value(row)), weight)


def _known(value: float | None) -> float:
    return -1.0 if value is None else value


COLUMNS: tuple[TopColumn, ...] = (
    TopColumn("Requester", 9, lambda row: row.requester, lambda row: row.requester, is_number=False),
    TopColumn("Name", 14, lambda row: clean(row.name or "")[:14], lambda row: row.name or "", 3, is_number=False),
    TopColumn("Dir", 4, lambda row: _SHORT.get(row.direction, "?"), lambda row: row.direction, is_number=False),
    TopColumn("Class", 5, lambda row: row.class_, lambda row: row.class_, is_number=False),
    _number("TLPs", 7, lambda row: row.tlps, 4),
    _number("TLPs/s", 7, lambda row: row.tlps_per_second),
    _number("Bytes/s", 7, lambda row: row.bytes_per_second),
    _number("Asked/s", 7, lambda row: row.requested_per_second, 2),
    _number("Payload", 7, lambda row: row.payload, 1),
    _number("p50 tk", 7, lambda row: row.latency_p50, 1),
    _number("p99 tk", 7, lambda row: row.latency_p99, 2),
)
"""All columns, in the order of the screen. ``tk``: ticks of the Time field, whose unit is not documented."""

SORTED_BY = 5
"""The column that rows are sorted by at first."""


def fitting(width: int) -> tuple[int, ...]:
    """Return the numbers of the columns that fit into a terminal of so many cells, in their order."""
    kept = list(range(len(COLUMNS)))
    while sum(COLUMNS[number].width + 2 for number in kept) > width:
        heaviest = max(kept, key=lambda number: (COLUMNS[number].weight, number))
        if COLUMNS[heaviest].weight == 0:
            break
        kept.remove(heaviest)
    return tuple(kept)


def ordered(rows: Sequence[SampleRow], column: int, *, backwards: bool, wanted: str) -> list[SampleRow]:
    """Return the rows that hold a text, sorted by a column: numbers from the largest one, texts from the first one."""
    found = [row for row in rows if not wanted or wanted.casefold() in searched(row)]
    how = COLUMNS[column]
    return sorted(found, key=how.key, reverse=how.is_number != backwards)


def searched(row: SampleRow) -> str:
    """Return the text of a row that the filter looks at."""
    return " ".join((row.requester, row.name or "", row.direction, row.class_)).casefold()


def summary(sample: Sample) -> list[str]:
    """Return the lines above the table: what was sampled, how much of the time it saw, sums, errors and loss."""
    seen = "window not known" if sample.window is None else f"window {sample.window * 1e3:.0f} ms"
    share = "" if sample.share is None else f": {sample.share:.1f} % of the time was seen"
    lines = [
        f"{sample.device}  sample {sample.number + 1}  {sample.time[11:19]}  {seen}{share}",
        f"{amount(sample.tlps)} TLPs, {amount(sample.bytes)} bytes carried, {amount(sample.requested_bytes)} asked for",
    ]
    if sample.counters is not None:
        counted = "  ".join(
            f"{one.event} {amount(None if one.value is None else one.value / sample.counters.seconds)}/s" for one in sample.counters.counted
        )
        lines.append(f"{sample.counters.pmu}, every TLP of {sample.counters.seconds:g} s: {counted}")
    if sample.errors:
        lines.append("errors: " + ", ".join(f"{one.kind} {one.count}" for one in sample.errors))
    lines += [f"{one.severity}: {clean(one.message)}" for one in sample.loss]
    return lines
