"""Sums over outbound requests: by register, by address space, and the slowest ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_LISTED, MAX_TARGETS
from ptttool.analyses.distribution import Distribution
from ptttool.analyses.ranges import RangeSums
from ptttool.analyses.registers import REGISTER_BITS, Space
from ptttool.analyses.sums import SumTable, counted
from ptttool.table.batch import Batch
from ptttool.table.values import Values, spread
from ptttool.tlp.columns import DIRECTIONS, KINDS
from ptttool.tlp.transactions import REQUESTER_BITS, Ending, Transactions

Array = npt.NDArray[Any]

OUTBOUND, UNKNOWN = DIRECTIONS.index("outbound"), DIRECTIONS.index("unknown")
OPERATIONS = ("read", "write", "atomic")
READ, WRITE, ATOMIC = range(len(OPERATIONS))
SPACE_BITS = OPERATION_BITS = 2
FLOWS = 1 << (SPACE_BITS + OPERATION_BITS)
# What a kind of request does in which address space; -1 for everything else.
_FLOW_OF_KIND = {
    "MRd": (Space.MEMORY, READ), "MRdLk": (Space.MEMORY, READ), "MWr": (Space.MEMORY, WRITE), "DMWr": (Space.MEMORY, WRITE),
    "FetchAdd": (Space.MEMORY, ATOMIC), "Swap": (Space.MEMORY, ATOMIC), "CAS": (Space.MEMORY, ATOMIC), "IORd": (Space.IO, READ),
    "IOWr": (Space.IO, WRITE), "CfgRd0": (Space.CONFIGURATION, READ), "CfgRd1": (Space.CONFIGURATION, READ),
    "TCfgRd": (Space.CONFIGURATION, READ), "CfgWr0": (Space.CONFIGURATION, WRITE), "CfgWr1": (Space.CONFIGURATION, WRITE),
}  # fmt: skip
# By code of a kind.
_FLOWS: npt.NDArray[np.int8] = np.full(len(KINDS), -1, dtype=np.int8)
for _kind, (_space, _operation) in _FLOW_OF_KIND.items():
    _FLOWS[KINDS.index(_kind)] = _space << OPERATION_BITS | _operation

TARGET_COLUMNS = ("kind", "direction", "address", "destination", "register")
"""The columns that say what a request addresses."""

SLOW = np.dtype([("ticks", "i8"), ("index", "u8"), ("last", "u8"), ("flow", "u8"), ("target", "u8")])
"""A slow request: ticks to its last completion, numbers of both in the recording, and what it addresses."""


def array_of(values: Values, size: int) -> Array:
    """Return one value for each row; any number where a row has none."""
    if values.array is None:
        return np.zeros(size, dtype=np.uint64)
    array: Any = values.dense(size).array
    column: Array = spread(array) if isinstance(array, range) else array
    return column


def targets_of(flows: Array, rows: Array, size: int, column: Callable[[str], Values]) -> Array:
    """Return what requests address: the address, or in configuration space the function and the offset.

    Parameters
    ----------
    flows, rows : ndarray, shape (n,)
        What the requests do, and their rows.
    size : int
        Number of all rows.
    column : callable
        Returns a column of all rows by its name.
    """
    targets: Array = array_of(column("address"), size).take(rows).astype(np.uint64)
    is_configuration = flows >> OPERATION_BITS == Space.CONFIGURATION
    if is_configuration.any():
        function, register = (array_of(column(name), size).take(rows).astype(np.uint64) for name in ("destination", "register"))
        targets = np.where(is_configuration, function << np.uint64(REGISTER_BITS) | register, targets)
    return targets


def outbound_of(batch: Batch) -> tuple[Array, Array, Array, int]:
    """Return positions, flows and targets of the outbound requests among rows, and how many requests have an unknown direction."""
    flows = _FLOWS.take(array_of(batch.values("kind"), batch.size))
    directions = array_of(batch.values("direction"), batch.size)
    is_request = flows >= 0
    rows = np.flatnonzero((directions == OUTBOUND) & is_request)
    flows = flows.take(rows)
    targets = targets_of(flows, rows, batch.size, batch.values)
    return rows, flows, targets, int(np.count_nonzero((directions == UNKNOWN) & is_request))


class RegisterSums:
    """Requests by register, and how long those took that were answered.

    Attributes
    ----------
    requests : RangeSums
        All outbound requests by target and flow; the "bytes" have no meaning.
    answered : RangeSums
        Those whose latency is known; the "bytes" are ticks to the last completion.
    endings : ndarray of int64, shape (16, 5)
        Requests that are answered, by flow and :class:`Ending`.
    alone : SumTable
        Numbers of those without a completion, by flow, requester, and whether they are at the end, in one number.
    latencies : dict of int to Distribution
        Ticks to the last completion, by flow.
    slowest : ndarray of SLOW
        The slowest requests, the slowest first.
    unknown : int
        Memory and I/O requests whose direction is not known.
    """

    def __init__(self) -> None:
        self.requests = RangeSums(0, MAX_TARGETS, FLOWS - 1)
        self.answered = RangeSums(0, MAX_TARGETS, FLOWS - 1)
        self.endings: npt.NDArray[np.int64] = np.zeros((FLOWS, len(Ending)), dtype=np.int64)
        self.alone = SumTable(np.add)
        self.latencies: dict[int, Distribution] = {}
        self.slowest: Array = np.empty(0, dtype=SLOW)
        self.unknown = 0

    def add_rows(self, batch: Batch) -> tuple[Array, Array, Array] | None:
        """Add rows; return positions, flows and targets of the outbound requests among them, None without any."""
        rows, flows, targets, unknown = outbound_of(batch)
        self.unknown += unknown
        if not len(rows):
            return None
        indexes = array_of(batch.values("index"), batch.size).take(rows)
        self.requests.add(targets, flows, np.zeros(len(rows), dtype=np.int64), indexes)
        return rows, flows, targets

    def add(self, ended: Transactions) -> None:
        """Add requests that have ended."""
        count = len(ended)
        flows = _FLOWS.take(ended.kind)
        rows = np.flatnonzero((array_of(ended.extra["direction"], count) == OUTBOUND) & (flows >= 0))
        if not len(rows):
            return
        flows, endings = flows.take(rows), ended.ending.take(rows)
        self.endings += np.bincount(flows.astype(np.intp) * len(Ending) + endings, minlength=self.endings.size).reshape(self.endings.shape)
        alone = np.flatnonzero(endings >= Ending.INSIDE)
        if len(alone):
            keys = flows.take(alone).astype(np.int64) << REQUESTER_BITS | ended.requester.take(rows.take(alone))
            self.alone.add(*counted(keys << 1 | (endings.take(alone) == Ending.END)))
        ticks = ended.to_last.take(rows)
        timed = np.flatnonzero((ticks >= 0) & (endings == Ending.COMPLETE))
        if not len(timed):
            return
        rows, flows, ticks = rows.take(timed), flows.take(timed), ticks.take(timed)
        targets = targets_of(flows, rows, count, ended.extra.__getitem__)
        indexes = ended.request.take(rows)
        order = np.argsort(indexes, kind="stable")
        self.answered.add(targets.take(order), flows.take(order), ticks.take(order), indexes.take(order))
        for flow in np.unique(flows).tolist():
            self.latencies.setdefault(flow, Distribution()).add(ticks[flows == flow])
        slow = np.empty(len(rows), dtype=SLOW)
        slow["ticks"], slow["index"], slow["last"], slow["flow"], slow["target"] = ticks, indexes, ended.last.take(rows), flows, targets
        self._add_slow(slow)

    def _add_slow(self, slow: Array) -> None:
        if len(slow) > MAX_LISTED:
            # The slowest, and all that are as slow as the last of these: of equal ones the first in the recording is wanted.
            limit = np.partition(slow["ticks"], -MAX_LISTED)[-MAX_LISTED]
            slow = slow[slow["ticks"] >= limit]
        joined = np.concatenate((self.slowest, slow))
        self.slowest = joined[np.lexsort((joined["index"], -joined["ticks"]))[:MAX_LISTED]]

    def merge(self, later: RegisterSums) -> None:
        """Add sums of requests behind."""
        self.requests.merge(later.requests)
        self.answered.merge(later.answered)
        self.endings += later.endings
        self.alone.merge(later.alone)
        for flow, latencies in later.latencies.items():
            self.latencies.setdefault(flow, Distribution()).merge(latencies)
        self._add_slow(later.slowest)
        self.unknown += later.unknown
