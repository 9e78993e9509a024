"""All outbound requests in their order: for those who join them with what the kernel says."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.mmio.sums import OPERATION_BITS, TARGET_COLUMNS, array_of, outbound_of
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.perfdata.budget import MAX_SAMPLES
from ptttool.table.batch import Batch

Array = npt.NDArray[Any]

ACCESS: Final = np.dtype([("target", "<u8"), ("flow", "u1"), ("dws", "<u2")])
"""A request: what it addresses, address space and operation, and its length."""


class Accesses(NamedTuple):
    """Outbound requests: :data:`ACCESS` in their order, none if there are more than are held; and how many there are."""

    rows: Array
    total: int


class OutboundRequests(TlpAnalysis[Accesses]):
    """The outbound requests; of more than the kernel's side may hold, none."""

    name = "accesses"
    meaning = "requests to registers, one by one"
    columns = (*TARGET_COLUMNS, "length_dw")

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self._parts: list[Array] = []
        self._count = 0

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        rows, flows, targets, _ = outbound_of(batch)
        found = np.empty(len(rows), dtype=ACCESS)
        found["target"], found["flow"] = targets, flows
        found["dws"] = array_of(batch.values("length_dw"), batch.size).take(rows)
        self._add([found], len(rows))

    def merge(self, later: OutboundRequests) -> None:
        """Add those behind."""
        self._add(later._parts, later._count)

    def _add(self, parts: list[Array], count: int) -> None:
        self._count += count
        # The kernel's side holds as many reads, and as many writes.
        self._parts = [*self._parts, *parts] if self._count <= 2 * MAX_SAMPLES else []

    def result(self, context: AnalysisContext) -> Accesses:
        """Return the requests."""
        return Accesses(np.concatenate(self._parts) if self._parts else np.empty(0, dtype=ACCESS), self._count)


def flow_of(rows: Array) -> tuple[Array, Array]:
    """Return address space and operation of requests."""
    return rows["flow"] >> OPERATION_BITS, rows["flow"] & (1 << OPERATION_BITS) - 1
