"""The rows at the borders of a part of a recording: completions whose request stands before it, and requests that are open at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_BORDER_KEYS, MAX_BORDER_ROWS
from ptttool.analyses.matching.pairing import Runs, runs_of, sorted_by_key, spans
from ptttool.analyses.matching.steps import COMPLETION, ENDS, REQUEST
from ptttool.analyses.matching.transactions import Orphans
from ptttool.analyses.matching.views import BatchView, BorderView

Array = npt.NDArray[Any]

BORDER = np.dtype([
    ("key", "u8"), ("word", "u4"), ("index", "u8"), ("at", "i8"), ("segment", "i8"), ("kind", "u1"), ("status", "u1"),
    ("requested", "i4"), ("slot", "i8"), ("more", "i8"), ("more_ends", "i8"), ("more_index", "u8"),
])  # fmt: skip
"""A row at a border. `more` completions of the same key follow it that no request can own; `more_ends` of them would end one, and
`more_index` is the number of the first of them. `slot` numbers the open requests of a part."""


class Border(NamedTuple):
    """One end of a part.

    Parameters
    ----------
    rows : ndarray of BORDER
        The rows that may be matched with those of a neighbour.
    marks : ndarray of uint64
        Keys of which it is only known that there is a request; those of a head ascend.
    """

    rows: Array
    marks: Array

    @property
    def is_full(self) -> bool:
        """Whether there is more than is held."""
        return too_many(len(self.rows), len(self.marks))


def too_many(rows: int, keys: int) -> bool:
    """Return whether so many rows and keys are more than a border holds."""
    return rows > MAX_BORDER_ROWS or keys > MAX_BORDER_KEYS


NO_BORDER = Border(np.empty(0, dtype=BORDER), np.empty(0, dtype=np.uint64))
"""An end at which nothing can be matched."""


@dataclass
class Early:
    """Completions whose request stands in front of the recording, or of a hole in it.

    Parameters
    ----------
    completions : int
        Number of completions.
    transactions : int
        Number of requests that they ended.
    """

    completions: int = 0
    transactions: int = 0

    def add(self, other: Early) -> None:
        """Add those of another part."""
        self.completions += other.completions
        self.transactions += other.transactions


def early_of(rows: Array) -> Early:
    """Return what the completions of a head are where no part stands in front of it."""
    ends = int(np.count_nonzero(rows["word"] & ENDS))
    return Early(len(rows) + int(rows["more"].sum()), ends + int(rows["more_ends"].sum()))


def early_of_keys(rows: Array) -> Orphans:
    """Return the completions of a head, a group for each."""
    view = BorderView(rows, has_time=False)
    every = np.arange(len(rows))
    return Orphans(view.requester(every), view.tag(every), view.index(every), rows["more"] + 1)


def borders_of(view: BatchView, runs: Runs, in_first: Array | None, in_final: Array | None) -> tuple[Border, Border, Array]:
    """Return head, tail and slots of a batch; the masks say which runs are of the first and of the final stretch, None: all."""
    every = np.ones(len(runs.start), dtype=np.bool_)
    in_first, in_final = every if in_first is None else in_first, every if in_final is None else in_final
    # The head: completions of headless runs, and a mark for the first request of each key.
    headless = np.flatnonzero(runs.is_headless & in_first)
    chain = runs.order[spans(runs.start[headless], runs.last[headless] - runs.start[headless] + 1)]
    head = _border(view, chain)
    ends = np.cumsum(runs.last[headless] - runs.start[headless] + 1) - 1
    more = runs.stop[headless] - 1 - runs.last[headless]
    head["more"][ends] = more
    with_more = np.flatnonzero(more)
    if len(with_more):
        spare = runs.order[spans(runs.last[headless][with_more] + 1, more[with_more])]
        owner = np.repeat(ends[with_more], more[with_more])
        is_end = (view.steps.word[spare] & ENDS) != 0
        head["more_ends"] = np.bincount(owner, weights=is_end, minlength=len(head)).astype(np.int64)
        head["more_index"][ends[with_more]] = view.index(runs.order[runs.last[headless][with_more] + 1])
    # A run is the first one with a request of its key if the one before is of another key, or headless.
    is_first = np.ones(len(runs.start), dtype=np.bool_)
    is_first[1:] = runs.is_last[:-1] | runs.is_headless[:-1]
    marks = runs.order[runs.start[np.flatnonzero(runs.is_request & is_first & in_first)]]
    front = Border(head, _keys(view, marks))
    # The tail: the last run of each key that has a request.
    final = runs.is_last & runs.is_request & in_final
    opened, closed = np.flatnonzero(final & ~runs.is_closed), np.flatnonzero(final & runs.is_closed)
    rows = _border(view, runs.order[spans(runs.start[opened], runs.last[opened] - runs.start[opened] + 1)])
    is_request = (rows["word"] & REQUEST) != 0
    rows["slot"][is_request] = np.arange(len(opened))
    return front, Border(rows, _keys(view, runs.order[runs.start[closed]])), runs.order[runs.start[opened]]


def _border(view: BatchView, rows: Array) -> Array:
    border = np.zeros(len(rows), dtype=BORDER)
    if not len(rows):
        return border
    steps = view.steps
    border["key"] = _keys(view, rows)
    border["word"] = steps.word[rows]
    border["index"] = view.index(rows)
    border["at"] = view.at(rows)
    border["segment"] = view.segment(rows)
    border["kind"] = view.kind(rows)
    border["status"] = np.where(border["word"] & COMPLETION != 0, view.status(rows), 0)
    border["requested"] = view.requested(rows)
    return border


def _keys(view: BatchView, rows: Array) -> Array:
    keys: Array = view.steps.key.take(np.searchsorted(view.steps.rows, rows))
    return keys


def by_key(keys: Array) -> tuple[Array, Array]:
    """Return the order of rows by their keys, and which of them is the first of its key: shapes (n,), (n,)."""
    return sorted_by_key(keys, np.arange(len(keys)), max(len(keys).bit_length(), 1))


def joined_head(head: Border, later: Border) -> Border:
    """Return the head of two parts without a hole."""
    # Behind a mark, nothing of its key belongs to the head.
    later_rows = later.rows.take(np.flatnonzero(~_is_marked(head, later.rows["key"])))
    later_marks = later.marks.take(np.flatnonzero(~_is_marked(head, later.marks)))
    marks = np.sort(np.concatenate((head.marks, later_marks))) if len(later_marks) else head.marks
    return Border(_joined_completions(head.rows, later_rows) if len(later_rows) else head.rows, marks)


def _is_marked(border: Border, keys: Array) -> Array:
    """Return which keys are among the marks of a head."""
    if not len(border.marks):
        return np.zeros(len(keys), dtype=np.bool_)
    found: Array = border.marks.take(np.searchsorted(border.marks, keys), mode="clip") == keys
    return found


def _joined_completions(first: Array, later: Array) -> Array:
    """Return the completions of two heads, those of a key behind each other."""
    rows = np.concatenate((first, later))
    order, is_new = by_key(rows["key"])
    runs = runs_of(order, is_new, rows["word"])
    length = runs.last - runs.start + 1
    joined = rows.take(order.take(spans(runs.start, length)))
    ends = np.cumsum(length) - 1
    spare = runs.stop - 1 - runs.last
    more = np.add.reduceat(rows["more"].take(order), runs.start) + spare
    more_ends = np.add.reduceat(rows["more_ends"].take(order), runs.start)
    in_spare = order.take(spans(runs.last + 1, spare))
    owner = np.repeat(np.arange(len(spare)), spare)
    more_ends += np.bincount(owner, weights=(rows["word"].take(in_spare) & ENDS) != 0, minlength=len(spare)).astype(np.int64)
    # The first one that is counted only: behind the last row of the earlier head, or of the later one.
    own = joined["more"][ends] > 0
    follower = rows["index"][order[np.minimum(runs.last + 1, runs.stop - 1)]]
    index = np.where(own, joined["more_index"][ends], np.where(spare > 0, follower, 0))
    joined["more"], joined["more_ends"], joined["more_index"] = 0, 0, 0
    joined["more"][ends], joined["more_ends"][ends], joined["more_index"][ends] = more, more_ends, index
    return joined


def renumbered(earlier: Border, later: Border) -> tuple[Border, Array, Array]:
    """Return two tails as one with new slots, and the old slots of each in the order of the new ones."""
    rows = np.concatenate((earlier.rows, later.rows))
    is_request = (rows["word"] & REQUEST) != 0
    old = rows["slot"][is_request]
    count = int(np.count_nonzero(is_request[: len(earlier.rows)]))
    rows["slot"][is_request] = np.arange(len(old))
    return Border(rows, np.concatenate((earlier.marks, later.marks))), old[:count], old[count:]


def moved_border(border: Border, ticks: int, segments: int) -> Border:
    """Return rows at a border as seen from the part before."""
    moved = border.rows.copy()
    moved["at"] += np.where(moved["at"] >= 0, ticks, 0)
    moved["segment"] += segments
    return border._replace(rows=moved)
