"""Requests matched to their completions in parts of a recording, and how two neighbouring parts become one.

Nothing is matched across a hole, where records are missing. A part knows how it begins, and the requests that are open at its end: so
parts that were read by several processes find the same as one that was read as a whole.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.kernel import loops

Array = npt.NDArray[Any]

KEY, STATE, REQUEST, AT, SEGMENT, ROW, MORE, MORE_ENDS, MORE_INDEX = (
    loops.ENTRY.index(name) for name in ("key", "state", "request", "at", "segment", "row", "more", "more_ends", "more_index")
)
_ANSWER_AT, _ANSWER_SEGMENT, _ENDS, _HIDDEN = (loops.ANSWER.index(name) for name in ("at", "segment", "ends", "is_hidden"))
_LEVEL, _POSTED, _QUIET = (loops.ENTRY.index(name) for name in ("level", "posted", "quiet"))
# Running sums, in entries and in completions.
_SUMS = [loops.ENTRY.index(name) for name in ("sent", "went", "mine")]
_ANSWER_SUMS = [loops.ANSWER.index(name) for name in ("sent", "went", "mine")]
_NONE = np.empty((0, len(loops.ENTRY)), dtype=np.int64)
_UNTOLD = np.empty(0, dtype=np.uint8)
_NO_ANSWERS = np.empty((0, len(loops.ANSWER)), dtype=np.int64)
# Odd, and nobody's to know, since keys of a hostile recording would meet in one place of a table otherwise.
_SEED = int.from_bytes(os.urandom(8)) | 1


class Rows(NamedTuple):
    """The columns of a batch: arrays of shape (n,), or empty where no row has a value.

    Parameters
    ----------
    kind : ndarray of uint8
        Kind of each TLP.
    requester, tag : ndarray of uint16
        Requester ID and tag.
    segment : ndarray of uint8
        Segment.
    length_dw, requested_bytes : ndarray of uint16
        Length in DWs, and bytes that are asked for.
    status : ndarray of uint8
        Completion status; 0 is success.
    byte_count : ndarray of uint16
        Byte Count.
    lower_address : ndarray of uint8
        Lower Address.
    is_hidden : ndarray of uint8
        Whether a completion does not count if it has no request.
    number : ndarray of uint64
        Numbers of the TLPs; if empty, they are numbered from `start` on.
    start : int
        Number of the first TLP.
    at : ndarray of int64
        Ticks since the first row; empty if time is not known.
    breaks, holes : ndarray of int64
        Rows, ascending, in front of which time is not known, and records are missing.
    gaps : ndarray of uint8
        How requests end that are open at the holes.
    direction : ndarray of uint8
        Directions: :data:`ptttool.kernel.loops.DIRECTIONS`.
    """

    kind: Array
    requester: Array
    tag: Array
    segment: Array
    length_dw: Array
    requested_bytes: Array
    status: Array
    byte_count: Array
    lower_address: Array
    is_hidden: Array
    number: Array
    start: int
    at: Array
    breaks: Array
    holes: Array
    gaps: Array
    direction: Array = _UNTOLD


class Limits(NamedTuple):
    """The most that a part keeps for its neighbours; where there is more, it is as if records were missing there.

    Parameters
    ----------
    rows : int
        Open requests, and completions in front of all requests with their key.
    keys : int
        Keys that are known.
    """

    rows: int
    keys: int


class Found(NamedTuple):
    """What was found in a part, or where two parts join.

    Parameters
    ----------
    ended : ndarray of int64, shape (24, n)
        Requests that have ended: :data:`ptttool.kernel.loops.ENDED`. Their rows are those of the batch, or slots (:class:`State`).
    orphans : ndarray of int64, shape (m, 3)
        Completions without a request: :data:`ptttool.kernel.loops.ORPHAN`.
    early, early_ends : int
        Completions whose request stands in front of a hole, or of the recording; and how many of them ended one.
    left_out : int
        Requests that were not followed any further, because there were too many.
    """

    ended: Array
    orphans: Array
    early: int = 0
    early_ends: int = 0
    left_out: int = 0


class Flows(NamedTuple):
    """What went over the link in a part: :data:`ptttool.kernel.loops.FLOWS`, and bytes of completions by requester.

    Parameters
    ----------
    sent, went, level, lowest, posted : int
        Bytes and completions that went to devices; requests of devices less last completions, at the end and the least of it; bytes of
        posted requests of devices behind the last TLP that went to devices.
    knows : bool
        Whether `posted` does not reach back to the part before.
    quiet : int
        Longest time without any TLP since the last request of devices, or completion for one, in ticks.
    acts : bool
        Whether `quiet` does not reach back to the part before.
    requesters, mine : ndarray of int64, shape (n,)
        Requester IDs, ascending, and the bytes on the link of completions for them.
    """

    sent: int
    went: int
    level: int
    lowest: int
    posted: int
    knows: bool
    quiet: int
    acts: bool
    requesters: Array
    mine: Array

    def of(self, keys: Array) -> Array:
        """Return the running sums at the end of the part, for the requesters of some keys: ndarray of int64, shape (n, 3)."""
        sums = np.zeros((len(keys), 3), dtype=np.int64)
        sums[:, 0], sums[:, 1] = self.sent, self.went
        if len(self.requesters):
            ids = keys >> 16 & 0xFFFF
            places = np.minimum(np.searchsorted(self.requesters, ids), len(self.requesters) - 1)
            sums[:, 2] = np.where(self.requesters[places] == ids, self.mine[places], 0)
        return sums

    def behind(self, posted: Array, *, is_hole: bool) -> Array:
        """Return what ``posted`` of requests of the part behind becomes; `is_hole`: whether records are missing between the parts."""
        known = -1 - posted + (0 if is_hole else self.posted)
        become: Array = np.where(posted >= 0, posted, known if is_hole or self.knows else posted - self.posted)
        return become

    def after(self, quiet: Array) -> Array:
        """Return what ``quiet`` of requests of the part behind becomes."""
        longest = np.maximum(-1 - quiet, self.quiet)
        become: Array = np.where(quiet >= 0, quiet, longest if self.acts else -1 - longest)
        return become

    def then(self, later: Flows, *, is_hole: bool) -> Flows:
        """Return those of both parts."""
        ids = np.union1d(self.requesters, later.requesters)
        mine = np.zeros(len(ids), dtype=np.int64)
        for one in (self, later):
            mine[np.searchsorted(ids, one.requesters)] += one.mine
        posted = later.posted if later.knows or is_hole else self.posted + later.posted
        knows = self.knows or later.knows or is_hole
        lowest = min(self.lowest, self.level + later.lowest)
        quiet = later.quiet if later.acts else max(self.quiet, later.quiet)
        return Flows(
            self.sent + later.sent, self.went + later.went, self.level + later.level, lowest, posted, knows, quiet,
            self.acts or later.acts, ids, mine,
        )  # fmt: skip


class State(NamedTuple):
    """What a part keeps for its neighbours. Entries are :data:`ptttool.kernel.loops.ENTRY`; open ones are numbered by slot, from 0.

    Parameters
    ----------
    back : ndarray of int64, shape (n, 27)
        The entries at its end.
    answers : ndarray of int64, shape (k, 13)
        Completions in front of all requests with their key: :data:`ptttool.kernel.loops.ANSWER`.
    flows : Flows
        What went over the link.
    split : ndarray of int64, shape (m, 27), or None
        The entries at its first hole; None without a hole.
    gap : int
        How requests end that are open at its first hole.
    """

    back: Array
    answers: Array
    flows: Flows
    split: Array | None = None
    gap: int = loops.INSIDE

    @property
    def front(self) -> Array:
        """The entries up to the first hole."""
        return self.back if self.split is None else self.split

    @property
    def opened(self) -> Array:
        """The open requests, by slot."""
        entries: Array = self.back[self.back[:, STATE] == loops.OPEN]
        return entries

    def until(self, quiet: int) -> State:
        """Return it as it is where the next TLP comes after so many ticks."""
        return self._replace(flows=self.flows._replace(quiet=max(self.flows.quiet, quiet)))

    def rest(self) -> Found:
        """Return the requests that are open at the end: the recording ends there."""
        matcher = _matcher(self)
        matcher.hole(loops.END)
        return _found(matcher, *self.early())

    def early(self) -> tuple[int, int]:
        """Return how many completions are in front of all requests with their key, and how many of them end one."""
        shown = self.answers[self.answers[:, _HIDDEN] == 0]
        return len(shown) + int(self.front[:, MORE].sum()), int(shown[:, _ENDS].sum()) + int(self.front[:, MORE_ENDS].sum())

    def before(self) -> Array:
        """Return them as :data:`ptttool.kernel.loops.ORPHAN`: ndarray of int64, shape (n, 3)."""
        shown = self.answers[self.answers[:, _HIDDEN] == 0]
        more = self.front[self.front[:, MORE] > 0]
        return np.concatenate((np.insert(shown[:, :2], 2, 1, axis=1), more[:, [KEY, MORE_INDEX, MORE]]))

    def _moved(self, ticks: int, segments: int, slots: int, before: Flows, *, is_hole: bool) -> State:
        """Return it as seen from the part before."""
        answers, back = self.answers.copy(), self.back.copy()
        for array, at, segment in ((answers, _ANSWER_AT, _ANSWER_SEGMENT), (back, AT, SEGMENT)):
            array[:, at] += np.where(array[:, at] >= 0, ticks, 0)
            array[:, segment] += segments
        back[:, ROW] += slots
        back[:, _SUMS] += before.of(back[:, KEY])
        back[:, _LEVEL] += before.level
        back[:, _POSTED] = before.behind(back[:, _POSTED], is_hole=is_hole)
        back[:, _QUIET] = before.after(back[:, _QUIET])
        answers[:, _ANSWER_SUMS] += before.of(answers[:, 0])
        return self._replace(answers=answers, back=back)


def match(roles: Array, rows: Rows, limits: Limits) -> tuple[State, Found, Array]:
    """Match the rows of a batch.

    Parameters
    ----------
    roles : ndarray of uint8, shape (256,)
        What a TLP is, by its kind: :data:`ptttool.kernel.loops.ROLES`.
    rows : Rows
        The rows.
    limits : Limits
        The most that is kept.

    Returns
    -------
    state : State
        What is kept.
    found : Found
        What was found.
    slots : ndarray of int64
        The rows of the open requests, by slot.
    """
    matcher: Any = loops.Matcher(len(rows.kind), _SEED)
    matcher.rows(*(_view(each) for each in (roles, *rows)))
    mine = np.asarray(matcher.mine)
    ids = np.flatnonzero(mine)
    flows = Flows(
        matcher.sent, matcher.went, matcher.level, matcher.lowest, matcher.posted, bool(matcher.knows), matcher.quiet, bool(matcher.acts),
        ids, mine[ids],
    )  # fmt: skip
    return _kept(matcher, limits, flows)


def join(first: State, later: State, ticks: int, segments: int, gap: int | None, limits: Limits) -> tuple[State, Found, Array]:
    """Join two parts.

    Parameters
    ----------
    first, later : State
        The parts.
    ticks, segments : int
        What is added to the ticks, and to the numbers of segments of the later part.
    gap : int or None
        How requests end that are open between them, where records are missing; None if none is.
    limits : Limits
        The most that is kept.

    Returns
    -------
    state, found
        As of :func:`match`; requests that have ended are numbered by slot.
    slots : ndarray of int64
        The former slots of the open requests; those of the later part follow on those of the first.
    """
    later = later._moved(ticks, segments, len(first.opened), first.flows, is_hole=gap is not None)
    matcher = _matcher(first, len(later.back) + len(later.front) + len(later.answers))
    flows = first.flows.then(later.flows, is_hole=gap is not None)
    early = 0, 0
    if gap is None:
        matcher.follow(_view(later.front), _view(later.answers), later.split is not None)
        if later.split is not None:
            matcher.hole(later.gap)
    else:
        matcher.hole(gap)
        early = later.early()
    if gap is not None or later.split is not None:
        matcher.load(_view(later.back[later.back[:, STATE] >= loops.OPEN]))  # nothing answers across the hole
    return _kept(matcher, limits, flows, *early)


def _view(array: Any) -> Any:
    """Return what gives Python's own numbers without a compiler, which do not overflow."""
    return array if isinstance(array, int) else memoryview(array)


