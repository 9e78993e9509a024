"""The scripts in the shells themselves."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ptttool.cli.completion.scripts import script_of
from ptttool.cli.main import main
from ptttool.errors import UsageError
from tests import ROOT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the scripts and a ptttool."""
    for shell in ("bash", "zsh", "fish"):
        (tmp_path / f"complete.{shell}").write_text(script_of(shell))
    command = tmp_path / "ptttool"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ptttool "$@"\n')
    command.chmod(0o755)
    (tmp_path / "some file.data").touch()
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "HOME": str(folder), "TERM": "dumb"}


def typed(folder: Path, shell: list[str], before: str, line: str, wanted: str) -> str:
    """Type a line and Tab at a shell's prompt until it shows what is wanted; return all that it showed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(shell[0], shell, environment(folder))
    shown, end = "", time.monotonic() + 120
    try:
        os.write(terminal, f"{before}; echo rea''dy\n".encode())
        sent = False
        while time.monotonic() < end and not (sent and wanted in shown):
            if not sent and "ready" in shown:
                os.write(terminal, f"{line}\t\t".encode())
                sent = True
            if select.select([terminal], [], [], 0.5)[0]:
                shown += os.read(terminal, 65536).decode(errors="replace")
            elif sent:
                os.write(terminal, b"\t")
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)
    return shown


def program(name: str) -> str:
    path = shutil.which(name)
    assert path is not None, f"{name} is not installed (make test installs it)"
    return path


def test_bash(folder: Path) -> None:
    start = [program("bash"), "--norc", "-i"]
    before = "PS1='> '; source ./complete.bash"
    assert "qos_tx_np=" in typed(folder, start, before, "ptttool tune set --demo ens2 qos_tx_n", "qos_tx_np=")
    assert "some\\ file.data" in typed(folder, start, before, "ptttool info so", "some\\ file.data")


def test_zsh(folder: Path) -> None:
    start = [program("zsh"), "-f", "-i"]
    before = "PS1='> '; autoload -Uz compinit; compinit -u -D; source ./complete.zsh"
    shown = typed(folder, start, before, "ptttool trace --demo --rootport 0000:00:1", "ens6f0, ens6f1")
    assert "0000:00:12.0  empty" in shown


def test_zsh_finds_it_in_its_path(folder: Path) -> None:
    (folder / "functions").mkdir()
    (folder / "complete.zsh").rename(folder / "functions/_ptttool")
    before = "PS1='> '; fpath+=$PWD/functions; autoload -Uz compinit; compinit -u -D"
    assert "hisi_ptt2_0" in typed(folder, [program("zsh"), "-f", "-i"], before, "ptttool tune show --demo hisi", "hisi_ptt2_0")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("ptttool tune set --demo ens2 qos_tx_p=", "qos_tx_p=2"),
        ("ptttool list --demo enp", "enp7s0"),
        ("ptttool info so", "some file.data"),
    ],
)
def test_fish(folder: Path, line: str, found: str) -> None:
    script = f"source complete.fish; complete -C '{line}'"
    done = subprocess.run([program("fish"), "-c", script], cwd=folder, env=environment(folder), capture_output=True, text=True, check=True)
    assert found in [row.partition("\t")[0].replace("\\ ", " ") for row in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("shell", "path"),
    [
        ("bash", ".local/share/bash-completion/completions/ptttool"),
        ("zsh", ".zfunc/_ptttool"),
        ("fish", ".config/fish/completions/ptttool.fish"),
    ],
)
def test_install(shell: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert main(["--install-completion"]) == 0
    assert (tmp_path / path).read_text() == script_of(shell)
    capsys.readouterr()
    assert main(["--show-completion", shell]) == 0
    assert capsys.readouterr().out == script_of(shell)


def test_another_shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SHELL", "/bin/csh")
    assert main(["--install-completion"]) == 2
    assert main(["--show-completion", "csh"]) == 2
    with pytest.raises(UsageError) as caught:
        script_of("csh")
    assert caught.value.code == "unknown-shell"
