"""How long a tick is at least: no interval holds more bytes than the link can carry in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ptttool.analyses.bandwidth.cells import CELLS, UNKNOWN
from ptttool.analyses.time.kept import TickFloor
from ptttool.tlp.columns import CLASSES, DIRECTIONS

if TYPE_CHECKING:
    from ptttool.analyses.link import LinkRate
    from ptttool.analyses.time.line import Line

BUFFERED: Final = 1 << 16
"""Bytes of an interval that do not count: so much may have waited in buffers of the port, between the link and where TLPs are traced."""
# With flits, TLPs have no framing of their own: their bytes on the link are fewer than are counted.
_FASTEST_WITHOUT_FLITS: Final = 32.0


def floor_of(line: Line, link: LinkRate | None) -> TickFloor | None:
    """Return how long a tick is at least.

    Every run of 1, 2, 4, ... neighbouring points of the time line is an interval: its TLPs and the ticks of the first and of the last one
    are known exactly. Intervals in which it is not known how much time passed do not count.

    Parameters
    ----------
    line : Line
        TLPs, bytes of data and bytes on the link by cell, over ticks that hide no time: not those of 11 bits.
    link : LinkRate or None
        The most that the links can carry.

    Returns
    -------
    TickFloor or None
        None where the link is not known, is one with flits, or no interval has more than :data:`BUFFERED` bytes.
    """
    if link is None or any(float(each.split(" ")[0]) > _FASTEST_WITHOUT_FLITS for each in link.links):
        return None
    spans = line.spans
    wire = line.sums[:, 2 * CELLS : 2 * CELLS + UNKNOWN].reshape(-1, len(DIRECTIONS), len(CLASSES)).sum(axis=2)
    wire[:, DIRECTIONS.index("unknown")] = 0
    before = np.concatenate((np.zeros((1, wire.shape[1]), np.int64), np.cumsum(wire, axis=0)))
    best, count = (0.0, 0, 0, 0), 1
    while count <= len(spans.first):
        ends = np.arange(count, len(spans.first) + 1)
        begins = ends - count
        # A tick more: the first TLP may have come at the beginning of its tick, and the last one at the end of its own.
        ticks = spans.last[ends - 1] - spans.first[begins] + 1
        is_timed = spans.last_segment[ends - 1] == spans.segment[begins]
        rates = np.where(is_timed[:, None], (before[ends] - before[begins] - BUFFERED) / ticks[:, None], 0.0)
        place = int(rates.argmax())
        at, code = divmod(place, rates.shape[1])
        best = max(best, (float(rates.flat[place]), at, code, count), key=lambda each: each[0])
        count *= 2
    rate, at, code, count = best
    if not count:
        return None
    last = at + count
    return TickFloor(
        tick_ns=rate / link.bytes_per_second * 1e9,
        direction=DIRECTIONS[code],
        begin=int(spans.first[at]),
        ticks=int(spans.last[last - 1] - spans.first[at]) + 1,
        index=int(spans.row[at]),
        wire_bytes=int(before[last, code] - before[at, code]),
        waiting_bytes=BUFFERED,
        links=link.links,
        bytes_per_second=link.bytes_per_second,
    )
