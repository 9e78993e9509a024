"""Sums of requests by address, in bulk. They pickle, merge, and are of bounded size."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_PAGES, MAX_TARGETS
from ptttool.analyses.ranges import RangeSums
from ptttool.analyses.regions import Region, RegionKind, tables_of
from ptttool.table.batch import Batch
from ptttool.table.values import Values, spread
from ptttool.tlp.columns import DIRECTIONS, KINDS

Array = npt.NDArray[Any]

OPERATIONS = ("read", "write", "atomic", "io-read", "io-write")
READ, WRITE, ATOMIC, IO_READ, IO_WRITE = range(len(OPERATIONS))
_OPERATION_OF_KIND = {
    "MRd": READ, "MRdLk": READ, "MWr": WRITE, "DMWr": WRITE, "FetchAdd": ATOMIC, "Swap": ATOMIC, "CAS": ATOMIC, "IORd": IO_READ,
    "IOWr": IO_WRITE,
}  # fmt: skip
_OPERATIONS: npt.NDArray[np.uint8] = np.array([_OPERATION_OF_KIND.get(kind, READ) for kind in KINDS], dtype=np.uint8)
MEMORY_WRITE = KINDS.index("MWr")
INBOUND, OUTBOUND, UNKNOWN = (DIRECTIONS.index(name) for name in ("inbound", "outbound", "unknown"))

# A code has the operation in its lower 3 bits, above them the direction (2 bits), above them what the table is about.
OPERATION_BITS, DIRECTION_BITS = 3, 2
FLOW_BITS = OPERATION_BITS + DIRECTION_BITS
FLOWS = 1 << FLOW_BITS
ALIGNMENTS = (64, 128, 256)
"""Bytes to a multiple of which an address is compared; a request of fewer bytes than the first is not."""
PAGE_SHIFT = 12
_PAGE = 1 << PAGE_SHIFT
_FOUR_GIB = 1 << 32
# A doorbell is a register: 1 or 2 DWs. A larger write is not small.
SMALL = 8
MAX_CROSSINGS = 16
"""Indexes of requests across a 4 KiB boundary that are listed."""


COLUMNS = ("index", "kind", "direction", "requester", "address", "length_dw", "requested_bytes", "first_be")
"""What of the TLPs is looked at."""


class AddressSums:
    """Sums of requests.

    Parameters
    ----------
    regions : tuple of Region
        Ranges of addresses that have a name.
    """

    def __init__(self, regions: tuple[Region, ...]) -> None:
        self.known = regions
        rows = (len(regions) + 1) * FLOWS
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

    def add(self, batch: Batch) -> None:
        """Add TLPs."""
        addressed = batch.values("address")
        if addressed.array is None:
            return
        rows = _rows_with(addressed, batch.size)
        addresses: Any = addressed.present()
        if not len(addresses):
            return
        addresses = addresses.astype(np.uint64, copy=False)
        kinds, directions, sizes, lengths = (
            _of_rows(batch.values(name), rows, batch.size) for name in ("kind", "direction", "requested_bytes", "length_dw")
        )
        indexes = _of_rows(batch.values("index"), rows, batch.size)
        operations = _OPERATIONS.take(kinds)
        flows = (directions.astype(np.intp) << OPERATION_BITS) | operations
        regions = self._regions(addresses, operations)
        self._add_regions(regions, flows, sizes, indexes)
        # The first DW begins with a byte that is asked for or written, as it does where there are no byte enables.
        enables = _of_rows(batch.values("first_be"), rows, batch.size)
        self._add_shapes(addresses, flows, sizes, lengths, operations, indexes, (enables & 1 != 0) | (enables == 0))
        is_memory = operations < IO_READ
        if is_memory.all():
            self.pages.add(addresses, flows, sizes, indexes)
        else:
            kept = np.flatnonzero(is_memory)
            self.pages.add(addresses.take(kept), flows.take(kept), sizes.take(kept), indexes.take(kept))
        requesters = _of_rows(batch.values("requester"), rows, batch.size)
        small = np.flatnonzero((kinds == MEMORY_WRITE) & (sizes <= SMALL) & (lengths <= SMALL // 4))
        codes = flows.take(small) | ((lengths.take(small) == 1).astype(np.intp) << FLOW_BITS)
        codes |= requesters.take(small).astype(np.intp) << (FLOW_BITS + 1)
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
        large = sizes >= ALIGNMENTS[0]
        if large.all():
            at, of = low | ~begins, flows  # any odd address, where it begins inside of a DW
        else:
            kept = np.flatnonzero(large)
            at, of, sizes = low.take(kept) | ~begins.take(kept), flows.take(kept), sizes.take(kept)
        classes = (at & 63 == 0).astype(np.intp)
        classes += at & 127 == 0
        classes += at & 255 == 0
        self.aligned += np.bincount((of << 2) | classes, minlength=len(self.aligned))
        whole = ((at | sizes) & 63) == 0
        self.whole += np.bincount(of.take(np.flatnonzero(whole)), minlength=FLOWS)

    def _add_peers(self, regions: Array, flows: Array, directions: Array, requesters: Array, sizes: Array, indexes: Array) -> None:
        codes = flows | (requesters.astype(np.intp) << FLOW_BITS)
        if self.known:
            is_bar = np.array([False, *(one.kind in (RegionKind.BAR, RegionKind.IO_BAR) for one in self.known)])
            rows = np.flatnonzero(is_bar.take(regions) & (directions == INBOUND))
            self.peers.add(regions.take(rows).astype(np.uint64), codes.take(rows), sizes.take(rows), indexes.take(rows))
        rows = np.flatnonzero(directions == OUTBOUND)
        self.senders.add(requesters.take(rows).astype(np.uint64), flows.take(rows), sizes.take(rows), indexes.take(rows))

    def merge(self, later: AddressSums) -> None:
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


def _rows_with(values: Values, size: int) -> Array | None:
    """Return the positions of the rows with a value; None for all."""
    if values.rows is not None:
        return values.rows
    mask = values.mask(size)
    return None if mask is None or mask.all() else np.flatnonzero(mask)


def _of_rows(values: Values, rows: Array | None, size: int) -> Array:
    """Return a column's values in some rows; 0 where a row has none."""
    if values.array is None:
        return np.zeros(size if rows is None else len(rows), dtype=np.uint8)
    dense = values.dense(size)
    array: Any = spread(dense.array) if isinstance(dense.array, range) else dense.array
    if dense.valid is not None:
        array = array * dense.valid
    found: Array = array if rows is None else array.take(rows)
    return found
