"""The analysis ``addresses``: sums of requests by address, in bulk. They pickle, merge, and are of bounded size."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.addresses.codes import (
    ATOMIC,
    FLOW_BITS,
    FLOWS,
    INBOUND,
    IO_READ,
    IO_WRITE,
    OPERATION_BITS,
    OUTBOUND,
    PAGE_SHIFT,
    READ,
    WRITE,
)
from ptttool.analyses.addresses.document import AddressMap
from ptttool.analyses.addresses.findings import address_map
from ptttool.analyses.budget import MAX_PAGES, MAX_TARGETS
from ptttool.analyses.contract import ANALYSES, AnalysisContext
from ptttool.analyses.needs import Need
from ptttool.analyses.ranges import RangeSums
from ptttool.analyses.regions import RegionKind, tables_of
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.table.batch import Batch
from ptttool.tlp.columns import KINDS

Array = npt.NDArray[Any]

_OPERATION_OF_KIND: Final = {
    "MRd": READ, "MRdLk": READ, "MWr": WRITE, "DMWr": WRITE, "FetchAdd": ATOMIC, "Swap": ATOMIC, "CAS": ATOMIC, "IORd": IO_READ,
    "IOWr": IO_WRITE,
}  # fmt: skip
_OPERATIONS: Final[Array] = np.array([_OPERATION_OF_KIND.get(kind, READ) for kind in KINDS], dtype=np.uint8)
_MEMORY_WRITE: Final = KINDS.index("MWr")
# An address is compared to multiples of so many bytes, and of twice and of four times as many; a request of fewer bytes is not.
_LINE: Final = 64
_PAGE: Final = 1 << PAGE_SHIFT
_FOUR_GIB: Final = 1 << 32
# A doorbell is a register: 1 or 2 DWs. A larger write is not small.
_SMALL: Final = 8
MAX_CROSSINGS: Final = 16
"""Indexes of requests across a 4 KiB boundary that are listed."""


class Addresses(TlpAnalysis[AddressMap]):
    """Sums requests by their address."""

    name = "addresses"
    meaning = "requests by address: regions, hot pages, interrupts, doorbells, peer-to-peer, alignment, 4 KiB crossings"
    columns = ("index", "kind", "direction", "requester", "address", "length_dw", "requested_bytes", "first_be")
    needs = (
        Need("addresses that devices read and write", "--direction inbound --type p,np", inbound=("P", "NP"), is_sum=True),
        Need("registers that the processor writes", "--direction outbound --type p", outbound=("P",), is_vital=False),
    )

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self.known = self.scope.regions
        rows = (len(self.known) + 1) * FLOWS
        # By region (0 is none) and flow: number of requests, bytes, the first one.
        self.requests: npt.NDArray[np.int64] = np.zeros(rows, dtype=np.int64)
        self.bytes: npt.NDArray[np.int64] = np.zeros(rows, dtype=np.int64)
        self.first: npt.NDArray[np.uint64] = np.full(rows, np.iinfo(np.uint64).max, dtype=np.uint64)
        # By flow and how far the address is aligned (0: not to 64 bytes, up to 3: to 256): requests of at least 64 bytes.
        self.aligned: npt.NDArray[np.int64] = np.zeros(FLOWS << 2, dtype=np.int64)
        # By flow: requests that are a whole number of 64-byte lines, and requests above 4 GiB.
        self.whole: npt.NDArray[np.int64] = np.zeros(FLOWS, dtype=np.int64)
        self.high: npt.NDArray[np.int64] = np.zeros(FLOWS, dtype=np.int64)
        self.crossings = 0
        self.crossing_indexes: list[int] = []
        self.pages = RangeSums(PAGE_SHIFT, MAX_PAGES, FLOWS - 1)
        # Small writes by exact address; code: flow, whether of 4 bytes, requester above. Without room, the requester goes.
        self.targets = RangeSums(2, MAX_TARGETS, (FLOWS << 1) - 1)
        # Inbound requests to BARs. The "address" is the number of the region; code: flow, requester above.
        self.peers = RangeSums(0, MAX_TARGETS, FLOWS - 1)
        # Outbound requests. The "address" is the requester.
        self.senders = RangeSums(0, MAX_TARGETS, FLOWS - 1)

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        has_address = batch.values("address").mask(batch.size)
        rows: Any = slice(None) if has_address is None or has_address.all() else np.flatnonzero(has_address)
        columns = {name: batch.values(name).filled(batch.size)[rows] for name in self.columns}
        addresses, kinds, indexes = columns["address"].astype(np.uint64, copy=False), columns["kind"], columns["index"]
        if not len(addresses):
            return
        directions, sizes, lengths, enables = (columns[name] for name in ("direction", "requested_bytes", "length_dw", "first_be"))
        requesters = columns["requester"].astype(np.intp)
        operations = _OPERATIONS.take(kinds)
        flows = (directions.astype(np.intp) << OPERATION_BITS) | operations
        regions = self._regions(addresses, operations)
        self._add_regions(regions, flows, sizes, indexes)
        # The first DW begins with a byte that is asked for or written, as it does where there are no byte enables.
        self._add_shapes(addresses, flows, sizes, lengths, operations, indexes, (enables & 1 != 0) | (enables == 0))
        is_memory = operations < IO_READ
        kept: Any = slice(None) if is_memory.all() else np.flatnonzero(is_memory)
        self.pages.add(addresses[kept], flows[kept], sizes[kept], indexes[kept])
        small = np.flatnonzero((kinds == _MEMORY_WRITE) & (sizes <= _SMALL) & (lengths <= _SMALL // 4))
        codes = flows.take(small) | ((lengths.take(small) == 1).astype(np.intp) << FLOW_BITS)
        codes |= requesters.take(small) << (FLOW_BITS + 1)
        self.targets.add(addresses.take(small), codes, sizes.take(small), indexes.take(small))
        self._add_peers(regions, flows, directions, requesters, sizes, indexes)

    def _regions(self, addresses: Array, operations: Array) -> Array:
        if not self.known:
            return np.zeros(len(addresses), dtype=np.intp)
        memory, io = tables_of(self.known)
        found = memory.find(addresses)
        of_io = np.flatnonzero(operations >= IO_READ)
        if len(of_io):
            found[of_io] = io.find(addresses.take(of_io))
        return found

    def _add_regions(self, regions: Array, flows: Array, sizes: Array, indexes: Array) -> None:
        codes = (regions << FLOW_BITS) | flows
        count = len(self.requests)
        self.requests += np.bincount(codes, minlength=count)
        self.bytes += np.bincount(codes, weights=sizes, minlength=count).astype(np.int64)
        first = np.full(count, np.iinfo(np.uint64).max, dtype=np.uint64)
        first[codes[::-1]] = indexes[::-1]  # the last one written stays, which is the first one
        np.minimum(self.first, first, out=self.first)

    def _add_shapes(
        self, addresses: Array, flows: Array, sizes: Array, lengths: Array, operations: Array, indexes: Array, begins: Array
    ) -> None:
        """Add alignment, widths, and crossings of 4 KiB boundaries; `begins`: requests that take the first byte of their DWs."""
        low = (addresses & np.uint64(_PAGE - 1)).astype(np.uint32)
        dws = lengths.astype(np.uint32) << 2
        across = np.flatnonzero((low + dws > _PAGE) & (operations < ATOMIC))
        if len(across):
            self.crossings += len(across)
            missing = MAX_CROSSINGS - len(self.crossing_indexes)
            self.crossing_indexes += indexes[across[:missing]].tolist()
        high = addresses >= np.uint64(_FOUR_GIB)
        if high.any():
            self.high += np.bincount(flows.take(np.flatnonzero(high)), minlength=FLOWS)
        large = sizes >= _LINE
        kept: Any = slice(None) if large.all() else np.flatnonzero(large)
        at, of, sizes = low[kept] | ~begins[kept], flows[kept], sizes[kept]  # any odd address, where it begins inside of a DW
        classes = (at & 63 == 0).astype(np.intp)
        classes += at & 127 == 0
        classes += at & 255 == 0
        self.aligned += np.bincount((of << 2) | classes, minlength=len(self.aligned))
        whole = ((at | sizes) & 63) == 0
        self.whole += np.bincount(of.take(np.flatnonzero(whole)), minlength=FLOWS)

    def _add_peers(self, regions: Array, flows: Array, directions: Array, requesters: Array, sizes: Array, indexes: Array) -> None:
        codes = flows | (requesters << FLOW_BITS)
        if self.known:
            is_bar = np.array([False, *(one.kind in (RegionKind.BAR, RegionKind.IO_BAR) for one in self.known)])
            rows = np.flatnonzero(is_bar.take(regions) & (directions == INBOUND))
            self.peers.add(regions.take(rows).astype(np.uint64), codes.take(rows), sizes.take(rows), indexes.take(rows))
        rows = np.flatnonzero(directions == OUTBOUND)
        self.senders.add(requesters.take(rows).astype(np.uint64), flows.take(rows), sizes.take(rows), indexes.take(rows))

    def merge(self, later: Addresses) -> None:
        """Add the requests behind."""
        self.requests += later.requests
        self.bytes += later.bytes
        np.minimum(self.first, later.first, out=self.first)
        self.aligned += later.aligned
        self.whole += later.whole
        self.high += later.high
        self.crossings += later.crossings
        self.crossing_indexes += later.crossing_indexes[: MAX_CROSSINGS - len(self.crossing_indexes)]
        for mine, theirs in (
            (self.pages, later.pages), (self.targets, later.targets), (self.peers, later.peers), (self.senders, later.senders),
        ):  # fmt: skip
            mine.merge(theirs)

    def result(self, context: AnalysisContext) -> AddressMap:
        """Return the sums, and what follows from them."""
        return address_map(self, context.machine)


ANALYSES.add("addresses", Addresses)
