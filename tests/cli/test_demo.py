"""Every command that takes ``--demo`` runs on what comes with ptttool: the machine and its recordings."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from tempfile import gettempdir

import pytest

from ptttool.cli.app import app
from ptttool.cli.main import load_commands, main
from tests.generated import manpages

EVENT = "hisi_ptt0_0/filter=0x80001,type=6,direction=2,format=0/"
ARGUMENTS: dict[str, list[str]] = {
    "analyze": ["traffic"],
    "collect": ["-o", "support.tar.gz"],
    "compare": ["replayed.data", "replayed.data"],
    "decode": ["--limit", "2"],
    "doctor": [],
    "event": ["--rootport", "nvme0"],
    "explain": [EVENT],
    "filters": [],
    "info": [],
    "list": ["--tree"],
    "metrics": [],
    "plan": ["--rootport", "nvme0", "--for", "latency"],
    "report": ["-o", "report.html"],
    "top": ["--rootport", "0000:00:10.0", "--count", "1", "--batch"],
    "trace": ["--rootport", "0000:00:10.0", "-o", "new.data"],
    "tune apply": ["saved.json"],
    "tune diff": ["saved.json"],
    "tune export": ["storage", "--to", "udev"],
    "tune get": ["hisi_ptt0_0", "qos_tx_cpl"],
    "tune history": [],
    "tune recover": [],
    "tune save": ["new.json"],
    "tune set": ["hisi_ptt0_0", "qos_tx_cpl=2"],
    "tune show": [],
    "tune sweep": ["--device", "0_0", "--events", "qos_tx_p", "--values", "0", "--metric", "run:seconds", "-o", "r.parquet", "--", "true"],
    "tune undo": [],
    "view": [],
}
# What the recorded machine does not hold is unknown to the doctor, it has no journal of changes, and these tests have no terminal.
CODES = {"doctor": 1, "tune undo": 2, "view": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a replayed recording and saved attributes."""
    made = tmp_path_factory.mktemp("demo")
    assert main(["trace", "--demo", "--rootport", "0000:00:10.0", "-o", str(made / "replayed.data")]) == 0
    assert main(["tune", "save", "--demo", str(made / "saved.json")]) == 0
    return made


def commands_with_demo() -> set[str]:
    load_commands()
    walked = manpages.walk(app.tree, "ptttool")
    return {path.removeprefix("ptttool ") for path, command in walked if any(each.name == "demo" for each in command.params)}


def test_every_command_is_here() -> None:
    assert set(ARGUMENTS) == commands_with_demo()


@pytest.mark.parametrize("command", ARGUMENTS)
def test_it_runs(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert main([*command.split(), "--demo", *ARGUMENTS[command]]) == CODES.get(command, 0)


@pytest.mark.parametrize("command", ["info", "analyze summary"])
def test_a_bundled_recording_is_called_by_its_name(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = set(Path(gettempdir()).glob("ptttool-*"))
    assert main([*command.split(), "--demo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == "w-randread-4dw.data"
    assert {path for path in Path(gettempdir()).glob("ptttool-*") if path.name.count("-") == 1} <= before


@pytest.mark.parametrize("command", ["info", "decode", "report"])
def test_without_the_demo_a_file_is_needed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command]) == 2
    assert capsys.readouterr().out == ""


def test_undo_can_be_rehearsed_as_its_hint_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["tune", "undo", "--demo", "--json"]) == 2
    hint = json.loads(capsys.readouterr().out)["error"]["hint"]
    collect, unpack, option = hint.partition(": ")[2].split("; ")
    assert main(collect.split()[1:]) == 0
    subprocess.run(unpack.split(), check=True)
    machine = option.split()[-2:]
    assert main(["tune", "set", *machine, "hisi_ptt0_0", "qos_tx_cpl=2"]) == 0
    assert main(["tune", "undo", *machine]) == 0
    capsys.readouterr()
    assert main(["tune", "history", *machine, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["changes"]) == 2
    assert main(["info", "demo.tar.gz", "--json"]) == 6
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "foreign-file"


@pytest.mark.parametrize(("file", "code"), [(".", "is-a-folder"), ("text.txt", "bad-toml")])
def test_what_is_no_profile(
    file: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("a text\n")
    assert main(["tune", "diff", "--demo", file, "--json"]) == 6
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], "tune save" in error["hint"]) == (code, True)
