"""Charts: their data for the script, and what they show in words for everybody else."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Bars:
    """What a histogram shows, in numbers.

    Parameters
    ----------
    total : int
        What is counted, in all bins.
    smallest, largest : float
        The extremes of the values.
    low, high, count : float, float, int
        The bin of the highest bar, and what is in it.
    """

    total: int
    smallest: float
    largest: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, part: Histogram) -> Bars | None:
        """Return the numbers of a histogram; None of one in which nothing is counted."""
        total = sum(part.counts)
        if not total:
            return None
        most = max(range(len(part.counts)), key=lambda at: part.counts[at])
        return cls(total, part.lows[0], part.highs[-1], part.lows[most], part.highs[most], part.counts[most])


@dataclass(frozen=True)
class Run:
    """What a line of a time line shows, in numbers.

    Parameters
    ----------
    mean, smallest, largest : float
        Of the values that there are.
    time : float
        Where the interval of the largest one begins; the first of several.
    index : int or None
        Number of the first TLP of that interval.
    """

    mean: float
    smallest: float
    largest: float
    time: float
    index: int | None

    @classmethod
    def of(cls, part: Timeline, series: Series) -> Run | None:
        """Return the numbers of a line; None of one without values."""
        seen = [value for value in series.values if value is not None and isfinite(value)]
        if not seen:
            return None
        largest = max(seen)
        at = list(series.values).index(largest)
        return cls(sum(seen) / len(seen), min(seen), largest, part.times[at], None if part.indexes is None else part.indexes[at])


def chart_words(part: Histogram | Timeline) -> list[str]:
    """Return what a chart shows, as sentences."""
    if isinstance(part, Timeline):
        return [_series_words(part, series, Run.of(part, series)) for series in part.series]
    return _histogram_words(part, Bars.of(part))


def _histogram_words(part: Histogram, bars: Bars | None) -> list[str]:
    if bars is None:
        return [f"No {part.what}."]
    ends = with_unit(bars.smallest, part.unit)
    if bars.largest > bars.smallest:
        ends = f"from {ends} to {with_unit(bars.largest, part.unit)}"
    name = f"{range_text(bars.low, bars.high)} {'' if part.unit is Unit.NONE else part.unit.value}".rstrip()
    words = [
        f"{part.axis}: {ends}; {bars.total:,} {part.what}.",
        f"The highest bar is {name}: {bars.count:,} {part.what}, {100 * bars.count / bars.total:.1f} %.",
    ]
    if part.marks:
        words.append("; ".join(f"{name}: {with_unit(value, part.unit)}" for name, value in part.marks.items()) + ".")
    if part.scale is Scale.LOGARITHMIC:
        words.append(f"The axis of the {part.axis.lower()} is logarithmic.")
    return words


def _series_words(part: Timeline, series: Series, run: Run | None) -> str:
    if run is None:
        return f"{series.name}: no values."
    index = "" if run.index is None else f" (TLP {run.index})"
    amounts = (number_text(float(f"{run.mean:.4g}")), number_text(run.smallest), number_text(run.largest))
    mean, smallest, largest = (f"{amount} {part.unit}".rstrip() for amount in amounts)
    where = with_unit(run.time, part.time_unit) if part.time_unit is not Unit.INDEX else f"TLP {number_text(run.time, Unit.INDEX)}"
    return f"{series.name}: mean {mean}, smallest {smallest}, largest {largest}, in the interval from {where} on{index}."
