"""Which command of the kernel is which fetch and which completion entry of a queue: found by order, and checked by it.

Let the k-th fetch of a recording be the submission k + s of its queue, and the k-th completion entry the end k + e. Where the kernel's
side has as many as the trace, s = e = 0. Else both are looked for: a command is fetched before it ends, and what was submitted behind the
end of another command was fetched behind its completion entry. Shifts that contradict that more than once in a thousand are not true; if
several are left, nothing is said.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_NONE: Final[Array] = np.empty(0, dtype=np.int64)
TOLERATED: Final = 1000
"""One conflict in so many checks is tolerated: submissions of several CPUs to one queue may change places."""
# Pairs of shifts that are looked at, pairs and commands that are checked.
_MOST_PAIRS: Final = 1 << 18
_MOST_WORK: Final = 1 << 28
# Nanoseconds by which the end of a trace may be noted late: the driver copies the rest of it first.
_LATE_NS: Final = 5_000_000


class QueueEntries(NamedTuple):
    """What was seen of a queue on the link.

    Attributes
    ----------
    requester : int
        Requester ID of the drive.
    queue : int
        Number of the queue.
    fetched, fetched_at : ndarray of int64, shape (n,)
        Fetched submission entries in their order: number of the TLP, and ticks.
    ended, ended_at : ndarray of int64, shape (m,)
        Completion entries, in the same way.
    rung_at : ndarray of int64, shape (p,)
        Ticks of the writes of its tail doorbell.
    """

    requester: int
    queue: int
    fetched: Array
    fetched_at: Array
    ended: Array
    ended_at: Array
    rung_at: Array = _NONE


class Shift(NamedTuple):
    """Where a queue of the recording stands in that of the kernel's side.

    Attributes
    ----------
    submissions, ends : int
        What to add to the number of a fetch, and to that of a completion entry.
    conflicts, checks : int
        How often order contradicts it, and how often that was looked at.
    """

    submissions: int
    ends: int
    conflicts: int
    checks: int

    @property
    def is_possible(self) -> bool:
        """Whether order contradicts it hardly ever."""
        return self.conflicts * TOLERATED <= self.checks


def shifts_of(entries: QueueEntries, commands: Array, end: int | None = None) -> list[Shift]:
    """Return the shifts that order does not contradict, or the one with the fewest conflicts if it contradicts all.

    Parameters
    ----------
    entries : QueueEntries
        The queue on the link.
    commands : structured ndarray
        Its commands of the kernel's side: :data:`ptttool.analyses.joined.commands.COMMAND`.
    end : int or None
        When the trace ended, in nanoseconds; it is complete up to there. None where that is not known.

    Returns
    -------
    list of Shift
        Empty if there are too many to be tried.
    """
    begun, ended = commands[commands["nth_setup"] >= 0], commands[commands["nth_complete"] >= 0]
    room_begun, room_ended = len(begun) - len(entries.fetched), len(ended) - len(entries.ended)
    if end is None or room_begun < 0 or room_ended < 0:
        begins, ends = _between(room_begun), _between(room_ended)
    else:
        # What had ended when the trace did is in it; of what was under way then, some may be. The trace ends before its end is noted.
        early = end - _LATE_NS
        under_way = int(np.count_nonzero((begun["setup"] <= early) & ((begun["complete"] > early) | (begun["complete"] < 0))))
        before, after = (int(np.count_nonzero(begun["setup"] <= time)) - len(entries.fetched) for time in (early, end))
        begins = _within(before - under_way, after, room_begun)
        before, after = (int(np.count_nonzero(ended["complete"] <= time)) - len(entries.ended) for time in (early, end))
        ends = _within(before, after + int(np.count_nonzero((begun["setup"] <= end) & (begun["complete"] > end))), room_ended)
    if not len(entries.fetched):
        begins = range(1)
    if not len(entries.ended):
        ends = range(1)
    pairs = [(s, e) for s in begins for e in ends] if len(begins) * len(ends) <= _MOST_PAIRS else []
    if len(entries.fetched) and len(entries.ended) and room_begun >= 0 and room_ended >= 0:
        # So many are open in the drive where the trace begins and ends.
        most, more = _most_open(begun, ended), len(entries.fetched) - len(entries.ended)
        pairs = [(s, e) for s, e in pairs if 0 <= s - e <= most and 0 <= s - e + more <= most]
    if len(pairs) * len(commands) > _MOST_WORK:
        return []
    begun, ended = begun[begun["nth_setup"].argsort()], ended[ended["nth_complete"].argsort()]
    kernel = _KernelOrder(
        np.sort(begun["setup"]),
        np.where(begun["is_sure"], begun["nth_complete"], -1),
        *(np.ascontiguousarray(ended[name]) for name in ("nth_setup", "complete", "is_sure")),
    )
    found = [_checked(entries, kernel, s, e) for s, e in pairs]
    possible = [shift for shift in found if shift.is_possible]
    return possible or sorted(found, key=lambda shift: shift.conflicts)[:1]


def _most_open(begun: Array, ended: Array) -> int:
    """Return how many commands of a queue were under way at once, at most."""
    times = np.concatenate((begun["setup"], ended["complete"]))
    steps = np.concatenate((np.ones(len(begun), dtype=np.int64), -np.ones(len(ended), dtype=np.int64)))
    levels = np.cumsum(steps[np.lexsort((-steps, times))])
    return int(levels.max(initial=0) - min(int(levels.min(initial=0)), 0))


def _between(room: int) -> range:
    return range(min(room, 0), max(room, 0) + 1)


def _within(first: int, last: int, room: int) -> range:
    return range(max(first, 0), min(last, room) + 1)


class _KernelOrder(NamedTuple):
    """What the kernel says of a queue: times of submissions; by submission its end; by end its submission, the time, and if it is sure."""

    setups: Array
    ends: Array
    begins: Array
    completes: Array
    sure: Array


def _checked(entries: QueueEntries, kernel: _KernelOrder, s: int, e: int) -> Shift:
    """Return how well a shift fits."""
    rows = np.arange(len(entries.ended)) + e
    inside = (rows >= 0) & (rows < len(kernel.begins))
    inside[inside] = kernel.sure[rows[inside]]
    rows, tlps = rows[inside], entries.ended[inside]
    last = len(entries.fetched)
    if not last:
        return Shift(s, e, 0, len(rows))
    # A command that ends was fetched before; it may be older than the recording, but not younger.
    fetch = np.where(kernel.begins[rows] >= 0, kernel.begins[rows] - s, -1)
    seen = (fetch >= 0) & (fetch < last)
    conflicts = int(np.count_nonzero(fetch >= last))
    conflicts += int(np.count_nonzero(entries.fetched[fetch[seen]] > tlps[seen]))
    # What was submitted behind its end was fetched behind it.
    following = np.searchsorted(kernel.setups, kernel.completes[rows], side="right") - s
    seen = (following >= 0) & (following < last)
    conflicts += int(np.count_nonzero(entries.fetched[following[seen]] < tlps[seen]))
    checks = 2 * len(rows)
    if len(entries.ended):
        # A command that was fetched does not end before the recording does so for the first time.
        own = kernel.ends[max(s, 0) : max(s + last, 0)]
        conflicts += int(np.count_nonzero((own >= 0) & (own < e)))
        checks += len(own)
    return Shift(s, e, conflicts, max(checks, 1))
