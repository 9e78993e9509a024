"""Functions that no PTT device can trace, on a fake server with the network ports and the SAS controller of its processor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptttool.cli.main import main
from ptttool.errors import DeviceError
from ptttool.machine.discovery import open_source, read_machine
from ptttool.machine.model import Machine
from ptttool.machine.resolve import resolve_requester, resolve_root_port
from ptttool.machine.unusable.untraceable import untraceable_of, why_untraceable
from ptttool.pci import PciAddress
from ptttool.testing import kunpeng
from ptttool.testing.hardware import HNS3, NVME, SAS

REASONS = {
    "0000:7d:00.0": "integrated",
    "0000:75:00.0": "integrated",
    "0000:79:00.0": "no-root-port",
    "0000:81:00.0": "other-root-port",
}


@pytest.fixture
def server(tmp_path: Path) -> str:
    machine = kunpeng()
    machine.add_function("0000:7d:00.0", HNS3).add_class_device("net", "eth0", address="52:54:00:00:00:01", type="1")
    machine.add_root_port("0000:74:00.0").add_endpoint("0000:75:00.0", SAS)  # a bridge of the root complex
    machine.add_function("0000:79:00.0", NVME)  # its configuration space has no capability
    machine.add_root_port("0000:80:00.0").add_nvme("0000:81:00.0", "nvme7")
    return machine.write_to(tmp_path / "server")


@pytest.fixture
def machine(server: str) -> Machine:
    return read_machine(open_source(server))


def test_reasons(machine: Machine, server: str) -> None:
    found = untraceable_of(machine, open_source(server))
    assert {str(one.address): one.reason for one in found} == REASONS
    assert found[-1].port == PciAddress.parse("0000:80:00.0")
    # Without configuration spaces, what is seen is said.
    assert {one.reason for one in untraceable_of(machine)} == {"no-root-port", "other-root-port"}
    assert why_untraceable(machine, PciAddress.parse("0000:01:00.0")) is None
    assert why_untraceable(machine, PciAddress.parse("0000:99:00.0")) is None


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("eth0", "no-root-port", "integrated"),
        ("7d:00.0", "no-root-port", "integrated"),
        ("75:00.0", "not-traced", "integrated"),
        ("nvme7", "not-traced", "other-root-port"),
        ("80:00.0", "not-traced", "other-root-port"),
    ],
)
def test_asked_for(machine: Machine, name: str, code: str, reason: str) -> None:
    with pytest.raises(DeviceError) as caught:
        resolve_root_port(machine, name)
    assert (caught.value.code, caught.value.details["reason"]) == (code, reason)
    assert name in caught.value.message
    with pytest.raises(DeviceError) as caught:
        resolve_requester(machine, name)
    assert (caught.value.code, caught.value.details["reason"]) == ("not-traced", reason)
    assert name in caught.value.message


def test_command(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--untraceable", "--sysfs", server, "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert {one["address"]: one["reason"] for one in body["untraceable"]} == REASONS
    assert main(["list", "--sysfs", server, "--json"]) == 0
    assert "untraceable" not in json.loads(capsys.readouterr().out)
    assert main(["list", "--untraceable", "--sysfs", server]) == 0
    said = capsys.readouterr().out
    assert all(address in said for address in REASONS)
    assert "eth0" in said
    assert main(["list", "--untraceable", "--sysfs", server, "hisi_ptt0_0"]) == 2
