"""What is measured in each part of a recording: shares, sizes, rates, errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.compare import blocks, latency
from ptttool.analyses.compare.grid import Sums
from ptttool.analyses.compare.statistics import Sample
from ptttool.tlp.columns import CLASSES, DIRECTIONS

# Rates are of this number of ticks, so that they are readable; with a known tick they are of a second.
_TICKS: Final = 1000
_SECOND: Final = 1e9

# Percentiles of latencies, and the fewest transactions of a part that have one.
_PERCENTILES: Final = ((50, 10), (99, 200))

RATES: Final = ("tlp-rate", "data-rate")
"""Measures that divide by time."""


@dataclass(frozen=True)
class Measured:
    """A measure of the parts of a recording.

    Parameters
    ----------
    name : str
        A stable word: ``tlp-share``, ``payload-size``, ``request-size``, ``tlp-rate``, ``data-rate``, ``error-share``, ``latency-p50``.
    unit : str
        Unit of the values.
    direction, class_ : str or None
        The TLPs that are measured; None for all.
    values : ndarray of float64
        A value for each part that has one.
    """

    name: str
    unit: str
    direction: str | None
    class_: str | None
    values: Sample

    @property
    def key(self) -> tuple[str, str | None, str | None]:
        """What is measured, of which TLPs."""
        return self.name, self.direction, self.class_


def measures_of(sums: Sums, tick_ns: float | None) -> Iterator[Measured]:
    """Yield what can be measured in parts.

    Parameters
    ----------
    sums : ndarray of int64, shape (parts, :data:`blocks.WIDTH`)
        The sums of each part.
    tick_ns : float or None
        Nanoseconds of a tick, where that is known.
    """
    per, scale = (f"{_TICKS:,} ticks", float(_TICKS)) if tick_ns is None else ("second", _SECOND / tick_ns)
    ticks = sums[:, blocks.TICKS]
    tlps = sums[:, blocks.TLPS : blocks.TLPS + blocks.CELLS]
    whole = tlps.sum(axis=1)
    yield from _measured("tlp-rate", f"TLPs a {per}", None, None, whole * scale, ticks)
    for direction, direction_name in enumerate(DIRECTIONS):
        for class_, class_name in enumerate(CLASSES):
            at = blocks.cell(direction, class_)
            if not tlps[:, at].any():
                continue
            named = direction_name, class_name
            yield from _measured("tlp-share", "%", *named, tlps[:, at] * 100.0, whole)
            yield from _measured("payload-size", "bytes", *named, sums[:, blocks.DATA + at], sums[:, blocks.WITH_DATA + at])
            if class_name == "NP":
                yield from _measured("request-size", "bytes", *named, sums[:, blocks.ASKED + at], sums[:, blocks.ASKING + at])
            if sums[:, blocks.DATA + at].any():
                yield from _measured("data-rate", f"bytes a {per}", *named, sums[:, blocks.DATA + at] * scale, ticks)
    yield from _measured("error-share", "per million", None, "CPL", sums[:, blocks.ERRORS] * 1e6, sums[:, blocks.COMPLETIONS])


def latencies_of(sums: Sums, tick_ns: float | None) -> Iterator[Measured]:
    """Yield how long transactions take in parts, from the request to its last completion.

    Parameters
    ----------
    sums : ndarray of int64, shape (parts, :data:`latency.WIDTH`)
        The sums of each part.
    tick_ns : float or None
        Nanoseconds of a tick, where that is known.
    """
    unit, scale = ("ticks", 1.0) if tick_ns is None else ("ns", tick_ns)
    for direction, name in enumerate(DIRECTIONS):
        counts = sums[:, latency.bins_of(direction)]
        whole = counts.sum(axis=1)
        for percent, fewest in _PERCENTILES:
            rows = whole >= fewest
            if rows.any():
                values = latency.percentiles(counts[rows], percent) * scale
                yield Measured(f"latency-p{percent}", unit, name, "NP", values)


def _measured(name: str, unit: str, direction: str | None, class_: str | None, above: npt.NDArray[Any], below: Sums) -> Iterator[Measured]:
    """Yield a quotient, for the parts where there is something to divide by; nothing where no part has it."""
    rows = below > 0
    if rows.any():
        yield Measured(name, unit, direction, class_, np.asarray(above[rows] / below[rows], dtype=np.float64))
