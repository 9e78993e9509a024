"""Open a machine, find one of its devices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ptttool.errors import DeviceError, UsageError
from ptttool.machine.discovery import open_source, require_machine
from ptttool.machine.model import Machine
from ptttool.machine.resolve import find_device
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


@pytest.mark.parametrize("name", ["hisi_ptt0_2", "0_2", " 0_2 ", "0000:00:09.0", "00:09.0"])
def test_names_of_a_device(machine: Machine, name: str) -> None:
    assert find_device(machine, name).name == "hisi_ptt0_2"


@pytest.mark.parametrize("name", ["hisi_ptt0_1", "2", "", "00:10.0", "0001:00:09.0", "armv8_pmuv3"])
def test_no_device(machine: Machine, name: str) -> None:
    with pytest.raises(DeviceError) as caught:
        find_device(machine, name)
    assert caught.value.code == "unknown-device"
    assert caught.value.details["devices"] == ["hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0"]


def test_a_function_is_no_device_but_behind_one(machine: Machine) -> None:
    with pytest.raises(DeviceError) as caught:
        find_device(machine, "nvme1")
    assert caught.value.code == "unknown-device"
    assert caught.value.details["traced_by"] == "hisi_ptt0_2"


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
