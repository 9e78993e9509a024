"""A locale without UTF-8: everything for people is ASCII; JSON says the same in every locale."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ptttool.cli.terminal import letters

PROGRAM = """
import sys
from ptttool.cli.terminal.streams import settle_streams
settle_streams()
from ptttool.cli.main import main
for line in sys.argv[1:]:
    assert main(line.split()) == 0, line
"""
LINES = [
    "list --demo --tree",
    "tune set --demo hisi_ptt0_0 qos_tx_p=2",
    "trace --demo --rootport 0000:00:10.0 --duration 1 -o a.data",
    "decode a.data --limit 5",
    "analyze traffic,payload,latency,bandwidth,outstanding a.data",
    "explain --demo 0x7080001",
    "decode --help",
]


def run(folder: Path, lines: list[str], **environment: str) -> tuple[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *lines], cwd=folder, env={**kept, **environment}, capture_output=True, check=True, timeout=120
    )
    return done.stdout.decode(), done.stderr.decode()


def test_ascii_alone(tmp_path: Path) -> None:
    out, err = run(tmp_path, LINES, LC_ALL="C", COLUMNS="80")
    assert out.isascii()
    assert err.isascii()
    assert "`-- " in out or "+-- " in out
    assert "1 -> 2" in out


def test_unicode_where_the_locale_has_it(tmp_path: Path) -> None:
    out, _ = run(tmp_path, LINES[:2], LC_ALL="C.UTF-8")
    assert "1 → 2" in out
    assert "├── " in out


def test_json_is_the_same_in_every_locale(tmp_path: Path) -> None:
    lines = ["list --demo --json"]
    assert json.loads(run(tmp_path, lines, LC_ALL="C")[0]) == json.loads(run(tmp_path, lines, LC_ALL="C.UTF-8")[0])


CASES = [
    ({"LC_ALL": "C"}, False),
    ({"LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"}, False),
    ({"LC_ALL": "de_DE.utf8"}, True),
    ({"LC_CTYPE": "de_DE.ISO-8859-1", "LANG": "de_DE.UTF-8"}, False),
    ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),  # Python has set LC_CTYPE
    ({"LANG": "en_US.UTF-8"}, True),
    ({}, True),
    ({"LC_CTYPE": "C.UTF-8"}, True),
]


@pytest.mark.parametrize(("variables", "has_it"), CASES)
def test_what_the_locale_has(variables: dict[str, str], has_it: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert letters.has_unicode_locale() is has_it


def test_every_letter_has_a_form_in_ascii() -> None:
    assert "→ … × µ ├ █ é".encode("ascii", letters.HANDLER) == b"-> ... x u + # \\xe9"
