"""perf run and stopped, its file brought home: with the stand-in perf as the real one was recorded."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ptttool.capture.device.tracers import running_processes
from ptttool.capture.perf.recorder import Outcome, Recorder, RecordingProgress, is_complete
from ptttool.capture.perf.workload import Workload

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


def test_duration(tmp_path: Path) -> None:
    seen: list[RecordingProgress] = []
    output = tmp_path / "perf.data"
    with Workload(0.7) as workload:
        outcome = Recorder(arguments(output, *workload.words), output, workload=workload).run(seen.append)
    assert (outcome.exit_status, outcome.complete, outcome.stopped_by) == (0, True, None)
    assert outcome.size == output.stat().st_size
    assert "Captured and wrote" in outcome.stderr
    assert len(seen) >= 2
    assert seen[-1].tracing
    assert seen[-1].elapsed > seen[0].elapsed
    assert seen[-1].size > 0
    assert outcome.traced is not None
    assert outcome.traced >= 0.7
    assert (outcome.ended - outcome.started).total_seconds() == pytest.approx(outcome.traced, abs=1e-5)
    assert outcome.started.utcoffset() is not None


def test_time_is_that_of_the_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """perf takes 1.5 seconds to finish its file: they are not in it."""
    monkeypatch.setenv("STANDIN_CASE", "slow-to-finish")
    output = tmp_path / "perf.data"
    began = time.monotonic()
    with Workload(0.2) as workload:
        outcome = Recorder(arguments(output, *workload.words), output, workload=workload).run()
    assert outcome.complete
    assert outcome.traced is not None
    assert outcome.traced < time.monotonic() - began - 1.4


def test_trace_that_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_CASE", "busy-a")
    output = tmp_path / "perf.data"
    with Workload() as workload:
        outcome = Recorder(arguments(output, *workload.words), output, workload=workload).run()
    assert outcome.traced is None
    assert outcome.started <= outcome.ended


@pytest.mark.parametrize(("command", "status"), [("exit 7", 7), ("kill -SEGV $$", -11), ("exit 255", 255)])
def test_status_is_the_commands(tmp_path: Path, command: str, status: int) -> None:
    outcome = run(tmp_path / "perf.data", "sh", "-c", command)
    assert (outcome.exit_status, outcome.complete) == (status, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
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


def test_a_terminal_that_is_gone_does_not_end_the_recording(tmp_path: Path) -> None:
    output = tmp_path / "perf.data"

    def fail(_: RecordingProgress) -> None:
        raise OSError(5, "Input/output error")

    assert Recorder(arguments(output, "sleep", "0.5"), output).run(fail).complete


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT])
def test_signals_of_the_terminal_do_not_reach_perf(tmp_path: Path, number: signal.Signals) -> None:
    """Sent to perf alone, as a terminal sends them to its whole process group."""
    output = tmp_path / "perf.data"
    sent: list[int] = []

    def to_perf(progress: RecordingProgress) -> None:
        if progress.size and not sent:
            found = next(process for process in running_processes() if str(output) in process.arguments)
            sent.append(found.pid)
            os.kill(found.pid, number)

    outcome = Recorder(arguments(output, "sleep", "0.6"), output).run(to_perf)
    assert sent
    assert (outcome.complete, outcome.exit_status, outcome.stopped_by) == (True, 0, None)


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
