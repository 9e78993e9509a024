"""Where the number of outstanding requests stands still, and how many a bandwidth needs.

A device that has so many requests under way as it is able to sends the next one when another has ended: the number goes back to the same
level again and again. So a plateau shows in two things, whatever the level is: for much of the time in which requests are outstanding
they are so many and hardly ever more; and far more requests bring the number to this level than climb to it from nothing. A batch of
requests that are sent together, and end together, has the first and not the second.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Array = npt.NDArray[Any]

# One part in so many of the busy time may lie above a plateau: a device may have a few tags for other work, as the fetch of commands.
_ABOVE: Final = 20
# A part of the level that it may fall by until the next request comes.
_BAND: Final = 8
# Shares of the busy time and of requests from which it is one.
_HELD: Final = 0.25
_REFILLED: Final = 0.25
# Header and framing of a completion.
COMPLETION: Final = 20


class Plateau(Struct, frozen=True):
    """A level that the number of outstanding requests stands at, and hardly ever exceeds: the limit of the device, or of the work it has.

    Parameters
    ----------
    level : int
        The level: for 5 % of the busy time or less, more were outstanding. Busy is the time with one request or more.
    from_level : int
        The level from which on it counts as held: an eighth below, until the next request comes.
    held : float
        Share of the busy time at `from_level` or more.
    refills : int
        Requests that brought the number to `from_level` or more, without those that climbing there from nothing takes: each came when
        another had ended.
    share : float
        They as a share of all requests.
    """

    level: int
    from_level: int
    held: float
    refills: int
    share: float

    def __str__(self) -> str:
        return str(self.level) if self.from_level == self.level else f"{self.from_level} to {self.level}"


class Demand(Struct, frozen=True):
    """How many requests a bandwidth needs: bandwidth × response time ÷ bytes of a request.

    Parameters
    ----------
    bytes : float
        Mean bytes of data that completions brought for a request.
    wire_bytes : float
        Mean bytes that they took on the link, with headers and framing.
    response_ticks : float
        Mean time from a request to the completion that ended it, with all waiting: under load it is longer than without.
    bytes_per_tick : float
        Bytes of data a tick that one outstanding request brings: `bytes` ÷ `response_ticks`. A bandwidth divided by it is the number of
        requests that it needs.
    bytes_per_second : float or None
        The same a second; None where the length of a tick is not known.
    for_link : float or None
        Requests that fill what DLLPs leave of the link with their completions; None where the link or the length of a tick is not known.
    """

    bytes: float
    wire_bytes: float
    response_ticks: float
    bytes_per_tick: float
    bytes_per_second: float | None
    for_link: float | None


def plateau_of(level: Array, ticks: Array, requests: Array) -> Plateau | None:
    """Return the plateau of a series; None where there is none.

    Parameters
    ----------
    level : ndarray of int64, shape (n,)
        The levels, ascending.
    ticks, requests : ndarray of int64, shape (n,)
        How long each lasted, and how many requests brought the number to it.
    """
    is_busy = level > 0
    level, ticks, requests = level[is_busy], ticks[is_busy], requests[is_busy]
    busy, sent = int(ticks.sum()), int(requests.sum())
    if not busy or level[-1] < 2:
        return None
    # The smallest level with no more than that above it.
    top = int(level[np.searchsorted(_ABOVE * np.cumsum(ticks), (_ABOVE - 1) * busy)])
    if top < 2:
        return None
    bottom = max(top - top // _BAND, 2)
    is_held = level >= bottom
    below = requests[~is_held]
    # A level below that no request brought the number to does not occur: some climb over each.
    climbs = int(below.min()) if len(below) == bottom - 1 else 0
    refills = max(int(requests[is_held].sum()) - climbs * (int(level[-1]) - bottom + 1), 0)
    held = float(ticks[is_held].sum()) / busy
    share = refills / sent if sent else 0.0
    return Plateau(top, bottom, held, refills, share) if held >= _HELD and share >= _REFILLED and refills >= top else None


def demand_of(timed: int, ticks: int, received: int, completions: int, tick_ns: float | None, link: float | None) -> Demand | None:
    """Return how many requests a bandwidth needs; None where no data came, or in no time.

    Parameters
    ----------
    timed, ticks : int
        Requests of which the time is known, and the ticks from request to end.
    received, completions : int
        Bytes of data that their completions brought, and how many completions they were.
    tick_ns : float or None
        Nanoseconds of a tick.
    link : float or None
        Bytes a second that DLLPs leave of the link in the direction of the completions.
    """
    if not received or not ticks:
        return None
    wire = (received + COMPLETION * completions) / timed
    response = ticks / timed
    per_tick = received / ticks
    needed = None if tick_ns is None or link is None else link * response * tick_ns / 1e9 / wire
    return Demand(received / timed, wire, response, per_tick, None if tick_ns is None else per_tick / tick_ns * 1e9, needed)
