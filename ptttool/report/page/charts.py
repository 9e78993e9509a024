"""Charts: their data for the script, and what they show in words for everybody else."""

from __future__ import annotations

from math import isfinite
from typing import Any

from ptttool.analyses.drawing.numbers import number_text, with_unit
from ptttool.analyses.shown import Histogram, Series, Timeline


def chart_data(part: Histogram | Timeline) -> dict[str, Any]:
    """Return what the page's script needs to draw a chart."""
    if isinstance(part, Histogram):
        return {
            "kind": "histogram",
            "title": part.title,
            "edges": [_value(edge) for edge in part.edges],
            "counts": [int(count) for count in part.counts],
            "unit": part.unit.value,
            "what": part.what,
            "marks": [[name, _value(value)] for name, value in part.marks.items()],
        }
    return {
        "kind": "timeline",
        "title": part.title,
        "times": [_value(time) for time in part.times],
        "timeUnit": part.time_unit.value,
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
    return _histogram_words(part) if isinstance(part, Histogram) else [_series_words(part, one) for one in part.series]


def _histogram_words(part: Histogram) -> list[str]:
    total = sum(part.counts)
    if not total:
        return [f"No {part.what}."]
    most = max(range(len(part.counts)), key=lambda at: part.counts[at])
    filled = [at for at, count in enumerate(part.counts) if count]
    low, high = (with_unit(part.edges[at], part.unit) for at in (filled[0], filled[-1] + 1))
    words = [
        f"{total:,} {part.what}, between {low} and {high}.",
        f"Most of them, {part.counts[most]:,} ({100 * part.counts[most] / total:.1f} %), are in the bin from "
        f"{with_unit(part.edges[most], part.unit)} to below {with_unit(part.edges[most + 1], part.unit)}.",
    ]
    if part.marks:
        words.append("; ".join(f"{name}: {with_unit(value, part.unit)}" for name, value in part.marks.items()) + ".")
    return words


def _series_words(part: Timeline, series: Series) -> str:
    seen = [(value, at) for at, value in enumerate(series.values) if value is not None and isfinite(value)]
    if not seen:
        return f"{series.name}: no values."
    (largest, at), (smallest, _) = max(seen), min(seen)
    mean = sum(value for value, _ in seen) / len(seen)
    where = with_unit(part.times[at], part.time_unit)
    index = "" if part.indexes is None else f" (TLP {part.indexes[at]})"
    amounts = f"mean {number_text(float(f'{mean:.4g}'))}, smallest {number_text(smallest)}, largest {number_text(largest)} {part.unit}"
    return f"{series.name}: {amounts}, the largest at {where}{index}."
