"""The ways to read the Time field, whose meaning no document states."""

from __future__ import annotations

from enum import StrEnum


class TimeModel(StrEnum):
    """What the Time field is taken for."""

    COUNTER = "counter"
    """A counter of ticks that wraps around: time passes by the difference of two fields."""
    DELTA = "delta"
    """The ticks since the TLP before: time passes by the sum of the fields."""
    UNKNOWN = "unknown"
    """Not known: nothing is said of time."""