def _matcher(state: State, further: int = 0) -> Any:
    """Return a matcher that goes on behind a part, for so many further entries and completions."""
    matcher = loops.Matcher(len(state.back) + len(state.answers) + further, _SEED)
    matcher.load(_view(state.back))
    matcher.begin(_view(state.answers), state.split, state.gap)
    return matcher


def _found(matcher: Any, early: int = 0, early_ends: int = 0, left_out: int = 0) -> Found:
    ended, orphans = np.asarray(matcher.ended)[: matcher.ends].T, np.asarray(matcher.orphans)[: matcher.groups]
    return Found(ended, orphans, matcher.early + early, matcher.early_ends + early_ends, left_out)


def _kept(matcher: Any, limits: Limits, flows: Flows, early: int = 0, early_ends: int = 0) -> tuple[State, Found, Array]:
    """Return what is kept of a matcher, what it has found, and the rows of the open requests."""
    left_out = int(np.count_nonzero(np.asarray(matcher.entries)[: matcher.used, STATE] == loops.OPEN))
    if left_out > limits.rows or matcher.used > limits.keys:
        matcher.hole(loops.END)
    else:
        left_out = 0
    back, answers = (
        np.array(np.asarray(each)[:count]) for each, count in ((matcher.entries, matcher.used), (matcher.answers, matcher.fronts))
    )
    state = State(back, answers, flows, matcher.front, matcher.gap)
    if len(answers) > limits.rows or len(state.front) > limits.keys:
        more, more_ends = state.early()
        early, early_ends = early + more, early_ends + more_ends
        state = State(back, _NO_ANSWERS, flows, _NONE, loops.END)
    is_open = back[:, STATE] == loops.OPEN
    rows = back[is_open, ROW]
    back[is_open, ROW] = np.arange(len(rows))
    return state, _found(matcher, early, early_ends, left_out), rows
