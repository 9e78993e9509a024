"""Work on a recording, several parts of it at once, with the results in its order: the same with any number of jobs.

Work is a function of records. Jobs are processes: numpy's steps here are so short that threads would spend their time waiting for Python's
lock. A job opens the recording itself and reads just the units that it is given; a cluster's workers (:mod:`.cluster`) do the same from
shared storage. There is one way for all of them: units are put into batches, a task is what is done with a batch.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.decoders.hisi_ptt.records import Piece, Records, Unit
from ptttool.files.remote import read_into
from ptttool.pipeline.workers import Promise, Workers

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
M = TypeVar("M", bound="Mergeable")

Batch = Sequence[Unit]

# Bytes of trace whose results are merged where they come about, before they go anywhere.
_MERGED_BYTES = 8 << 20


class Work(Protocol[R_co]):
    """What is done with the records of a unit; it can be pickled.

    ``needs_index``: whether it looks at ``index``, the number of the unit's first TLP in the recording. ``unit_records``: records that it
    is given at a time, at most. ``findings``: what is odd in the records is added to it.
    """

    @property
    def needs_index(self) -> bool: ...
    @property
    def unit_records(self) -> int: ...
    def __call__(self, records: Records, index: int, findings: Findings, /) -> R_co: ...


class Mergeable(Protocol):
    """A result that takes in the one of what lies behind it."""

    def merge(self, other: Any) -> None: ...


@dataclass
class Outcome(Generic[R]):
    """What came of a batch. ``findings``: of its records, their number among them. ``size``: bytes of trace."""

    value: R
    findings: Findings = field(default_factory=Findings)
    size: int = 0


Task = Callable[[Batch, int], Outcome[R]]
"""Does something with a batch, given the number of its first TLP; it can be pickled."""


def merged(units: Iterable[Unit], work: Work[M], workers: Workers, done: Callable[[int, int], None]) -> Outcome[M] | None:
    """What ``work`` gives for all units, merged into one; None without units.

    ``done``: told the bytes and the TLPs of every batch, 0 where their number is not known yet.
    """
    task: Task[M] = partial(_all_merged, work)
    parts = batches(units, max(workers.batch_bytes, _MERGED_BYTES))
    shared, parts = _looked_at(parts)
    if workers.reduces and shared:
        return _reduced(parts, task, workers, done)
    whole: Outcome[M] | None = None
    for outcome in in_order(parts, task, workers, needs_index=work.needs_index):
        done(outcome.size, outcome.findings.records)
        whole = outcome if whole is None else _merge(whole, outcome)
    return whole


def _reduced(parts: Iterable[Batch], task: Task[M], workers: Workers, done: Callable[[int, int], None]) -> Outcome[M] | None:
    sizes, promises = [], []
    for part in parts:
        sizes.append(size_of(part))
        promises.append(workers.submit(task, bare(part), 0))
    return workers.reduce(promises, _merge, lambda number: done(sizes[number], 0))


def in_order(parts: Iterable[Batch], task: Task[R], workers: Workers, *, needs_index: bool) -> Iterator[Outcome[R]]:
    """The task's outcomes for all batches, in their order; a few are under way at a time."""
    shared, parts = _looked_at(parts)
    if workers.jobs == 1 or not shared:
        index = 0
        for part in parts:
            outcome = task(part, index)
            index += outcome.findings.records
            yield outcome
        return
    waiting: deque[Promise[Outcome[R]]] = deque()
    try:
        for part, index in _numbered(parts, workers, needs_index):
            waiting.append(workers.submit(task, bare(part), index))
            if len(waiting) > workers.jobs + 1:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for promise in waiting:
            promise.cancel()


def _looked_at(parts: Iterable[Batch]) -> tuple[bool, Iterator[Batch]]:
    """Whether others can read the batches, too, and the batches: what came through a pipe is in this process alone."""
    parts = iter(parts)
    first = next(parts, None)
    if first is None:
        return True, parts
    return all(piece.path for unit in first for piece in unit.pieces), chain([first], parts)


def batches(units: Iterable[Unit], size: int) -> Iterator[Batch]:
    """Units together, so many that they have ``size`` bytes, at least one."""
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


def bare(batch: Batch) -> Batch:
    """Without data, for whoever can read them."""
    return [unit.bare() for unit in batch]


def load(unit: Unit) -> Records:
    """The records of a unit, read where the data did not come with it: then they are there until the next unit is loaded."""
    if all(piece.data is not None for piece in unit.pieces):
        return unit.load()
    return unit.load(_read_piece, _memory(unit.size))


_memory_of_thread = threading.local()


def _memory(size: int) -> memoryview:
    """Memory that is used again and again: new memory costs the system as much time as reading into it."""
    memory: memoryview | None = getattr(_memory_of_thread, "view", None)
    if memory is None or len(memory) < size:
        memory = _memory_of_thread.view = np.empty(size, dtype=np.uint8).data
    return memory


def done_with(records: Records, work: Work[R], index: int) -> Outcome[R]:
    """Do the work on one unit's records."""
    findings = Findings(records=records.size, zero_records=records.zeros)
    return Outcome(work(records, index, findings), findings)


def _numbered(parts: Iterator[Batch], workers: Workers, needs_index: bool) -> Iterator[tuple[Batch, int]]:
    """Batches with the numbers of their first TLPs: all-zero records are none, so everything before them has been looked at."""
    index = 0
    if workers.batch_bytes == 0:  # on this machine, where looking is quick
        for part in parts:
            yield part, index
            if needs_index:
                index += _count(bare(part))
        return
    counting: deque[tuple[Batch, Promise[int] | None]] = deque()
    while True:
        while len(counting) <= workers.jobs and (more := next(parts, None)) is not None:
            counting.append((more, workers.submit(_count, bare(more)) if needs_index else None))
        if not counting:
            return
        part, tlps = counting.popleft()
        yield part, index
        index += tlps.result() if tlps is not None else 0


def work_on_each(work: Work[R], batch: Batch, index: int) -> Outcome[list[R]]:
    """Task: the work's results, unit by unit."""
    findings = Findings()
    values = [*results(work, batch, index, findings)]
    return Outcome(values, findings, size_of(batch))


def results(work: Work[R], batch: Batch, index: int, findings: Findings) -> Iterator[R]:
    """The work's results, unit by unit. ``findings``: of all units so far; each result's are in it before it is given."""
    for unit in batch:
        outcome = done_with(load(unit), work, index + findings.records)
        findings.merge(outcome.findings)
        yield outcome.value


def size_of(batch: Batch) -> int:
    """Bytes of trace."""
    return sum(unit.size for unit in batch)


def _all_merged(work: Work[M], batch: Batch, index: int) -> Outcome[M]:
    """Task: the work's results as one."""
    outcome = work_on_each(work, batch, index)
    whole = outcome.value[0]
    for value in outcome.value[1:]:
        whole.merge(value)
    return Outcome(whole, outcome.findings, outcome.size)


def _merge(first: Outcome[M], second: Outcome[M]) -> Outcome[M]:
    first.value.merge(second.value)
    first.findings.merge(second.findings)
    return Outcome(first.value, first.findings, first.size + second.size)


def _count(batch: Batch) -> int:
    """TLPs of a batch."""
    return sum(load(unit).size for unit in batch)


def _read_piece(piece: Piece, into: memoryview) -> None:
    read_into(piece.path, piece.file_offset, into)
