"""Charts: their data for the script, and what they show in words for everybody else."""

from __future__ import annotations

from math import isfinite
from typing import Any

from ptttool.analyses.drawing.numbers import number_text, with_unit
from ptttool.analyses.drawing.pieces import range_text
from ptttool.analyses.shown import Histogram, Scale, Series, Timeline, Unit


def chart_data(part: Histogram | Timeline) -> dict[str, Any]:
    """Return what the page's script needs to draw a chart."""
    if isinstance(part, Histogram):
        return {
            "kind": "histogram",
            "title": part.title,
            "lows": [_value(low) for low in part.lows],
            "highs": [_value(high) for high in part.highs],
            "counts": [int(count) for count in part.counts],
            "scale": part.scale.value,
            "axis": part.axis,
            "unit": part.unit.value,
            "what": part.what,
            "marks": [[name, _value(value)] for name, value in part.marks.items()],
        }
    return {
        "kind": "timeline",
        "title": part.title,
        "times": [_value(time) for time in part.times],
        "timeUnit": part.time_unit.value,
        "axis": part.axis,
        "series": [{"name": one.name, "values": [_value(value) for value in one.values]} for one in part.series],
        "unit": str(part.unit),
        "indexes": None if part.indexes is None else [int(index) for index in part.indexes],
        "limits": [[name, _value(value)] for name, value in part.limits.items()],
    }


def _value(value: float | None) -> float | int | None:
    """Return a number for JSON, which has no infinity: whole numbers stay whole, others keep six digits."""
    if value is None or not isfinite(value):
        return None
    return int(value) if float(value).is_integer() else float(f"{value:.6g}")


def chart_words(part: Histogram | Timeline) -> list[str]:
    """Return what a chart shows, as sentences."""
    if isinstance(part, Timeline):
        return [_series_words(part, series) for series in part.series]
    total = sum(part.counts)
    if not total:
        return [f"No {part.what}."]
    ends = with_unit(part.lows[0], part.unit)
    if part.highs[-1] > part.lows[0]:
        ends = f"from {ends} to {with_unit(part.highs[-1], part.unit)}"
    most = max(range(len(part.counts)), key=lambda at: part.counts[at])
    name = f"{range_text(part.lows[most], part.highs[most])} {part.unit.value}".rstrip()
    words = [
        f"{part.axis}: {ends}; {total:,} {part.what}.",
        f"The highest bar is {name}: {part.counts[most]:,} {part.what}, {100 * part.counts[most] / total:.1f} %.",
    ]
    if part.marks:
        words.append("; ".join(f"{name}: {with_unit(value, part.unit)}" for name, value in part.marks.items()) + ".")
    if part.scale is Scale.LOGARITHMIC:
        words.append(f"The axis of the {part.axis.lower()} is logarithmic.")
    return words


def _series_words(part: Timeline, series: Series) -> str:
    values = [value for value in series.values if value is not None and isfinite(value)]
    if not values:
        return f"{series.name}: no values."
    at = list(series.values).index(max(values))
    amounts = (number_text(float(f"{sum(values) / len(values):.4g}")), number_text(min(values)), number_text(max(values)))
    mean, smallest, largest = (f"{amount} {part.unit}".rstrip() for amount in amounts)
    if part.axis:  # the points do not last as long as each other: their mean says nothing
        where = f"{part.axis.lower()} {number_text(part.times[at])}"
        return f"{series.name}: smallest {smallest}, largest {largest}, at {where}."
    begin, index = part.times[at], "" if part.indexes is None or part.indexes[at] is None else f" (TLP {part.indexes[at]})"
    where = with_unit(begin, part.time_unit) if part.time_unit is not Unit.INDEX else f"TLP {number_text(begin, Unit.INDEX)}"
    return f"{series.name}: mean {mean}, smallest {smallest}, largest {largest}, in the interval from {where} on{index}."
