"""What ``--json`` prints keeps its keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ptttool.cli.main import main
from tests.support import captures

KEYS = {
    "list": "version origin kernel hostname diagnostics devices functions",
    "filters": "diagnostics devices",
    "tune show": "devices",
    "tune get": "device values",
    "tune set": "device dry_run changes ports_known root_ports",
    "tune save": "file devices",
    "tune diff": "profile equal rows left_alone",
    "tune apply": "profile dry_run changes missing left_alone",
    "event": (
        "event config config_hex command command_line device fields root_ports requester types direction completions "
        "format pattern inbound outbound checked warnings notes"
    ),
    "explain": ("source event machine device config config_hex fields filter types refused inbound outbound format pattern fits problems"),
    "trace": (
        "device event config cpu aux_size duration root_ports requester types direction completions format pattern "
        "command warnings recording old sidecar size elapsed stopped_by traced replay_of summary signs_of_loss"
    ),
    "info": (
        "path mode host started command event config explanation formats streams container_records container_unknown "
        "records payload_bytes kinds classes requesters time findings signs_of_loss problems"
    ),
    "tlp": "words prefix pattern fields meaning oddities",
    "generate": "file profile format pattern direction seed event config records size streams duration",
    "protocols": "protocols",
}
PORT = ["--rootport", "0000:00:10.0"]


def documented(command: str) -> list[str]:
    return KEYS[command].split()


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
