"""Locks between processes: real processes, real files."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ptttool.errors import AccessError, BusyError
from ptttool.files.locks import hold, process_start
from ptttool.files.ownership import lock_folder, state_folder

HOLDER = """
import sys
from ptttool.files.locks import hold

with hold("machine", purpose="tune apply a.toml", folder=sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "locks"


@pytest.fixture
def another(folder: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Start a process that holds the lock until it reads a line."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_one_process_at_a_time(folder: Path, another: Callable[[], subprocess.Popen[str]]) -> None:
    process = another()
    with pytest.raises(BusyError) as caught, hold("machine", purpose="tune set", subject="this machine", folder=folder):
        pytest.fail("taken twice")
    assert (caught.value.code, caught.value.exit_code) == ("locked", 75)
    holder = caught.value.details["holder"]
    assert (holder["pid"], holder["purpose"]) == (process.pid, "tune apply a.toml")
    assert "this machine" in caught.value.message
    with hold("another-machine", purpose="tune set", folder=folder):
        pass
    process.communicate("end\n")
    with hold("machine", purpose="tune set", folder=folder) as path:
        assert json.loads(path.read_text())["pid"] == os.getpid()


def test_waiting_for_the_holder(folder: Path, another: Callable[[], subprocess.Popen[str]]) -> None:
    process = another()
    asked = threading.Event()

    def end() -> None:
        asked.set()
        process.communicate("end\n")

    timer = threading.Timer(0.1, end)
    timer.start()
    with hold("machine", purpose="tune set", wait=60, folder=folder):
        assert asked.is_set()
    timer.join()


def test_a_killed_holder_leaves_a_text_that_is_harmless(folder: Path, another: Callable[[], subprocess.Popen[str]]) -> None:
    process = another()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert json.loads((folder / "machine.lock").read_text())["pid"] == process.pid
    with (
        hold("machine", purpose="tune set", folder=folder),
        pytest.raises(BusyError) as caught,
        hold("machine", purpose="x", folder=folder),
    ):
        pass
    assert caught.value.details["holder"]["pid"] == os.getpid()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', "\0" * 100, '{"pid": "x"}', "[" * 4000, '{"pid": 4194305, "started": 1}'])
def test_a_text_that_is_not_of_the_holder(folder: Path, text: str) -> None:
    with hold("machine", purpose="tune set", folder=folder) as path:
        path.write_text(text)
        with pytest.raises(BusyError) as caught, hold("machine", purpose="tune set", folder=folder):
            pass
    assert caught.value.details == {"holder": None}


def test_a_process_number_that_was_used_again(folder: Path) -> None:
    with hold("machine", purpose="tune set", folder=folder) as path:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"started": 1}))
        with pytest.raises(BusyError) as caught, hold("machine", purpose="tune set", folder=folder):
            pass
    assert caught.value.details == {"holder": None}


def test_the_file_stays_and_only_its_owner_may_read_it(folder: Path) -> None:
    before = os.umask(0)
    try:
        with hold("machine", purpose="tune set", folder=folder) as path:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    finally:
        os.umask(before)
    assert path.read_bytes() == b""
    with hold("machine", purpose="tune set", folder=folder):
        pass


def test_a_file_that_was_removed_while_it_was_held(folder: Path, another: Callable[[], subprocess.Popen[str]]) -> None:
    """Two processes that wait for the lock of a removed file do not both get it."""
    process = another()
    (folder / "machine.lock").unlink()
    with hold("machine", purpose="tune set", folder=folder), pytest.raises(BusyError), hold("machine", purpose="x", folder=folder):
        pass
    process.communicate("end\n")
    with hold("machine", purpose="tune set", folder=folder) as path:
        assert path.exists()


def test_a_file_that_is_not_kept(folder: Path) -> None:
    with hold("machine", purpose="tune set", folder=folder, keep=False) as path:
        assert path.exists()
    assert list(folder.iterdir()) == []


def test_a_child_that_outlives_the_lock(folder: Path) -> None:
    with hold("machine", purpose="tune set", folder=folder):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
        forked = os.fork()
        if forked == 0:
            signal.pause()
    try:
        with hold("machine", purpose="tune set", folder=folder):
            pass
    finally:
        os.kill(forked, signal.SIGKILL)
        os.waitpid(forked, 0)
        child.kill()
        child.wait()


def test_folders_that_are_not_safe(folder: Path, tmp_path: Path) -> None:
    folder.mkdir()
    folder.chmod(0o770)
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    (tmp_path / "file").touch()
    for path, code in ((folder, "unsafe-folder"), (link, "no-lock"), (tmp_path / "file", "no-lock"), (tmp_path / "file/below", "no-lock")):
        with pytest.raises(AccessError) as caught, hold("machine", purpose="tune set", folder=path):
            pytest.fail("taken")
        assert (caught.value.code, caught.value.exit_code) == (code, 4)
    folder.chmod(0o700)
    if os.geteuid() == 0:
        os.chown(folder, 1000, 1000)
        with pytest.raises(AccessError) as caught, hold("machine", purpose="tune set", folder=folder):
            pytest.fail("taken")
        assert caught.value.code == "unsafe-folder"


@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "folder"])
def test_files_that_are_not_locks(folder: Path, tmp_path: Path, kind: str) -> None:
    folder.mkdir(0o700)
    path = folder / "machine.lock"
    victim = tmp_path / "victim"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(victim)
        if kind == "link":
            victim.write_text("precious")
    with pytest.raises(AccessError) as caught, hold("machine", purpose="tune set", folder=folder):
        pytest.fail("taken")
    assert caught.value.code == "no-lock"
    assert not victim.exists() or victim.read_text() == "precious"


def test_names(folder: Path) -> None:
    for name in ("", "../x", "a/b", ".hidden", "a\0b", "x" * 300):
        with pytest.raises(ValueError, match="name"), hold(name, purpose="tune set", folder=folder):
            pytest.fail("taken")


def test_the_folder_of_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PTTTOOL_RUNTIME_DIR", raising=False)
    monkeypatch.delenv("PTTTOOL_STATE_DIR", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert lock_folder() == Path("/run/ptttool")
    assert state_folder() == Path("/var/lib/ptttool")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert lock_folder() == Path("/run/user/1000/ptttool")
    assert state_folder() == Path("/state/ptttool")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/anna")
    assert state_folder() == Path("/home/anna/.local/state/ptttool")
    assert lock_folder() == Path("/tmp/ptttool-1000")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "relative")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert lock_folder() == Path("/tmp/ptttool-1000")
    assert state_folder() == Path("/home/anna/.local/state/ptttool")
    monkeypatch.setenv("HOME", "")
    assert state_folder() == Path("/tmp/ptttool-1000/state")
    monkeypatch.setenv("PTTTOOL_RUNTIME_DIR", "/elsewhere")
    assert lock_folder() == Path("/elsewhere")
    monkeypatch.setenv("PTTTOOL_STATE_DIR", "/elsewhere/state")
    assert state_folder() == Path("/elsewhere/state")


def test_the_start_of_a_process() -> None:
    mine = process_start(os.getpid())
    assert mine is not None
    assert mine == process_start(os.getpid())
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process_start(child.pid) is None
    child.wait()
    assert process_start(child.pid) is None
