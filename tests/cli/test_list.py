"""``ptttool list``: tables that fit, trees as lspci's, JSON that agrees between libudev, trees and the demo."""

from __future__ import annotations

import gzip
import json
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ptttool.cli.main import main
from ptttool.machine.sources.recorded import ARCHIVE
from ptttool.pci import PciAddress
from ptttool.testing import FakeMachine, kunpeng
from ptttool.testing.hardware import NVME
from tests.support.machines import BUS, MACHINES, NEW, OLD, document, run, umockdev

NEW_TREE, OLD_TREE = ["--sysfs", str(MACHINES / NEW)], ["--sysfs", str(MACHINES / OLD)]
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("name", [NEW, OLD])
@pytest.mark.parametrize("command", ["list", "filters"])
def test_under_umockdev_as_from_the_tree(command: str, name: str, tmp_path: Path) -> None:
    """The real libudev and plain reads of /sys give what the tree gives."""
    live = document(run([command, "--json"], prefix=umockdev(name, tmp_path)))
    recorded = document(run([command, "--json", "--sysfs", str(MACHINES / name)]))
    if command == "list":
        assert (live.pop("origin"), recorded.pop("origin")) == ("this machine", str(MACHINES / name))
        for key in ("kernel", "hostname"):  # /proc is not umockdev's
            assert live.pop(key) != recorded.pop(key)
        del live["memory"], recorded["memory"]  # of /proc/iomem, too
        live["driver"], recorded["driver"] = live["driver"]["features"], recorded["driver"]["features"]  # the rest follows from the kernel
    assert live == recorded
    assert len(live["devices"]) == 3


def test_the_demo_is_the_newer_machine(tmp_path: Path) -> None:
    demo = document(run(["list", "--json", "--demo"]))
    tree = document(run(["list", "--json", *NEW_TREE]))
    assert demo.pop("origin") == "the demo machine"
    tree.pop("origin")
    assert demo == tree


def test_the_demo_holds_the_fixture_and_no_more(tmp_path: Path) -> None:
    """The archive in the package is made from the fixture; making it again gives the same."""
    runpy.run_path(str(MACHINES / "trim.py"))["write_archive"](MACHINES / NEW, tmp_path / "a")
    # Compared unpacked: zlib's implementations compress differently.
    assert gzip.decompress((tmp_path / "a").read_bytes()) == gzip.decompress(ARCHIVE.read_bytes())


