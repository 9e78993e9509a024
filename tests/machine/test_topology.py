"""Links, buses and names as lspci prints them on the recorded machine."""

from __future__ import annotations

import gzip
import re

import pytest

from ptttool.machine.discovery import read_machine
from ptttool.machine.model import Hex24, Link, Machine, PciFunction, PciFunctions
from ptttool.machine.sources.tree import TreeSource
from ptttool.machine.topology import all_diagnostics, endpoints_behind, is_bridge, link_words, names_behind, walk
from ptttool.pci import PciAddress
from ptttool.testing import kunpeng
from tests.support.machines import MACHINES, NEW, OLD

ROOT, UP, DOWN, END = (PciAddress(0, bus, 0, 0) for bus in range(4))


@pytest.fixture(scope="module", params=["fake", "recorded"])
def machine(request: pytest.FixtureRequest) -> Machine:
    return kunpeng().read() if request.param == "fake" else read_machine(TreeSource(MACHINES / NEW))


def lspci_blocks() -> dict[PciAddress, str]:
    """``lspci -vvnn`` by function."""
    text = gzip.decompress((MACHINES / f"{NEW}.lspci-vvnn.txt.gz").read_bytes()).decode()
    blocks = [block for block in text.split("\n\n") if block.strip()]
    return {PciAddress.parse(block.split()[0]): block for block in blocks}


def test_every_function(machine: Machine) -> None:
    blocks = lspci_blocks()
    assert set(blocks) == set(machine.functions)
    links = 0
    for address, block in blocks.items():
        function = machine.functions[address]
        heading = block.splitlines()[0]
        ids = f"[{function.vendor:04x}:{function.device:04x}]"
        name = function.name if function.name.endswith(ids) else f"{function.name} {ids}"
        assert f": {name}" in heading
        assert f"[{(function.class_code or 0) >> 8:04x}]" in heading
        status = re.search(r"LnkSta:\t(.*)", block)
        assert link_words(machine, function) == (status[1] if status else None), heading
        links += status is not None
        buses = re.search(r"Bus: primary=.., secondary=(..), subordinate=(..)", block)
        assert (function.secondary, function.subordinate) == ((int(buses[1], 16), int(buses[2], 16)) if buses else (None, None))
        driver = re.search(r"Kernel driver in use: (.*)", block)
        assert function.driver == (driver[1] if driver else None)
    assert links == 14


def test_the_tree(machine: Machine) -> None:
    """``lspci -tv``: bridges with their buses, then the functions with their names, from top to bottom."""
    text = (MACHINES / f"{NEW}.lspci-tv.txt").read_text()
    found: list[str] = []
    tops = [address for address, function in sorted(machine.functions.items()) if function.parent is None]
    for function in [one for top in tops for one in (machine.functions[top], *walk(machine, top))]:
        slot = f"{function.address.device:02x}.{function.address.function}"
        if is_bridge(function):
            last = "" if function.subordinate == function.secondary else f"-{function.subordinate:02x}"
            found.append(f"{slot}-[{function.secondary:02x}{last}]")
        else:
            found.append(f"{slot} {function.name.partition(' [')[0]}")
    pattern = re.compile(r"([0-9a-f]{2}\.[0-7])(?:(-\[[0-9a-f-]+\])|  (.*?) ?\[....:....\])")
    assert found == [f"{slot}{buses}" if buses else f"{slot} {name}" for slot, buses, name in pattern.findall(text)]
    assert len(found) == 18


@pytest.mark.parametrize(
    ("link", "at_endpoint", "at_port"),
    [
        (Link("8.0 GT/s PCIe", 8, "16.0 GT/s PCIe", 16), "Speed 8GT/s (downgraded), Width x8 (downgraded)", "Speed 8GT/s, Width x8"),
        (Link("16.0 GT/s PCIe", 16, "16.0 GT/s PCIe", 16), "Speed 16GT/s, Width x16", "Speed 16GT/s, Width x16"),
        (Link("5 GT/s", 4, "8 GT/s", 4), "Speed 5GT/s (downgraded), Width x4", "Speed 5GT/s, Width x4"),
        (Link("2.5 GT/s PCIe", 1, "Unknown", 0), *["Speed 2.5GT/s (overdriven), Width x1 (overdriven)"] * 2),
        (Link("Unknown", 0, "32.0 GT/s PCIe", 8), "Speed unknown (downgraded), Width x0 (downgraded)", "Speed unknown, Width x0"),
        (Link("64.0 GT/s PCIe", 4, None, None), *["Speed 64GT/s, Width x4"] * 2),
    ],
)
def test_links(link: Link, at_endpoint: str, at_port: str) -> None:
    def function(address: PciAddress, parent: PciAddress | None, class_code: int) -> PciFunction:
        return PciFunction(address, None, None, Hex24(class_code), "x", link=link, parent=parent)

    chain = [function(ROOT, None, 0x60400), function(UP, ROOT, 0x60400), function(DOWN, UP, 0x60400), function(END, DOWN, 0x20000)]
    machine = Machine(origin="test", functions=PciFunctions.of_json(tuple(chain)))
    assert [link_words(machine, one) for one in chain] == [at_port, at_endpoint, at_port, at_endpoint]


def test_names_behind(machine: Machine) -> None:
    assert names_behind(machine, PciAddress.parse("00:14.0")) == "nvme1, enp7s0"
    assert names_behind(machine, PciAddress.parse("00:12.0")) == ""
    assert names_behind(machine, PciAddress.parse("00:15.0"), most=1) == "ens6f0 and 1 more"
    assert [one.address.short for one in endpoints_behind(machine, PciAddress.parse("00:14.0"))] == ["06:00.0", "07:00.0"]


def test_knotted_recordings_end() -> None:
    functions = {
        ROOT: PciFunction(ROOT, None, None, Hex24(0x60400), "a", parent=UP),
        UP: PciFunction(UP, None, None, Hex24(0x60400), "b", parent=ROOT),
    }
    machine = Machine(origin="test", functions=PciFunctions(functions))
    assert [one.address for one in walk(machine, ROOT)] == [UP]
    assert link_words(machine, functions[ROOT]) is None


def test_shared_diagnostics_come_once() -> None:
    found = all_diagnostics(read_machine(TreeSource(MACHINES / OLD)))
    assert sorted(one.code for one in found) == ["filters-computed", "pci-matched", "pci-unknown"]
    (shared,) = [one for one in found if one.code == "filters-computed"]
    assert shared.message.startswith("hisi_ptt0_0, hisi_ptt0_2, hisi_ptt2_0: ")
