"""Rates of sums, and the time line of a recording with its bursts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from ptttool.analyses.bandwidth.cells import CELLS, UNKNOWN
from ptttool.analyses.bandwidth.document import BandwidthLine, Burst, Flow
from ptttool.analyses.link import LinkRate
from ptttool.analyses.time.line import Intervals
from ptttool.tlp.columns import CLASSES, DIRECTIONS

Sums = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rates:
    """What makes rates of sums. ``ticks``: that elapsed; None or 0: nothing is known."""

    ticks: float | None
    tick_ns: float | None
    link: LinkRate | None

    def flow(self, direction: str | None, tlp_class: str | None, sums: Any) -> Flow:
        """Return TLPs, bytes of data and bytes on the link (`sums`) with their rates; None stands for all directions or classes."""
        tlps, payload, wire = (int(each) for each in sums)
        if not self.ticks:
            return Flow(direction, tlp_class, tlps, payload, wire)
        flow = Flow(direction, tlp_class, tlps, payload, wire, tlps / self.ticks, payload / self.ticks, wire / self.ticks)
        if self.tick_ns is None:
            return flow
        scale = 1e9 / (self.ticks * self.tick_ns)
        # Each direction has the whole rate to itself.
        share = None if self.link is None or direction in (None, "unknown") else wire * scale / self.link.bytes_per_second
        return replace(flow, tlps_per_second=tlps * scale, payload_per_second=payload * scale, wire_per_second=wire * scale, share=share)


def _by_direction(intervals: Intervals) -> Sums:
    """Return the sums of each interval, shape (n, 3, directions)."""
    sums = intervals.sums.reshape(-1, 3, CELLS)[:, :, :UNKNOWN]
    by_direction: Sums = sums.reshape(-1, 3, len(DIRECTIONS), len(CLASSES)).sum(axis=3)
    return by_direction


def bursts_of(intervals: Intervals, rates: Rates) -> dict[str, Burst]:
    """Return the busiest interval of each direction with data."""
    found = {}
    sums = _by_direction(intervals)
    here = Rates(intervals.width, rates.tick_ns, rates.link)
    for code, name in enumerate(DIRECTIONS):
        wire = sums[:, 2, code]
        if not wire.any():
            continue
        at = int(wire.argmax())
        flow = here.flow(name, None, sums[at, :, code])
        mean = float(wire.sum()) / rates.ticks if rates.ticks else None
        times = None if mean is None or flow.wire_per_tick is None else flow.wire_per_tick / mean
        found[name] = Burst(int(intervals.begins[at]), int(intervals.rows[at]), flow, times)
    return found


def line_of(intervals: Intervals) -> BandwidthLine:
    """Return the sums of each interval, by direction."""
    sums = _by_direction(intervals)
    tlps, payload, wire = ({name: sums[:, each, code].tolist() for code, name in enumerate(DIRECTIONS)} for each in range(3))
    return BandwidthLine(intervals.width, intervals.begins.tolist(), intervals.rows.tolist(), tlps, payload, wire)
