"""``ptttool event`` as a user runs it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from ptttool.cli.main import main
from ptttool.testing import FakeMachine
from tests.support.machines import NEW, OLD, UMOCKDEV, document, run, umockdev

Mount = Callable[[FakeMachine], FakeMachine]
# A machine without anything in /sys.
NOWHERE = [*UMOCKDEV, "--"]


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert main(["event", *arguments]) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_three_lines_to_copy(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "--rootport", "0000:00:14.0", "--rootport", "00:15.0")
    event = "hisi_ptt0_2/filter=0x80500,type=7,direction=0,format=0/"
    assert out.splitlines() == [event, "0x7080500", f"perf record -e {event} -C 1 -m ,64M -o perf.data"]
    assert err == ""


def test_json(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "--requester", "enp7s0", "--format", "8dw", "--json", "--", "sleep", "5")
    event = "hisi_ptt0_2/filter=0x00700,type=7,direction=2,format=1/"
    command = ["perf", "record", "-e", event, "-C", "1", "-m", ",64M", "-o", "perf.data", "--", "sleep", "5"]
    found = json.loads(out)
    assert [(one["severity"], one["code"]) for one in found.pop("notes")] == [("info", "name-resolved"), ("info", "no-cpl-a")]
    assert found == {
        "event": event,
        "config": 0x107200700,
        "config_hex": "0x107200700",
        "command": command,
        "command_line": " ".join(command),
        "device": "hisi_ptt0_2",
        "fields": {"filter": 0x700, "type": 7, "direction": 2, "format": 1},
        "root_ports": [],
        "requester": "0000:07:00.0",
        "types": ["p", "np", "cpl"],
        "direction": "inbound",
        "completions": None,
        "format": "8dw",
        "pattern": None,
        "inbound": ["P", "NP", "CPL B"],
        "outbound": [],
        "checked": True,
        "warnings": [],
    }
    assert err == ""


def test_an_endpoint_stands_for_its_root_port(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "--rootport", "nvme1", "--type", "np,cpl", "--direction", "both")
    assert out.splitlines()[:2] == ["hisi_ptt0_2/filter=0x80100,type=6,direction=2,format=0/", "0x6280100"]
    assert "ptttool: nvme1 is 0000:06:00.0, behind root port 0000:00:14.0\n" in err
    assert err.count("warning: several types") == 1


def test_outbound_without_a_type_is_the_event_of_one(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "--rootport", "00:10.0", "--direction", "out", "--json")[0])
    assert (found["types"], found["outbound"]) == (["p"], ["P"])
    assert [one["code"] for one in found["warnings"]] == ["outbound-one-type"]


def test_a_command_keeps_its_own_options(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, "--rootport", "nvme0", "--cpu", "1", "dd", "if=/dev/zero", "of=a b", "--json")
    line = out.splitlines()[2]
    assert shlex.split(line)[-5:] == ["--", "dd", "if=/dev/zero", "of=a b", "--json"]
    assert " -C 1 " in line


REFUSED = [
    ([], 2, "no-filter"),
    (["--rootport", "00:10.0", "--requester", "01:00.0"], 2, "two-filters"),
    (["--rootport", "00:10.0", "--rootport", "00:14.0"], 2, "two-devices"),
    (["--rootport", "00:10.0", "--device", "hisi_ptt0_2"], 2, "wrong-device"),
    (["--rootport", "00:10.0", "--device", "hisi_ptt9_9"], 3, "unknown-device"),
    (["--rootport", "00:13.0"], 3, "unknown-function"),
    (["--rootport", "nvme7"], 3, "unknown-function"),
    (["--requester", "00:10.0"], 2, "not-a-requester"),
    (["--rootport", "00:10.0", "--type", "p,mem"], 2, "bad-type"),
    (["--rootport", "00:10.0", "--type", ""], 2, "bad-type"),
    (["--rootport", "00:10.0", "--direction", "up"], 2, "bad-direction"),
    (["--rootport", "00:10.0", "--direction", "outbound", "--type", "p,cpl"], 2, "outbound-types"),
    (["--rootport", "00:10.0", "--direction", "both", "--format", "8dw"], 2, "8dw-both"),
    (["--rootport", "00:10.0", "--completions", "b"], 2, "completions-no-effect"),
    (["--rootport", "00:10.0", "--pattern", "v1", "--force"], 2, "no-pattern-term"),
    (["--rootport", "00:10.0", "--cpu", "2"], 2, "cpu-not-in-cpumask"),
    (["--rootport", "00:10.0", "--cpu", "-1"], 2, "too-small"),
]


@pytest.mark.parametrize(("arguments", "code", "word"), REFUSED)
def test_refused(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, word: str) -> None:
    out, err = said(capsys, "--json", *arguments, code=code)
    assert json.loads(out)["error"]["code"] == word
    assert err.startswith("ptttool: error: ")
    assert len(err.splitlines()) <= 2


def test_words_in_any_case(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, "--rootport", "00:10.0", "--type", "CPL, p", "--completions", "A", "--format", "8DW")
    assert out.splitlines()[0] == "hisi_ptt0_0/filter=0x80001,type=5,direction=3,format=1/"


@pytest.mark.ptt_machine("6.1")
def test_an_old_kernel_needs_the_device(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, "--rootport", "00:14.0", "--json", code=2)
    assert json.loads(out)["error"]["candidates"] == ["hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0"]
    out, err = said(capsys, "--rootport", "00:14.0", "--device", "0_2")
    assert out.startswith("hisi_ptt0_2/filter=0x80100,")
    assert "the filter is computed" in err


def test_bit_positions_come_from_the_machine(mount_ptt_machine: Mount, capsys: pytest.CaptureFixture[str]) -> None:
    machine = FakeMachine(nodes={0: "0-3", 1: "4-7"})
    terms = {
        "filter": "config:0-19", "type": "config:24-31", "direction": "config:20-23", "format": "config:40-43", "pattern": "config:36-39",
    }  # fmt: skip
    machine.add_ptt("hisi_ptt0_0", "00:08.0", numa_node=1, format=terms).add_root_port("00:10.0")
    mount_ptt_machine(machine)
    out, _ = said(capsys, "--rootport", "00:10.0", "--format", "8dw", "--type", "p", "--pattern", "v1")
    event = "hisi_ptt0_0/filter=0x80001,type=1,direction=2,format=1,pattern=1/"
    assert out.splitlines() == [event, hex(1 << 40 | 1 << 36 | 0x01280001), f"perf record -e {event} -C 4 -m ,64M -o perf.data"]


def test_a_port_removed_and_one_added(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    """What the machine is at that moment counts."""
    ptt_machine.remove("00:12.0")
    out, _ = said(capsys, "--rootport", "00:12.0", "--json", code=3)
    assert json.loads(out)["error"]["code"] == "unknown-function"
    ptt_machine["hisi_ptt2_0"].add_root_port("00:16.0").add_nic("09:00.0", "ens9")
    ptt_machine.refresh()
    out, _ = said(capsys, "--rootport", "ens9")
    assert out.startswith("hisi_ptt2_0/filter=0x81000,type=7,direction=0,format=0/\n")


def test_filters_that_only_root_reads(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    """Their names give the values."""
    asked = ("--rootport", "nvme1", "--device", "hisi_ptt0_2")
    as_root, _ = said(capsys, *asked)
    with ptt_machine.as_user():
        assert said(capsys, *asked)[0] == as_root


def test_without_any_device() -> None:
    done = run(["event", "--device", "hisi_ptt0_2", "--rootport", "00:10.0", "--rootport", "0000:00:11.0", "--json"], prefix=NOWHERE)
    found = document(done)
    assert (found["event"], found["config"]) == ("hisi_ptt0_2/filter=0x80005,type=7,direction=0,format=0/", 0x7080005)
    assert "-a" in found["command"]
    assert found["checked"] is False
    assert "not-checked" in [one["code"] for one in found["notes"]]
    done = run(["event", "--device", "hisi_ptt0_2", "--rootport", "00:10.0", "--cpu", "96"], prefix=NOWHERE)
    assert " -C 96 " in done.stdout.splitlines()[2]


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["--rootport", "00:10.0"], 3, "no-device"),
        (["--rootport", "nvme0", "--device", "hisi_ptt0_2"], 2, "bad-pci-address"),
        (["--rootport", "00:10.0", "--device", "armv8_pmuv3_0"], 2, "bad-device-name"),
        (["--rootport", "00:10.0", "--device", "hisi_ptt0_2", "--pattern", "v1"], 2, "no-pattern-term"),
    ],
)
def test_without_any_device_refused(arguments: list[str], status: int, code: str) -> None:
    done = run(["event", "--json", *arguments], prefix=NOWHERE, check=status)
    error = json.loads(done.stdout)["error"]
    assert error["code"] == code
    assert error["hint"]


@pytest.mark.parametrize("name", [NEW, OLD])
def test_on_the_running_machine(name: str, tmp_path: Path) -> None:
    """Through libudev."""
    done = run(["event", "--device", "hisi_ptt0_2", "--requester", "nvme1"], prefix=umockdev(name, tmp_path))
    assert done.stdout.splitlines()[:2] == ["hisi_ptt0_2/filter=0x00600,type=7,direction=0,format=0/", "0x7000600"]


def test_options_that_were_given_twice(capsys: pytest.CaptureFixture[str]) -> None:
    """Types add up; a second requester is no filter of this device, and is not dropped in silence."""
    assert main(["event", "--demo", "--rootport", "nvme0", "--type", "p", "--type", "np"]) == 0
    assert "type=3" in capsys.readouterr().out
    assert main(["event", "--demo", "--requester", "nvme0", "--requester", "ens2"]) == 2
    assert "one requester" in capsys.readouterr().err
