"""Names of registers in BARs."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ptttool.documents import Hex
from ptttool.machine.details.registers import NamedRegisters, register_of
from ptttool.machine.model import Bar, Hex24, Machine, MsixTables, PciFunction, PciFunctions
from ptttool.pci import PciAddress

NVME, NETWORK = Hex24(0x010802), Hex24(0x020000)
BARS = (Bar(0, Hex(0x10000), Hex(0x13FFF), "memory", False), Bar(3, Hex(0x20000), Hex(0x20FFF), "memory", False))
IO = Bar(1, Hex(0x14000), Hex(0x14FFF), "io", False)


def function(class_code: Hex24 | None, msix: MsixTables | None = None) -> PciFunction:
    return PciFunction(PciAddress(0, 1, 0, 0), None, None, class_code, "made", bars=(*BARS, IO), msix=msix)


@pytest.mark.parametrize(
    ("offset", "name"),
    [
        (0x2000, "MSI-X vector 0 address"), (0x2014, "MSI-X vector 1 address, upper half"), (0x2408, "MSI-X vector 64 data"),
        (0x240C, "MSI-X vector 64 control"), (0x2410, None), (0x2001, None), (0x3000, "MSI-X pending bits"),
        (0x300C, "MSI-X pending bits"), (0x3010, None), (0x1FFC, "CQ 511 head doorbell"), (0x14, "CC"),
    ],
)  # fmt: skip
def test_a_drive_with_its_tables_behind_the_doorbells(offset: int, name: str | None) -> None:
    drive = function(NVME, MsixTables(65, 0, 0x2000, 0, 0x3000))
    assert register_of(drive, 0, offset) == name
    other = register_of(replace(drive, class_code=NETWORK), 0, offset)
    assert other == (name if offset >= 0x2000 else None)


def test_where_doorbells_end() -> None:
    """Nothing behind the first page of doorbells is named where the tables are not known to be behind it."""
    assert register_of(function(NVME), 0, 0x2000) is None
    assert register_of(function(NVME, MsixTables(8, 3, 0, 3, 0x800)), 0, 0x2000) is None
    assert register_of(function(NVME, MsixTables(8, 0, 0x3000, 0, 0x3800)), 0, 0x2000) == "SQ 512 tail doorbell"
    assert register_of(function(NVME, MsixTables(8, 3, 0, 3, 0x800)), 3, 0x800) == "MSI-X pending bits"
    assert register_of(function(NVME), 2, 0x14) is None
    assert register_of(function(None), 0, 0x14) is None


def test_by_address() -> None:
    drive = function(NVME, MsixTables(8, 3, 0, 3, 0x800))
    registers = NamedRegisters(Machine(origin="made", functions=PciFunctions({drive.address: drive})))
    assert registers.limits == (0x10000, 0x20FFF)
    addresses = (0, 0x10000, 0x1100C, 0x14014, 0x20008, 0x20FFF, 0x21000, 1 << 63)
    found = {address: registers.name(address) for address in addresses}
    named = {0x10000: "CAP", 0x1100C: "CQ 1 head doorbell", 0x20008: "MSI-X vector 0 data"}
    assert found == {address: named.get(address) for address in addresses}
    assert NamedRegisters(Machine(origin="made")).limits is None
