"""No option is ignored in silence: what has no effect beside another is wrong usage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ptttool.cli.app import app
from ptttool.cli.help.described import choices_of, is_argument, value_name
from ptttool.cli.main import load_commands, main
from ptttool.errors import UsageError

# Command, the option that makes most others idle, and the parameters that have an effect beside it.
READING = "protocol parameter params channel input_format pattern downstream jobs scheduler tls_ca tls_cert tls_key sysfs demo"
MODES = [
    ("decode", "--protocols", "protocols files json"),
    ("decode", "--columns help", "columns protocol files"),
    ("decode", "a.data --follow 1", f"files follow to json time_model tick_ns {READING}"),
    (
        "decode",
        "a.data -o folder/",
        f"files output to json force where columns words raw partition strict protocols context follow {READING}",
    ),
    ("analyze", "--list", "listing to json"),
    ("info", "a.series.json", "file json demo"),
    ("metrics", "--dashboard", "dashboard output json"),
    ("tune export", "--uninstall --root nowhere --yes", "uninstall to root yes json"),
]


def _words(parameter: Any) -> list[str]:
    if is_argument(parameter):
        return ["word"]
    name = max(parameter.opts, key=len)
    if not value_name(parameter):
        return [name]
    return [name, *(choices_of(parameter)[:1] or ["1"])]


@pytest.mark.parametrize(("command", "mode", "takes"), MODES)
def test_an_option_beside_which_others_are_idle(
    command: str, mode: str, takes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.series.json").write_text("{}")
    load_commands()
    group: Any = app.tree
    one = group
    for word in command.split():
        one = one.commands[word]
    idle = [parameter for parameter in one.params if parameter.name not in takes.split()]
    assert idle
    for parameter in idle:
        with pytest.raises(UsageError) as caught:
            group.main([*command.split(), *mode.split(), *_words(parameter)], prog_name="ptttool", standalone_mode=False)
        assert caught.value.code == "exclusive-options", parameter.name


@pytest.mark.parametrize(
    "line",
    [
        "list --demo --tree --verbose",
        "list --demo --tree --json",
        "info a.data --json --top 3",
        "analyze traffic a.data --json --top 3",
        "metrics a.data --no-doctor",
        "tune recover --demo --force",
        "tune recover --demo --no-journal",
        "tune export --demo storage --root image",
        "tune export --demo storage --yes",
        "tune sweep --demo --device hisi_ptt0_0 --dry-run --events qos_tx_p --values 0 --metric run:seconds --resume x -- true",
        "tune sweep --demo --device hisi_ptt0_0 --dry-run --events qos_tx_p --values 0 --metric run:seconds --trace --bogus -- true",
    ],
)
def test_what_has_no_effect_is_wrong_usage(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    assert capsys.readouterr().err


def test_the_dashboard_goes_to_the_file_that_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "d.json"
    assert main(["metrics", "--dashboard", "-o", str(file)]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(file.read_text())["panels"]


def test_tlps_have_no_packets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(tmp_path / "a.data")
    assert main(["trace", "--demo", "--rootport", "nvme0", "--duration", "1", "--no-decode", "-q", "-o", data]) == 0
    for output in ([], ["-o", str(tmp_path / "folder/")]):
        assert main(["decode", data, "--no-raw", *output]) == 2
    assert capsys.readouterr().out == ""
    assert main(["decode", data, "-o", f"{tmp_path}/named/", "--demo", "--where", "requester = 'nvme0'"]) == 0
