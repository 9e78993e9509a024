"""Details of a machine: what is read of which function, what stays unknown, and that a sidecar keeps all of it."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from ptttool.capture.sidecar import Sidecar, load, part_of, save
from ptttool.documents import Hex, to_json
from ptttool.machine.budget import MAX_CONFIG_BYTES, MAX_MEMORY_RANGES
from ptttool.machine.details.read import with_details
from ptttool.machine.discovery import read_machine
from ptttool.machine.documents import from_json
from ptttool.machine.model import AddressSpace, Bar, Machine, MemoryRange, PcieLimits, PciFunctions
from ptttool.machine.sources.recorded import DemoSource
from ptttool.machine.sources.tree import TreeSource
from ptttool.pci import PciAddress
from tests.support.machines import BUS, MACHINES, NEW, OLD, contents, in_memory

NVME, VIRTUAL = PciAddress(0, 1, 0, 0), PciAddress(0, 1, 0, 2)
IOMEM = b"40000000-13fffffff : System RAM\n08080000-0809ffff : GICv3 ITS\n"


def detailed(files: dict[str, bytes], links: dict[str, str]) -> Machine:
    source = in_memory(files, links)
    return with_details(source, read_machine(source))


@pytest.mark.parametrize("name", [NEW, OLD])
def test_read(name: str) -> None:
    source = TreeSource(MACHINES / name)
    machine = read_machine(source)
    assert all((one.bars, one.transfers) == (None, None) for one in machine.functions.values())
    nvme = with_details(source, machine).functions[NVME]
    assert nvme.bars == (Bar(0, Hex(0x1000_0000), Hex(0x1000_3FFF), AddressSpace.MEMORY, False),)
    assert nvme.transfers == PcieLimits(256, 256, 512, True, False, 64)


def test_the_demo_has_what_was_recorded() -> None:
    demo, tree = DemoSource(), TreeSource(MACHINES / NEW)
    assert with_details(demo, read_machine(demo)).functions == with_details(tree, read_machine(tree)).functions


def test_only_what_was_asked_for() -> None:
    source = TreeSource(MACHINES / NEW)
    machine = read_machine(source)
    part = part_of(machine, machine.devices[0])
    assert set(with_details(source, part).functions) == set(part.functions)


def test_without_privileges() -> None:
    files, links = contents(NEW)
    path = f"{BUS}/0000:00:10.0/0000:01:00.0"
    files[f"{path}/config"] = files[f"{path}/config"][:64]
    files["/proc/iomem"] = b"00000000-00000000 : System RAM\n"
    machine = detailed(files, links)
    nvme = machine.functions[NVME]
    assert nvme.bars is not None
    assert (len(nvme.bars), nvme.transfers, machine.memory) == (1, None, None)


def test_memory_and_iommu() -> None:
    files, links = contents(NEW)
    files["/proc/iomem"] = IOMEM
    files[f"{BUS}/0000:00:10.0/0000:01:00.0/iommu_group/type"] = b"DMA-FQ\n"
    machine = detailed(files, links)
    assert machine.memory == (
        MemoryRange(Hex(0x808_0000), Hex(0x809_FFFF), "GICv3 ITS"),
        MemoryRange(Hex(0x4000_0000), Hex(0x1_3FFF_FFFF), "System RAM"),
    )
    assert machine.functions[NVME].iommu == "DMA-FQ"
    assert from_json(json.loads(json.dumps(to_json(machine)))) == machine


def with_virtual(*, physical: bool = True) -> tuple[dict[str, bytes], dict[str, str]]:
    """A machine with a virtual function of the NVMe drive, in which all that holds for it is reserved; `physical`: the drive is there."""
    files, links = contents(NEW)
    port = f"{BUS}/0000:00:10.0"
    config = bytearray(files[f"{port}/0000:01:00.0/config"])
    at = config[0x34]
    while config[at] != 0x10:
        at = config[at + 1]
    config[at + 8 : at + 10] = bytes(2)
    files |= {f"{port}/0000:01:00.2/{name}": files[f"{port}/0000:01:00.0/{name}"] for name in ("vendor", "device", "class", "resource")}
    files[f"{port}/0000:01:00.2/config"] = bytes(config)
    links[f"{port}/0000:01:00.2/physfn"] = "../0000:01:00.0"
    links["/sys/bus/pci/devices/0000:01:00.2"] = f"../../..{port[4:]}/0000:01:00.2"
    if not physical:
        files = {path: data for path, data in files.items() if not path.startswith(f"{port}/0000:01:00.0/")}
        del links["/sys/bus/pci/devices/0000:01:00.0"]
    return files, links


def test_settings_of_a_virtual_function_are_those_of_its_physical_one() -> None:
    machine = detailed(*with_virtual())
    assert machine.functions[VIRTUAL].physical == NVME
    assert machine.functions[VIRTUAL].transfers == machine.functions[NVME].transfers == PcieLimits(256, 256, 512, True, False, 64)
    assert machine.functions[NVME].physical is None
    assert from_json(json.loads(json.dumps(to_json(machine)))) == machine
    # The physical function need not be in the part that is kept.
    source = in_memory(*with_virtual())
    whole = read_machine(source)
    part = replace(whole, functions=PciFunctions({VIRTUAL: whole.functions[VIRTUAL]}))
    assert with_details(source, part).functions == {VIRTUAL: machine.functions[VIRTUAL]}
    alone = detailed(*with_virtual(physical=False)).functions[VIRTUAL]
    assert (alone.physical, alone.transfers) == (NVME, None)


@pytest.mark.parametrize(
    ("target", "physical"),
    [
        ("../0000:01:00.2", None),  # itself
        ("../../../../../../etc", None),
        ("/tmp/0000:01:00.0", NVME),  # only the address is taken from it
        ("../0000:99:00.0", PciAddress.parse("0000:99:00.0")),
    ],
)
def test_links_that_lead_anywhere(target: str, physical: PciAddress | None) -> None:
    """No file is read but those of the machine's functions."""
    files, links = with_virtual()
    links[f"{BUS}/0000:00:10.0/0000:01:00.2/physfn"] = target
    files |= {f"{folder}/config": bytes(4096) for folder in ("/etc", "/tmp/0000:01:00.0")}
    machine = detailed(files, links)
    assert machine.functions[VIRTUAL].physical == physical
    transfers = machine.functions[VIRTUAL].transfers
    assert (transfers is None) == (physical is not None and physical != NVME)
    if physical == NVME:
        assert transfers == machine.functions[NVME].transfers


