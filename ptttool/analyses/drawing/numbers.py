"""Numbers of shown parts as text."""

from __future__ import annotations

from ptttool.analyses.shown import Cell, Column, Unit
from ptttool.wording import clean

# Units that stand in the head of a column, not behind each number.
_IN_HEAD = (Unit.TICKS, Unit.NANOSECONDS)


def number_text(value: float, unit: Unit = Unit.NONE) -> str:
    """Return a number with groups of digits; fractions have four significant digits, an index has no groups."""
    if unit is Unit.INDEX:
        return f"{value:.0f}"
    if unit is Unit.PERCENT:
        return f"{value:.1f} %"
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def with_unit(value: float, unit: Unit) -> str:
    """Return a number and its unit: ``1,234 ticks``."""
    text = number_text(value, unit)
    return text if unit in (Unit.NONE, Unit.PERCENT, Unit.INDEX) else f"{text} {unit.value}"


def cell_text(cell: Cell, column: Column) -> str:
    """Return a cell of a table; None is empty."""
    if cell is None:
        return ""
    return clean(cell) if isinstance(cell, str) else number_text(cell, column.unit)


def head_text(column: Column) -> str:
    """Return the head of a column, with the unit of its numbers where the title does not say it."""
    title = clean(column.title)
    return f"{title} [{column.unit.value}]" if column.unit in _IN_HEAD and column.unit.value not in title else title
