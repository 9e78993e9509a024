"""Requests and the completions behind them, for all keys at once: rows are sorted by key, and sums run over the sorted rows.

Sorted rows fall into runs. A run begins at a request, at a mark, or at the first row of a key, and holds the completions up to the next
one. In a run of a request, the first completion that ends it is the last one that is its own. A completion with more bytes than are left
of the request belongs to another one, which was not seen: it ends the run as well, and is not counted for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ptttool.analyses.matching.steps import COMPLETION, ENDS, REQUEST, SIZE_BITS, SIZE_MASK

Array = npt.NDArray[Any]

# A read asks for at most so many bytes.
_MOST_BYTES = 4096


@dataclass(frozen=True)
class Runs:
    """Runs of rows with the same key. All arrays but `order` have shape (runs,).

    Parameters
    ----------
    order : ndarray of intp, shape (m,)
        The rows, sorted by key; those of a key in their own order. The positions below are positions in it.
    start, last, stop : ndarray of intp
        The first row of each run, the last one that belongs to its request, and the first one behind it.
    is_request, is_headless : ndarray of bool
        Whether a run begins with a request, or with a completion; else with a mark.
    is_last : ndarray of bool
        Whether it is the last run of its key.
    has_end : ndarray of bool
        Whether the completion at `last` ends the request.
    is_closed : ndarray of bool
        Whether nothing behind the run can belong to its request any more.
    received : ndarray of int64
        Bytes that the completions up to `last` bring.
    expected : ndarray of int64
        Bytes that they have to bring.
    """

    order: Array
    start: Array
    last: Array
    stop: Array
    is_request: Array
    is_headless: Array
    is_last: Array
    has_end: Array
    is_closed: Array
    received: Array
    expected: Array


def sorted_by_key(keys: Array, rows: Array, row_bits: int) -> tuple[Array, Array]:
    """Return rows in the order of their keys, and which of them is the first of its key.

    Parameters
    ----------
    keys : ndarray of uint64, shape (m,)
        The keys.
    rows : ndarray of int64, shape (m,)
        The rows, ascending.
    row_bits : int
        Bits that hold every row.

    Returns
    -------
    order : ndarray of intp, shape (m,)
        The rows, sorted by key.
    is_new : ndarray of bool, shape (m,)
        Which of them has another key than the one before.
    """
    if len(keys) and int(keys.max()).bit_length() + row_bits > 64:
        keys = np.unique(keys, return_inverse=True)[1].astype(np.uint64)
    # Key and row in one number: numpy sorts those several times as fast as it sorts positions by key.
    both = keys << np.uint64(row_bits)
    both |= rows.view(np.uint64)
    both.sort()
    order = (both & np.uint64((1 << row_bits) - 1)).view(np.intp)
    both >>= np.uint64(row_bits)
    is_new = np.ones(len(both), dtype=np.bool_)
    np.not_equal(both[1:], both[:-1], out=is_new[1:])
    return order, is_new


def runs_of(order: Array, is_new: Array, words: Array) -> Runs:
    """Return the runs of sorted rows.

    Parameters
    ----------
    order, is_new
        As :func:`sorted_by_key` returns them.
    words : ndarray of int32 or uint32
        The word of each row, by its number.
    """
    # Masks are multiplied here, and sums are made of numbers of their own size: np.where and sums that convert take several times as long.
    sorted_words = words.take(order).astype(np.int32, copy=False)
    is_completion = (sorted_words & COMPLETION) != 0
    start = np.flatnonzero(is_new | ~is_completion)
    count, total = len(start), len(order)
    stop = np.append(start[1:], total)
    head = sorted_words.take(start)
    is_headless, is_request = (head & COMPLETION) != 0, (head & REQUEST) != 0
    is_last = np.append(is_new.take(start[1:]), True) if count else np.empty(0, dtype=np.bool_)
    limit = (head & SIZE_MASK) * is_request
    limit += ~is_request * np.int32(_MOST_BYTES)
    expected = (head >> SIZE_BITS & SIZE_MASK) * is_request

    pieces = (sorted_words & SIZE_MASK) * is_completion
    until = pieces.astype(np.int64)
    np.cumsum(until, out=until)
    before = (until.take(start) - pieces.take(start)) if count else np.empty(0, dtype=np.int64)
    # Bytes left of the request, in front of each row, less the Byte Count.
    left = np.repeat(limit + before, stop - start)
    left -= until
    left += pieces
    is_foreign = (sorted_words >> SIZE_BITS & SIZE_MASK) > left
    is_foreign &= is_completion
    breaks = np.flatnonzero(is_foreign | ((sorted_words & ENDS) != 0))
    first_break = np.append(breaks, total).take(np.searchsorted(breaks, start))
    has_break = first_break < stop
    has_end = has_break & ~is_foreign.take(np.minimum(first_break, total - 1)) if total else has_break
    # Without its request it is kept: it ends the one of the part before, too.
    last = np.minimum(first_break, stop - 1)
    last -= has_break & ~has_end & ~is_headless
    # A mark has no completions of its own.
    is_mark = ~(is_request | is_headless)
    if is_mark.any():
        marks = np.flatnonzero(is_mark)
        last[marks] = start[marks]
        has_end[marks] = False
    return Runs(
        order=order,
        start=start,
        last=last,
        stop=stop,
        is_request=is_request,
        is_headless=is_headless,
        is_last=is_last,
        has_end=has_end,
        is_closed=has_break | ~is_last,
        received=until.take(last) - before if count else before,
        expected=expected,
    )


def spans(start: Array, length: Array) -> Array:
    """Return the numbers of several ranges behind each other."""
    ends = np.cumsum(length)
    total = int(ends[-1]) if len(ends) else 0
    numbers: Array = np.arange(total) + np.repeat(start - ends + length, length)
    return numbers
