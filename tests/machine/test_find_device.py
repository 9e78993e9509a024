"""Open a machine, find one of its devices."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ptttool.errors import DeviceError, UsageError
from ptttool.machine.discovery import open_source, require_machine
from ptttool.machine.model import Machine
from ptttool.machine.resolve import find_device, resolve_device
from ptttool.machine.sources.recorded import DemoSource
from ptttool.machine.sources.tree import TreeSource
from tests.support.machines import BUS, MACHINES, NEW


@pytest.fixture(scope="module")
def machine() -> Machine:
    return require_machine(open_source(None, demo=True))


def test_sources() -> None:
    assert isinstance(open_source(None, demo=True), DemoSource)
    assert isinstance(open_source(MACHINES / NEW, demo=False), TreeSource)
    with pytest.raises(UsageError):
        open_source(Path(), demo=True)


@pytest.mark.parametrize("name", ["hisi_ptt0_2", "ptt0_2", "0_2", " 0_2 ", "hisi_ptt0_2/", "0000:00:09.0", "00:09.0", "00:09", "9.0"])
def test_names_of_a_device(machine: Machine, name: str) -> None:
    assert find_device(machine, name).name == "hisi_ptt0_2"


@pytest.mark.parametrize("name", ["hisi_ptt0_1", "hisi_ptt0", "2", "", "0001:00:09.0", "armv8_pmuv3", "nvme7"])
def test_no_device(machine: Machine, name: str) -> None:
    with pytest.raises(DeviceError) as caught:
        find_device(machine, name)
    assert caught.value.code == "unknown-device"
    assert caught.value.details["devices"] == ["hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nvme1", "nvme1 is 0000:06:00.0, behind root port 0000:00:14.0, of hisi_ptt0_2"),
        ("/dev/nvme1n1", "/dev/nvme1n1 is 0000:06:00.0, behind root port 0000:00:14.0, of hisi_ptt0_2"),
        ("0000:06:00.0", "0000:06:00.0 is behind root port 0000:00:14.0, of hisi_ptt0_2"),
        ("0000:00:14.0", "0000:00:14.0 is a root port, of hisi_ptt0_2"),
        ("14.0", "14.0 is root port 0000:00:14.0, of hisi_ptt0_2"),
        ("00:09.0", None),
    ],
)
def test_a_function_stands_for_the_device_that_traces_it(machine: Machine, name: str, says: str | None) -> None:
    device, explanation = resolve_device(machine, name)
    assert (device.name, explanation) == ("hisi_ptt0_2", says)


def test_near_devices(machine: Machine) -> None:
    for name, near in (("hisi_ptt0", ("hisi_ptt0_0", "hisi_ptt0_2")), ("2", ("hisi_ptt2_0",)), ("nvme7", ("nvme1", "nvme0"))):
        with pytest.raises(DeviceError) as caught:
            find_device(machine, name)
        assert all(one in str(caught.value.hint) for one in near)


def test_a_function_that_no_device_traces(machine: Machine) -> None:
    alone = replace(machine, devices=machine.devices[:1])
    with pytest.raises(DeviceError) as caught:
        find_device(alone, "nvme1")
    assert caught.value.code == "not-traced"


def test_without_a_name(machine: Machine) -> None:
    only = replace(machine, devices=machine.devices[1:2])
    assert find_device(only, None).name == "hisi_ptt0_2"
    with pytest.raises(UsageError) as caught:
        find_device(machine, None)
    assert (caught.value.code, caught.value.details) == ("device-needed", {"devices": ["hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0"]})


def test_an_unknown_pci_address_names_no_device(machine: Machine) -> None:
    """A device whose PCI address is unknown must not answer to whatever is no address either."""
    nameless = replace(machine, devices=tuple(replace(device, pci=None) for device in machine.devices))
    with pytest.raises(DeviceError):
        find_device(nameless, "nonsense")


def test_the_demo_forgets() -> None:
    attribute = f"{BUS}/0000:00:08.0/hisi_ptt0_0/tune/qos_tx_p"
    source = DemoSource()
    source.write(attribute, "2")
    assert source.read(attribute) == "2"
    assert DemoSource().read(attribute) == "1"
