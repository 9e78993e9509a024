"""The matching of a part of a recording, and how two neighbouring parts become one.

A part holds, besides what it has matched, the rows at its borders: completions in front of the first request of their key, which may
answer a request of the part before, and requests that are open at its end. Two parts join by matching these rows with each other, by the
same steps as all other rows. A stretch is a run of records without a hole: nothing is matched across a hole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
import numpy.typing as npt

from ptttool.analyses.matching.borders import (
    NO_BORDER,
    Border,
    Early,
    borders_of,
    by_key,
    early_of,
    joined_head,
    moved_border,
    renumbered,
    too_many,
)
from ptttool.analyses.matching.pairing import Runs, runs_of, sorted_by_key, spans
from ptttool.analyses.matching.steps import ENDS, MARK, REQUEST, Steps
from ptttool.analyses.matching.transactions import Ending, Orphans, Transactions
from ptttool.analyses.matching.views import BatchView, BorderView, View
from ptttool.analyses.scope import Scope
from ptttool.analyses.time.clock import Clock
from ptttool.analyses.time.model import TimeModel
from ptttool.analyses.time.ticks import Stamp, Ticks, step_between
from ptttool.table.batch import Batch

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Found:
    """What was found in a part, or where two parts join.

    Parameters
    ----------
    ended : Transactions
        Requests that have ended.
    rows : ndarray of intp
        Their rows in the batch; where parts join, their slots in the earlier part.
    orphans : Orphans
        Completions without a request that stand behind a request with their key.
    early : Early
        Completions behind a hole, in front of the first request with their key.
    left_out : int
        Open requests that were not followed any further, because there were too many.
    """

    ended: Transactions
    rows: Array
    orphans: Orphans
    early: Early
    left_out: int = 0


class Bounds(NamedTuple):
    """Where a part begins and ends.

    Parameters
    ----------
    model : TimeModel
        How the Time field is read.
    first, last : Stamp
        Its first and its last record.
    elapsed : int
        Ticks between them, without what is not known.
    breaks : int
        How often it is not known how much time passed.
    """

    model: TimeModel
    first: Stamp
    last: Stamp
    elapsed: int
    breaks: int

    @property
    def has_time(self) -> bool:
        """Whether the model of time is known."""
        return self.model is not TimeModel.UNKNOWN


@dataclass
class Part:
    """The matching of a part of a recording.

    Parameters
    ----------
    bounds : Bounds
        Where it begins and ends.
    head : Border
        By key: the completions in front of the first request of the first stretch, and a mark for that request.
    tail : Border
        By key: open requests of the last stretch with their completions so far; a mark for a request that is not open any more.
    slots : ndarray of intp
        The rows of the open requests in the batch that the part was made of, by slot.
    is_split : bool
        Whether there is a hole in it, so that `head` and `tail` are of two stretches.
    first_gap : Ending
        If so, how requests end that are open at the first hole.
    found : Found or None
        What was found in it; None for a part that was joined.
    """

    bounds: Bounds
    head: Border
    tail: Border
    slots: Array
    is_split: bool = False
    first_gap: Ending = Ending.INSIDE
    found: Found | None = None
    _joined: tuple[Part, Joined] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, object]:
        """Leave out what was found: it has been added up by then."""
        return self.__dict__ | {"found": None, "_joined": None, "slots": self.slots[:0]}

    @property
    def open(self) -> int:
        """Number of open requests."""
        return int(np.count_nonzero(self.tail.rows["word"] & REQUEST))

    def joined(self, later: Part) -> Joined:
        """Return what becomes of this part and the one behind it; made once for all analyses that share both parts."""
        if self._joined is None or self._joined[0] is not later:
            self._joined = later, _join(self, later)
        return self._joined[1]

    def rest(self) -> Found:
        """Return the requests that are open at its end: the recording ends there."""
        ended, slots = _open_requests(self.tail.rows, self.bounds.has_time, Ending.END)
        return Found(ended, slots, Orphans.none(), early_of(self.head.rows))


@dataclass(frozen=True)
class Joined:
    """Two parts that became one.

    Parameters
    ----------
    part : Part
        The part.
    found : Found
        What was found where they join.
    kept : ndarray of intp
        Slots of the earlier part whose requests are still open, in the order of their new slots.
    taken : ndarray of intp
        Likewise slots of the later part, which follow behind them.
    ticks : int
        What is added to the ticks of the later part.
    """

    part: Part
    found: Found
    kept: Array
    taken: Array
    ticks: int


def _transactions(view: View, runs: Runs, wanted: Array, gap: Array | Ending = Ending.INSIDE) -> Transactions:
    """Return the requests of some runs as ended.

    Parameters
    ----------
    view : View
        The values.
    runs : Runs
        The runs.
    wanted : ndarray of intp
        Which of them.
    gap : ndarray of uint8, or Ending
        How those end that have no completion.
    """
    start, last = runs.start.take(wanted), runs.last.take(wanted)
    request, final = runs.order.take(start), runs.order.take(last)
    completions = last - start
    is_answered = completions > 0
    first = runs.order.take(start + is_answered)
    has_end = runs.has_end.take(wanted)
    received = runs.received.take(wanted)
    is_whole = received >= runs.expected.take(wanted)
    status = view.status(final)
    requested = view.requested(request).astype(np.int64)
    ending = ~(has_end & is_whole) * np.uint8(Ending.SHORT)  # else COMPLETE, which is 0
    if not is_answered.all():
        status = np.where(is_answered, status, np.uint8(0))
    if not has_end.all():
        gaps = np.broadcast_to(np.asarray(gap, dtype=np.uint8), ending.shape)
        ending = np.where(has_end | (is_answered & (gaps == Ending.INSIDE)), ending, gaps)
    if status.any():
        ending = np.where(status > 0, np.uint8(Ending.ERROR), ending)
    at = view.at(request)
    to_first, to_last = view.at(first) - at, view.at(final) - at
    if not view.has_time:
        to_first[:], to_last[:] = -1, -1
    else:
        if not has_end.all():
            to_first[np.flatnonzero(~is_answered)] = -1
            to_last[np.flatnonzero(~has_end)] = -1
        segment = view.segment(request)
        if not isinstance(segment, int):
            to_first[view.segment(first) != segment] = -1
            to_last[view.segment(final) != segment] = -1
    return Transactions(
        request=view.index(request),
        first=view.index(first),
        last=view.index(final),
        requester=view.requester(request),
        tag=view.tag(request),
        kind=view.kind(request),
        requested=requested,
        received=np.minimum(received, requested, out=received),
        completions=completions,
        status=status,
        ending=ending,
        is_cut=~runs.is_closed.take(wanted),
        has_end=has_end,
        at=at,
        to_first=to_first,
        to_last=to_last,
    )


def _open_requests(rows: Array, has_time: bool, gap: Ending) -> tuple[Transactions, Array]:
    """Return the requests of a tail as ended, and their slots; `gap`: how those end that have no completion."""
    order, is_new = by_key(rows["key"])
    runs = runs_of(order, is_new, rows["word"])
    wanted = np.flatnonzero(runs.is_request)
    ended = _transactions(BorderView(rows, has_time), runs, wanted, gap)
    return ended, rows["slot"].take(runs.order.take(runs.start.take(wanted)))


def _orphans(view: View, runs: Runs, wanted: Array) -> Orphans:
    """Return the completions of runs behind what belongs to their requests; `wanted` are runs that have some."""
    first = runs.order[runs.last[wanted] + 1]
    return Orphans(view.requester(first), view.tag(first), view.index(first), runs.stop[wanted] - 1 - runs.last[wanted])


_latest: tuple[ref[Any], object, Part] | None = None


def part_of(batch: Batch, scope: Scope) -> Part:
    """Return the matching of a batch, made once for all analyses that ask for it one after the other.

    Parameters
    ----------
    batch : Batch
        Rows with the columns of :data:`ptttool.analyses.matching.steps.STEP_COLUMNS` and those of the clock.
    scope : Scope
        How the Time field is read.
    """
    global _latest
    array: Any = batch.values("kind").array
    known = _latest
    how = (scope.time_model, scope.time_bits)
    if known is not None and array is not None and known[0]() is array and known[1] == how:
        return known[2]
    part = _new_part(batch, scope)
    if isinstance(array, np.ndarray):
        _latest = (ref(array), how, part)
    return part


def _new_part(batch: Batch, scope: Scope) -> Part:
    clock = Clock(scope.time_model, scope.time_bits)
    ticks = clock.ticks(batch)
    assert clock.first is not None and clock.last is not None
    bounds = Bounds(scope.time_model, clock.first, clock.last, clock.elapsed, clock.breaks)
    steps = Steps(batch)
    view = BatchView(batch, steps, ticks)
    holes, gaps = _holes(batch, ticks, scope)
    keys, row_bits = steps.key, max(batch.size.bit_length(), 1)
    if len(holes):
        stretch = np.searchsorted(holes, steps.rows, side="right").astype(np.uint64)
        bits = int(keys.max(initial=0)).bit_length()
        if bits + row_bits + len(holes).bit_length() > 64:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.uint64)
            bits = int(keys.max(initial=0)).bit_length()
        keys = keys | stretch << np.uint64(bits)
    order, is_new = sorted_by_key(keys, steps.rows, row_bits)
    runs = runs_of(order, is_new, steps.word)
    return _part_of_runs(bounds, view, runs, holes, gaps)


def _holes(batch: Batch, ticks: Ticks, scope: Scope) -> tuple[Array, Array]:
    """Return the rows in front of which there is a hole, and how requests end that are open there.

    A hole behind the last row has the number of rows: where a condition has left rows out, there can be one.
    """
    if batch.whole is None:
        return ticks.holes, _gaps(batch, ticks.holes)
    every = Clock(scope.time_model, scope.time_bits).ticks(batch.whole.batch).holes
    # Of several holes in front of a row, the first one ends what is open.
    holes, first = np.unique(np.searchsorted(np.flatnonzero(batch.whole.wanted), every), return_index=True)
    return holes, _gaps(batch.whole.batch, every)[first]


def _gaps(batch: Batch, holes: Array) -> Array:
    """Return how requests end that are open at holes: another CPU's stream begins, or records are missing."""
    gaps = np.full(len(holes), Ending.INSIDE, dtype=np.uint8)
    cpus: Any = batch.values("cpu").array
    if cpus is not None:
        gaps[cpus[holes] != cpus[holes - 1]] = Ending.END
    return gaps


