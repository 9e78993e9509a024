"""Rates of sums, and the time line of a recording with its bursts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from ptttool.analyses.bandwidth.cells import CELLS, UNKNOWN
from ptttool.analyses.bandwidth.document import BandwidthLine, Burst, Flow
from ptttool.analyses.link import LinkRate
from ptttool.analyses.time.line import Intervals
from ptttool.tlp.columns import CLASSES, DIRECTIONS

if TYPE_CHECKING:
    from ptttool.analyses.time.facts import TimeFacts

Sums = npt.NDArray[np.int64]


def flow_of(
    direction: str | None, tlp_class: str | None, sums: Any, ticks: float | None, tick_ns: float | None, link: LinkRate | None
) -> Flow:
    """Return what went over the link, with its rates as far as they are known.

    Parameters
    ----------
    direction, tlp_class : str or None
        Of which TLPs; None stands for all.
    sums : ndarray of integers, shape (3,)
        TLPs, bytes of data, bytes on the link.
    ticks : float or None
        Ticks that elapsed; None or 0 where nothing is known of time.
    tick_ns : float or None
        Nanoseconds of a tick.
    link : LinkRate or None
        What the link can carry.
    """
    tlps, payload, wire = (int(each) for each in sums)
    if not ticks:
        return Flow(direction, tlp_class, tlps, payload, wire)
    flow = Flow(direction, tlp_class, tlps, payload, wire, tlps / ticks, payload / ticks, wire / ticks)
    if tick_ns is None:
        return flow
    scale = 1e9 / (ticks * tick_ns)
    # Each direction has the whole rate to itself.
    share = None if link is None or direction in (None, "unknown") else wire * scale / link.bytes_per_second
    return replace(flow, tlps_per_second=tlps * scale, payload_per_second=payload * scale, wire_per_second=wire * scale, share=share)


def _by_direction(intervals: Intervals) -> Sums:
    """Return the sums of each interval, shape (n, 3, directions)."""
    sums = intervals.sums.reshape(-1, 3, CELLS)[:, :, :UNKNOWN]
    by_direction: Sums = sums.reshape(-1, 3, len(DIRECTIONS), len(CLASSES)).sum(axis=3)
    return by_direction


def bursts_of(intervals: Intervals, time: TimeFacts, link: LinkRate | None) -> dict[str, Burst]:
    """Return the busiest interval of each direction with data; none where nothing is known of time."""
    bursts = {}
    sums = _by_direction(intervals)
    for code, name in enumerate(DIRECTIONS):
        wire = sums[:, 2, code]
        if time.elapsed_ticks is None or not wire.any():
            continue
        at = int(wire.argmax())
        flow = flow_of(name, None, sums[at, :, code], intervals.width, time.tick_ns, link)
        times = None
        if time.elapsed_ticks and flow.wire_per_tick is not None:
            times = flow.wire_per_tick / (float(wire.sum()) / time.elapsed_ticks)
        bursts[name] = Burst(int(intervals.begins[at]), int(intervals.rows[at]), flow, times)
    return bursts


def line_of(intervals: Intervals) -> BandwidthLine:
    """Return the sums of each interval, by direction."""
    sums = _by_direction(intervals)
    tlps, payload, wire = ({name: sums[:, each, code].tolist() for code, name in enumerate(DIRECTIONS)} for each in range(3))
    return BandwidthLine(intervals.width, intervals.begins.tolist(), intervals.rows.tolist(), tlps, payload, wire)
