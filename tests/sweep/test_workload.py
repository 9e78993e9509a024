"""Workloads that end, crash, hang, write too much, and leave processes behind."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from ptttool.errors import UsageError
from ptttool.sweep import workload
from ptttool.sweep.workload import Ending, require_command, run_workload


def sh(text: str) -> list[str]:
    return ["sh", "-c", text]


def test_output_and_time() -> None:
    done = run_workload(sh("echo out; echo err >&2; sleep 0.1"))
    assert (done.ending, done.exit, done.stdout, done.stderr, done.reason) == (Ending.DONE, 0, b"out\n", b"err\n", "")
    assert 0.1 <= done.seconds < 5


def test_a_large_output_is_read_whole() -> None:
    done = run_workload(sh("head -c 3000000 /dev/zero; echo x=7"))
    assert len(done.stdout) == 3000004
    assert done.stdout.endswith(b"x=7\n")


def test_too_much_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "MOST_OUTPUT", 1 << 20)
    done = run_workload(["yes"])
    assert done.ending is Ending.TOO_MUCH_OUTPUT
    assert "MiB" in done.reason


@pytest.mark.parametrize(("text", "exit_", "word"), [("echo broken >&2; exit 3", 3, "broken"), ("kill -SEGV $$", -11, "SIGSEGV")])
def test_a_workload_that_fails(text: str, exit_: int, word: str) -> None:
    done = run_workload(sh(text))
    assert (done.ending, done.exit) == (Ending.FAILED, exit_)
    assert word in done.reason


def alive(path: Path) -> bool:
    try:
        state = Path(f"/proc/{path.read_text().strip()}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone(path: Path) -> bool:
    until = time.monotonic() + 30
    while alive(path) and time.monotonic() < until:
        time.sleep(0.02)
    return not alive(path)


def test_a_timeout_ends_the_whole_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload, "_GRACE", 0.2)
    pid = tmp_path / "pid"
    # The parent and its child ignore SIGTERM.
    done = run_workload(sh(f"trap '' TERM; sleep 60 & echo $! > {pid}; wait; wait"), timeout=0.3)
    assert (done.ending, done.exit) == (Ending.TIMEOUT, -9)
    assert gone(pid)


def test_what_runs_on_behind_the_workload_is_ended_and_not_waited_for(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    began = time.monotonic()
    done = run_workload(sh(f"sleep 60 & echo $! > {pid}; echo x=1"))
    assert (done.ending, done.stdout) == (Ending.DONE, b"x=1\n")
    assert time.monotonic() - began < 30
    assert gone(pid)


def test_an_interruption_ends_it() -> None:
    looks = iter([False, False])
    done = run_workload(["sleep", "60"], stop=lambda: next(looks, True))
    assert (done.ending, done.exit) == (Ending.INTERRUPTED, -15)


def test_it_has_no_terminal_and_reads_nothing() -> None:
    code = "import os, sys; print(sys.stdin.read() == '', os.getsid(0) == os.getpid())"
    assert run_workload([sys.executable, "-c", code]).stdout == b"True True\n"


def test_nothing_stays_open() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        run_workload(["true"])
        run_workload(["sleep", "60"], timeout=0.01)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_programs_that_cannot_be_started(tmp_path: Path) -> None:
    for command in ([], [""], ["no-such-program-at-all"], [str(tmp_path)]):
        with pytest.raises(UsageError):
            require_command(command)
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    with pytest.raises(UsageError) as caught:
        run_workload([str(broken)])
    assert caught.value.code == "command-not-started"
