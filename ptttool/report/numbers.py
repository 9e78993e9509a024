"""Numbers as people read them."""

from __future__ import annotations

from math import isfinite

from ptttool.analyses.shown import Cell, Unit

_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_NANOSECONDS = (("s", 1e9), ("ms", 1e6), ("µs", 1e3))


def cell_text(value: Cell, unit: Unit = Unit.NONE) -> str:
    """Return a cell's text: digits in groups of three, at most six of them for a fraction; indexes without groups."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if unit is Unit.INDEX:
        return f"{int(value)}"
    if unit is Unit.PERCENT:
        return f"{value:,.1f}"
    return number(value)


def number(value: float) -> str:
    """Return a number with groups of digits: four significant digits for a fraction."""
    if isinstance(value, float):
        if not isfinite(value):
            return "∞" if value > 0 else "−∞" if value < 0 else "–"
        if value.is_integer() or abs(value) >= 1000:
            return f"{round(value):,}"
        return f"{value:.4g}"
    return f"{value:,}"


def quantity(value: float, unit: Unit) -> str:
    """Return a number with its unit, scaled where that is usual: ``1.5 MiB``, ``2.4 µs``, ``1,234 ticks``."""
    if unit is Unit.BYTES:
        return _binary(value)
    if unit is Unit.NANOSECONDS:
        for name, size in _NANOSECONDS:
            if abs(value) >= size:
                return f"{value / size:.4g} {name}"
        return f"{value:.4g} ns"
    if unit is Unit.PERCENT:
        return f"{value:.1f} %"
    if unit is Unit.INDEX:
        return f"TLP {int(value)}"
    return f"{number(value)} {unit}".strip()


def _binary(value: float) -> str:
    for name in _BYTES:
        if abs(value) < 1024 or name == _BYTES[-1]:
            return f"{number(value) if name == 'B' else f'{value:.4g}'} {name}"
        value /= 1024
    raise AssertionError
