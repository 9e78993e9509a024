"""Joining, slowly and literally: commands are followed one by one, clocks are tried pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple


class Setup(NamedTuple):
    time: int
    queue: int
    identifier: int


def pairs(setups: Sequence[Setup], completes: Sequence[Setup]) -> dict[tuple[int, int], tuple[int, int]]:
    """Return by queue and number of the submission: the number of the end in its queue, and the time in between."""
    nth: dict[int, int] = {}
    open_: dict[tuple[int, int], tuple[int, int]] = {}
    found = {}
    ends: dict[int, int] = {}
    for time, is_end, queue, identifier in sorted(
        [(one.time, 0, one.queue, one.identifier) for one in setups] + [(one.time, 1, one.queue, one.identifier) for one in completes]
    ):
        if is_end:
            number = ends.get(queue, 0)
            ends[queue] = number + 1
            if (queue, identifier) in open_:
                first, begun = open_.pop((queue, identifier))
                found[queue, first] = number, time - begun
        else:
            number = nth.get(queue, 0)
            nth[queue] = number + 1
            open_[queue, identifier] = number, time
    return found


Point = tuple[int, int]


def ticks(after: Sequence[Point], before: Sequence[Point]) -> tuple[Fraction, Fraction | None] | None:
    """Return the shortest and the longest tick (None: no limit) above 0 of a line above all points `after` and below all `before`."""
    low, high = Fraction(0), None
    for x, y in after:
        for u, v in before:
            if u == x and v < y:
                return None
            if u > x:
                high = Fraction(v - y, u - x) if high is None else min(high, Fraction(v - y, u - x))
            if u < x:
                low = max(low, Fraction(y - v, x - u))
    return None if high is not None and (high < low or high <= 0) else (low, high)


def place(after: Sequence[Point], before: Sequence[Point], at: int, slopes: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """Return the earliest and the latest time at a tick over lines of some slopes."""
    return (
        min(max(y + slope * (at - x) for x, y in after) for slope in slopes),
        max(min(y + slope * (at - x) for x, y in before) for slope in slopes),
    )
