"""``ptttool filters``: values, names, what may be combined."""

from __future__ import annotations

import json
import re

import pytest

from ptttool.cli.main import main
from ptttool.testing import FakeMachine
from tests.support.machines import MACHINES, NEW, OLD

NEW_TREE, OLD_TREE = ["--sysfs", str(MACHINES / NEW)], ["--sysfs", str(MACHINES / OLD)]


def test_json(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["filters", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    device = document["devices"][1]
    assert (device["name"], device["ports_known"], device["diagnostics"]) == ("hisi_ptt0_2", True, [])
    assert device["multiselect"] == {"root_ports": True, "requesters": False}
    assert device["root_ports"][1] == {
        "address": "0000:00:15.0",
        "value": 0x80400,
        "hex": "0x80400",
        "computed": False,
        "name": "Red Hat, Inc. QEMU PCIe Root port",
        "kernel_names": [],
    }
    assert {one["address"]: (one["hex"], one["kernel_names"]) for one in device["requesters"]} == {
        "0000:04:00.0": ("0x00400", []),
        "0000:05:00.0": ("0x00500", []),
        "0000:05:01.0": ("0x00508", []),
        "0000:06:00.0": ("0x00600", ["nvme1", "nvme1n1"]),
        "0000:07:00.0": ("0x00700", ["enp7s0"]),
        "0000:08:00.0": ("0x00800", ["ens6f0"]),
        "0000:08:00.1": ("0x00801", ["ens6f1"]),
    }


def test_for_people(ptt_machine: FakeMachine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["filters", "--device", "0_0"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert [re.split(r" {2,}", line.strip()) for line in captured.out.splitlines()] == [
        ["hisi_ptt0_0: root ports (several may be combined)"],
        ["Value", "Address", "Behind it", "PCI name"],
        ["0x80001", "0000:00:10.0", "nvme0", "Red Hat, Inc. QEMU PCIe Root port"],
        ["0x80004", "0000:00:11.0", "ens2", "Red Hat, Inc. QEMU PCIe Root port"],
        ["0x80010", "0000:00:12.0", "(empty)", "Red Hat, Inc. QEMU PCIe Root port"],
        [""],
        ["hisi_ptt0_0: requesters (one at a time)"],
        ["Value", "Address", "Names", "PCI name"],
        ["0x00100", "0000:01:00.0", "nvme0, nvme0n1", "Red Hat, Inc. QEMU NVM Express Controller"],
        ["0x00200", "0000:02:00.0", "ens2", "Intel Corporation 82574L Gigabit Network Connection"],
    ]


def test_without_root_ports(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["filters", "--device", "hisi_ptt2_0"]) == 0
    assert capsys.readouterr().out.split("\n\n") == [
        "hisi_ptt2_0: root ports (several may be combined): none",
        "hisi_ptt2_0: requesters (one at a time): none\n",
    ]


@pytest.mark.ptt_machine("6.1")
def test_computed(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    """Listed once for the devices that the kernel does not tell apart."""
    assert main(["filters"]) == 0
    captured = capsys.readouterr()
    assert captured.out.count("computed from the PCI addresses") == 2
    assert captured.out.count("0x80100") == 1
    assert captured.out.startswith("hisi_ptt0_0, hisi_ptt0_2 or hisi_ptt2_0: root ports")
    assert "no filter files" in captured.err
