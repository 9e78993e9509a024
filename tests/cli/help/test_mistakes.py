"""Mistakes that people make: exit code, error code, and what the hint suggests. No sentence of a library is shown."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from ptttool.cli.main import main
from ptttool.cli.terminal import colours

# Parts of the sentences of the libraries behind the command line.
LEAKS = (
    "Value error",
    "Input should",
    "Invalid value",
    "Got unexpected",
    "No such option",
    "Missing argument",
    "Missing option",
    "requires an",
)

COMMANDS = [
    ("record", ["ptttool trace"]),
    ("capture --rootport nvme0", ["ptttool trace"]),
    ("devices", ["ptttool list"]),
    ("ls", ["ptttool list"]),
    ("reset", ["ptttool tune apply"]),
    ("set", ["ptttool tune set"]),
    ("tune reset", ["ptttool tune apply"]),
    ("help", ["ptttool --help"]),
    ("help trace", ["ptttool --help"]),
    ("tune help", ["ptttool tune --help"]),
    ("version", ["ptttool --version"]),
    ("latency x.data", ["ptttool analyze latency"]),
    ("protocols", ["ptttool decode --protocols"]),
    ("decod x.data", ["ptttool decode"]),
    ("anal", ["ptttool analyze"]),
    ("tune aply", ["ptttool tune apply"]),
    ("tune trace", ["ptttool trace"]),
    ("xyzzy", []),
]


def failure(line: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    words = shlex.split(line)
    at = 2 if words[0] == "tune" else 1
    code = main([*words[:at], "--json", *words[at:]])
    said = capsys.readouterr()
    assert not [leak for leak in LEAKS if leak in said.err], said.err
    document = json.loads(said.out.splitlines()[-1] if said.out.count("\n") == 1 else said.out)
    found: dict[str, Any] = document["error"]
    assert not [leak for leak in LEAKS if leak in str(found)]
    return code, found


@pytest.mark.parametrize(("line", "suggestions"), COMMANDS)
def test_commands_that_do_not_exist(line: str, suggestions: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, error = failure(line, capsys)
    assert (code, error["code"], error["suggestions"]) == (2, "unknown-command", suggestions)


OPTIONS = [
    ("decode a.data --format csv", ["--to"]),
    ("trace --root-port x", ["--rootport"]),
    ("trace --port x", ["--rootport"]),
    ("trace --RootPort x", ["--rootport"]),
    ("decode a.data --filter x", ["--where"]),
    ("decode a.data --column time", ["--columns"]),
    ("decode a.data --threads 2", ["--jobs"]),
    ("trace --time 10", ["--duration"]),
    ("trace --what-if", ["--dry-run"]),
    ("list --bogus", []),
    ("list -x", []),
]


@pytest.mark.parametrize(("line", "suggestions"), OPTIONS)
def test_options_that_do_not_exist(line: str, suggestions: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, error = failure(line, capsys)
    assert (code, error["code"], error["suggestions"]) == (2, "unknown-option", suggestions)


VALUES = [
    ("decode a.data --limit 1k", "not-a-number", {"option": "--limit", "value": "1k"}),
    ("decode a.data --limit -5", "too-small", {"option": "--limit", "value": "-5", "smallest": 0}),
    ("decode a.data --jobs 0", "too-small", {"option": "--jobs", "smallest": 1}),
    ("decode a.data --jobs 100000", "too-large", {"option": "--jobs", "largest": 1024}),
    ("event --demo --rootport nvme0 --format 16dw", "unknown-choice", {"option": "--format", "suggestions": []}),
    ("list --color alway", "unknown-choice", {"option": "--color", "suggestions": ["always"]}),
    ("decode a.data --limit", "missing-value", {"option": "--limit"}),
    ("list --tree=yes", "needless-value", {"option": "--tree"}),
    ("tune get", "missing-argument", {"missing": ["DEVICE"]}),
    ("info a.data b.data", "extra-argument", {"words": ["b.data"]}),
]


@pytest.mark.parametrize(("line", "name", "details"), VALUES)
def test_values_that_are_not_taken(line: str, name: str, details: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    code, error = failure(line, capsys)
    assert (code, error["code"]) == (2, name)
    assert error | details == error


def test_short_options(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["trace", "--demo", "--rootport", "0000:00:10.0", "--duration", "1", "--no-decode", "-q", "-o", "a.data"]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["decode", "a.data", "-n", "2", "-w", "kind = 'MWr'", "-c", "index,kind", "--to", "csv"]) == 0
    assert capsys.readouterr().out.startswith("index,kind\n8,MWr\n")
    assert main(["-V"]) == 0


def test_errors_are_red_where_colour_is_wanted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert main(["--color", "always", "tune", "get"]) == 2
    assert f"{colours.Style.ERROR}error:" in capsys.readouterr().err
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    assert main(["tune", "get"]) == 2
    assert f"{colours.Style.ERROR}error:" in capsys.readouterr().err
    assert main(["--color", "never", "tune", "get"]) == 2
    assert "\x1b" not in capsys.readouterr().err
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["tune", "get"]) == 2
    assert "\x1b" not in capsys.readouterr().err
    assert main(["list", "--demo", "--color", "always"]) == 0
    assert "\x1b[1m" in capsys.readouterr().out
