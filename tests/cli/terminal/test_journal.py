"""Messages where standard error is the journal of systemd: with a socket of the test, and without one."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from ptttool.cli.terminal import journal, talk
from ptttool.cli.terminal.journal import Priority, send, takes
from ptttool.cli.terminal.talk import note, print_diagnostic
from ptttool.diagnostics import Diagnostic, Severity
from tests import ROOT


class Stream(io.StringIO):
    """A text stream that has a descriptor."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor


@pytest.fixture
def stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stream]:
    """Standard error as systemd gives it; there is no socket."""
    with (tmp_path / "stderr").open("w") as file:
        about = os.fstat(file.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{about.st_dev}:{about.st_ino}")
        monkeypatch.setattr(journal, "SOCKET", str(tmp_path / "socket"))
        standard_error = Stream(file.fileno())
        # Not in sys itself: pytest puts its own there for each phase of a test.
        monkeypatch.setattr(talk, "sys", SimpleNamespace(stderr=standard_error))
        yield standard_error


@pytest.fixture
def received(stream: Stream, tmp_path: Path) -> Iterator[socket.socket]:
    """The journal's socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "socket"))
        listening.settimeout(60)
        yield listening


def fields(message: bytes) -> dict[str, str]:
    return dict(line.split("=", 1) for line in message.decode().splitlines())


WARNING = Diagnostic(Severity.WARNING, "little-space", "the disk\nis \x1b[31mfull", "make room", "/srv")


def test_fields(received: socket.socket, stream: Stream) -> None:
    print_diagnostic(WARNING)
    assert fields(received.recv(65536)) == {
        "MESSAGE": "ptttool: warning: the disk\\x0ais \\x1b[31mfull",
        "PRIORITY": "4",
        "SYSLOG_IDENTIFIER": "ptttool",
        "PTTTOOL_CODE": "little-space",
        "PTTTOOL_HINT": "make room",
        "PTTTOOL_WHERE": "/srv",
    }
    note("done")
    assert fields(received.recv(65536))["PRIORITY"] == "6"
    assert stream.getvalue() == ""


def test_a_value_cannot_add_a_field(received: socket.socket) -> None:
    assert send("text\nPRIORITY=0", Priority.INFO, {"code": "a\nMESSAGE=b", "hint": None}) is None
    assert fields(received.recv(65536)) == {
        "MESSAGE": "text PRIORITY=0",
        "PRIORITY": "6",
        "SYSLOG_IDENTIFIER": "ptttool",
        "PTTTOOL_CODE": "a MESSAGE=b",
    }


def test_without_the_socket_lines_have_their_priority(stream: Stream) -> None:
    print_diagnostic(WARNING)
    note("done")
    assert [line[:3] for line in stream.getvalue().splitlines()] == ["<4>", "<6>"]


def test_a_message_that_is_too_long_for_the_socket(received: socket.socket, stream: Stream) -> None:
    note("x" * 10_000_000)
    assert stream.getvalue().startswith("<6>ptttool: xxx")


@pytest.mark.parametrize("given", [None, "", "0:0", "1:2:3", "strange"])
def test_elsewhere_nothing_changes(stream: Stream, monkeypatch: pytest.MonkeyPatch, given: str | None) -> None:
    """Also in a process that has inherited the variable and got another standard error."""
    if given is None:
        monkeypatch.delenv("JOURNAL_STREAM")
    else:
        monkeypatch.setenv("JOURNAL_STREAM", given)
    note("done")
    assert stream.getvalue() == "ptttool: done\n"
    assert not takes(io.StringIO())


def test_an_error_of_a_command(tmp_path: Path) -> None:
    """In a process of its own, whose standard error is the file that the variable names."""
    path = tmp_path / "stderr"
    with path.open("w") as file:
        about = os.fstat(file.fileno())
        environment = {**os.environ, "JOURNAL_STREAM": f"{about.st_dev}:{about.st_ino}", "PYTHONPATH": str(ROOT)}
        code = "import sys; from ptttool.cli.terminal import journal; journal.SOCKET = '/nowhere'; from ptttool.cli.main import main;"
        done = subprocess.run([sys.executable, "-c", f"{code} sys.exit(main(['info', '/nowhere']))"], stderr=file, env=environment)
    assert done.returncode == 6
    lines = path.read_text().splitlines()
    assert lines[0].startswith("<3>ptttool: error: ")
    assert all(line[:1] == "<" and line[2:3] == ">" for line in lines)
    again = subprocess.run([sys.executable, "-m", "ptttool", "info", "/nowhere"], env=environment, capture_output=True, text=True)
    assert again.stderr.startswith("ptttool: error: ")


JOURNALD = Path("/lib/systemd/systemd-journald")
# A journal in a mount namespace of its own, with an empty /run; this systemd-cat does not set the variable, as a unit's systemd does.
SCRIPT = """
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/journal /run/log/journal
{journald} >/dev/null 2>&1 &
while ! [ -S /run/systemd/journal/stdout ]; do sleep 0.02; done
systemd-cat sh -c 'JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec "$0" -m ptttool info /nowhere' "$1" || true
journalctl --sync
journalctl -D /run/log/journal -o json --no-pager SYSLOG_IDENTIFIER=ptttool
kill $!
wait $! || true
"""


@pytest.mark.skipif(os.geteuid() != 0 or not JOURNALD.exists(), reason="needs root, for a mount namespace, and systemd-journald")
def test_the_real_journal() -> None:
    script = SCRIPT.replace("{journald}", str(JOURNALD))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", sys.executable], env=environment, capture_output=True, text=True)
    (entry,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert {name: entry.get(name) for name in ("PRIORITY", "_TRANSPORT", "PTTTOOL_CODE", "PTTTOOL_EXIT_CODE")} == {
        "PRIORITY": "3",
        "_TRANSPORT": "journal",
        "PTTTOOL_CODE": "no-such-file",
        "PTTTOOL_EXIT_CODE": "6",
    }
