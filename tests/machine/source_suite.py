"""What every source must do: run by test_sources.py for trees, the demo and fake machines, and under umockdev for the running machine.

``PTTTOOL_TEST_MACHINE`` in the environment: the recorded machine that umockdev shows; the source is then libudev's.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ptttool.machine.discovery import read_machine
from ptttool.machine.sources.contract import Source
from ptttool.machine.sources.recorded import DemoSource
from ptttool.machine.sources.tree import TreeSource
from ptttool.machine.sources.udev import UdevSource
from ptttool.testing import kunpeng
from tests.support.machines import BUS, MACHINES, NEW, OLD, copy_of

UNDER_UMOCKDEV = os.environ.get("PTTTOOL_TEST_MACHINE")
KINDS = (
    [("udev", UNDER_UMOCKDEV)]
    if UNDER_UMOCKDEV
    else [("tree", NEW), ("tree", OLD), ("sys", NEW), ("sys", OLD), ("demo", NEW), ("fake", NEW), ("fake", OLD)]
)


@pytest.fixture(params=KINDS, ids="-".join)
def kind(request: pytest.FixtureRequest) -> tuple[str, str]:
    found: tuple[str, str] = request.param
    return found


def opened(kind: tuple[str, str], tree: Path) -> Source:
    what, _ = kind
    if what in ("udev", "fake"):
        return UdevSource()
    return DemoSource() if what == "demo" else TreeSource(tree / "sys" if what == "sys" else tree)


@pytest.fixture
def source(kind: tuple[str, str], request: pytest.FixtureRequest) -> Source:
    if kind[0] == "fake":
        request.getfixturevalue("mount_ptt_machine")(kunpeng(kind[1].removeprefix("kunpeng-")))
    return opened(kind, MACHINES / kind[1])


@pytest.fixture
def ptt(kind: tuple[str, str]) -> str:
    return "/sys/devices/hisi_ptt0_2" if kind[1] == OLD else f"{BUS}/0000:00:09.0/hisi_ptt0_2"


def test_only_the_running_machine_is_live(source: Source, kind: tuple[str, str]) -> None:
    assert source.live == (kind[0] in ("udev", "fake"))
    assert source.origin


def test_devices_are_found_with_links_followed(source: Source, ptt: str) -> None:
    names = [path.rsplit("/", 1)[1] for path in source.devices("event_source")]
    assert [name for name in names if name.startswith("hisi_ptt")] == ["hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0"]
    assert names == sorted(names)
    assert ptt in source.devices("event_source")
    functions = source.devices("pci")
    assert len(functions) == 18
    assert f"{BUS}/0000:00:14.0/0000:04:00.0/0000:05:00.0/0000:06:00.0" in functions
    assert source.devices("no_such_subsystem") == []


def test_properties_are_udevs(source: Source) -> None:
    properties = source.properties(f"{BUS}/0000:00:10.0/0000:01:00.0")
    assert properties["PCI_ID"] == "1B36:0010"
    assert properties["ID_MODEL_FROM_DATABASE"] == "QEMU NVM Express Controller"
    assert source.properties("/sys/devices/no_such_device") == {}


def test_reading(source: Source, ptt: str) -> None:
    assert source.read(f"{ptt}/format/filter") == "config:0-19"
    assert source.read("/sys/bus/event_source/devices/hisi_ptt0_2/format/filter") == "config:0-19"
    config = source.read(f"{BUS}/0000:00:14.0/config").encode("utf-8", "surrogateescape")
    assert config[:4] == bytes.fromhex("361b0c00")
    assert config[0x19:0x1B] == b"\x04\x07"
    with pytest.raises(FileNotFoundError):
        source.read(f"{ptt}/no_such_file")
    with pytest.raises(IsADirectoryError):
        source.read(f"{ptt}/format")


def test_names(source: Source, ptt: str) -> None:
    attributes = ["qos_tx_cpl", "qos_tx_np", "qos_tx_p", "rx_alloc_buf_level", "tx_alloc_buf_level"]
    assert source.names(f"{ptt}/tune") == attributes
    assert source.names("/sys/bus/event_source/devices/hisi_ptt0_2/tune") == attributes
    with pytest.raises(FileNotFoundError):
        source.names(f"{ptt}/no_such_folder")
    with pytest.raises(NotADirectoryError):
        source.names(f"{ptt}/type")


def test_resolving(source: Source, ptt: str) -> None:
    assert source.resolve("/sys/bus/event_source/devices/hisi_ptt0_2") == ptt
    assert source.resolve(f"{ptt}/type") == f"{ptt}/type"
    assert source.resolve(f"{BUS}/0000:00:09.0/driver") == "/sys/bus/pci/drivers/hisi_ptt"
    with pytest.raises(FileNotFoundError):
        source.resolve(f"{ptt}/no_such_file")


def test_writing(kind: tuple[str, str], ptt: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    source = request.getfixturevalue("source") if kind[0] == "fake" else opened(kind, copy_of(kind[1], tmp_path))
    source.write(f"{ptt}/tune/qos_tx_p", "2")
    assert source.read(f"{ptt}/tune/qos_tx_p") == "2"
    assert source.read(f"{ptt}/tune/qos_tx_np") == "1"
    with pytest.raises(FileNotFoundError):
        source.write(f"{ptt}/tune/no_such_attribute", "2")
    assert "no_such_attribute" not in source.names(f"{ptt}/tune")
    with pytest.raises(IsADirectoryError):
        source.write(f"{ptt}/tune", "2")


def test_the_whole_machine(source: Source, kind: tuple[str, str]) -> None:
    machine = read_machine(source)
    old = kind[1] == OLD
    assert [(d.name, d.sicl, d.core, d.numa_node, d.cpus, d.pmu_type) for d in machine.devices] == [
        ("hisi_ptt0_0", 0, 0, 0, (0, 1), 9 if old else 11),
        ("hisi_ptt0_2", 0, 2, 0, (0, 1), 10 if old else 12),
        ("hisi_ptt2_0", 2, 0, 1, (2, 3), 11 if old else 13),
    ]
    assert (
        [None if d.pci is None else d.pci.short for d in machine.devices] == [None, None, "00:0a.0"]
        if old
        else ["00:08.0", "00:09.0", "00:0a.0"]
    )
    assert len(machine.functions) == 18
    assert machine.diagnostics == ()
