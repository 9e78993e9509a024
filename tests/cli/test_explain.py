"""``ptttool explain`` as a user runs it."""

from __future__ import annotations

import json
import os
import pty
import re
import struct
import subprocess
import sys
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pytest

from ptttool.capture.event.parse import parse_event
from ptttool.capture.event.terms import DEFAULT_TERMS
from ptttool.capture.sidecar import Sidecar, save
from ptttool.cli.main import main
from ptttool.machine.discovery import read_machine
from ptttool.machine.sources.tree import TreeSource
from ptttool.testing import FakeMachine
from tests.support.machines import MACHINES, NEW, REPOSITORY, UMOCKDEV, document, run, umockdev

NEW_TREE = ["--sysfs", str(MACHINES / NEW)]
CAPTURES = REPOSITORY / "fixtures" / "captures"
SWITCH = CAPTURES / "6.12" / "x-switch-port14.data"
NOWHERE = [*UMOCKDEV, "--"]


def test_words(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "hisi_ptt0_0/filter=0x80005,type=6,direction=2/"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[:-2] == [
        "event      hisi_ptt0_0/filter=0x80005,type=6,direction=2/",
        "device     hisi_ptt0_0",
        "config     0x6280005",
        "filter     0x80005: root ports",
        "           0000:00:10.0, behind it 01:00.0 Red Hat, Inc. QEMU NVM Express Controller (nvme0, nvme0n1)",
        "           0000:00:11.0, behind it 02:00.0 Intel Corporation 82574L Gigabit Network Connection (ens2)",
        "type       6: non-posted and completion",
        "format     0: 4DW, 16 bytes a TLP",
        "direction  2: inbound P, NP and CPL B; outbound P, NP and CPL",
        "traces     inbound NP and CPL B; outbound NP and CPL",
        "           CPL A: completions of CHI, DMA and native requests, but for CPL B; "
        "CPL B: of DMA remote-to-local and peer-to-peer requests",
    ]
    assert [re.match(r"(problems)? +(\w+): ", line)[2] for line in lines[-2:]] == ["warning", "note"]  # type: ignore[index]


def test_contradictions_are_said_and_are_no_failure(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "hisi_ptt0_2/filter=0x80005,tpye=6,direction=2,format=1/u"]) == 0
    out, _ = capsys.readouterr()
    assert "traces     nothing: the event is refused\n" in out
    assert re.findall(r"(error|warning|note): ", out) == ["error"] * 4
    assert "did you mean type?" in out
    assert "it would fit hisi_ptt0_0" in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *NEW_TREE, "--json", "0x107280001"]) == 0
    told = json.loads(capsys.readouterr().out)
    problems = told.pop("problems")
    assert [(problem["severity"], problem["code"]) for problem in problems] == [("info", "no-cpl-a")]
    machine = read_machine(TreeSource(MACHINES / NEW), tune=False)
    assert told == {
        "source": "config",
        "event": None,
        "machine": machine.origin,
        "device": None,
        "config": 0x107280001,
        "config_hex": "0x107280001",
        "fields": {"filter": 0x80001, "type": 7, "direction": 2, "format": 1},
        "filter": {
            "kind": "root port",
            "value": 0x80001,
            "hex": "0x80001",
            "functions": [{"address": "0000:00:10.0", "name": "01:00.0 Red Hat, Inc. QEMU NVM Express Controller (nvme0, nvme0n1)"}],
        },
        "types": ["p", "np", "cpl"],
        "refused": False,
        "inbound": ["P", "NP", "CPL B"],
        "outbound": [],
        "format": "8dw",
        "pattern": "legacy",
        "fits": ["hisi_ptt0_0"],
    }


@pytest.mark.parametrize("config", ["117964800", "0x7080000"])
def test_config_numbers(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str], config: str) -> None:
    assert main(["explain", config]) == 0
    assert "the port mask is empty (0x80000)" in capsys.readouterr().out


