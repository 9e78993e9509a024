"""What ``--json`` prints keeps its keys: the README lists them, and every command prints just these."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ptttool.cli.main import main
from tests.support import captures

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
SECTION = README[README.index("\n## JSON\n") : README.index("\n## Columns\n")]
PORT = ["--rootport", "0000:00:10.0"]


def documented(command: str) -> list[str]:
    """The keys that the README's table has for a command."""
    row = re.search(rf"(?m)^\| `{re.escape(command)}` \| (.*) \|$", SECTION)
    assert row is not None, f"the README has no row of {command}"
    return re.findall(r"`(\w+)`", row[1].partition(": ")[0])


def printed(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, Any]:
    assert main([*arguments, "--json"]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("list", ["--demo"]),
        ("filters", ["--demo"]),
        ("tune show", ["--demo"]),
        ("tune get", ["--demo", "hisi_ptt0_0", "qos_tx_p"]),
        ("tune set", ["--demo", "hisi_ptt0_0", "qos_tx_p=2"]),
        ("event", ["--demo", *PORT]),
        ("explain", ["--demo", "0x7080001"]),
        ("tlp", ["60000001", "01001e0f", "00000004", "02810040"]),
        ("protocols", []),
    ],
)
def test_keys(command: str, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(printed([*command.split(), *arguments], capsys)) == sorted(documented(command))


def test_keys_of_commands_with_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile, recording = str(tmp_path / "profile.toml"), str(tmp_path / "new.data")
    for command, arguments in (
        ("tune save", ["--demo", profile]),
        ("tune diff", ["--demo", profile]),
        ("tune apply", ["--demo", profile]),
        ("trace", ["--demo", *PORT, "-o", recording]),
        ("generate", ["--size", "64K", "-o", str(tmp_path / "generated.data")]),
        ("info", [str(captures.path_of("6.12/x-switch-port14", tmp_path))]),
    ):
        assert sorted(printed([*command.split(), *arguments], capsys)) == sorted(documented(command)), command


def test_keys_of_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(["event", "--demo"], capsys, code=2)
    assert list(document) == ["error"]
    assert {"code", "exit_code", "message", "hint"} <= set(document["error"])
