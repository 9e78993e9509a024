"""Bins that are drawn: of equal width, or each as many times the one before; never a mixture that looks like one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ptttool.analyses.shown import Histogram, Scale
from ptttool.analyses.time.facts import TimeFacts

# Bins of equal width, at most.
_MOST: Final = 64
# How many times the median the largest value is where bins of equal width would leave all others in the first few.
_FAR: Final = 16
# Edges of a logarithmic scale to each power of two; where there are many powers, fewer.
_TO_EACH: Final = 4


def histogram_of_times(
    title: str, edges: Sequence[int], counts: Sequence[int], time: TimeFacts, what: str, marks: Mapping[str, float | None]
) -> Histogram:
    """Return a histogram of ticks, from fine bins.

    Parameters
    ----------
    title : str
        What it shows.
    edges : sequence of int
        Limits of the fine bins in ticks, ascending, one more than there are bins: powers of two apart, at multiples of that.
    counts : sequence of int
        Values in each: a bin holds its lower limit, not its upper one.
    time : TimeFacts
        The unit in which times are shown.
    what : str
        What is counted.
    marks : Mapping[str, float or None]
        Ticks to point out by name: among them ``min``, ``p50`` and ``max``; these two ends are not drawn, since the axis ends there.
    """
    ends = {name: int(marks[name] or 0) for name in ("min", "p50", "max")}
    limits, scale = _limits(np.asarray(edges, dtype=np.int64), ends["min"], ends["p50"], ends["max"])
    places = np.searchsorted(limits, np.asarray(edges[:-1], dtype=np.int64), side="right") - 1
    inside = (places >= 0) & (places < len(limits) - 1)
    values: Any = np.bincount(places[inside], np.asarray(counts)[inside], len(limits) - 1).astype(np.int64)
    lows, highs = limits[:-1].tolist(), (limits[1:] - 1).tolist()
    lows[0], highs[-1] = ends["min"], ends["max"]
    return Histogram(
        title, "Time", [time.scaled(low) for low in lows], [time.scaled(high) for high in highs], values.tolist(), time.unit, what,
        {name: time.scaled(value) for name, value in marks.items() if value is not None and name not in ("min", "max")}, scale,
    )  # fmt: skip


def _limits(edges: Any, smallest: int, middle: int, largest: int) -> tuple[Any, Scale]:
    """Return the limits of the bins to draw: edges of fine bins, the first at or below the smallest value, the last above the largest."""
    if largest <= max(_FAR * middle, _MOST):
        fine = int(np.diff(edges)[np.searchsorted(edges, largest, side="right") - 1])
        width = max(fine, 1)
        while largest // width - smallest // width >= _MOST:
            width *= 2
        return np.arange(smallest // width, largest // width + 2) * width, Scale.LINEAR
    octaves = np.arange(0, int(largest).bit_length() + 1, 1 / _TO_EACH if largest < max(smallest, 1) << 16 else 0.5)
    near = np.minimum(np.searchsorted(edges, np.round(2.0**octaves)), len(edges) - 1)
    limits = np.unique(np.concatenate((edges[:1], edges[near], edges[-1:])))
    first = np.searchsorted(limits, smallest, side="right") - 1
    last = np.searchsorted(limits, largest, side="right")
    return limits[first : last + 1], Scale.LOGARITHMIC
