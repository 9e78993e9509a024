"""What follows from sums by address: names of regions, interrupts, doorbells, peer-to-peer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

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
from ptttool.analyses.addresses.sums import (
    DIRECTION_BITS,
    FLOW_BITS,
    FLOWS,
    INBOUND,
    IO_READ,
    OPERATION_BITS,
    OPERATIONS,
    OUTBOUND,
    PAGE_SHIFT,
    READ,
    WRITE,
)  # fmt: skip
from ptttool.analyses.budget import MAX_LISTED
from ptttool.analyses.regions import Region, RegionKind, is_translated, tables_of
from ptttool.pci import format_id
from ptttool.tlp.columns import DIRECTIONS

if TYPE_CHECKING:
    from ptttool.analyses.addresses.sums import AddressSums, Array
    from ptttool.machine.model import Machine

_FOUR_BYTES = 1 << FLOW_BITS
_REQUESTER_SHIFT = FLOW_BITS + 1
# A larger offset in a BAR's name is one behind its end.
_INBOUND_WRITE = INBOUND << OPERATION_BITS | WRITE
_OUTBOUND_WRITE = OUTBOUND << OPERATION_BITS | WRITE


def address_map(sums: AddressSums, machine: Machine | None) -> AddressMap:
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
        doorbells=_doorbells(sums),
        peer_to_peer=_peers(sums, machine),
    )


def _direction(code: int) -> str:
    return DIRECTIONS[code >> OPERATION_BITS & (1 << DIRECTION_BITS) - 1]


def _operation(code: int) -> str:
    return OPERATIONS[code & (1 << OPERATION_BITS) - 1]


def _regions(sums: AddressSums) -> Iterator[RegionSums]:
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


def _at(sums: AddressSums, addresses: Array) -> list[Region | None]:
    """Return the region of each memory address."""
    memory, _ = tables_of(sums.known)
    return [sums.known[number - 1] if number else None for number in memory.find(addresses).tolist()]


def _pages(sums: AddressSums) -> Pages:
    addresses, codes, requests, sizes, indexes = sums.pages.rows()
    pages = 1 << sums.pages.shift
    if not len(addresses):
        return Pages(pages, 0, [], 0)
    # Rows are ordered by page, then by direction, then by operation.
    directions = codes >> np.uint64(OPERATION_BITS)
    begins = np.flatnonzero(np.r_[True, (addresses[1:] != addresses[:-1]) | (directions[1:] != directions[:-1])])
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


def _alignment(sums: AddressSums) -> Iterator[AlignmentSums]:
    by_class = sums.aligned.reshape(-1, 4)
    for flow in np.flatnonzero(by_class.sum(axis=1)).tolist():
        counts = by_class[flow].tolist()
        yield AlignmentSums(
            _direction(flow), _operation(flow), sum(counts), sum(counts[1:]), sum(counts[2:]), counts[3], int(sums.whole[flow])
        )


def _widths(sums: AddressSums) -> Iterator[WidthSums]:
    by_flow = sums.requests.reshape(-1, FLOWS).sum(axis=0)
    for code, direction in enumerate(DIRECTIONS):
        flows = [code << OPERATION_BITS | operation for operation in range(IO_READ)]
        high = int(sums.high[flows].sum())
        requests = int(by_flow[flows].sum())
        if requests:
            yield WidthSums(direction, requests - high, high)


def _interrupts(sums: AddressSums) -> Interrupts:
    """Find interrupts: in the range that the machine names, else by their pattern, which needs exact addresses and pages."""
    addresses, codes, requests, _, indexes = sums.targets.rows()
    small = np.flatnonzero(codes & np.uint64(_FOUR_BYTES | FLOWS - 1) == _FOUR_BYTES | _INBOUND_WRITE)
    regions = _at(sums, addresses[small])
    is_doorbell = np.array([region is not None and region.kind is RegionKind.DOORBELL for region in regions], dtype=np.bool_)
    if is_doorbell.any():
        found, found_by = small[is_doorbell], FoundBy.DOORBELL
    else:
        may_be = np.array([region is None or region.kind is RegionKind.WINDOW for region in regions], dtype=np.bool_)
        found, found_by = _by_pattern(sums, addresses, requests, small, small[may_be]), FoundBy.PATTERN
    rows = [
        InterruptSums(
            hex(int(addresses[row])),
            format_id(int(codes[row]) >> _REQUESTER_SHIFT) if sums.targets.has_all_codes else None,
            int(requests[row]),
            int(indexes[row]),
        )
        for row in found.tolist()
    ]
    rows.sort(key=lambda one: (-one.writes, one.index, one.requester or ""))
    listed = rows[:MAX_LISTED]
    return Interrupts(found_by if rows else None, sum(one.writes for one in rows), listed, len(rows) - len(listed))


def _by_pattern(sums: AddressSums, addresses: Array, requests: Array, small: Array, candidates: Array) -> Array:
    """Return the candidates (positions) with a page that has 4-byte writes to one address and nothing else."""
    if sums.pages.shift != PAGE_SHIFT or sums.targets.shift != 2 or not len(candidates):
        return candidates[:0]
    pages, codes, of_page, _, _ = sums.pages.rows()
    inbound = np.flatnonzero(codes >> np.uint64(OPERATION_BITS) == INBOUND)
    every, position = np.unique(pages[inbound], return_inverse=True)
    in_all = np.bincount(position, weights=of_page[inbound], minlength=len(every)).astype(np.int64)
    mask = ~np.uint64((1 << PAGE_SHIFT) - 1)
    at = np.searchsorted(every, addresses[small] & mask)
    in_small = np.bincount(at, weights=requests[small], minlength=len(every)).astype(np.int64)
    lowest = np.full(len(every), np.iinfo(np.uint64).max, dtype=np.uint64)
    highest = np.zeros(len(every), dtype=np.uint64)
    np.minimum.at(lowest, at, addresses[small])
    np.maximum.at(highest, at, addresses[small])
    is_one = (in_all == in_small) & (lowest == highest)
    kept: Array = candidates[is_one[np.searchsorted(every, addresses[candidates] & mask)]]
    return kept


def _doorbells(sums: AddressSums) -> Doorbells:
    addresses, codes, requests, _, indexes = sums.targets.rows()
    found = np.flatnonzero(codes & np.uint64(FLOWS - 1) == _OUTBOUND_WRITE)
    by_register: dict[tuple[int, int], list[int]] = {}  # several requesters may write one
    for row in found.tolist():
        size = 4 if int(codes[row]) & _FOUR_BYTES else 8
        entry = by_register.setdefault((int(addresses[row]), size), [0, int(indexes[row])])
        entry[0] += int(requests[row])
        entry[1] = min(entry[1], int(indexes[row]))
    ordered = sorted(by_register.items(), key=lambda item: (-item[1][0], item[0]))
    listed = ordered[:MAX_LISTED]
    regions = _at(sums, np.array([address for (address, _), _ in listed], dtype=np.uint64))
    rows = [
        DoorbellSums(hex(address), register_name(region, address), size, writes, index)
        for region, ((address, size), (writes, index)) in zip(regions, listed, strict=True)
    ]
    return Doorbells(sum(writes for writes, _ in by_register.values()), rows, len(ordered) - len(listed))


def register_name(region: Region | None, address: int) -> str | None:
    """Return an address as a register of a BAR: ``01:00.0 BAR 0 + 0x1000``; None where it is in none."""
    if region is None or region.kind not in (RegionKind.BAR, RegionKind.IO_BAR):
        return None
    return f"{region.name} + {address - region.first:#x}"


def _peers(sums: AddressSums, machine: Machine | None) -> PeerToPeer:
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
    senders: dict[int, list[int]] = {}
    for sender, _, count, size, index in zip(*(column.tolist() for column in sums.senders.rows()), strict=True):
        entry = senders.setdefault(sender, [0, 0, index])
        entry[0] += count
        entry[1] += size
        entry[2] = min(entry[2], index)
    outbound = [
        SenderSums(format_id(sender), _is_device(machine, sender), count, size, index) for sender, (count, size, index) in senders.items()
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
