"""The clocks that nothing contradicts: which nanoseconds of the kernel a tick can be, by what cannot have happened before what.

The model is a line: a TLP at tick x passed at ``origin + tick * x``. A TLP that followed an event of the kernel is a bound from below,
one that came before an event is a bound from above. Each bound is a half-plane in (origin, tick), so the clocks that contradict none are
a convex polygon (a linear program in two variables). Of the bounds only the corners of two convex hulls matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Array = npt.NDArray[Any]
# No counter of a link is faster than this many nanoseconds a tick: a shorter one is of a model of time that is wrong.
_SHORTEST = 0.01


class Bounds(Struct, frozen=True):
    """Moments of TLPs and of the kernel that bound each other.

    Parameters
    ----------
    after_ticks, after_ns : ndarray of int64, shape (n,)
        Each TLP passed at or after that time.
    before_ticks, before_ns : ndarray of int64, shape (m,)
        Each TLP passed at or before that time.
    """

    after_ticks: Array
    after_ns: Array
    before_ticks: Array
    before_ns: Array

    @property
    def count(self) -> int:
        """How many moments there are."""
        return len(self.after_ticks) + len(self.before_ticks)


class Clock(Struct, frozen=True):
    """The clocks that contradict no bound, as the corners of a polygon.

    Parameters
    ----------
    start_ticks, start_ns : int
        Where ticks and nanoseconds of the corners count from.
    slopes, offsets : ndarray of float64, shape (k,)
        Corners: nanoseconds a tick, and nanoseconds at `start_ticks`. Empty if no clock is possible.
    missed_ns : float
        How far the bounds contradict each other at least, in nanoseconds; 0 where a clock is possible.
    longest_ns : float
        The longest tick that does not contradict any two bounds of which the one from below is the earlier one: it holds also where
        ticks are missing. Not above 0: those contradict each other whatever a tick is.
    """

    start_ticks: int
    start_ns: int
    slopes: Array
    offsets: Array
    missed_ns: float = 0.0
    longest_ns: float = np.inf

    @property
    def is_possible(self) -> bool:
        """Whether a clock contradicts no bound."""
        return len(self.slopes) > 0

    @property
    def tick_ns(self) -> tuple[float, float]:
        """The shortest and the longest tick."""
        return float(self.slopes.min()), float(self.slopes.max())

    def at(self, ticks: Array) -> tuple[Array, Array]:
        """Return the earliest and the latest time of TLPs at ticks: nanoseconds on perf's clock, int64, rounded outward."""
        first: Array = np.full(len(ticks), np.inf)
        last: Array = np.full(len(ticks), -np.inf)
        since = (ticks - self.start_ticks).astype(np.float64)
        for slope, offset in zip(self.slopes.tolist(), self.offsets.tolist(), strict=True):
            time = offset + slope * since
            first, last = np.minimum(first, time), np.maximum(last, time)
        return self.start_ns + np.floor(first).astype(np.int64), self.start_ns + np.ceil(last).astype(np.int64)

    def line(self, tick_ns: float | None = None) -> tuple[float, float] | None:
        """Return one of the clocks: nanoseconds at tick 0, from `start_ns` on, and nanoseconds a tick.

        Parameters
        ----------
        tick_ns : float or None
            How long a tick is known to be; None for the middle of what is possible.

        Returns
        -------
        tuple of float or None
            None where a tick of that length contradicts a bound.
        """
        low, high = self.tick_ns
        tick = (low + high) / 2 if tick_ns is None else tick_ns
        if not low <= tick <= high:
            return None
        half = len(self.slopes) // 2
        least, most = (np.interp(tick, self.slopes[:half], offsets) for offsets in (self.offsets[:half], self.offsets[half:]))
        return float(least + most) / 2 - tick * self.start_ticks, tick


