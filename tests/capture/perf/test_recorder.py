"""perf run and stopped, its file brought home: with the stand-in perf as the real one was recorded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ptttool.capture.checks.host import running_processes
from ptttool.capture.keep import Destination
from ptttool.capture.perf.recorder import Outcome, Recorder, RecordingProgress, duplicate_of_stderr, is_complete, with_own_stderr
from tests import ROOT

STANDIN = str(Path(__file__).parents[2] / "standin" / "perf")
EVENT = "hisi_ptt0_0/filter=0x80001,type=7,direction=2,format=1/"


def arguments(output: Path, *command: str) -> list[str]:
    return [
        sys.executable,
        STANDIN,
        "record",
        "-e",
        EVENT,
        "-C",
        "0",
        "-m",
        ",64M",
        "-o",
        str(output),
        *(("--", *command) if command else ()),
    ]


def run(output: Path, *command: str, during: Callable[[int], None] | None = None, after: float = 0.4) -> Outcome:
    """Record; ``during`` is called with our process id once it has begun."""
    began = threading.Event()

    def act() -> None:
        began.wait(10)
        time.sleep(after)
        assert during is not None
        during(os.getpid())

    thread = threading.Thread(target=act)
    if during is not None:
        thread.start()
    outcome = Recorder(arguments(output, *command), output).run(lambda progress: began.set() if progress.size else None)
    if during is not None:
        thread.join()
    return outcome


def test_command(tmp_path: Path) -> None:
    seen: list[RecordingProgress] = []
    output = tmp_path / "perf.data"
    outcome = Recorder(arguments(output, "sleep", "0.7"), output).run(seen.append)
    assert (outcome.exit_status, outcome.complete, outcome.stopped_by) == (0, True, None)
    assert outcome.size == output.stat().st_size
    assert "Captured and wrote" in outcome.stderr
    assert len(seen) >= 2
    assert seen[-1].elapsed > seen[0].elapsed
    assert seen[-1].size > 0
    assert 0.6 < (outcome.ended - outcome.started).total_seconds() < 5
    assert outcome.started.utcoffset() is not None


@pytest.mark.parametrize(("command", "status"), [("exit 7", 7), ("kill -SEGV $$", -11), ("exit 255", 255)])
def test_status_is_the_commands(tmp_path: Path, command: str, status: int) -> None:
    outcome = run(tmp_path / "perf.data", "sh", "-c", command)
    assert (outcome.exit_status, outcome.complete) == (status, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_to_us_stops_perf(tmp_path: Path, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    outcome = run(tmp_path / "perf.data", during=lambda pid: os.kill(pid, number))
    assert (outcome.complete, outcome.stopped_by) == (True, number.name)
    assert outcome.exit_status == -(signal.SIGTERM if number == signal.SIGTERM else signal.SIGINT)
    assert signal.getsignal(number) is before


def test_second_interrupt_while_perf_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_CASE", "slow-to-finish")

    def twice(pid: int) -> None:
        os.kill(pid, signal.SIGINT)
        time.sleep(0.5)
        os.kill(pid, signal.SIGINT)

    outcome = run(tmp_path / "perf.data", "sleep", "20", during=twice)
    assert outcome.complete
    # perf has seen both, and ended as its command did: by the SIGTERM that it sent it.
    assert "signals: [2, 2]" in outcome.stderr
    assert outcome.exit_status == -signal.SIGTERM


def test_interrupt_before_perf_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_CASE", "late-to-begin")
    output = tmp_path / "perf.data"
    timer = threading.Timer(0.8, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    outcome = Recorder(arguments(output), output).run()
    timer.join()
    assert (outcome.complete, outcome.exit_status, outcome.stopped_by) == (False, -signal.SIGTERM, "SIGTERM")
    assert not output.exists()


def test_our_own_failure_leaves_no_perf_behind(tmp_path: Path) -> None:
    output = tmp_path / "perf.data"

    def fail(progress: RecordingProgress) -> None:
        if progress.size:
            raise ValueError("from the progress line")

    recorder = Recorder(arguments(output, "sleep", "30"), output)
    with pytest.raises(ValueError, match="progress line"):
        recorder.run(fail)
    assert not [process for process in running_processes() if str(output) in process.arguments]


def test_missing_perf(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Recorder([str(tmp_path / "perf"), "record"], tmp_path / "perf.data").run()


@pytest.mark.parametrize("case", ["busy-a", "command-missing", "killed", "disk-full"])
def test_unfinished_files_are_not_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.setenv("STANDIN_CASE", case)
    outcome = run(tmp_path / "perf.data", "sleep", "0.1")
    assert (tmp_path / "perf.data").exists()
    assert not outcome.complete
    assert outcome.exit_status in (255, -signal.SIGKILL)


def test_is_complete(tmp_path: Path) -> None:
    assert not is_complete(tmp_path / "none")
    (tmp_path / "text").write_bytes(b"x" * 100)
    assert not is_complete(tmp_path / "text")


def sidecar_of(path: Path) -> Path:
    return Path(f"{path}.json")


def test_destination_keeps_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    for generation in ("first", "second", "third"):
        destination = Destination(path)
        destination.unfinished.write_text(generation, encoding="utf-8")
        old = destination.keep(sidecar_of)
        assert old == (None if generation == "first" else tmp_path / "perf.data.old")
        if generation != "second":
            sidecar_of(path).write_text(generation, encoding="utf-8")
    # The second had no sidecar: that of the first must not pass for its own.
    assert {one.name: one.read_text(encoding="utf-8") for one in tmp_path.iterdir()} == {
        "perf.data": "third",
        "perf.data.json": "third",
        "perf.data.old": "second",
    }


def test_destination_discard(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_text("good", encoding="utf-8")
    destination = Destination(path)
    destination.unfinished.write_bytes(b"")
    destination.discard()
    destination.discard()
    assert [one.name for one in tmp_path.iterdir()] == ["perf.data"]


def test_destination_over_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(b"")
    destination = Destination(path)
    destination.unfinished.write_bytes(b"new")
    assert destination.keep() is None
    assert path.read_bytes() == b"new"


def test_traced_command_keeps_its_standard_error() -> None:
    """perf's standard error is a file of ours; the command's is where it was, and status and arguments are its own."""
    code = (
        "import subprocess, sys\n"
        "from ptttool.capture.perf.recorder import duplicate_of_stderr, with_own_stderr\n"
        "with duplicate_of_stderr() as descriptor:\n"
        "    command = with_own_stderr(['sh', '-c', 'echo \"$1\" >&2; exit 9', 'sh', 'a  b'], descriptor)\n"
        "    done = subprocess.run(command, stderr=subprocess.DEVNULL, pass_fds=[descriptor])\n"
        "sys.exit(done.returncode)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (9, "a  b\n")


def test_no_low_descriptor_left() -> None:
    taken: list[int] = []
    try:
        while not taken or taken[-1] < 12:
            taken.append(os.dup(2))
        with duplicate_of_stderr() as descriptor:
            assert descriptor is None
    finally:
        for number in taken:
            os.close(number)
    assert with_own_stderr(["true"], 9)[-1] == "true"
