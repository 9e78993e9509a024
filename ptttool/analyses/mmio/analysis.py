"""The analysis ``mmio``."""

from __future__ import annotations

import numpy as np

from ptttool.analyses.contract import ANALYSES, AnalysisContext
from ptttool.analyses.matching.analysis import MatchingAnalysis
from ptttool.analyses.matching.traced import untraced_answers
from ptttool.analyses.mmio.document import Mmio
from ptttool.analyses.mmio.findings import mmio_of
from ptttool.analyses.mmio.polling import Polling
from ptttool.analyses.mmio.sums import OPERATION_BITS, READ, TARGET_COLUMNS, RegisterSums, array_of
from ptttool.analyses.needs import Need
from ptttool.analyses.scope import Scope
from ptttool.analyses.time.clock import Clock
from ptttool.table.batch import Batch
from ptttool.tlp.transactions import Transactions


class MmioReads(MatchingAnalysis[Mmio]):
    """Sums the processor's requests to devices up: their registers, their latency, and polling."""

    name = "mmio"
    meaning = "registers that the processor reads and writes: latency, polling, configuration space"
    columns = ("index", *TARGET_COLUMNS)
    carried = ("address", "destination", "register")
    needs = (
        Need(
            "reads of the processor with their completions",
            "--direction both --completions a --type np,cpl",
            inbound=("CPL A",),
            outbound=("NP",),
            unfiltered=True,
        ),
    )

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self._sums = RegisterSums()
        self._polling = Polling()
        self._own_clock = Clock(self.scope.time_model, self.scope.time_bits)

    def add(self, ended: Transactions) -> None:
        """Add requests that have ended."""
        self._sums.add(ended)

    def add_rows(self, batch: Batch, shift: int) -> None:
        """Add the requests among the rows, whether they have ended or not."""
        ticks = self._own_clock.ticks(batch)
        columns = self._sums.add_rows(batch)
        if columns is None:
            return
        rows, flows, targets = columns
        is_read = flows & (1 << OPERATION_BITS) - 1 == READ
        rows, spaces, targets = rows[is_read], flows[is_read] >> OPERATION_BITS, targets[is_read]
        indexes = array_of(batch.values("index"), batch.size).take(rows)
        at = None if ticks.at is None else ticks.at.take(rows)
        self._polling.add(spaces.astype(np.uint64), targets, indexes, at, ticks.segments(rows))

    def merge_sums(self, later: MmioReads) -> None:
        """Add the sums of the part behind."""
        seam = self._own_clock.merge(later._own_clock)
        self._polling.merge(later._polling, seam.ticks, seam.segments)
        self._sums.merge(later._sums)

    def finish(self, context: AnalysisContext) -> Mmio:
        """Return the sums, with names where the machine is known."""
        return mmio_of(self._sums, self._polling, self._own_clock, self.scope, context, untraced_answers(context, self.totals))


ANALYSES.add("mmio", MmioReads)
