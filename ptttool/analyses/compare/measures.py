"""What is measured in each part of a recording: shares, sizes, rates, errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

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


Key: TypeAlias = tuple[str, str | None, str | None]
"""What is measured (``tlp-share``, ``payload-size``, ``request-size``, ``tlp-rate``, ``data-rate``, ``error-share``, ``latency-p50``), and
of which TLPs: direction and class, None for all."""

Measured: TypeAlias = tuple[str, Sample]
"""The unit, and a value for each part that has one."""


def measures_of(sums: Sums, tick_ns: float | None, seen: Sums) -> Iterator[tuple[Key, Measured]]:
    """Yield what can be measured in parts.

    Parameters
    ----------
    sums : ndarray of int64, shape (parts, :data:`blocks.WIDTH`)
        The sums of each part.
    tick_ns : float or None
        Nanoseconds of a tick, where that is known.
    seen : ndarray of int64, shape (:data:`blocks.WIDTH`,)
        Sums of what is measured where it is above 0.
    """
    per, scale = (f"{_TICKS:,} ticks", float(_TICKS)) if tick_ns is None else ("second", _SECOND / tick_ns)
    ticks = sums[:, blocks.TICKS]
    tlps = sums[:, blocks.TLPS : blocks.TLPS + blocks.CELLS]
    whole = tlps.sum(axis=1)
    yield from _measured(("tlp-rate", None, None), f"TLPs a {per}", whole * scale, ticks)
    for direction, direction_name in enumerate(DIRECTIONS):
        for class_, class_name in enumerate(CLASSES):
            at = blocks.cell(direction, class_)
            if not seen[blocks.TLPS + at]:
                continue
            named = direction_name, class_name
            yield from _measured(("tlp-share", *named), "%", tlps[:, at] * 100.0, whole)
            yield from _measured(("payload-size", *named), "bytes", sums[:, blocks.DATA + at], sums[:, blocks.WITH_DATA + at])
            if class_name == "NP":
                yield from _measured(("request-size", *named), "bytes", sums[:, blocks.ASKED + at], sums[:, blocks.ASKING + at])
            if seen[blocks.DATA + at]:
                yield from _measured(("data-rate", *named), f"bytes a {per}", sums[:, blocks.DATA + at] * scale, ticks)
    yield from _measured(("error-share", None, "CPL"), "per million", sums[:, blocks.ERRORS] * 1e6, sums[:, blocks.COMPLETIONS])


def latencies_of(sums: Sums, tick_ns: float | None) -> Iterator[tuple[Key, Measured]]:
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
                yield (f"latency-p{percent}", name, "NP"), (unit, values)


def _measured(key: Key, unit: str, above: npt.NDArray[Any], below: Sums) -> Iterator[tuple[Key, Measured]]:
    """Yield a quotient, for the parts where there is something to divide by; nothing where no part has it."""
    rows = below > 0
    if rows.any():
        yield key, (unit, np.asarray(above[rows] / below[rows], dtype=np.float64))
