"""The time of rows that are exported: it adds up over all rows, also over those that a condition leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.time.clock import CLOCK_COLUMNS, Clock
from ptttool.exporters.contract import SEGMENT, TICKS, TIME_COLUMNS
from ptttool.pipeline.work import OfQuery
from ptttool.table.batch import Batch
from ptttool.table.schema import Schema
from ptttool.table.values import ABSENT, Values

if TYPE_CHECKING:
    from ptttool.analyses.scope import Scope
    from ptttool.decoders.decoded import Decoded
    from ptttool.diagnostics import Diagnostic
    from ptttool.pipeline.query import Query
    from ptttool.pipeline.walk import Walk

# Records of a unit.
_RECORDS = 1 << 16


class Timed(OfQuery, frozen=True):
    """Work: the selected rows with the time since the first record of the unit, and the unit's clock.

    Parameters
    ----------
    query : Query
        Condition and columns.
    scope : Scope
        How the Time field is read.
    unit_records : int
        Records of a unit, at most.
    """

    scope: Scope
    unit_records: int

    def __call__(self, decoded: Decoded, /) -> tuple[Batch, Clock]:
        """Return the rows and the clock."""
        clock = Clock(self.scope.time_model, self.scope.time_bits)
        ticks = clock.ticks(decoded.batch(CLOCK_COLUMNS))
        mask = self.query.mask(decoded)
        rows = np.arange(decoded.size) if mask is None else np.flatnonzero(mask)
        batch = self.query.of(decoded)
        segments = np.searchsorted(ticks.breaks, rows, side="right").astype(np.int64) + ticks.segment
        at = ABSENT if ticks.at is None else Values(ticks.at[rows].astype(np.uint64))
        schema = Schema((*batch.schema.columns, *TIME_COLUMNS))
        return Batch(schema, batch.size, {**batch.columns, TICKS.name: at, SEGMENT.name: Values(segments)}), clock


def timed_batches(walk: Walk, query: Query, scope: Scope, notes: list[Diagnostic]) -> Iterator[Batch]:
    """Yield the rows for which a condition is true, with :data:`~ptttool.exporters.contract.TIME_COLUMNS`; at least one batch.

    Behind the last one, what the recording says against the clock that is kept beside it is added to ``notes``.
    """
    whole = Clock(scope.time_model, scope.time_bits)
    for batch, clock in walk.run(Timed(query, scope, _RECORDS)):
        seam = whole.merge(clock)
        ticks, segments = batch.values(TICKS.name), batch.values(SEGMENT.name)
        columns = {**batch.columns, SEGMENT.name: Values(np.asarray(segments.array) + seam.segments)}
        if ticks.array is not None:
            columns[TICKS.name] = Values(np.asarray(ticks.array) + np.uint64(seam.ticks))
        yield Batch(batch.schema, batch.size, columns)
    dropped = scope.time_facts(whole, AnalysisContext(walk.path, walk.contents)).dropped
    if dropped is not None:
        notes.append(dropped)
