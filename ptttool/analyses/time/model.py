"""Models of the Time field, whose meaning is not documented, and the evidence for a model in the data."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

CLOCK_COLUMNS: Final = ("time", "offset", "cpu")
"""The columns that say when TLPs came."""

FINEST: Final = 4
"""The finest pieces of AUX data that a point of a time line stands for: 2^4 bytes, a record of 4DW."""


class TimeModel(StrEnum):
    """How the Time field is read."""

    COUNTER = "counter"
    """A counter of ticks that wraps around: time passes by the difference of two fields."""
    DELTA = "delta"
    """The ticks since the TLP before: time passes by the sum of the fields."""
    UNKNOWN = "unknown"
    """Not known: results have no times."""


class TimeSign(StrEnum):
    """What the first records show of their Time field."""

    RISES = "rises"
    """It rises nearly all the time, as a counter does."""
    DIFFERENCES_REPEAT = "differences-repeat"
    """Its values are spread evenly and its differences are not: a counter."""
    JUMPS = "jumps"
    """It rises and falls equally often, over few values: differences."""
    AMBIGUOUS = "ambiguous"
    """Neither of the models fits clearly better."""
    TOO_FEW = "too-few"
    """There are too few records, or it changes too seldom."""


class TimeEvidence(Struct, frozen=True):
    """What the first records show of their Time field.

    Parameters
    ----------
    sign : TimeSign
        What speaks for the model, or why none was found.
    model : TimeModel
        The model that fits.
    records : int
        Records that were looked at.
    bits : int
        Bits of the field.
    falls : float or None
        Of the changes of the field, the share by which it falls. Wraps of 32 bits count as rises; None without changes.
    value_entropy, difference_entropy : float or None
        Entropy in bits of the values, and of their differences modulo 2^bits; None without differences.
    """

    sign: TimeSign
    model: TimeModel
    records: int
    bits: int
    falls: float | None = None
    value_entropy: float | None = None
    difference_entropy: float | None = None
