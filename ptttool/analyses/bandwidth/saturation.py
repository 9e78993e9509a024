"""For how long a link was full: no mean shows a link that is full for 5 ms of every 20."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.analyses.bandwidth.cells import CELLS, UNKNOWN
from ptttool.analyses.bandwidth.document import Saturation
from ptttool.analyses.bandwidth.floor import BUFFERED
from ptttool.tlp.columns import CLASSES, DIRECTIONS

if TYPE_CHECKING:
    from ptttool.analyses.link import LinkRate
    from ptttool.analyses.time.line import Line, Spans

Table = npt.NDArray[np.int64]

# Share of what DLLPs leave of the link from which it is full.
FULL: Final = 0.9


class Windows(NamedTuple):
    """Time in which the traffic is looked at. All arrays have shape (n,), of int64.

    Parameters
    ----------
    first, last : ndarray
        Numbers of the first and of the last point of the time line.
    ticks : ndarray
        How long each is, up to the first record behind it.
    """

    first: Table
    last: Table
    ticks: Table


def windows_of(spans: Spans, least: int) -> Windows:
    """Return windows of at least so many ticks; those over an unknown time, and short ones in front of it, are left out.

    Parameters
    ----------
    spans : Spans
        Where the points of the time line lie.
    least : int
        Ticks of a window.
    """
    rows = np.array(list(_windows(spans, least)), dtype=np.int64).reshape(-1, 3)
    return Windows(*rows.T)


def _windows(spans: Spans, least: int) -> Iterator[tuple[int, int, int]]:
    """Yield the first and the last point of each window, and its ticks."""
    first, last, _, segment, last_segment = (each.tolist() for each in spans)
    begin, points = 0, len(first)
    for at in range(points):
        is_known = segment[begin] == last_segment[at]
        goes_on = at + 1 < points and segment[at + 1] == last_segment[at]
        ticks = (first[at + 1] if goes_on else last[at]) - first[begin]
        if is_known and goes_on and ticks < least:
            continue
        if is_known and ticks >= least:
            yield begin, at, ticks
        begin = at + 1


def saturation_of(line: Line, link: LinkRate, tick_ns: float, elapsed: int) -> dict[str, Saturation]:
    """Return for how long the link was full in each direction with TLPs.

    Parameters
    ----------
    line : Line
        TLPs, bytes of data and bytes on the link by cell.
    link : LinkRate
        What the link can carry.
    tick_ns : float
        Nanoseconds of a tick.
    elapsed : int
        Ticks of the recording, above 0.
    """
    per_tick = link.usable_per_second * tick_ns / 1e9
    spans = line.spans
    # In shorter windows, what waited between the link and where TLPs are traced could look like a full link.
    windows = windows_of(spans, math.ceil(BUFFERED / per_tick))
    wire: Any = line.sums[:, 2 * CELLS : 2 * CELLS + UNKNOWN].reshape(-1, len(DIRECTIONS), len(CLASSES)).sum(axis=2)
    before = np.concatenate((np.zeros((1, wire.shape[1]), np.int64), np.cumsum(wire, axis=0)))
    sums = before[windows.last + 1] - before[windows.first]
    saturation = {}
    for code, name in enumerate(DIRECTIONS):
        if name == "unknown" or not before[-1, code]:
            continue
        is_full = sums[:, code] >= FULL * per_tick * windows.ticks
        ticks = int(windows.ticks[is_full].sum())
        longest, index = _longest(windows, is_full, spans.row)
        mean = float(windows.ticks.mean()) if len(is_full) else None
        saturation[name] = Saturation(FULL * link.usable_per_second, ticks, ticks / elapsed, mean, longest, index)
    return saturation


def _longest(windows: Windows, is_full: npt.NDArray[np.bool_], rows: Table) -> tuple[int, int | None]:
    """Return the ticks of the longest run of full windows that follow each other, and the number of the record it begins with."""
    longest, index, run, begin, behind = 0, None, 0, 0, -1
    for at in np.flatnonzero(is_full).tolist():
        if windows.first[at] != behind:
            run, begin = 0, int(rows[windows.first[at]])
        run, behind = run + int(windows.ticks[at]), int(windows.last[at]) + 1
        if run > longest:
            longest, index = run, begin
    return longest, index