def test_json_imports_no_terminal_code() -> None:
    code = (
        "import sys; from ptttool.cli.main import main; main(['list', '--json', '--demo']);"
        "print([name for name in ('rich', 'pyudev', 'numpy', 'polars') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    json.loads(done.stdout)


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("command", [["list"], ["list", "--tree"], ["list", "0_2"], ["filters"]])
@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("machine", [NEW_TREE, OLD_TREE], ids=["new", "old"])
def test_everything_fits(
    machine: list[str], width: int, command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line is longer than the terminal, and no address is torn or cut."""
    monkeypatch.setenv("COLUMNS", str(width))
    assert main([*command, *machine]) == 0
    out = lines(capsys)
    assert max(map(len, out)) <= width
    text = "\n".join(out)
    for address in ("0000:00:14.0", "0000:00:15.0"):
        assert address in text
    assert "…" not in text
    assert ("nvme1, enp7s0" in text) == (command != ["list", "--tree"])


def test_forty_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert main(["list", *NEW_TREE]) == 0
    out = lines(capsys)
    assert max(map(len, out)) <= 40
    assert out[1].split() == ["hisi_ptt0_0", "0000:00:10.0", "nvme0"]


def test_the_table(ptt_machine: FakeMachine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["list"]) == 0
    out = [re.split(r" {2,}", line.strip()) for line in lines(capsys)]
    assert out[0] == ["PTT device", "PCI", "NUMA", "CPUs", "Root port", "Link", "Behind it", "Driver"]
    assert out[1] == ["hisi_ptt0_0", "0000:00:08.0", "0", "0-1", "0000:00:10.0", "2.5GT/s x1", "nvme0", "nvme"]
    assert out[3] == ["0000:00:12.0", "16GT/s x4", "(empty)"]
    assert out[6] == ["hisi_ptt2_0", "0000:00:0a.0", "1", "2-3", "none"]
    assert out[8][0].startswith("Kernel: 6.12.")
    assert out[9] == ["Requesters: hisi_ptt0_0 2, hisi_ptt0_2 7, hisi_ptt2_0 none (ptttool filters lists them)"]
    assert out[10] == ["Tune attributes: qos_tx_cpl, qos_tx_np, qos_tx_p, rx_alloc_buf_level, tx_alloc_buf_level"]


def test_what_developers_see(ptt_machine: FakeMachine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["list", "--verbose"]) == 0
    out = [re.split(r" {2,}", line.strip()) for line in lines(capsys)]
    assert out[0][:4] == ["PTT device", "SICL", "Core", "PMU type"]
    assert out[6][:4] == ["hisi_ptt2_0", "2", "0", "13"]
    assert out[10] == ["Event terms: direction config:20-23, filter config:0-19, format config:32-35, type config:24-31"]


COPY = shutil.ignore_patterns("udev.txt")


def copy_without(tmp_path: Path, *folders: str) -> Path:
    """A copy of a machine without some of its folders, and without its udev database."""
    copy = Path(shutil.copytree(MACHINES / NEW, tmp_path / "machine", symlinks=True, ignore=COPY))
    for folder in folders:
        for found in copy.glob(folder):
            shutil.rmtree(found)
    return copy


def test_a_copy_without_the_lists_of_devices(tmp_path: Path) -> None:
    """Folders of devices are found without ``/sys/bus`` and ``/sys/class``."""
    whole = document(run(["list", "--json", "--sysfs", str(copy_without(tmp_path / "whole"))]))
    part = document(run(["list", "--json", "--sysfs", str(copy_without(tmp_path / "part", "sys/bus", "sys/class"))]))
    assert whole["functions"] and part["functions"]
    for one in (whole, part):
        one.pop("origin")
        for function in one["functions"]:  # links of nvme subsystems are not there any more
            function["kernel_names"].sort()
    assert part == whole


def test_what_is_not_recorded_is_not_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = copy_without(tmp_path / "nothing", "sys/bus/pci", "sys/devices/platform/*/pci*/0000*:1*", "sys/class/n*")
    for device in nothing.glob("sys/devices/platform/*/pci*/0000*:0[1-9]*"):
        if "hisi" not in "".join(child.name for child in device.iterdir()):
            shutil.rmtree(device)
    assert main(["list", "--sysfs", str(nothing)]) == 0
    captured = capsys.readouterr()
    assert "0000:00:10.0" in captured.out
    assert "empty" not in captured.out
    assert "not known" in captured.err
    assert main(["tune", "show", "--json", "--sysfs", str(nothing), "0_0"]) == 0
    (device,) = json.loads(capsys.readouterr().out)["devices"]
    assert [port["behind"] for port in device["root_ports"]] == [None, None, None]
    assert main(["tune", "set", "--sysfs", str(nothing), "0_0", "qos_tx_p=1"]) == 0
    assert "empty" not in capsys.readouterr().out
    assert main(["filters", "--json", "--sysfs", str(nothing), "0_0"]) == 0
    assert {one["kernel_names"] is None for one in json.loads(capsys.readouterr().out)["devices"][0]["root_ports"]} == {True}


@pytest.mark.ptt_machine("6.1")
def test_what_the_old_kernel_does_not_tell(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    captured = capsys.readouterr()
    assert captured.out.count("unknown") == 3
    assert captured.out.count("0000:00:14.0") == 1
    assert "any of these" in captured.out
    assert captured.err.count("no filter files") == 1
    assert "one of 0000:00:08.0, 0000:00:09.0" in captured.err


def test_the_tree(ptt_machine: FakeMachine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["list", "--tree", "0_2"]) == 0
    assert (
        "\n".join(lines(capsys))
        == """\
hisi_ptt0_2  PCI 0000:00:09.0, NUMA node 0, CPUs 0-1
├── 0000:00:14.0  Red Hat, Inc. QEMU PCIe Root port
│   Speed 2.5GT/s, Width x1
│   └── 0000:04:00.0  Texas Instruments XIO3130 PCI Express Switch (Upstream)
│       Speed 2.5GT/s, Width x1
│       ├── 0000:05:00.0  Texas Instruments XIO3130 PCI Express Switch (Downstream)
│       │   Speed 2.5GT/s (overdriven), Width x1 (overdriven)
│       │   └── 0000:06:00.0  nvme1, nvme1n1  Red Hat, Inc. QEMU NVM Express Controller
│       │       Speed 2.5GT/s, Width x1
│       └── 0000:05:01.0  Texas Instruments XIO3130 PCI Express Switch (Downstream)
│           Speed 2.5GT/s (overdriven), Width x1 (overdriven)
│           └── 0000:07:00.0  enp7s0  Intel Corporation 82574L Gigabit Network Connection
│               Speed 2.5GT/s, Width x1
└── 0000:00:15.0  Red Hat, Inc. QEMU PCIe Root port
    Speed 2.5GT/s, Width x1
    ├── 0000:08:00.0  ens6f0  Intel Corporation 82574L Gigabit Network Connection
    │   Speed 2.5GT/s, Width x1
    └── 0000:08:00.1  ens6f1  Intel Corporation 82574L Gigabit Network Connection
        Speed 2.5GT/s, Width x1"""
    )


def test_empty_ports_in_the_tree(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--tree"]) == 0
    out = capsys.readouterr().out
    assert "Speed 16GT/s, Width x4; nothing behind it" in out
    assert "└── no root ports" in out


@pytest.mark.parametrize("name", ["hisi_ptt0_2", "0_2", "0000:00:09.0", "00:09.0"])
def test_one_device(ptt_machine: FakeMachine, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [device["name"] for device in found["devices"]] == ["hisi_ptt0_2"]


def test_details(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "hisi_ptt0_2", "--verbose"]) == 0
    facts = dict(re.split(r" {2,}", line, maxsplit=1) for line in lines(capsys) if line and not line.startswith(" "))
    assert facts["PCI name"] == "Huawei Technologies Co., Ltd. Device [19e5:a12e]"
    assert facts["In sysfs"] == f"{BUS}/0000:00:09.0/hisi_ptt0_2"
    assert facts["Tune attributes"] == "qos_tx_cpl 1"
    assert facts["Requesters"].startswith("0000:04:00.0  Texas Instruments")


def test_control_characters_stay_away_from_the_terminal(
    ptt_machine: FakeMachine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a network device's name, in a PCI name of the udev database and in attributes."""
    for name in ("e\x1b]0;x\x07th", "\x9b31meth"):
        ptt_machine.function("02:00.0").add_class_device("net", name)
    disk = ptt_machine.function("01:00.0")
    disk.hardware = replace(disk.hardware, device_name="QEMU\x1b[31m NVM\u202e Express\x9b1m Controller")
    ptt_machine["hisi_ptt0_2"].format["type"] = "\x1b[2J"
    ptt_machine.refresh()
    monkeypatch.setenv("COLUMNS", "200")
    seen: list[str] = []
    for command in (["list"], ["list", "--tree"], ["list", "0_0"], ["list", "--json"], ["filters"], ["filters", "--json"]):
        assert main(command) == 0
        captured = capsys.readouterr()
        assert not CONTROL.search(captured.out + captured.err), command
        seen.append(captured.out)
    assert "e\\x1b]0;x\\x07th" in seen[1]
    assert json.loads(seen[3])["functions"][9]["name"] == "Red Hat, Inc. QEMU\x1b[31m NVM\u202e Express\x9b1m Controller"


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (["list", "--sysfs", "/nowhere"], 6, "no-such-folder"),
        (["list", "--sysfs", __file__], 6, "not-a-machine"),
        (["list", "--sysfs", str(MACHINES)], 6, "no-sysfs"),
        (["list", "--sysfs", str(MACHINES / NEW), "--demo"], 2, "usage"),
        (["list", "--tree", "--demo"], 2, "exclusive-options"),
        (["list", "hisi_ptt0_1", "--demo"], 3, "unknown-device"),
        (["filters", "--device", "0_9", "--demo"], 3, "unknown-device"),
    ],
)
def test_refusals(arguments: list[str], exit_code: int, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--json"]) == exit_code
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"]["code"] == code
    assert captured.err.startswith("ptttool: error: ")


def test_near_misses(capsys: pytest.CaptureFixture[str]) -> None:
    main(["list", "hisi_ptt0_1", "--demo"])
    assert "did you mean hisi_ptt0_" in capsys.readouterr().err


def test_no_device(mount_ptt_machine: Callable[[FakeMachine], FakeMachine], capsys: pytest.CaptureFixture[str]) -> None:
    machine = FakeMachine()
    machine.add_root_port("0000:00:10.0").add_nvme("0000:01:00.0", "nvme0")
    mount_ptt_machine(machine)
    assert main(["list", "--json"]) == 3
    said = capsys.readouterr()
    assert json.loads(said.out)["error"]["code"] == "no-device"
    assert "19e5:a12e" in said.err


def test_an_empty_sysfs(tmp_path: Path) -> None:
    for folder in ("bus", "devices", "class"):
        (tmp_path / "sys" / folder).mkdir(parents=True)
    done = run(["list", "--json", "--sysfs", str(tmp_path)], check=3)
    assert document(done)["error"]["code"] == "no-device"


@pytest.mark.parametrize(("iommu", "code"), [("DMA-FQ", "iommu-translates"), ("identity", "driver-not-loaded")])
def test_driver_not_loaded(
    iommu: str, code: str, mount_ptt_machine: Callable[[FakeMachine], FakeMachine], capsys: pytest.CaptureFixture[str]
) -> None:
    machine = kunpeng()
    machine.driver_loaded, machine.iommu = False, iommu
    mount_ptt_machine(machine)
    for command in ("list", "filters"):
        assert main([command, "--json"]) == 3
        assert json.loads(capsys.readouterr().out)["error"]["code"] == code


def test_driver_not_loaded_under_umockdev(tmp_path: Path) -> None:
    """The PCI functions are there, the PMUs are not: as with rmmod hisi_ptt."""
    prefix = umockdev(NEW, tmp_path)
    dump = tmp_path / f"{NEW}.umockdev"
    blocks = dump.read_text().split("\n\n")
    dump.write_text("\n\n".join(block for block in blocks if not re.match(r"P: .*/hisi_ptt\d+_\d+\n", block)))
    done = run(["list", "--json"], prefix=prefix, check=3)
    assert document(done)["error"]["code"] == "no-driver"
    assert "modprobe hisi_ptt" in done.stderr


def test_virtual_functions_in_the_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = kunpeng()
    virtual = machine["hisi_ptt0_0"].root_ports[0].add_endpoint("0000:01:00.2", NVME)
    virtual.physical = PciAddress.parse("0000:01:00.0")
    folder = machine.write_to(tmp_path / "machine")
    assert main(["list", "--tree", "--sysfs", folder]) == 0
    assert "virtual function of 0000:01:00.0" in capsys.readouterr().out
    assert main(["list", "--sysfs", folder, "--json"]) == 0
    functions = {one["address"]: one for one in json.loads(capsys.readouterr().out)["functions"]}
    assert functions["0000:01:00.2"]["physical"] == "0000:01:00.0"
