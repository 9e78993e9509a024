"""From what people write to a root port or a requester."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ptttool.errors import DeviceError, PtttoolError, UsageError
from ptttool.machine.model import Machine, PciFunctions
from ptttool.machine.resolve import find_function, resolve_requester, resolve_root_port
from ptttool.pci import PciAddress
from ptttool.testing import kunpeng


@pytest.fixture(scope="module")
def machine() -> Machine:
    return kunpeng().read()


PORTS = ["0000:00:10.0", "0000:00:11.0", "0000:00:12.0", "0000:00:14.0", "0000:00:15.0"]


@pytest.fixture(scope="module")
def old() -> Machine:
    return kunpeng("6.1").read()


@pytest.mark.parametrize(
    ("text", "port", "device", "sentence"),
    [
        ("0000:00:10.0", "00:10.0", "hisi_ptt0_0", None),
        ("00:15.0", "00:15.0", "hisi_ptt0_2", None),
        ("0:15.0", "00:15.0", "hisi_ptt0_2", None),
        (" 00:12.0 ", "00:12.0", "hisi_ptt0_0", None),
        ("06:00.0", "00:14.0", "hisi_ptt0_2", "0000:06:00.0 is behind root port 0000:00:14.0"),
        ("04:00.0", "00:14.0", "hisi_ptt0_2", "0000:04:00.0 is behind root port 0000:00:14.0"),
        ("00:10", "00:10.0", "hisi_ptt0_0", "00:10 is root port 0000:00:10.0"),
        ("10.0", "00:10.0", "hisi_ptt0_0", "10.0 is root port 0000:00:10.0"),
        ("0000:06:00", "00:14.0", "hisi_ptt0_2", "0000:06:00 is 0000:06:00.0, behind root port 0000:00:14.0"),
        ("nvme1", "00:14.0", "hisi_ptt0_2", "nvme1 is 0000:06:00.0, behind root port 0000:00:14.0"),
        ("nvme0n1", "00:10.0", "hisi_ptt0_0", "nvme0n1 is 0000:01:00.0, behind root port 0000:00:10.0"),
        ("/dev/nvme0n1", "00:10.0", "hisi_ptt0_0", "/dev/nvme0n1 is 0000:01:00.0, behind root port 0000:00:10.0"),
        ("ens6f1", "00:15.0", "hisi_ptt0_2", "ens6f1 is 0000:08:00.1, behind root port 0000:00:15.0"),
    ],
)
def test_root_ports(machine: Machine, text: str, port: str, device: str, sentence: str | None) -> None:
    found = resolve_root_port(machine, text)
    assert (found[0].short, found[1].name, found[2]) == (port, device, sentence)


@pytest.mark.parametrize(
    ("text", "address", "sentence"),
    [
        ("01:00.0", "01:00.0", None),
        ("01:00", "01:00.0", "01:00 is 0000:01:00.0"),
        ("0000:08:00.1", "08:00.1", None),
        ("enp7s0", "07:00.0", "enp7s0 is 0000:07:00.0"),
    ],
)
def test_requesters(machine: Machine, text: str, address: str, sentence: str | None) -> None:
    found = resolve_requester(machine, text)
    assert (found[0].short, found[2]) == (address, sentence)


@pytest.mark.parametrize(
    ("text", "kind", "code", "details"),
    [
        ("nvme9", DeviceError, "unknown-function", {"function": "nvme9", "near": ["nvme1", "nvme0", "nvme1n1"]}),
        ("nvme0n1p2", DeviceError, "unknown-function", {"function": "nvme0n1p2", "near": ["nvme0", "nvme0n1"]}),
        ("zzz", DeviceError, "unknown-function", {"function": "zzz", "near": []}),
        ("00:10.1", DeviceError, "unknown-function", {"function": "0000:00:10.1", "near": ["0000:00:10.0"]}),
        ("0001:00:10.0", DeviceError, "unknown-function", {"function": "0001:00:10.0", "near": ["0000:00:10.0"]}),
        ("7f:00.0", DeviceError, "unknown-function", {"function": "0000:7f:00.0", "near": []}),
        ("00:00.0", DeviceError, "no-root-port", {"function": "0000:00:00.0", "known": PORTS, "reason": "no-root-port"}),
        ("00:08.0", UsageError, "not-a-function", {"device": "hisi_ptt0_0", "known": PORTS[:3]}),
        ("hisi_ptt0_0", UsageError, "not-a-function", {"device": "hisi_ptt0_0", "known": PORTS[:3]}),
        ("08:00", UsageError, "ambiguous-name", {"candidates": ["0000:08:00.0", "0000:08:00.1"]}),
        ("13.0", DeviceError, "unknown-function", {"function": "13.0", "near": []}),
        ("", UsageError, "bad-pci-address", {}),
    ],
)
def test_refused_root_ports(machine: Machine, text: str, kind: type[PtttoolError], code: str, details: dict[str, object]) -> None:
    with pytest.raises(kind) as caught:
        resolve_root_port(machine, text)
    assert type(caught.value) is kind
    assert caught.value.code == code
    assert caught.value.details == details


def test_a_domain_may_be_left_out(machine: Machine) -> None:
    """Where domain 0 has no such function."""
    moved = PciAddress.parse("01:00.0")
    functions = {address: one for address, one in machine.functions.items() if address != moved}
    there = PciAddress(1, *moved[1:])
    functions[there] = replace(machine.functions[moved], address=there)
    assert str(find_function(replace(machine, functions=PciFunctions(functions), devices=()), "01:00.0")) == "0001:01:00.0"
    assert (
        str(find_function(replace(machine, functions=PciFunctions(functions | {moved: machine.functions[moved]})), "01:00.0"))
        == "0000:01:00.0"
    )


def test_a_root_port_is_no_requester(machine: Machine) -> None:
    with pytest.raises(UsageError) as caught:
        resolve_requester(machine, "00:14.0")
    assert caught.value.code == "not-a-requester"
    assert "--rootport 0000:00:14.0" in str(caught.value.hint)


def test_of_another_device(machine: Machine) -> None:
    first = machine.devices[0]
    for resolve, text in ((resolve_root_port, "nvme1"), (resolve_requester, "nvme1")):
        with pytest.raises(UsageError) as caught:
            resolve(machine, text, device=first)
        assert (caught.value.code, caught.value.details) == ("wrong-device", {"device": "hisi_ptt0_0", "owners": ["hisi_ptt0_2"]})


def test_of_no_device(machine: Machine) -> None:
    lonely = replace(machine, devices=machine.devices[:1])
    with pytest.raises(DeviceError) as caught:
        resolve_root_port(lonely, "nvme1")
    assert (caught.value.code, caught.value.details) == (
        "not-traced",
        {"function": "0000:00:14.0", "reason": "other-root-port", "known": PORTS[:3], "without_driver": []},
    )
    with pytest.raises(DeviceError) as caught:
        resolve_requester(replace(machine, devices=machine.devices[2:]), "nvme1")
    details = {"function": "0000:06:00.0", "reason": "other-root-port", "known": [], "without_driver": []}
    assert (caught.value.code, caught.value.details) == ("not-traced", details)


def test_where_the_kernel_does_not_tell(old: Machine) -> None:
    for resolve, text in ((resolve_root_port, "0000:00:10.0"), (resolve_requester, "nvme0")):
        with pytest.raises(UsageError) as caught:
            resolve(old, text)
        assert caught.value.code == "ambiguous-device"
        assert caught.value.details["candidates"] == ["hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0"]
        assert "--device NAME" in str(caught.value.hint)
        for device in old.devices:
            assert resolve(old, text, device=device)[1] is device


def test_a_disk_with_two_controllers(machine: Machine) -> None:
    addresses = PciAddress.parse("01:00.0"), PciAddress.parse("06:00.0")
    functions = dict(machine.functions)
    for address in addresses:
        functions[address] = replace(functions[address], kernel_names=(*functions[address].kernel_names, "nvme7n1"))
    with pytest.raises(UsageError) as caught:
        resolve_root_port(replace(machine, functions=PciFunctions(functions)), "nvme7n1")
    assert (caught.value.code, caught.value.details) == ("ambiguous-name", {"candidates": ["0000:01:00.0", "0000:06:00.0"]})
