"""Units of work, several of them at once, with the results in the recording's order: the same with any number of jobs.

Jobs are processes: numpy's steps here are so short that threads would spend their time waiting for Python's lock. A job reads the units
that it is given from the recording itself; a cluster's workers (:mod:`.cluster`) do the same from shared storage. There is one path for
all of them: units are put into batches, and a task is what is done with a batch.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct

from ptttool.decoders.decoded import Decoded, LoadedUnit, Piece, Unit
from ptttool.errors import InputError, PtttoolError
from ptttool.files.remote import read_into
from ptttool.pipeline.work import Mergeable, Outcome, Work
from ptttool.pipeline.workers.budget import MAX_HELD_RESULTS
from ptttool.pipeline.workers.pool import Promise, Workers

R = TypeVar("R")
M = TypeVar("M", bound=Mergeable)

Units: TypeAlias = Sequence[Unit]
Task: TypeAlias = Callable[[Units, int], Outcome[R]]
"""Does something with units, given the number of their first row; it can be pickled."""

# Bytes of trace with results that are merged where they come about, before they go anywhere.
_MERGED_BYTES = 8 << 20


class Each(Struct, Generic[R], frozen=True):
    """Task: what the work gives, unit by unit.

    Parameters
    ----------
    work : Work
        What is done with the rows of a unit.
    path : str
        The recording, for errors.
    strict : bool
        Whether the first row that strict decoding may not pass over ends the results with an error.
    """

    work: Work[R]
    path: str
    strict: bool = False

    def __call__(self, units: Units, index: int) -> Outcome[list[R]]:
        """Work on units, the first row of which has the number `index`."""
        outcome: Outcome[list[R]] = Outcome([], size=size_of(units))
        for value in self.results(units, index, outcome):
            outcome.value.append(value)
        return outcome

    def results(self, units: Units, index: int, outcome: Outcome[Any]) -> Iterator[R]:
        """Yield the work's results. Findings and the error go into `outcome`, each result's before it is given."""
        for unit in units:
            first = index + outcome.rows
            decoded, findings = load(unit).decoded(first)
            if self.strict:
                decoded, outcome.error = until_violation(decoded, self.path)
                if outcome.error is not None:
                    findings.records = decoded.size
            value = self.work(decoded)
            if outcome.findings is None:
                outcome.findings = findings
            else:
                outcome.findings.merge(findings)
            yield value
            if outcome.error is not None:
                return


def until_violation(decoded: Decoded, path: str) -> tuple[Decoded, PtttoolError | None]:
    """Return the rows before the first that strict decoding may not pass over, and the error that it is."""
    violation = decoded.violation()
    if violation is None:
        return decoded, None
    error = InputError(
        path, violation.reason, offset=violation.offset, hint="without --strict it is flagged and decoding goes on", code="strict"
    )
    return decoded.taken(np.arange(decoded.size) < violation.row), error


class AllMerged(Struct, Generic[M], frozen=True):
    """Task: the results of units, merged into one."""

    each: Each[M]

    def __call__(self, units: Units, index: int) -> Outcome[M]:
        """Work on units, and merge the results."""
        outcome: Outcome[Any] = Outcome(None, size=size_of(units))
        for value in self.each.results(units, index, outcome):
            if outcome.value is None:
                outcome.value = value
            else:
                outcome.value.merge(value)
        return outcome


def merged(units: Iterable[Unit], each: Each[M], workers: Workers, done: Callable[[int, int], None]) -> Outcome[M] | None:
    """Return what the work gives for all units, merged into one; None without units.

    Parameters
    ----------
    units : iterable of Unit
        The units in order.
    each : Each
        The work.
    workers : Workers
        Who does it.
    done : callable
        Called with the bytes and the rows of every batch; 0 rows where their number is not known yet.
    """
    task: Task[M] = AllMerged(each)
    # In one process, each unit is merged into what there is: the result of a batch would be one more to hold.
    parts = batches(units, 0 if workers.jobs == 1 else max(workers.batch_bytes, _MERGED_BYTES))
    shared, parts = _looked_at(parts)
    if workers.reduces and shared:
        return _reduced(parts, task, workers, done, needs_index=each.work.needs_index)
    whole: Outcome[M] | None = None
    for outcome in in_order(parts, task, workers, needs_index=each.work.needs_index, limit=MAX_HELD_RESULTS):
        done(outcome.size, outcome.rows)
        whole = outcome if whole is None else _merge(whole, outcome)
        if outcome.error is not None:
            break
    return whole


def _reduced(
    parts: Iterable[Units], task: Task[M], workers: Workers, done: Callable[[int, int], None], *, needs_index: bool
) -> Outcome[M] | None:
    """Return the outcome of all batches, merged by the workers.

    As long as no record is left out, the numbers of rows follow from sizes. Where it turns out that some were, and numbers are looked at,
    all is done again with rows that were counted.
    """
    kept = list(parts)
    outcome = _reduced_as(_numbered_by_size(iter(kept), 0), task, workers, done)
    if needs_index and outcome is not None and outcome.error is None and outcome.rows != sum(map(_most_rows, kept)):
        outcome = _reduced_as(_numbered(iter(kept), workers, 0), task, workers, done)
    return outcome


def _reduced_as(
    numbered: Iterable[tuple[Units, int]], task: Task[M], workers: Workers, done: Callable[[int, int], None]
) -> Outcome[M] | None:
    sizes, promises = [], []
    for part, index in numbered:
        sizes.append(size_of(part))
        promises.append(workers.submit(task, bare(part, workers), index))
    return workers.reduce(promises, _merge, lambda number: done(sizes[number], 0))


def in_order(
    parts: Iterable[Units], task: Task[R], workers: Workers, *, needs_index: bool, first: int = 0, limit: int | None = None
) -> Iterator[Outcome[R]]:
    """Yield the task's outcomes for all batches, in their order; a few are under way at a time. The first row has the number `first`.

    `limit`: bytes that outcomes under way have together, if they are as large as the last one was.

    The numbers of rows follow from sizes as long as no record is left out. Behind the first batch with fewer rows, the batches under way
    are begun anew, and from then on rows are counted before their batch is submitted.
    """
    shared, parts = _looked_at(parts)
    if workers.jobs == 1 or not shared:
        index = first
        for part in parts:
            outcome = task(part, index)
            index += outcome.rows
            yield outcome
        return
    waiting: deque[_UnderWay[R]] = deque()
    numbered, is_exact = _numbered_by_size(parts, first), not needs_index
    most = 2 * workers.jobs + 1 if limit is None else workers.jobs
    try:
        while True:
            while len(waiting) < most and (more := next(numbered, None)) is not None:
                part, index = more
                waiting.append(_UnderWay(part, index, workers.submit(task, bare(part, workers), index)))
            if not waiting:
                return
            done = waiting.popleft()
            outcome = done.promise.result()
            if limit is not None:
                most = min(2 * workers.jobs, limit // max(done.promise.size, 1)) + 1
            if not is_exact and outcome.error is None and outcome.rows != _most_rows(done.units):
                is_exact = True
                again = [each.units for each in waiting]
                for each in waiting:
                    each.promise.cancel()
                waiting.clear()
                numbered = _numbered(chain(again, parts), workers, done.index + outcome.rows)
            yield outcome
    finally:
        for each in waiting:
            each.promise.cancel()


class _UnderWay(Struct, Generic[R], frozen=True):
    """A batch that was submitted, with the number of its first row."""

    units: Units
    index: int
    promise: Promise[Outcome[R]]


def _looked_at(parts: Iterable[Units]) -> tuple[bool, Iterator[Units]]:
    """Return whether other processes can read the batches, and the batches: what came through a pipe is in this process only."""
    parts = iter(parts)
    first = next(parts, None)
    if first is None:
        return True, parts
    return all(piece.path for unit in first for piece in unit.pieces), chain([first], parts)


def batches(units: Iterable[Unit], size: int) -> Iterator[Units]:
    """Yield units together, so many that they have `size` bytes, at least one."""
    batch: list[Unit] = []
    held = 0
    for unit in units:
        batch.append(unit)
        held += unit.size
        if held >= size:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def bare(units: Units, workers: Workers) -> Units:
    """Return the units without bytes, for workers, which can read them."""
    return [unit.bare(is_local=workers.batch_bytes == 0) for unit in units]


def load(unit: Unit) -> LoadedUnit:
    """Return the records of a unit, read where the bytes did not come with it: then they stay until the next unit is loaded."""
    return unit.load(_read_piece, _NO_MEMORY if unit.is_loaded else _memory(unit.size))


_NO_MEMORY = memoryview(b"")
_memory_of_thread = threading.local()


def _memory(size: int) -> memoryview:
    """Return memory that is used again and again: new memory costs the system as much time as reading into it."""
    memory: memoryview | None = getattr(_memory_of_thread, "view", None)
    if memory is None or len(memory) < size:
        memory = _memory_of_thread.view = np.empty(size, dtype=np.uint8).data
    return memory


def _numbered_by_size(parts: Iterator[Units], index: int) -> Iterator[tuple[Units, int]]:
    """Yield batches with the numbers that their first rows have where no record is left out, the first of which is `index`."""
    for part in parts:
        yield part, index
        index += _most_rows(part)


def _most_rows(units: Units) -> int:
    return sum(unit.most_rows for unit in units)


def _numbered(parts: Iterator[Units], workers: Workers, index: int) -> Iterator[tuple[Units, int]]:
    """Yield batches with the numbers of their first rows: all-zero records have none, so everything before has to be looked at."""
    if workers.batch_bytes == 0:  # on this machine, where looking is quick
        for part in parts:
            yield part, index
            index += _count(part)
        return
    counting: deque[tuple[Units, Promise[int]]] = deque()
    while True:
        while len(counting) <= workers.jobs and (more := next(parts, None)) is not None:
            counting.append((more, workers.submit(_count, bare(more, workers))))
        if not counting:
            return
        part, rows = counting.popleft()
        yield part, index
        index += rows.result()


def size_of(units: Units) -> int:
    """Return the bytes of trace."""
    return sum(unit.size for unit in units)


def _merge(first: Outcome[M], second: Outcome[M]) -> Outcome[M]:
    first.value.merge(second.value)
    if first.findings is not None and second.findings is not None:
        first.findings.merge(second.findings)
    return Outcome(first.value, first.findings, first.size + second.size, first.error or second.error)


def _count(units: Units) -> int:
    """Return the number of rows."""
    return sum(load(unit).size for unit in units)


def _read_piece(piece: Piece, into: memoryview) -> None:
    if piece.file is not None:  # the file itself, even if another one has its name by now
        piece.file.read_into(piece.file_offset, into)
    else:
        read_into(piece.path, piece.file_offset, into, piece.identity)
