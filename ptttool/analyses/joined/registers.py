"""Which code of the kernel touched which registers: accesses of both sides joined by their order, page by page.

The kernel's tracepoints tell virtual addresses, and the link bus addresses. Both agree in the place within a page of 4 KiB, in what is
done, and in the size; values are not in headers of TLPs. So a page of the kernel is a page of the link if as many accesses of the same
kinds lie behind each other there as the link shows, in the same order but for those of several CPUs, and if no other page fits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.analyses.joined.commands import has_numbers
from ptttool.analyses.joined.order import TOLERATED

Array = npt.NDArray[Any]

READ: Final = "rwmmio:rwmmio_read"
WRITE: Final = "rwmmio:rwmmio_write"
WANTED: Final = dict.fromkeys((READ, WRITE), ("caller", "caller0", "addr", "width"))
"""The events that are read, and their fields: where in the code, where that returns to, the address, and bits."""
DEPTH: Final = 8
"""Frames that are read of each stack."""
PAGE_BITS: Final = 12
LEAST: Final = 32
"""Accesses of a page, at least, by which it can be found: fewer fit somewhere by chance."""
_READ_KEY, _WRITE_KEY = 0, 1
# Places by which accesses of several CPUs may be seen in another order.
_NEAR: Final = 8
# Parts of a run whose sums are compared first.
_BORDERS: Final = 32
# Kinds of accesses of a page, and places in the kernel's accesses, that are looked at; elements that are compared in all.
_MOST_KINDS, _MOST_PLACES, _MOST_WORK = 256, 64, 1 << 28
# What it costs to look at two pages, and to compare them, in such elements.
_LOOK, _TRY = 1000, 40_000


def kinds_of(addresses: Array, operations: Array, dws: Array) -> Array:
    """Return what accesses are within their page, as numbers: DW, DWs, operation (0 reads, 1 writes)."""
    inside = addresses.astype(np.uint64) >> np.uint64(2) & np.uint64((1 << PAGE_BITS - 2) - 1)
    return inside << np.uint64(16) | np.minimum(dws, 1024).astype(np.uint64) << np.uint64(2) | operations.astype(np.uint64)


def offset_of(kind: int) -> int:
    """Return the place of an access in its page, in bytes."""
    return kind >> 16 << 2


class KernelAccesses(NamedTuple):
    """Accesses of the kernel by time: number of the page, kind (:func:`kinds_of`), place in the code, and the frames that called it."""

    pages: Array
    kinds: Array
    callers: Array
    frames: Array


def kernel_accesses(events: dict[str, Array], shown: int) -> KernelAccesses:
    """Return those of samples, with so many frames; samples that lack a field are left out."""
    parts = []
    for name, operation in ((READ, _READ_KEY), (WRITE, _WRITE_KEY)):
        rows = events.get(name)
        if rows is None or "frames" not in (rows.dtype.names or ()) or not has_numbers(rows, "caller", "addr", "width"):
            continue
        # In the stack, what is between the tracepoint and the caller of the code is not of interest: that is where it returns to.
        frames = rows["frames"]
        back = rows["caller0"].astype(np.uint64) if has_numbers(rows, "caller0") else np.zeros(len(rows), dtype=np.uint64)
        is_back = frames == back[:, None]
        first = np.where(is_back.any(axis=1) & (back != 0), is_back.argmax(axis=1), 2)
        places = first[:, None] + np.arange(shown)
        called = np.take_along_axis(frames, np.minimum(places, frames.shape[1] - 1), axis=1)
        called[places >= frames.shape[1]] = 0
        called[(called[:, 0] == 0) & (back != 0), 0] = back[(called[:, 0] == 0) & (back != 0)]
        addresses = rows["addr"].astype(np.uint64)
        dws = ((addresses & np.uint64(3)).astype(np.int64) + rows["width"].astype(np.int64) // 8 + 3) // 4
        kinds = kinds_of(addresses, np.full(len(rows), operation), dws)
        parts.append((rows["at"], addresses >> np.uint64(PAGE_BITS), kinds, rows["caller"].astype(np.uint64), called))
    if not parts:
        none: Array = np.empty(0, dtype=np.uint64)
        return KernelAccesses(none, none, none, np.empty((0, shown), dtype=np.uint64))
    at, *columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(at, kind="stable")
    return KernelAccesses(*(column[order] for column in columns))


class Page(NamedTuple):
    """A page of the link that is one of the kernel.

    Attributes
    ----------
    page : int
        Its number on the link.
    rows : ndarray of int64
        The kernel's accesses to it.
    starts : ndarray of int64
        Where among them those of the link can begin.
    size : int
        Accesses on the link.
    """

    page: int
    rows: Array
    starts: Array
    size: int


def places_of(seen: Array, told: Array) -> Array:
    """Return where a run of accesses (kinds) lies among others: as many of each kind, in nearly the same order.

    Of many places a part is looked at. A page with accesses of one kind has a place only if that is the only one: then order says nothing.
    """
    kinds, counts = np.unique(seen, return_counts=True)
    none: Array = np.empty(0, dtype=np.int64)
    if not len(seen) or len(seen) > len(told) or len(kinds) > _MOST_KINDS:
        return none
    starts = np.arange(len(told) - len(seen) + 1)
    for kind, count in zip(kinds, counts, strict=True):
        sums, own = (np.concatenate(([0], np.cumsum(each == kind))) for each in (told, seen))
        starts = starts[sums[starts + len(seen)] - sums[starts] == count]
        # Nor may more of them be on the other side of a border within than have changed places.
        for border in (len(seen) * np.arange(1, _BORDERS) // _BORDERS).tolist():
            moved = np.abs(sums[starts + border] - sums[starts] - own[border])
            starts = starts[moved <= _NEAR] if len(kinds) > 1 else starts
        if not len(starts):
            return none
    if len(kinds) == 1:
        return starts if len(starts) == 1 else none
    if len(starts) > _MOST_PLACES:
        starts = starts[np.linspace(0, len(starts) - 1, _MOST_PLACES).astype(np.int64)]
    order = np.argsort(seen, kind="stable")
    kept = []
    for start in starts.tolist():
        moved = np.abs(order - np.argsort(told[start : start + len(seen)], kind="stable")) > _NEAR
        if np.count_nonzero(moved) * TOLERATED <= len(seen):
            kept.append(start)
    return np.array(kept, dtype=np.int64)


def pages_of(pages: Array, kinds: Array, kernel: KernelAccesses) -> list[Page] | None:
    """Return the pages of the link that are certainly one of the kernel.

    Parameters
    ----------
    pages, kinds : ndarray of uint64, shape (n,)
        Accesses on the link in their order.
    kernel : KernelAccesses
        Those of the kernel.

    Returns
    -------
    list of Page or None
        None if there are too many pages to be tried.
    """
    seen, told = _by_page(pages), _by_page(kernel.pages)
    work = 0
    fits: list[tuple[int, int, Array]] = []
    for page, rows in seen.items():
        if len(rows) < LEAST:
            continue
        wanted = np.unique(kinds[rows])
        for other, others in told.items():
            work += _LOOK
            if len(others) < len(rows) or not np.isin(wanted, kernel.kinds[others]).all():
                continue
            work += _TRY + len(others) * (len(wanted) + _MOST_PLACES)
            if work > _MOST_WORK:
                return None
            starts = places_of(kinds[rows], kernel.kinds[others])
            if len(starts):
                fits.append((page, other, starts))
    left, right = (Counter(fit[side] for fit in fits) for side in (0, 1))
    return [Page(page, told[other], starts, len(seen[page])) for page, other, starts in fits if left[page] == 1 and right[other] == 1]


def _by_page(pages: Array) -> dict[int, Array]:
    """Return the rows of each page, those with most first."""
    order = np.argsort(pages, kind="stable")
    numbers, starts = np.unique(pages[order], return_index=True)
    parts = zip(numbers.tolist(), np.split(order, starts[1:]), strict=True) if len(order) else ()
    return dict(sorted(parts, key=lambda one: -len(one[1])))


class Touch(NamedTuple):
    """Accesses of one kind to a page by one place in the code: those on the link (None where places differ in it), and all."""

    page: int
    kind: int
    caller: int
    frames: tuple[int, ...]
    requests: int | None
    seen: int


def touches_of(found: Sequence[Page], kernel: KernelAccesses) -> list[Touch]:
    """Return who touched what, those with most accesses first."""
    touches = []
    for one in found:
        columns = (kernel.kinds[one.rows], kernel.callers[one.rows], *kernel.frames[one.rows].T)
        groups = np.zeros(len(one.rows), dtype=np.int64)
        for column in columns:
            values, numbers = np.unique(column, return_inverse=True)
            groups = np.unique(groups * len(values) + numbers, return_inverse=True)[1]
        order = np.argsort(groups, kind="stable")
        for rows in np.split(order, np.cumsum(np.bincount(groups))[:-1]):
            kind, caller, *frames = (int(column[rows[0]]) for column in columns)
            within = np.searchsorted(rows, one.starts + one.size) - np.searchsorted(rows, one.starts)
            if within.any():
                requests = int(within[0]) if (within == within[0]).all() else None
                touches.append(Touch(one.page, kind, caller, tuple(frame for frame in frames if frame), requests, len(rows)))
    return sorted(touches, key=lambda one: (-one.seen, one.page, one.kind, one.caller, one.frames))
