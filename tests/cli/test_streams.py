"""Standard streams that are closed, or take a part of what is written, and a terminal after a command was killed."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from ptttool.cli.main import main
from tests import ROOT

pytestmark = pytest.mark.slow

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
    done = subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", cwd=folder, env=ENVIRONMENT, input="")
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("line", WRITING)
def test_a_closed_standard_output_is_an_error(folder: Path, line: str) -> None:
    done = run(folder, line, ">&-")
    assert (done.returncode, done.stdout) == (6, "")
    assert "ptttool: error: standard output is closed\n" in done.stderr


WHOLE = [
    "--help",
    "--show-completion bash",
    "list --demo",
    "list --demo --json",
    "metrics --dashboard",
    "tune save --demo -",
    "generate --size 64K -o -",
    "info perf.data",
    "analyze summary perf.data --json",
    "report perf.data -o -",
    "report perf.data -o /dev/stdout",
    "decode perf.data --limit 900",
    "decode perf.data --to csv",
    "decode perf.data --to jsonl",
    "decode perf.data --to parquet -o -",
]


@pytest.mark.parametrize(("line", "unbuffered"), [*((line, "1") for line in WHOLE), ("decode perf.data --to csv", "")])
def test_output_is_whole_or_an_error(folder: Path, line: str, unbuffered: str) -> None:
    """The limit of a file's size has the last write take a part of what it is given, as a disk that gets full does."""
    size = len(run(folder, line, "| cat").stdout.encode("utf-8", "surrogateescape"))
    command = ["prlimit", f"--fsize={size - 1}", sys.executable, "-m", "ptttool", *line.split()]
    environment = ENVIRONMENT | {"PYTHONUNBUFFERED": unbuffered}
    with (folder / "part.out").open("wb") as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, cwd=folder, env=environment)
    assert (done.returncode, (folder / "part.out").stat().st_size) == (6, size - 1)


@pytest.mark.parametrize(
    ("line", "unbuffered"),
    [("decode perf.data --to csv", ""), ("decode perf.data --to csv -o /dev/stdout", ""), ("metrics --dashboard", "1")],
)
def test_a_pipe_that_does_not_wait_gets_all(folder: Path, line: str, unbuffered: str) -> None:
    """A parent has set O_NONBLOCK for the pipe that it gives us, and reads later."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    command = [sys.executable, "-m", "ptttool", *line.split()]
    process = subprocess.Popen(command, stdout=writing, cwd=folder, env=ENVIRONMENT | {"PYTHONUNBUFFERED": unbuffered})
    deadline = time.monotonic() + 60
    while fcntl.ioctl(reading, termios.FIONREAD, b"\0" * 4) != struct.pack("i", 4096) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        got = pipe.read()
    assert process.wait() == 0
    assert got == subprocess.run(command, capture_output=True, cwd=folder, env=ENVIRONMENT).stdout


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
    deadline = time.monotonic() + 60
    while b"MiB" not in seen and time.monotonic() < deadline:
        if select.select([terminal], [], [], 1)[0]:
            seen += os.read(terminal, 4096)
    process.send_signal(number)
    process.wait()
    os.close(terminal)
    assert b"MiB" in seen
    assert b"\x1b[?25l" not in seen
