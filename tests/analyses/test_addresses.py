"""Sums by address are those of a plain reading of the TLPs, wherever they are cut; and what they say of real recordings."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.analyses.addresses.analysis import MAX_CROSSINGS, Addresses
from ptttool.analyses.addresses.document import AddressMap, FoundBy
from ptttool.analyses.budget import MAX_LISTED, MAX_REGIONS
from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.regions import Region, RegionKind, is_translated, regions_of
from ptttool.analyses.scope import Scope
from ptttool.analyses.shown import Note, Table, no_names
from ptttool.documents import Hex
from ptttool.machine.model import AddressSpace, Bar, Hex16, Hex24, Machine, MemoryRange, PciFunction, PciFunctions
from ptttool.pci import PciAddress, format_id
from ptttool.perfdata.model import Contents, Mode
from ptttool.table.batch import Batch
from ptttool.table.values import Values
from ptttool.tlp.columns import DIRECTIONS, KINDS, TLP_SCHEMA
from tests.reference.addresses import OPERATIONS, Range, Tlp, summed
from tests.support.captures import path_of

REGIONS = (
    Region(0x1000, 0x10FF, "01:00.0 BAR 2", RegionKind.IO_BAR, 0x100),
    Region(0x2000, 0x2FFF, "01:00.0 BAR 0", RegionKind.BAR, 0x100),
    Region(0x2800, 0x28FF, "02:00.0 BAR 0", RegionKind.BAR, 0x200),
    Region(0x2000, 0xFFFF, "PCI Bus 0000:00", RegionKind.WINDOW),
    Region(0x40000, 0x7FFFF, "System RAM", RegionKind.MEMORY),
    Region(0xFFFF_FFFF_FFFF_0000, 0xFFFF_FFFF_FFFF_FFFF, "the end", RegionKind.MEMORY),
)
DOORBELL = Region(0x9000, 0x9FFF, "GICv3 ITS", RegionKind.DOORBELL)
RANGES = [Range(one.first, one.last, one.name, one.kind.value) for one in REGIONS]
BASES = (0x1000, 0x2000, 0x27C0, 0x3000, 0x9000, 0x40000, 0x7FF00, (1 << 32) - 64, (1 << 64) - 4096)
REQUESTERS = (0x000, 0x100, 0x200, 0x208)


@st.composite
def tlps(draw: st.DrawFn) -> list[Tlp]:
    """Requests near each other and near the limits of regions, pages and 4 GiB; some TLPs have no address."""
    found = []
    bases = draw(
        st.lists(st.sampled_from((0x1000, 0x2000, 0x27C0, 0x3000, 0x9000, 0x40000, 0x7FF00, (1 << 32) - 64, (1 << 64) - 4096)), min_size=1)
    )
    for _ in range(draw(st.integers(0, 40))):
        kind = draw(st.sampled_from((*OPERATIONS, "MWr", "MWr", "MRd", "CplD")))
        direction = draw(st.sampled_from(DIRECTIONS))
        length = draw(st.sampled_from((1, 1, 2, 3, 16, 64, 1024)))
        size = draw(st.integers(0, 4 * length))
        address = draw(st.sampled_from(bases)) + 4 * draw(st.integers(0, 1023))
        requester, enables = draw(st.sampled_from(REQUESTERS)), draw(st.sampled_from((0xF, 0xF, 0xC, 0x9, 0)))
        found.append(Tlp(kind, direction, requester, None if kind == "CplD" else address % (1 << 64), length, size, enables))
    return found


def batch_of(rows: Sequence[Tlp], start: int) -> Batch:
    """The TLPs as rows of a table; the first one has the number `start`."""
    valid = np.array([row.address is not None for row in rows], dtype=np.bool_)
    columns = {
        "index": Values(range(start, start + len(rows))),
        "kind": Values(np.array([KINDS.index(row.kind) for row in rows], dtype=np.uint8)),
        "direction": Values(np.array([DIRECTIONS.index(row.direction) for row in rows], dtype=np.uint8)),
        "requester": Values(np.array([row.requester for row in rows], dtype=np.uint16)),
        "address": Values(np.array([row.address or 0 for row in rows], dtype=np.uint64), None if valid.all() else valid),
        "first_be": Values(np.array([row.first_be for row in rows], dtype=np.uint8), None if valid.all() else valid),
        "length_dw": Values(np.array([row.length_dw for row in rows], dtype=np.uint16)),
        "requested_bytes": Values(np.array([row.requested_bytes for row in rows], dtype=np.uint16), valid),
    }
    return Batch(TLP_SCHEMA, len(rows), columns)


def analyzed(
    rows: Sequence[Tlp], regions: tuple[Region, ...] = REGIONS, cuts: Sequence[int] = (), machine: Machine | None = None
) -> AddressMap:
    """The result for TLPs that are cut into parts."""
    parts = []
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), len(rows)], strict=True):
        part = Addresses(Scope(regions=regions))
        if rows[start:stop]:
            part.update(batch_of(rows[start:stop], start))
        parts.append(pickle.loads(pickle.dumps(part)))
    for part in parts[1:]:
        parts[0].merge(part)
    found: AddressMap = parts[0].result(AnalysisContext("x", Contents(Mode.RAW), machine))
    return found


@given(tlps(), st.booleans())
def test_as_the_plain_reading(rows: list[Tlp], with_doorbell: bool) -> None:
    regions: tuple[Region, ...] = REGIONS
    ranges = RANGES
    if with_doorbell:
        regions = (*regions, DOORBELL)
        ranges = [*ranges, Range(DOORBELL.first, DOORBELL.last, DOORBELL.name, "doorbell")]
    found, expected = analyzed(rows, regions), summed(rows, ranges)
    assert {(one.region, one.direction, one.operation): [one.requests, one.bytes, one.index] for one in found.regions} == expected[
        "regions"
    ]
    assert found.requests == sum(one.requests for one in found.regions)
    assert found.bytes == sum(one.bytes for one in found.regions)
    assert found.pages.pages == len(expected["pages"])
    for page in found.pages.rows:
        counts = expected["pages"][int(page.address, 16) // 4096, page.direction]
        assert (page.requests, page.reads, page.writes, page.atomics, page.bytes) == tuple(
            counts[name] for name in ("requests", "read", "write", "atomic", "bytes")
        )
    assert sum(one.requests for one in found.pages.rows) + found.pages.other_requests == sum(
        c["requests"] for c in expected["pages"].values()
    )
    assert (found.crossings.requests, found.crossings.indexes) == (len(expected["crossings"]), expected["crossings"][:MAX_CROSSINGS])
    assert len(found.alignment) == len(expected["aligned"])
    for one in found.alignment:
        counts = expected["aligned"][one.direction, one.operation]
        assert all(getattr(one, name) == counts[name] for name in ("requests", "aligned_64", "aligned_128", "aligned_256", "whole_lines"))
    assert {one.direction: [one.below_4g, one.above_4g] for one in found.widths} == expected["widths"]
    doorbells = {(int(one.address, 16), one.size): (one.writes, one.index) for one in found.doorbells.rows}
    assert doorbells == {key: (entry[0], entry[2]) for key, entry in expected["doorbells"].items()}
    found_by, interrupts = expected["interrupts"]
    assert found.interrupts.found_by == found_by
    rows_found = {(int(one.address, 16), one.requester): (one.writes, one.index) for one in found.interrupts.rows}
    assert rows_found == {(address, format_id(requester)): (entry[0], entry[2]) for (address, requester), entry in interrupts.items()}
    peers = {(one.requester, one.region, one.operation): [one.requests, one.bytes, one.index] for one in found.peer_to_peer.inbound}
    assert peers == {(format_id(requester), *rest): entry for (requester, *rest), entry in expected["peers"].items()}
    senders = {one.requester: [one.requests, one.bytes, one.index] for one in found.peer_to_peer.outbound}
    assert senders == {format_id(requester): entry for requester, entry in expected["senders"].items()}


@given(tlps(), st.lists(st.integers(0, 40), max_size=4))
def test_any_cutting_gives_the_same(rows: list[Tlp], cuts: list[int]) -> None:
    assert analyzed(rows, cuts=[min(cut, len(rows)) for cut in cuts]) == analyzed(rows)


@given(tlps())
def test_something_is_shown(rows: list[Tlp]) -> None:
    found = analyzed(rows)
    for part in found.shown(no_names):
        if isinstance(part, Table):
            assert all(len(row) == len(part.columns) for row in part.rows)
            assert part.total is None or len(part.total) == len(part.columns)
    assert any(isinstance(part, Note) and part.severity.value == "error" for part in found.shown(no_names)) == bool(
        found.crossings.requests
    )


def test_hot_pages_of_very_many() -> None:
    """More pages than are held: ranges become larger, and no request gets lost."""
    count = 150_000
    tlp = Tlp("MRd", "inbound", 0x100, 0, 1, 4)
    batch = batch_of([tlp] * count, 0)
    batch.columns["address"].array[:] = np.arange(count, dtype=np.uint64) << np.uint64(12)  # type: ignore[index]
    analysis = Addresses(Scope())
    analysis.update(batch)
    found = analysis.result(AnalysisContext("x", Contents(Mode.RAW)))
    assert (found.pages.page_bytes, found.pages.pages) == (16384, 37_500)
    assert (len(found.pages.rows), found.pages.other_requests) == (MAX_LISTED, count - 4 * MAX_LISTED)


def test_offsets_in_bars() -> None:
    found = analyzed(
        [Tlp("MWr", "outbound", 0, 0x2810, 1, 4), Tlp("MWr", "outbound", 0, 0x2900, 2, 8), Tlp("MWr", "outbound", 0, 0x5000, 1, 4)]
    )
    names = {one.address: (one.register, one.size) for one in found.doorbells.rows}
    assert names == {"0x2810": ("02:00.0 BAR 0 + 0x10", 4), "0x2900": ("01:00.0 BAR 0 + 0x900", 8), "0x5000": (None, 4)}


def function(address: PciAddress, iommu: str | None = None, bars: tuple[Bar, ...] | None = None) -> PciFunction:
    """A function that is no bridge."""
    return PciFunction(address, Hex16(1), Hex16(1), Hex24(0x010802), "", iommu=iommu, bars=bars)


def machine_of(*functions: PciFunction, memory: tuple[MemoryRange, ...] | None = None) -> Machine:
    """A machine of these functions."""
    return Machine(origin="a test", functions=PciFunctions.of_json(functions), memory=memory)


def test_regions_of_a_machine() -> None:
    nvme = function(
        PciAddress(0, 1, 0, 0),
        bars=(Bar(0, Hex(0x1000), Hex(0x1FFF), AddressSpace.MEMORY, False), Bar(2, Hex(0), Hex(0xFF), AddressSpace.IO, False)),
    )
    memory = (
        MemoryRange(Hex(0x1000), Hex(0xFFFF), "PCI Bus 0000:00"),
        MemoryRange(Hex(0x8000), Hex(0x9FFF), "GICv3 ITS"),
        MemoryRange(Hex(1 << 32), Hex(1 << 33), "System RAM"),
    )
    assert regions_of(None) == ()
    assert {(one.name, one.kind, one.owner) for one in regions_of(machine_of(nvme, memory=memory))} == {
        ("01:00.0 BAR 0", RegionKind.BAR, 0x100), ("01:00.0 BAR 2", RegionKind.IO_BAR, 0x100),
        ("PCI Bus 0000:00", RegionKind.WINDOW, None), ("GICv3 ITS", RegionKind.DOORBELL, None), ("System RAM", RegionKind.MEMORY, None),
    }  # fmt: skip


def test_regions_behind_an_smmu() -> None:
    """Addresses of devices are IOVAs: what /proc/iomem says of physical ones does not apply."""
    memory = (MemoryRange(Hex(0x1000), Hex(0xFFFF), "PCI Bus 0000:00"), MemoryRange(Hex(1 << 32), Hex(1 << 33), "System RAM"))
    machine = machine_of(function(PciAddress(0, 1, 0, 0), "DMA-FQ"), function(PciAddress(0, 2, 0, 0), "identity"), memory=memory)
    assert [one.name for one in regions_of(machine)] == ["PCI Bus 0000:00"]
    assert analyzed([], machine=machine).translated is True


def test_too_many_regions() -> None:
    bars = (Bar(0, Hex(0x1000), Hex(0x1FFF), AddressSpace.MEMORY, False),)
    functions = [function(PciAddress.from_id(number), bars=bars) for number in range(MAX_REGIONS + 1)]
    assert len(regions_of(machine_of(*functions))) == MAX_REGIONS


@pytest.mark.parametrize(
    ("types", "expected"), [((), None), ((None,), None), (("identity", None), False), (("identity", "DMA"), True), (("DMA-FQ",), True)]
)
def test_translated(types: tuple[str | None, ...], expected: bool | None) -> None:
    machine = machine_of(*(function(PciAddress(0, number, 0, 0), iommu) for number, iommu in enumerate(types)))
    assert is_translated(machine) is expected


def opened(name: str, folder: Path) -> ptttool.Recording:
    """A recording of the workloads."""
    return ptttool.open(path_of(name, folder))


def test_reads_of_a_drive(tmp_path: Path) -> None:
    """fio read 4,000 times 4 KiB: what the drive wrote is exactly that, the interrupts go to the ITS."""
    with opened("workloads/w-randread-8dw", tmp_path) as recording:
        found = recording.analyze("addresses")
        assert found == recording.analyze("addresses", jobs=2)
    data = next(one for one in found.alignment if (one.direction, one.operation) == ("inbound", "write"))
    assert (data.requests, data.aligned_256, data.whole_lines) == (64_000, 64_000, 64_000)
    assert sum(one.bytes for one in found.regions if one.operation == "write") == 16_384_000 + 4000 * 16 + 4 * 9_882
    assert found.interrupts.found_by is FoundBy.PATTERN
    assert [(one.address, one.requester) for one in found.interrupts.rows] == [("0x8090040", "01:00.0")]


def test_doorbells_of_a_configured_machine(tmp_path: Path) -> None:
    machine = ptttool.find_machine(demo=True, details=True)
    with opened("workloads/w-config-dir3-4dw", tmp_path) as recording:
        found = recording.analyze("addresses", machine=machine)
    assert {one.register for one in found.doorbells.rows} >= {"01:00.0 BAR 0 + 0x1000", "01:00.0 BAR 0 + 0x1004"}
    assert {one.direction for one in found.regions} == {"outbound"}
    assert [one.is_device for one in found.peer_to_peer.outbound] == [False]