def _part_of_runs(bounds: Bounds, view: BatchView, runs: Runs, holes: Array, gaps: Array) -> Part:
    """Return the part of a batch; where there are holes, all is as if it were one for each stretch."""
    staying = runs.is_request & ~runs.is_closed
    gap_of_run: Array = np.full(len(staying), Ending.INSIDE, dtype=np.uint8)
    in_first = in_final = None
    early, left_out = Early(), 0
    if len(holes):
        stretch = np.searchsorted(holes, runs.order[runs.start], side="right")
        in_first, in_final = stretch == 0, stretch == len(holes)
        gap_of_run = np.where(staying, np.append(gaps, Ending.INSIDE)[stretch], gap_of_run)
        staying &= in_final
        behind = np.flatnonzero(runs.is_headless & ~in_first)
        rows = runs.order[spans(runs.start[behind], runs.stop[behind] - runs.start[behind])]
        early = Early(len(rows), int(np.count_nonzero(view.steps.word[rows] & ENDS)))
    head, tail, slots = borders_of(view, runs, in_first, in_final)
    if head.is_full:
        early.add(early_of(head.rows))
        head = NO_BORDER
    if tail.is_full:
        left_out = int(np.count_nonzero(staying))
        gap_of_run[np.flatnonzero(staying)] = Ending.END
        staying = np.zeros(len(staying), dtype=np.bool_)
        tail, slots = NO_BORDER, slots[:0]
    closed = np.flatnonzero(runs.is_request & ~staying)
    ended = _transactions(view, runs, closed, gap_of_run.take(closed))
    orphaned = np.flatnonzero(~runs.is_headless & (runs.last + 1 < runs.stop))
    part = Part(bounds, head, tail, slots, bool(len(holes)), Ending(int(gaps[0])) if len(holes) else Ending.INSIDE)
    part.found = Found(ended, runs.order.take(runs.start.take(closed)), _orphans(view, runs, orphaned), early, left_out)
    return part