def test_settings_of_an_old_sidecar_that_may_be_those_of_a_virtual_function() -> None:
    document = json.loads(json.dumps(to_json(detailed(*contents(NEW)))))
    for function in document["functions"]:
        del function["physical"]
    nvme = next(function for function in document["functions"] if function["address"] == str(NVME))
    assert from_json(document).functions[NVME].transfers == PcieLimits(256, 256, 512, True, False, 64)
    nvme["transfers"] |= {"max_payload": 128, "max_read_request": 128, "extended_tags": False}
    assert from_json(document).functions[NVME].transfers == PcieLimits(256, read_boundary=64)


def test_too_many_ranges_are_counted() -> None:
    files, links = contents(NEW)
    files["/proc/iomem"] = b"".join(b"%08x-%08x : System RAM\n" % (i << 13, (i << 13) + 0xFFF) for i in range(MAX_MEMORY_RANGES + 5))
    machine = detailed(files, links)
    assert machine.memory is not None
    assert len(machine.memory) == MAX_MEMORY_RANGES
    assert [one.details["left_out"] for one in machine.diagnostics if one.code == "over-budget"] == [5]


def test_no_more_is_read_of_a_configuration_space() -> None:
    """Every byte that is read of it is a request to the device."""
    read: list[tuple[str, int]] = []

    class Watched(TreeSource):
        def read(self, path: str) -> str:
            assert not path.endswith("/config")
            return super().read(path)

        def read_bytes(self, path: str, limit: int) -> bytes:
            read.append((path, limit))
            return super().read_bytes(path, limit)

    source = Watched(MACHINES / NEW)
    with_details(source, read_machine(source))
    assert {limit for path, limit in read if path.endswith("/config")} == {MAX_CONFIG_BYTES}


def test_a_function_that_goes_away() -> None:
    class Gone(TreeSource):
        def read_bytes(self, path: str, limit: int) -> bytes:
            raise OSError(errno.ENODEV, "", path)

    source = Gone(MACHINES / NEW)
    machine = with_details(source, read_machine(source))
    assert all(one.transfers is None for one in machine.functions.values())
    assert machine.memory is None


def test_a_sidecar_keeps_them(tmp_path: Path) -> None:
    files, links = contents(NEW)
    files["/proc/iomem"] = IOMEM
    machine = detailed(files, links)
    part = part_of(machine, machine.devices[0])
    recording = tmp_path / "perf.data"
    recording.write_bytes(b"PERFILE2" * 100)
    path = save(recording, Sidecar(machine=part))
    back = load(recording)
    assert back is not None
    assert back.machine == part
    old = json.loads(path.read_text())
    for function in old["machine"]["functions"]:
        for key in ("bars", "transfers", "iommu"):
            del function[key]
    del old["machine"]["memory"]
    path.write_text(json.dumps(old))
    before = load(recording)
    assert before is not None, "a sidecar of an older version"
    assert (before.machine.memory, before.machine.functions[NVME].bars) == (None, None)


@pytest.mark.parametrize("damage", [{"first": "0x10", "last": "0x1"}, {"first": "0x0", "last": hex(1 << 64)}, {"first": 1, "last": "0x1"}])
def test_damaged_ranges(damage: dict[str, object]) -> None:
    body = to_json(Machine(origin="here", memory=(MemoryRange(Hex(0), Hex(1), "x"),)))
    body["memory"][0].update(damage)
    with pytest.raises(ValueError, match=r"range|description"):
        from_json(body)
