"""What completes a command line."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ptttool.cli.completion import answer as answering
from ptttool.cli.completion.answer import answer
from ptttool.cli.completion.line import command_line, split, without_start
from ptttool.testing import FakeMachine
from tests.support.machines import MACHINES, NEW

TREE = shlex.quote(str(MACHINES / NEW))
ATTRIBUTES = ["qos_tx_cpl", "qos_tx_np", "qos_tx_p", "rx_alloc_buf_level", "tx_alloc_buf_level"]


def found(line: str) -> list[str]:
    return [value for value, _ in answer(split(line)[0]).found]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("tr", ["trace"]),
        ("tune se", ["set"]),
        ("tune set --demo ", ["hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0"]),
        (f"tune set --sysfs {TREE} hisi_ptt2", ["hisi_ptt2_0"]),
        (f"tune set --sysfs={TREE} 0", ["0_0", "0_2"]),
        ("list --demo ens", ["ens2", "ens6f0", "ens6f1"]),
        ("list --demo 0000:00:09", ["0000:00:09.0"]),
        ("tune set --demo ens2 ", [f"{name}=" for name in ATTRIBUTES]),
        ("tune set --demo ens2 qos_tx_p=", ["qos_tx_p=0", "qos_tx_p=1", "qos_tx_p=2"]),
        ("tune set --demo ens2 qos_tx_p=2 qos_tx_", ["qos_tx_cpl=", "qos_tx_np="]),
        ("tune set --demo --all rx", ["rx_alloc_buf_level="]),
        ("tune get --demo 0_0 tx", ["tx_alloc_buf_level"]),
        ("trace --demo --rootport nv", ["nvme0", "nvme0n1", "nvme1", "nvme1n1"]),
        ("trace --demo --rootport=ens2,enp", ["--rootport=ens2,enp7s0"]),
        ("trace --demo --rootport 0000:00:1", [f"0000:00:{port}.0" for port in (10, 11, 12, 14, 15)]),
        ("trace --demo --rootport 00:15", ["00:15.0"]),
        ("trace --demo --device 0_2 --rootport 0000:00:1", ["0000:00:14.0", "0000:00:15.0"]),
        ("trace --demo --device=0_2 --cpu ", ["0", "1"]),
        ("event --demo --requester enp", ["enp7s0"]),
        ("filters --demo --device hisi_ptt2", ["hisi_ptt2_0"]),
        ("trace --type ", ["p", "np", "cpl"]),
        ("trace --type np,", ["np,p", "np,cpl"]),
        ("trace --direction i", ["inbound"]),
        ("decode x.data --to j", ["jsonl"]),
        ("decode --columns index,kin", ["index,kind"]),
        ("decode --protocol riscv-f", ["riscv-flow"]),
        ("decode -p version=2", ["version=2.0", "version=2019"]),
        ("decode --input 8", ["8dw"]),
        ("decode --partition host,", ["host,device", "host,recording"]),
        ("analyze summary,lo", ["summary,loss"]),
        ("tune sweep --values 0,", ["0,1", "0,2"]),
        ("tune sweep --demo --device 0_0 --attributes qos_tx_p,q", ["qos_tx_p,qos_tx_cpl", "qos_tx_p,qos_tx_np"]),
        ("tune export --to ud", ["udev"]),
        ("tune sweep --metric fio:read.iop", ["fio:read.iops"]),
        ("generate --profile n", ["network", "nvme"]),
        ("trace --rootp", ["--rootport"]),
        ("trace --demo --dem", []),
        ("list --demo -- --", []),
        ("tlp --jso", ["--json"]),
    ],
)
def test_values(line: str, values: list[str]) -> None:
    assert found(line) == values


def test_help_is_with_the_values() -> None:
    texts = dict(answer(["trace", "--demo", "--rootport", ""]).found)
    assert texts["0000:00:12.0"] == "empty"
    assert texts["nvme0"] == "behind 0000:00:10.0"
    assert "'MRd'" in dict(answer(["decode", "--where"]).found)["--where"]  # in quotes, as it works


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("info ", "files"),
        ("trace -o ", "files"),
        ("list --sysfs ", "files"),
        ("analyze latency ", "files"),
        ("trace --rootport nvme0 -- f", "commands"),
        ("trace --rootport nvme0 fio jo", "files"),
        ("nonsense x", "files"),
        ("decode -n ", ""),
        ("tune diff ", "files"),
    ],
)
def test_what_the_shell_completes_itself(line: str, instead: str) -> None:
    assert answer(line.split(" ")).instead == instead


def test_the_running_machine(ptt_machine: FakeMachine) -> None:
    assert found("tune show ") == ["hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0"]


def test_no_machine_is_silence(tmp_path: Path) -> None:
    assert found(f"tune show --sysfs {tmp_path}/nowhere ") == []
    assert found(f"tune set --sysfs {tmp_path} x ") == [f"{name}=" for name in ATTRIBUTES]


def test_names_that_a_shell_would_run_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "sys/devices/pci0000:00/0000:00:10.0/net"
    for name in ("eth0", "$(reboot)", "a b", "`x`", "x;y", "..\x1b[2J"):
        (folder / name).mkdir(parents=True)
    (folder.parent / "vendor").write_text("0x19e5\n")
    (tmp_path / "sys/devices/pci0000:00/hisi_ptt0_0/root_port_filters").mkdir(parents=True)
    (tmp_path / "sys/devices/pci0000:00/hisi_ptt0_0/root_port_filters/0000:00:10.0").write_text("0x80001\n")
    assert found(f"list --sysfs {tmp_path} e") == ["eth0"]
    assert found(f"list --sysfs {tmp_path} $") == []


def ask(line: str, *, python: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"_PTTTOOL_COMPLETE": "bash", "_PTTTOOL_LINE": line, "_PTTTOOL_BREAKS": " \t\n\"'@><=;|&(:"}
    return subprocess.run([sys.executable, *python, "-m", "ptttool"], env=environment, capture_output=True, text=True, check=True)


def test_bash_gets_what_is_behind_its_word_breaks() -> None:
    assert ask("sudo ptttool trace --demo --rootport 0000:00:1").stdout.split("\n")[:3] == ["", "10.0", "11.0"]
    assert ask("ptttool tune set --demo ens2 qos_tx_p").stdout.split("\n") == [" nospace", "qos_tx_p=", ""]


def test_a_tab_is_quick() -> None:
    """It imports few modules, and none of the libraries that take long."""
    done = ask("ptttool trace --demo --rootport ", python=("-X", "importtime"))
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "ptttool.machine.discovery" in imported
    assert not imported & {"typer", "rich", "numpy", "polars", "jinja2", "ptttool.cli.app", "ptttool.cli.main"}
    # Two thirds of them are of Python itself.
    assert len(imported) <= 185


def test_a_shell_does_not_wait_for_long(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def slow(words: Sequence[str]) -> answering.Answer:
        first = True
        while words is not None:
            try:
                sum(range(1000))
            except Exception:
                continue
            except BaseException:
                if not first:
                    raise
                first = False  # as where Python closes a file
        return answering.Answer([])

    before = signal.getsignal(signal.SIGVTALRM)
    monkeypatch.setattr(answering, "answer", slow)
    monkeypatch.setattr(answering, "MOST_SECONDS", 0.1)
    try:
        assert answering.main("fish", ["list", ""]) == 1
    finally:
        signal.signal(signal.SIGVTALRM, before)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("line", "words", "raw"),
    [
        ("ptttool tr", ["ptttool", "tr"], "tr"),
        ("ptttool  trace ", ["ptttool", "trace", ""], ""),
        ("ptttool 'a b' c\\ d\"e f", ["ptttool", "a b", "c de f"], 'c\\ d"e f'),
        ("ptttool ''  x", ["ptttool", "", "x"], "x"),
        ("", [""], ""),
        ("ptttool a\\", ["ptttool", "a\\"], "a\\"),
    ],
)
def test_lines_of_bash(line: str, words: list[str], raw: str) -> None:
    assert split(line) == (words, raw)


def test_where_the_command_begins() -> None:
    assert command_line(["sudo", "/usr/bin/ptttool", "list", ""]) == ["list", ""]
    assert command_line(["p", "list", ""]) == ["list", ""]


def test_what_bash_has_already() -> None:
    assert without_start(["0000:00:10.0"], "0000:00:1", ":=") == ["10.0"]
    assert without_start(["a=1"], "a", ":=") == ["a=1"]
    assert without_start(["0000:00:10.0"], "'0000:", ":=") == ["0000:00:10.0"]


def test_words_that_are_no_words() -> None:
    """Files of words are found by commands that exist, not by what is written on a line."""
    assert answer(["../../../etc", ""]).found == []
    assert json.dumps(answer([]).found)