def _join(first: Part, second: Part) -> Joined:
    before, after = first.bounds, second.bounds
    step = step_between(before.last, after.first, before.model)
    ticks, breaks = before.elapsed + step.ticks, before.breaks + step.is_break
    bounds = before._replace(last=after.last, elapsed=ticks + after.elapsed, breaks=breaks + after.breaks)
    later_head, later_tail = (moved_border(rows, ticks, breaks) for rows in (second.head, second.tail))
    if step.is_hole:
        gap = Ending.END if before.last.cpu != after.first.cpu else Ending.INSIDE
        ended, slots = _open_requests(first.tail.rows, bounds.has_time, gap)
        found = Found(ended, slots, Orphans.none(), early_of(later_head.rows))
        tail, kept, taken = renumbered(NO_BORDER, later_tail)
        part = Part(bounds, first.head, tail, taken[:0], True, first.first_gap if first.is_split else gap)
        return Joined(part, found, kept, taken, ticks)
    return _join_stretch(first, second, bounds, later_head, later_tail, ticks)


def _join_stretch(first: Part, second: Part, bounds: Bounds, later_head: Border, later_tail: Border, ticks: int) -> Joined:
    """Join parts between which no record is missing."""
    rows = np.concatenate((first.tail.rows, later_head.rows))
    # Marks of the tail stand in front of the rows, those of the head behind them: so those of a key come in their order.
    shift, count = len(first.tail.marks), len(first.tail.marks) + len(first.tail.rows)
    keys = np.concatenate((first.tail.marks, rows["key"], later_head.marks))
    words = np.full(len(keys), MARK, dtype=np.int32)
    words[shift : shift + len(rows)] = rows["word"]
    view = BorderView(rows, bounds.has_time, shift)
    order, is_new = by_key(keys)
    runs = runs_of(order, is_new, words)
    heads = order.take(runs.start)
    # Too many rows at the border: the earlier requests are not followed any further.
    is_full = too_many(len(rows) + len(later_tail.rows), len(first.tail.marks) + len(later_tail.marks))
    is_end = second.is_split or is_full
    closed = runs.is_request & (runs.is_closed | is_end)
    gap = np.where(~runs.is_closed & is_end, np.uint8(second.first_gap if second.is_split else Ending.END), np.uint8(Ending.INSIDE))
    ending = np.flatnonzero(closed)
    ended = _transactions(view, runs, ending, gap[ending])
    early, left_out = Early(), 0
    if is_full:
        left_out = int(np.count_nonzero(runs.is_request & runs.is_last & ~runs.has_end))
    if first.is_split:
        headless = np.flatnonzero(runs.is_headless)
        early = early_of(rows.take(order.take(spans(runs.start[headless], runs.stop[headless] - runs.start[headless])) - shift))
    # What stays open, or is known to have been asked for, unless the later part has a request with the key.
    staying = runs.is_last & ~runs.is_headless & (heads < count)
    opened = np.flatnonzero(staying & runs.is_request & ~closed)
    earlier_tail = NO_BORDER
    if not is_end:
        still = order.take(spans(runs.start[opened], runs.last[opened] - runs.start[opened] + 1)) - shift
        known = heads.take(np.flatnonzero(staying & ~(runs.is_request & ~closed)))
        earlier_tail = Border(rows.take(still), keys.take(known))
    tail, kept, taken = renumbered(earlier_tail, later_tail)
    head = first.head if first.is_split else joined_head(first.head, later_head)
    if head.is_full:
        early.add(early_of(head.rows))
        head = NO_BORDER
    part = Part(bounds, head, tail, taken[:0], first.is_split or second.is_split, first.first_gap if first.is_split else second.first_gap)
    slots = rows["slot"].take(heads.take(ending) - shift)
    return Joined(part, Found(ended, slots, _border_orphans(view, rows, runs, shift), early, left_out), kept, taken, ticks)


def _border_orphans(view: BorderView, rows: Array, runs: Runs, shift: int) -> Orphans:
    """Return the completions without a request at a border, with those that are counted only; `shift`: as of the view."""
    more = np.zeros(len(runs.order), dtype=np.int64)
    more[shift : shift + len(rows)] = rows["more"]
    counted = np.add.reduceat(more.take(runs.order), runs.start) if len(runs.start) else np.empty(0, dtype=np.int64)
    spare = runs.stop - 1 - runs.last
    wanted = np.flatnonzero(~runs.is_headless & (spare + counted > 0))
    if not len(wanted):
        return Orphans.none()
    final = runs.order[runs.stop[wanted] - 1]
    after = runs.order[np.minimum(runs.last[wanted] + 1, runs.stop[wanted] - 1)]
    index = np.where(spare[wanted] > 0, rows["index"][after - shift], rows["more_index"][final - shift])
    return Orphans(view.requester(final), view.tag(final), index, spare[wanted] + counted[wanted])
