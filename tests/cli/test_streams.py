"""Standard streams that are closed, and a terminal after a command was killed."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ptttool.cli.main import main
from tests import ROOT

ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}
WRITING = [
    "--help",
    "list --demo --json",
    "tlp 04000001 0000220f 01070000",
    "tune save --demo -",
    "generate --size 64K -o -",
    "info perf.data",
    "analyze summary perf.data",
    "decode perf.data --to parquet -o -",
    "decode perf.data --to perf",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    assert main(["generate", "--size", "64K", "-o", str(folder / "perf.data")]) == 0
    return folder


def run(folder: Path, line: str, closed: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in a shell that closes streams."""
    command = ["bash", "-c", f'"$0" -m ptttool {line} {closed}', sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=ENVIRONMENT, input="")
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("line", WRITING)
def test_a_closed_standard_output_is_an_error(folder: Path, line: str) -> None:
    done = run(folder, line, ">&-")
    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr.startswith("ptttool: error: standard output is closed\n")


@pytest.mark.parametrize(
    "line", ["decode perf.data -o out.csv --force", "tune save --demo --force profile.toml", "generate --size 64K -o g.data --force"]
)
def test_a_closed_standard_output_that_is_not_needed(folder: Path, line: str) -> None:
    assert run(folder, line, "<&- >&- 2>&-").returncode == 0


def test_no_output_file_gets_the_number_of_a_closed_stream(folder: Path) -> None:
    """Messages would end up in it."""
    assert run(folder, "decode perf.data --limit 1 --columns index -o few.csv --force", "<&- >&- 2>&-").returncode == 0
    assert (folder / "few.csv").read_text() == "index\n0\n"


READING = "decode -|decode --input 4dw -|info -|tune diff --demo -"


@pytest.mark.parametrize("line", READING.split("|"))
def test_a_closed_standard_input_is_an_error(folder: Path, line: str) -> None:
    done = run(folder, f"{line} --json", "<&-" if "decode" in line else "0>/dev/null")
    assert done.returncode == 6
    assert json.loads(done.stdout)["error"]["code"] == "closed"


@pytest.mark.parametrize(("line", "code"), [("info perf.data", 0), ("info none.data", 6), ("list --demo", 0)])
def test_a_closed_standard_error_changes_nothing(folder: Path, line: str, code: int) -> None:
    there, gone = run(folder, line, ""), run(folder, line, "2>&-")
    assert (there.returncode, gone.returncode) == (code, code)
    assert there.stdout == gone.stdout


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGKILL])
def test_the_cursor_stays(number: int) -> None:
    """A command shows its progress after a second."""
    terminal, theirs = pty.openpty()
    command = [sys.executable, "-m", "ptttool", "generate", "--size", "64G", "-o", "/dev/null"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs, cwd=ROOT, env=ENVIRONMENT)
    os.close(theirs)
    seen = b""
    deadline = time.monotonic() + 20
    while b"MiB" not in seen and time.monotonic() < deadline:
        if select.select([terminal], [], [], 1)[0]:
            seen += os.read(terminal, 4096)
    process.send_signal(number)
    process.wait()
    os.close(terminal)
    assert b"MiB" in seen
    assert b"\x1b[?25l" not in seen