@pytest.mark.parametrize("path", sorted(CAPTURES.rglob("*.data")), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_recordings(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    """What real perfs (6.1 and 6.12) wrote: string and config agree, read our way."""
    assert main(["explain", "--json", str(path)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["source"] == "recording"
    assert not told["refused"]
    if path.stem == "x-sigkill":  # a perf that is killed leaves no names
        assert (told["event"], told["device"], told["config"]) == (None, None, 0x107280001)
        return
    assert told["device"] in ("hisi_ptt0_0", "hisi_ptt0_2")
    assert parse_event(told["event"], DEFAULT_TERMS).config == told["config"]


def test_a_recording_through_a_pipe() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ptttool", "explain", "-"],
        input=(CAPTURES / "6.12" / "x-pipe.data").read_bytes(),
        capture_output=True,
        cwd=REPOSITORY,
    )
    assert done.returncode == 0
    assert b"config     0x107280001\n" in done.stdout


def test_a_recordings_names_come_from_its_sidecar(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = tmp_path / "perf.data"
    recording.write_bytes(SWITCH.read_bytes())
    assert main(["explain", str(recording)]) == 0
    out, err = capsys.readouterr()
    assert "root port 04, 0c, 14 or 1c" in out
    assert "no machine to look at" in err
    save(recording, Sidecar(machine=read_machine(TreeSource(MACHINES / NEW), tune=False)))
    assert main(["explain", str(recording)]) == 0
    out, err = capsys.readouterr()
    assert "0000:00:14.0, behind it 06:00.0 Red Hat, Inc. QEMU NVM Express Controller (nvme1, nvme1n1)" in out
    assert err == ""


def test_a_sidecar_names_the_device_of_a_killed_perf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = tmp_path / "perf.data"
    recording.write_bytes((CAPTURES / "6.12" / "x-sigkill.data").read_bytes())
    save(recording, Sidecar(machine=read_machine(TreeSource(MACHINES / NEW), tune=False)))
    assert main(["explain", "--json", str(recording)]) == 0
    assert json.loads(capsys.readouterr().out)["device"] == "hisi_ptt0_0"


def test_a_recordings_names_are_not_this_machines(tmp_path: Path) -> None:
    done = run(["explain", "--json", str(SWITCH)], prefix=umockdev(NEW, tmp_path))
    assert document(done)["machine"] is None
    done = run(["explain", "--json", "hisi_ptt0_2/filter=0x80100,type=1/"], prefix=umockdev(NEW, tmp_path))
    assert document(done)["machine"] == "this machine"


def test_what_is_none_of_these(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text"
    text.write_text("hello")
    short = tmp_path / "short"
    short.write_bytes(SWITCH.read_bytes()[:150])
    for what, code in [
        ("hisi_ptt0_2", 2),
        ("hisi_ptt0_2/type=x/", 2),
        ("cycles/type=1/", 2),
        ("a=b", 2),
        ("0x10000000000000000", 2),
        ("", 6),
        (str(tmp_path / "nothing"), 6),
        (str(text), 6),
        (str(short), 6),
        (str(tmp_path), 6),
    ]:
        assert main(["explain", *NEW_TREE, what]) == code, what
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("ptttool: error: ")
        assert len(err.splitlines()) <= 2


def test_without_a_machine() -> None:
    done = run(["explain", "hisi_ptt0_2/filter=0x80100,type=1/"], prefix=NOWHERE)
    assert "no machine to look at" in done.stderr
    assert "bit 8: root port 04, 0c, 14 or 1c" in done.stdout
    assert "pattern" not in done.stdout
    assert "pattern    1: v1" in run(["explain", "0x1007080100"], prefix=NOWHERE).stdout


def test_control_characters(ptt_machine: FakeMachine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "hisi_ptt0_2/filter=0x80100,type=1,name=\x1b[31m\u202e/"]) == 0
    out, _ = capsys.readouterr()
    assert "\x1b" not in out
    assert "\u202e" not in out


@pytest.mark.parametrize("width", [60, 80])
def test_a_terminal_gets_lines_as_long_as_it_is(width: int) -> None:
    controller, terminal = pty.openpty()
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    command = [sys.executable, "-m", "ptttool", "explain", *NEW_TREE, "hisi_ptt0_2/filter=0x80100,type=7,direction=2/"]
    child = subprocess.Popen(command, stdout=terminal, stdin=terminal, cwd=REPOSITORY, env=environment)
    os.close(terminal)
    text = b""
    try:
        while piece := os.read(controller, 65536):
            text += piece
    except OSError:  # Linux says EIO where the other end is closed
        pass
    finally:
        os.close(controller)
    assert child.wait(timeout=60) == 0
    lines = text.decode().splitlines()
    assert max(len(line) for line in lines) <= width
    assert "CPL B; outbound P, NP and CPL" in " ".join(" ".join(lines).split())
