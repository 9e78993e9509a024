"""Work on a recording's units, several at once, with the results in the order of the recording: the same with any number of jobs.

Work is a function of records. Jobs are processes: numpy's steps here are so short that threads would spend their time waiting for Python's
lock. A job opens the recording itself and reads just the units that it is given; a cluster's workers (:mod:`ptttool.cluster`) do the same
from shared storage.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from ptttool.errors import InputError
from ptttool.protocols.hisi_ptt_findings import Findings
from ptttool.protocols.hisi_ptt_records import Piece, Records, Unit
from ptttool.workers import Workers

if TYPE_CHECKING:
    from concurrent.futures import Future

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


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


@dataclass
class Outcome(Generic[R]):
    """What came of a unit. ``findings``: of its records, their number among them."""

    value: R
    findings: Findings = field(default_factory=Findings)


def run(units: Iterable[Unit], work: Work[R], workers: Workers) -> Iterator[Outcome[R]]:
    """The outcomes of all units, in their order."""
    units = iter(units)
    first = next(units, None)
    if first is None:
        return
    # What came through a pipe is in this process alone.
    if workers.jobs == 1 or not all(piece.path for piece in first.pieces):
        yield from _alone(first, units, work)
    else:
        yield from _together(first, units, work, workers)


def done_with(records: Records, work: Work[R], index: int) -> Outcome[R]:
    """Do the work on one unit's records."""
    findings = Findings(records=records.size, zero_records=records.zeros)
    return Outcome(work(records, index, findings), findings)


def _alone(first: Unit, units: Iterator[Unit], work: Work[R]) -> Iterator[Outcome[R]]:
    index = 0
    unit: Unit | None = first
    while unit is not None:
        records = unit.load()
        yield done_with(records, work, index)
        index += records.size
        unit = next(units, None)


def _together(first: Unit, units: Iterator[Unit], work: Work[R], workers: Workers) -> Iterator[Outcome[R]]:
    index = 0
    unit: Unit | None = first
    waiting: deque[Future[Outcome[R]]] = deque()
    try:
        while unit is not None:
            waiting.append(workers.submit(_do, unit.bare(), work, index))
            if work.needs_index:
                index += unit.count()
            if len(waiting) > workers.jobs + 1:
                yield waiting.popleft().result()
            unit = next(units, None)
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def _do(unit: Unit, work: Work[R], index: int) -> Outcome[R]:
    return done_with(unit.load(read_piece), work, index)


def read_piece(piece: Piece, into: memoryview) -> None:
    """Read a piece from its file. Raises InputError where the file is gone or shorter than it was."""
    try:
        descriptor = os.open(piece.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            done = 0
            while done < piece.size:
                count = os.preadv(descriptor, [into[done:]], piece.file_offset + done)
                if not count:
                    reason = "the file was shortened while it was read"
                    raise InputError(piece.path, reason, offset=piece.file_offset + done, code="truncated")
                done += count
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InputError(piece.path, error.strerror or str(error), offset=piece.file_offset) from None
