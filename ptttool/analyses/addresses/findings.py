"""What follows from sums by address: names of regions, interrupts, doorbells, peer-to-peer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ptttool.analyses.addresses.codes import (
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
from ptttool.analyses.budget import MAX_LISTED
from ptttool.analyses.regions import Region, RegionKind, is_translated, tables_of
from ptttool.analyses.sums import starts_of, summed
from ptttool.pci import format_id
from ptttool.tlp.columns import DIRECTIONS

if TYPE_CHECKING:
    from ptttool.analyses.addresses.analysis import Addresses, Array
    from ptttool.machine.model import Machine

_FOUR_BYTES = 1 << FLOW_BITS
_REQUESTER_SHIFT = FLOW_BITS + 1
_INBOUND_WRITE = INBOUND << OPERATION_BITS | WRITE
_OUTBOUND_WRITE = OUTBOUND << OPERATION_BITS | WRITE


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
        doorbells=_doorbells(sums),
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


def _doorbells(sums: Addresses) -> Doorbells:
    addresses, codes, requests, _, indexes = sums.targets.rows()
    found = np.flatnonzero(codes & np.uint64(FLOWS - 1) == _OUTBOUND_WRITE)
    # Several requesters may write one register. Its address is a multiple of 4: in the lowest bit is whether writes have 8 bytes.
    is_large = (codes[found] & np.uint64(_FOUR_BYTES) == 0).astype(np.uint64)
    registers, writes, first = summed((np.add, np.minimum), addresses[found] | is_large, requests[found], indexes[found])
    most = np.lexsort((registers, -writes))[:MAX_LISTED]
    listed, sizes = registers[most] & ~np.uint64(1), 4 + 4 * (registers[most] & np.uint64(1))
    rows = [
        DoorbellSums(hex(address), register_name(region, address), size, count, index)
        for region, address, size, count, index in zip(
            _at(sums, listed), listed.tolist(), sizes.tolist(), writes[most].tolist(), first[most].tolist(), strict=True
        )
    ]
    return Doorbells(int(writes.sum()), rows, len(registers) - len(rows))


def register_name(region: Region | None, address: int) -> str | None:
    """Return an address as a register of a BAR: ``01:00.0 BAR 0 + 0x1000``; None where it is in none."""
    if region is None or region.kind not in (RegionKind.BAR, RegionKind.IO_BAR):
        return None
    return f"{region.name} + {address - region.first:#x}"


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
