"""The analysis ``addresses``: sums of requests by address, which pickle, merge, and are of bounded size; and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.addresses.codes import (
    ATOMIC,
    DIRECTION_BITS,
    FLOW_BITS,
    FLOWS,
    INBOUND,
    IO_READ,
    IO_WRITE,
    OPERATION_BITS,
    OPERATIONS,
    OUTBOUND,
    PAGE_SHIFT,
    READ,
    WRITE,
)
from ptttool.analyses.addresses.document import (
    AddressMap,
    AlignmentSums,
    Crossings,
    Doorbells,
    DoorbellSums,
    FoundBy,
    Interrupts,
    InterruptSums,
    Pages,
    PageSums,
    PeerSums,
    PeerToPeer,
    RegionSums,
    SenderSums,
    WidthSums,
)  # fmt: skip
from ptttool.analyses.budget import MAX_LISTED, MAX_PAGES, MAX_TARGETS
from ptttool.analyses.contract import ANALYSES, AnalysisContext
from ptttool.analyses.needs import Need
from ptttool.analyses.ranges import RangeSums
from ptttool.analyses.regions import Region, RegionKind, is_translated, tables_of
from ptttool.analyses.registers import Space, dstrd_of_drives, target_of
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.analyses.sums import starts_of, summed
from ptttool.pci import format_id
from ptttool.table.batch import Batch
from ptttool.tlp.columns import DIRECTIONS, KINDS

if TYPE_CHECKING:
    from ptttool.machine.model import Machine

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
_FOUR_BYTES = 1 << FLOW_BITS
_REQUESTER_SHIFT = FLOW_BITS + 1
_INBOUND_WRITE = INBOUND << OPERATION_BITS | WRITE
_OUTBOUND_WRITE = OUTBOUND << OPERATION_BITS | WRITE
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
        regions = memory.find(addresses)
        of_io = np.flatnonzero(operations >= IO_READ)
        if len(of_io):
            regions[of_io] = io.find(addresses.take(of_io))
        return regions

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


def address_map(sums: Addresses, machine: Machine | None) -> AddressMap:
    """Return the result of the analysis."""
    regions = sums.known
    return AddressMap(
        requests=int(sums.requests.sum()),
        bytes=int(sums.bytes.sum()),
        regions_known=len(regions),
        translated=is_translated(machine),
        regions=sorted(_regions(sums), key=lambda one: (-one.bytes, -one.requests, one.index, one.operation)),
        pages=_pages(sums),
        crossings=Crossings(sums.crossings, sums.crossing_indexes),
        alignment=list(_alignment(sums)),
        widths=list(_widths(sums)),
        interrupts=_interrupts(sums),
        doorbells=_doorbells(sums, machine),
        peer_to_peer=_peers(sums, machine),
    )


def _direction(code: int) -> str:
    return DIRECTIONS[code >> OPERATION_BITS & (1 << DIRECTION_BITS) - 1]


def _operation(code: int) -> str:
    return OPERATIONS[code & (1 << OPERATION_BITS) - 1]


def _regions(sums: Addresses) -> Iterator[RegionSums]:
    for code in np.flatnonzero(sums.requests).tolist():
        number, flow = code >> FLOW_BITS, code & FLOWS - 1
        region = sums.known[number - 1] if number else None
        yield RegionSums(
            None if region is None else region.name,
            None if region is None else region.kind.value,
            _direction(flow),
            _operation(flow),
            int(sums.requests[code]),
            int(sums.bytes[code]),
            int(sums.first[code]),
        )


def _at(sums: Addresses, addresses: Array) -> list[Region | None]:
    """Return the region of each memory address."""
    memory, _ = tables_of(sums.known)
    return [sums.known[number - 1] if number else None for number in memory.find(addresses).tolist()]


def _pages(sums: Addresses) -> Pages:
    addresses, codes, requests, sizes, indexes = sums.pages.rows()
    pages = 1 << sums.pages.shift
    if not len(addresses):
        return Pages(pages, 0, [], 0)
    # Rows are ordered by page, then by direction, then by operation.
    directions = codes >> np.uint64(OPERATION_BITS)
    begins = starts_of(addresses | directions)
    totals = np.add.reduceat(requests, begins)
    hottest = np.lexsort((np.arange(len(begins)), -totals))[:MAX_LISTED]
    ends = np.append(begins[1:], len(addresses))
    names = _at(sums, addresses[begins[hottest]])
    rows = []
    for region, row in zip(names, hottest.tolist(), strict=True):
        part = slice(int(begins[row]), int(ends[row]))
        by_operation = dict(zip(codes[part].tolist(), requests[part].tolist(), strict=True))
        flow = int(directions[begins[row]]) << OPERATION_BITS
        rows.append(
            PageSums(
                hex(int(addresses[begins[row]])),
                None if region is None else region.name,
                _direction(flow),
                int(totals[row]),
                by_operation.get(flow | READ, 0),
                by_operation.get(flow | WRITE, 0),
                by_operation.get(flow | OPERATIONS.index("atomic"), 0),
                int(sizes[part].sum()),
                int(indexes[part].min()),
            )
        )
    return Pages(pages, len(begins), rows, int(totals.sum()) - sum(one.requests for one in rows))


def _alignment(sums: Addresses) -> Iterator[AlignmentSums]:
    by_class = sums.aligned.reshape(-1, 4)
    for flow in np.flatnonzero(by_class.sum(axis=1)).tolist():
        counts = by_class[flow].tolist()
        yield AlignmentSums(
            _direction(flow), _operation(flow), sum(counts), sum(counts[1:]), sum(counts[2:]), counts[3], int(sums.whole[flow])
        )


def _widths(sums: Addresses) -> Iterator[WidthSums]:
    by_flow = sums.requests.reshape(-1, FLOWS).sum(axis=0)
    # Of each direction, the operations on memory.
    requests, above = (each.reshape(-1, 1 << OPERATION_BITS)[:, :IO_READ].sum(axis=1).tolist() for each in (by_flow, sums.high))
    for direction, whole, high in zip(DIRECTIONS, requests, above, strict=False):
        if whole:
            yield WidthSums(direction, whole - high, high)


def _interrupts(sums: Addresses) -> Interrupts:
    """Find interrupts: in the range that the machine names, else by their pattern, which needs exact addresses and pages."""
    addresses, codes, requests, _, indexes = sums.targets.rows()
    small = np.flatnonzero(codes & np.uint64(_FOUR_BYTES | FLOWS - 1) == _FOUR_BYTES | _INBOUND_WRITE)
    regions = _at(sums, addresses[small])
    is_doorbell = np.array([region is not None and region.kind is RegionKind.DOORBELL for region in regions], dtype=np.bool_)
    if is_doorbell.any():
        interrupts, found_by = small[is_doorbell], FoundBy.DOORBELL
    else:
        may_be = np.array([region is None or region.kind is RegionKind.WINDOW for region in regions], dtype=np.bool_)
        interrupts, found_by = _by_pattern(sums, addresses, requests, small, small[may_be]), FoundBy.PATTERN
    rows = [
        InterruptSums(
            hex(int(addresses[row])),
            format_id(int(codes[row]) >> _REQUESTER_SHIFT) if sums.targets.has_all_codes else None,
            int(requests[row]),
            int(indexes[row]),
        )
        for row in interrupts.tolist()
    ]
    rows.sort(key=lambda one: (-one.writes, one.index, one.requester or ""))
    listed = rows[:MAX_LISTED]
    return Interrupts(found_by if rows else None, sum(one.writes for one in rows), listed, len(rows) - len(listed))


def _by_pattern(sums: Addresses, addresses: Array, requests: Array, small: Array, candidates: Array) -> Array:
    """Return the candidates (positions) with a page that has 4-byte writes to one address and nothing else."""
    if sums.pages.shift != PAGE_SHIFT or sums.targets.shift != 2 or not len(candidates):
        return candidates[:0]
    pages, codes, of_page, _, _ = sums.pages.rows()
    inbound = np.flatnonzero(codes >> np.uint64(OPERATION_BITS) == INBOUND)
    every, in_all = summed((np.add,), pages[inbound], of_page[inbound])
    mask, written = ~np.uint64((1 << PAGE_SHIFT) - 1), addresses[small]
    those, in_small, lowest, highest = summed((np.add, np.minimum, np.maximum), written & mask, requests[small], written, written)
    is_one = (in_all[np.searchsorted(every, those)] == in_small) & (lowest == highest)
    kept: Array = candidates[np.isin(addresses[candidates] & mask, those[is_one])]
    return kept


def _doorbells(sums: Addresses, machine: Machine | None) -> Doorbells:
    from ptttool.machine.topology import functions_by_id

    addresses, codes, requests, _, indexes = sums.targets.rows()
    writes_at = np.flatnonzero(codes & np.uint64(FLOWS - 1) == _OUTBOUND_WRITE)
    # Several requesters may write one register. Its address is a multiple of 4: in the lowest bit is whether writes have 8 bytes.
    is_large = (codes[writes_at] & np.uint64(_FOUR_BYTES) == 0).astype(np.uint64)
    registers, writes, first = summed((np.add, np.minimum), addresses[writes_at] | is_large, requests[writes_at], indexes[writes_at])
    most = np.lexsort((registers, -writes))[:MAX_LISTED]
    listed, sizes = registers[most] & ~np.uint64(1), 4 + 4 * (registers[most] & np.uint64(1))
    functions = {} if machine is None else functions_by_id(machine)
    distances = dstrd_of_drives(registers & ~np.uint64(1), sums.known, functions)
    rows = []
    for region, address, size, count, index in zip(
        _at(sums, listed), listed.tolist(), sizes.tolist(), writes[most].tolist(), first[most].tolist(), strict=True
    ):
        register = name = None
        if region is not None and region.kind in (RegionKind.BAR, RegionKind.IO_BAR):
            register, name = target_of(Space.MEMORY, address, region, functions, distances.get(region, 0))
        # Where there were too many addresses, a row stands for several registers.
        rows.append(DoorbellSums(hex(address), register, name if sums.targets.shift == 2 else None, size, count, index))
    return Doorbells(int(writes.sum()), rows, len(registers) - len(rows))


def _peers(sums: Addresses, machine: Machine | None) -> PeerToPeer:
    regions = sums.known
    numbers, codes, requests, sizes, indexes = (column.tolist() for column in sums.peers.rows())
    inbound = [
        PeerSums(
            format_id(code >> FLOW_BITS) if sums.peers.has_all_codes else None,
            regions[number - 1].name,
            _operation(code),
            count,
            size,
            index,
        )
        for number, code, count, size, index in zip(numbers, codes, requests, sizes, indexes, strict=True)
    ]
    inbound.sort(key=lambda one: (-one.requests, one.index))
    senders, _, *numbers_of_senders = sums.senders.rows()
    outbound = [
        SenderSums(format_id(sender), _is_device(machine, sender), count, size, index)
        for sender, count, size, index in zip(
            *(column.tolist() for column in summed((np.add, np.add, np.minimum), senders, *numbers_of_senders)), strict=True
        )
    ]
    outbound.sort(key=lambda one: (-one.requests, one.index))
    more = max(len(inbound) - MAX_LISTED, 0) + max(len(outbound) - MAX_LISTED, 0)
    return PeerToPeer(inbound[:MAX_LISTED], outbound[:MAX_LISTED], more)


def _is_device(machine: Machine | None, requester: int) -> bool | None:
    """Tell whether the requester of an outbound request is a device: it has another bus than root ports have, or is an endpoint."""
    from ptttool.machine.topology import is_bridge

    ports = {one.address for device in machine.devices for one in device.root_ports} if machine is not None else set()
    if not ports or machine is None:
        return None
    if any(address.routing_id == requester for address in ports):
        return False
    function = next((one for address, one in machine.functions.items() if address.routing_id == requester), None)
    if function is not None:
        return function.address.bus not in {port.bus for port in ports} and not is_bridge(function)
    return requester >> 8 not in {port.bus for port in ports}


ANALYSES.add("addresses", Addresses)
