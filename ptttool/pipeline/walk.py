"""One pass through one recording: what is read, decoded, filtered and handed to an exporter or an analysis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from ptttool.decoders.decoded import Findings, PlannedUnit, Splitter, Unit
from ptttool.files.progress import Progress, StoppedError
from ptttool.perfdata.model import Contents
from ptttool.pipeline import jobs
from ptttool.pipeline.jobs import Each, Task
from ptttool.pipeline.query import Query, Skip, in_range, to_write
from ptttool.pipeline.work import Encode, Mergeable, Select, Work, encoder_of, selection
from ptttool.pipeline.workers.pool import Workers
from ptttool.recording.opening import Source
from ptttool.table.batch import Batch
from ptttool.table.schema import Schema

if TYPE_CHECKING:
    from ptttool.exporters.contract import Exporter

R = TypeVar("R")
M = TypeVar("M", bound=Mergeable)


class Walk(ABC):
    """One pass through a recording; it can be made once.

    Attributes
    ----------
    path : str
        The recording.
    progress : Progress
        How far it has come.
    findings : Findings
        What was odd, and how many rows there were; complete at the end.
    skip : Skip or None
        Rows at the start that are not wanted: :meth:`run` may leave some of them out.
    """

    path: str
    progress: Progress
    findings: Findings
    skip: Skip | None = None

    @property
    @abstractmethod
    def contents(self) -> Contents:
        """Everything of the recording but the AUX data; complete at the end."""

    @abstractmethod
    def run(self, work: Work[R]) -> Iterator[R]:
        """Yield what `work` gives for every part of the recording, in order; for a recording without rows once, for none.

        Raises
        ------
        InputError
            The recording is not what it seemed to be; strict decoding met what it may not pass over.
        """

    @abstractmethod
    def merge(self, work: Work[M]) -> M:
        """Return what `work` gives for the whole recording: its results for the parts, merged. Raises as `run` does."""

    def batches(self, query: Query) -> Iterator[Batch]:
        """Yield the selected rows, at least one batch; the walk ends as soon as there are enough."""
        self.skip = Skip(query.offset) if query.where is None else None
        return in_range(self.run(Select(query)), query, self.skip)

    def pieces(self, query: Query, exporter: Exporter, schema: Schema) -> Iterator[tuple[int, Any]]:
        """Yield the selected rows as pieces of a file, each with its number of rows. `schema`: of the file."""
        if query.is_whole and exporter.worth_workers:
            return self.run(Encode(query, exporter.name, schema, exporter.rows))
        encoder = encoder_of(exporter.name, schema)
        self.skip = Skip(query.offset) if query.where is None else None
        batches = in_range(self.run(selection(query, exporter.rows)), query, self.skip)
        return ((batch.size, encoder(batch)) for batch in to_write(batches, exporter.rows))


class RecordWalk(Walk):
    """A pass through a recording of records of one size, which are decoded in parallel.

    Parameters
    ----------
    source : Source
        The recording, not yet read.
    splitter : Splitter
        Cuts it into units.
    workers : Workers
        Who decodes them.
    strict : bool
        Whether to end at what strict decoding may not pass over.
    """

    def __init__(self, source: Source, splitter: Splitter, workers: Workers, *, strict: bool = False) -> None:
        self._source = source
        self._splitter = splitter
        self._workers = workers
        self.strict = strict
        self._under_way: deque[PlannedUnit] = deque()
        self.path = source.path
        self.progress = Progress(total=source.size)
        self.findings: Findings = splitter.findings

    @property
    def contents(self) -> Contents:
        """Everything of the recording but the AUX data."""
        return self._source.contents

    def run(self, work: Work[R]) -> Iterator[R]:
        """Yield what `work` gives for every unit."""
        nothing = True
        for values in self.run_batches(self._workers.batch_bytes, self._each(work), work):
            for value in values:
                nothing = False
                yield value
        if nothing:
            yield work(self._splitter.nothing())

    def merge(self, work: Work[M]) -> M:
        """Return the merged results of all units."""

        def done(size: int, rows: int) -> None:
            self.progress.records += rows
            self._let_go(size)

        outcome = jobs.merged(self._units(work.unit_records), self._each(work), self._workers, done)
        self.progress.done = self._source.position
        if outcome is None:
            return work(self._splitter.nothing())
        if outcome.findings is not None:
            self.findings.merge(outcome.findings)
        self.progress.records = self.findings.records
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    def run_batches(self, size: int, task: Task[R], work: Work[Any]) -> Iterator[R]:
        """Yield what a task gives for batches of units of at least `size` bytes (0: each unit), in order, cut for `work`."""
        units, first = self._wanted(self._units(work.unit_records))
        parts = jobs.batches(units, size)
        for outcome in jobs.in_order(parts, task, self._workers, needs_index=work.needs_index, first=first):
            if outcome.findings is not None:
                self.findings.merge(outcome.findings)
            self.progress.records = self.findings.records
            self._let_go(outcome.size)
            yield outcome.value
            if outcome.error is not None:
                raise outcome.error
        self.progress.done = self._source.position

    def _wanted(self, units: Iterator[Unit]) -> tuple[Iterator[Unit], int]:
        """Return the units without those at the start of which no row is wanted, and the number of the first row.

        All-zero records are no rows, so units are looked at even if they are left out; their columns are not decoded.
        """
        index = 0
        if self.skip is None or self.strict:
            return units, index
        for unit in units if self.skip.rows else ():
            _, findings = jobs.load(unit).decoded(index)
            if findings.records > self.skip.rows:
                return chain([unit], units), index
            self.skip.rows -= findings.records
            index += findings.records
            self.findings.merge(findings)
            self.progress.records = self.findings.records
            self._let_go(unit.size)
        return units, index

    def _each(self, work: Work[R]) -> Each[R]:
        return Each(work, self.path, self.strict)

    def _units(self, most: int) -> Iterator[Unit]:
        for planned in self._splitter.units(most):
            self._under_way.append(planned)
            yield planned.unit

    def _let_go(self, size: int) -> None:
        """Note that so many bytes have been worked on, taken for the first ones of those under way."""
        if self.progress.is_stopped:
            raise StoppedError
        left = size
        while left > 0 and self._under_way:
            planned = self._under_way.popleft()
            left -= planned.unit.size
            self.progress.done = max(self.progress.done, planned.position)