def clock_of(bounds: Bounds, ticks: tuple[float, float] | None = None) -> Clock | None:
    """Return the clocks that contradict no bound; None where the bounds leave the tick open at an end: there are too few.

    Parameters
    ----------
    bounds : Bounds
        The bounds.
    ticks : tuple of float, optional
        The shortest and the longest tick in nanoseconds, as anchors have measured them. Not used where the bounds contradict them.
    """
    if not len(bounds.after_ticks) or not len(bounds.before_ticks):
        return None
    start_ticks = int(min(bounds.after_ticks.min(), bounds.before_ticks.min()))
    start_ns = int(bounds.after_ns.min())
    # The line runs above all points of `after`, and below all points of `before`.
    above = _hull(bounds.after_ticks - start_ticks, bounds.after_ns - start_ns, sign=1)
    below = _hull(bounds.before_ticks - start_ticks, bounds.before_ns - start_ns, sign=-1)
    low, high = _slopes(above, below)
    if ticks is not None and low < np.inf and max(low, ticks[0]) <= min(high, ticks[1]):
        low, high = max(low, ticks[0]), min(high, ticks[1])
    if high == np.inf and low < np.inf:
        return None
    if low == np.inf or high < max(low, _SHORTEST):
        return Clock(start_ticks, start_ns, np.empty(0), np.empty(0), _missed(above, below), high)
    low = max(low, 0.0)
    slopes = np.unique(np.clip(np.concatenate(([low, high], _edges(above), _edges(below))), low, high))
    least = _extreme(above, slopes, np.max)
    most = _extreme(below, slopes, np.min)
    # At the ends of the range the two meet, but for what rounding leaves.
    most = np.maximum(least, most)
    return Clock(start_ticks, start_ns, np.concatenate((slopes, slopes)), np.concatenate((least, most)), longest_ns=high)


def _hull(x: Array, y: Array, *, sign: int) -> Array:
    """Return the corners of the upper hull (sign 1) or of the lower one (-1) of points, by x, shape (k, 2)."""
    order = np.lexsort((-sign * y, x))
    x, y = x[order], y[order]
    first = np.concatenate(([True], x[1:] != x[:-1]))
    points = np.stack((x[first], y[first]), axis=1)
    # Every other point that lies inside of its neighbours is left out first, so that the loop has few. Rounding moves a bound by less than
    # a thousandth of a nanosecond.
    while len(points) > 64:
        middle = len(points) - 1 - (len(points) - 1) % 2
        a, b, c = (points[start:stop:2].astype(np.float64) for start, stop in ((0, middle - 1), (1, middle), (2, middle + 1)))
        turn = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
        keep = np.ones(len(points), dtype=np.bool_)
        keep[1:middle:2] = sign * turn < 0
        if np.count_nonzero(keep) > 0.9 * len(points):
            break
        points = points[keep]
    hull: list[tuple[int, int]] = []
    for px, py in points.tolist():
        while len(hull) > 1:
            (ax, ay), (bx, by) = hull[-2:]
            if sign * ((bx - ax) * (py - ay) - (by - ay) * (px - ax)) < 0:
                break
            hull.pop()
        hull.append((px, py))
    return np.array(hull, dtype=np.float64)


def _slopes(above: Array, below: Array) -> tuple[float, float]:
    """Return the lowest and the highest slope of a line above the one hull and below the other."""
    run = below[None, :, 0] - above[:, None, 0]
    rise = below[None, :, 1] - above[:, None, 1]
    ratio = rise / np.where(run == 0, 1, run)
    high = ratio[run > 0].min(initial=np.inf)
    if ((run == 0) & (rise < 0)).any():
        return np.inf, float(high)
    low = ratio[run < 0].max(initial=-np.inf)
    return (max(float(low), 0.0) if np.isfinite(high) else float(low)), float(high)


def _edges(hull: Array) -> Array:
    edges: Array = np.diff(hull[:, 1]) / np.diff(hull[:, 0])
    return edges


def _extreme(hull: Array, slopes: Array, which: Any) -> Array:
    """Return by slope the offset of the line that touches a hull."""
    offsets: Array = which(hull[None, :, 1] - slopes[:, None] * hull[None, :, 0], axis=1)
    return offsets


def _missed(above: Array, below: Array) -> float:
    """Return by how much the bounds contradict each other with the best slope."""
    slopes = np.concatenate((_edges(above), _edges(below), [_SHORTEST]))
    slopes = slopes[slopes >= _SHORTEST]
    return float((_extreme(above, slopes, np.max) - _extreme(below, slopes, np.min)).min())
