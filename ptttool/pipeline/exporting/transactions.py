"""The transactions of a recording for an exporter: those of its first requests, and the bytes of all TLPs over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.matching.analysis import MatchingAnalysis
from ptttool.analyses.time.clock import Clock
from ptttool.analyses.time.line import Line, piece_of_rows
from ptttool.exporters.perfetto import MAX_SLICES, TransactionTrace
from ptttool.table.batch import Batch
from ptttool.table.values import ABSENT
from ptttool.tlp.columns import DIRECTIONS, TLP_SCHEMA
from ptttool.tlp.transactions import Transactions, joined

if TYPE_CHECKING:
    from ptttool.analyses.scope import Scope
    from ptttool.decoders.decoded import Decoded
    from ptttool.pipeline.query import Query
    from ptttool.pipeline.walk import Walk

# Records of a unit.
_RECORDS = 1 << 17
# Intervals of the counters of bytes.
_INTERVALS = 2_000
_CARRIED = ("address", "direction")
_ROWS = ("direction", "payload_bytes")


class TransactionLog(MatchingAnalysis[TransactionTrace]):
    """The first transactions of a recording, by the numbers of their requests.

    Parameters
    ----------
    scope : Scope
        What is known of the recording.
    query : Query
        Which of them are wanted: a condition on their requests, and a range.
    """

    name = "transaction-log"
    meaning = "the transactions themselves"

    def __init__(self, scope: Scope, query: Query) -> None:
        super().__init__(scope)
        self._skipped = query.offset
        self._most = query.offset + (MAX_SLICES if query.limit is None else query.limit)
        self._where = query.where
        looked_at = () if query.where is None else query.where.columns
        self.carried = tuple(dict.fromkeys((*_CARRIED, *looked_at)))  # type: ignore[misc]  # of this log, not of all
        self._kept: list[Transactions] = []
        self._held = 0
        self._left_out = 0
        self._row_clock = Clock(scope.time_model, scope.time_bits)
        self._line = Line(len(DIRECTIONS), scope.grain)

    @property
    def read(self) -> tuple[str, ...]:
        """The columns that it reads."""
        return tuple(dict.fromkeys((*self.columns, *_ROWS, *self.carried)))

    def add(self, ended: Transactions) -> None:
        """Keep those that are wanted."""
        if self._where is not None:
            schema = TLP_SCHEMA.select(self._where.columns)
            frame = Batch(schema, len(ended), {name: ended.extra.get(name, ABSENT) for name in schema.names}).to_polars()
            ended = ended.take(self._where.mask(frame, len(ended)))
        self._kept.append(ended)
        self._held += len(ended)
        self._tidy()

    def add_rows(self, batch: Batch, shift: int) -> None:  # noqa: ARG002 - the clock of the rows counts
        """Add the bytes of TLPs up."""
        ticks = self._row_clock.ticks(batch)
        starts = self._line.starts(batch)
        codes = batch.values("direction").filled(batch.size, DIRECTIONS.index("unknown"))
        weights = batch.values("payload_bytes").filled(batch.size)
        keys = piece_of_rows(starts, batch.size) * len(DIRECTIONS) + codes
        sums = np.bincount(keys, weights, len(starts) * len(DIRECTIONS)).astype(np.int64)
        self._line.add(batch, ticks, starts, sums.reshape(-1, len(DIRECTIONS)))

    def merge_sums(self, later: TransactionLog) -> None:
        """Add those of the part behind."""
        self._line.merge(later._line, self._row_clock.merge(later._row_clock))
        self._kept += [each.later_by(self.shift) for each in later._kept]
        self._held += later._held
        self._left_out += later._left_out
        self._tidy()

    def _tidy(self, *, at_once: bool = False) -> None:
        """Keep the first ones alone, once there are twice as many."""
        if not at_once and self._held <= 2 * self._most + _RECORDS:
            return
        whole = _concatenated(self._kept)
        order = np.argsort(whole.request, kind="stable")[: self._most]
        self._left_out += len(whole) - len(order)
        self._kept, self._held = [whole.take(order)], len(order)

    def finish(self, context: AnalysisContext) -> TransactionTrace:
        """Return the transactions in the order of their requests."""
        self._tidy(at_once=True)
        kept = _concatenated(self._kept)
        whole = kept.take(np.arange(self._skipped, len(kept)))
        intervals = self._line.intervals(_INTERVALS)
        dropped = self.scope.time_facts(self._row_clock, context).dropped
        return TransactionTrace(whole, self._left_out, intervals.begins, intervals.width, intervals.sums, dropped)


def _concatenated(parts: Sequence[Transactions]) -> Transactions:
    """Return transactions behind each other, with the values of their extra columns."""
    if not parts:
        return Transactions(**dict.fromkeys(Transactions.arrays(), np.zeros(0, np.int64)), extra=dict.fromkeys(_CARRIED, ABSENT))
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in Transactions.arrays()}
    extra = dict(parts[0].extra)
    count = len(parts[0])
    for part in parts[1:]:
        extra = {name: joined(values, count, part.extra[name], len(part)) for name, values in extra.items()}
        count += len(part)
    return Transactions(**arrays, extra=extra)


class Log(Struct, frozen=True):
    """Work: the transactions of a unit.

    Parameters
    ----------
    scope : Scope
        What is known of the recording.
    query : Query
        Which transactions are wanted.
    unit_records : int
        Records of a unit, at most.
    """

    scope: Scope
    query: Query
    unit_records: int
    needs_index: bool = True

    def __call__(self, decoded: Decoded, /) -> TransactionLog:
        """Return the log of these rows."""
        log = TransactionLog(self.scope, self.query)
        log.update(decoded.batch(log.read))
        return log


def transactions_of(walk: Walk, query: Query, scope: Scope) -> TransactionTrace:
    """Return the transactions of a recording that a query selects by their requests; without a limit, the first :data:`MAX_SLICES`."""
    log = walk.merge(Log(scope, query, _RECORDS))
    return log.result(AnalysisContext(walk.path, walk.contents))
