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

from ptttool.capture.device.tracers import running_processes
from ptttool.capture.perf import recorder as recorder_module
from ptttool.capture.perf.command import perf_command
from ptttool.capture.perf.recorder import Outcome, Recorder, RecordingProgress, is_complete
from ptttool.capture.perf.switch import NOT_KNOWN, Switch
from tests import ROOT

STANDIN = str(Path(__file__).parents[2] / "standin" / "perf")
EVENT = "hisi_ptt0_0/filter=0x80001,type=7,direction=2,format=1/"


def recorder(output: Path, switch: Switch, *command: str, seconds: float | None = None) -> Recorder:
    words = [sys.executable, STANDIN, *perf_command(EVENT, output=str(output), cpu=0, options=switch.options, command=switch.words)[1:]]
    return Recorder(words, output, switch, seconds=seconds, command=command)


def run(
    output: Path,
    *command: str,
    seconds: float | None = None,
    confirms: bool = True,
    during: Callable[[int], None] | None = None,
    progress: Callable[[RecordingProgress], None] | None = None,
) -> Outcome:
    """Record; ``during`` is called with our process id once it has begun."""
    began = threading.Event()

    def act() -> None:
        began.wait(120)
        time.sleep(0.3)
        assert during is not None
        during(os.getpid())

    thread = threading.Thread(target=act)
    if during is not None:
        thread.start()
    with Switch(confirms=confirms) as switch:
        watch = progress or (lambda progress: began.set() if progress.tracing else None)
        outcome = recorder(output, switch, *command, seconds=seconds).run(watch)
    if during is not None:
        thread.join()
    return outcome


def test_duration(tmp_path: Path) -> None:
    seen: list[RecordingProgress] = []
    outcome = run(tmp_path / "perf.data", seconds=0.7, progress=seen.append)
    assert (outcome.complete, outcome.stopped_by, outcome.asked, outcome.begun) == (True, None, True, True)
    assert outcome.size == (tmp_path / "perf.data").stat().st_size
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
    began = time.monotonic()
    outcome = run(tmp_path / "perf.data", seconds=0.2)
    assert outcome.complete
    assert outcome.traced is not None
    assert outcome.traced < time.monotonic() - began - 1.4


def test_trace_that_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_CASE", "busy-a")
    outcome = run(tmp_path / "perf.data")
    assert (outcome.traced, outcome.traced_at_least, outcome.begun, outcome.asked) == (None, None, False, False)
    assert outcome.started <= outcome.ended


def test_perf_that_others_stop(tmp_path: Path) -> None:
    """Nobody saw when the event was turned off: no time is known, and the command ends with the trace."""
    output = tmp_path / "perf.data"

    def stop(_: int) -> None:
        (perf,) = [process for process in running_processes() if str(output) in process.arguments]
        os.kill(perf.pid, signal.SIGTERM)

    outcome = run(output, "sleep", "30", during=stop)
    assert (outcome.complete, outcome.asked, outcome.begun, outcome.stopped_by) == (True, False, True, None)
    assert (outcome.traced, outcome.traced_at_least) == (None, None)
    assert (outcome.command_status, outcome.command_stopped) == (-signal.SIGTERM, True)


def test_duration_ends_while_this_process_waits(tmp_path: Path) -> None:
    """As one whose terminal is held, or that is stopped: the trace ends in time, and the time is that of the trace."""
    waited: list[RecordingProgress] = []

    def wait(progress: RecordingProgress) -> None:
        if progress.tracing and not waited:
            waited.append(progress)
            time.sleep(2)

    began = time.monotonic()
    outcome = run(tmp_path / "perf.data", seconds=0.3, progress=wait)
    assert outcome.complete
    assert time.monotonic() - began > 2
    assert outcome.traced is not None
    assert 0.3 <= outcome.traced < 1.5


def test_stopped_while_it_records(tmp_path: Path) -> None:
    """Ctrl-Z stops the group of the process, and not who keeps the time."""
    script = (
        "import sys; from tests.capture.perf.test_recorder import run; from pathlib import Path\n"
        "outcome = run(Path(sys.argv[1]), seconds=1.0, progress=lambda one: one.tracing and print(flush=True))\n"
        "print(outcome.complete, outcome.asked, outcome.traced)"
    )
    words = [sys.executable, "-c", script, str(tmp_path / "perf.data")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, process_group=0, cwd=ROOT) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(3)
        os.killpg(process.pid, signal.SIGCONT)
        complete, asked, traced = process.stdout.read().split()
    assert (complete, asked) == ("True", "True")
    assert 1.0 <= float(traced) < 2.5


@pytest.mark.parametrize("interrupted", [True, False])
def test_no_command_once_the_trace_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupted: bool) -> None:
    """By the user, or because perf had not answered in time: its late answer starts no command."""
    monkeypatch.setenv("STANDIN_CASE", "late-to-answer")
    monkeypatch.setattr(recorder_module, "ANSWER", 20.0 if interrupted else 2.0)
    timer = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))
    if interrupted:
        timer.start()
    outcome = run(tmp_path / "perf.data", "touch", str(tmp_path / "ran"))
    assert not (tmp_path / "ran").exists()
    assert (outcome.asked, outcome.unanswered, outcome.command_status) == (True, not interrupted, None)


@pytest.mark.parametrize(("case", "begun"), [("mute", False), ("deaf", True)])
def test_perf_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, begun: bool) -> None:
    """It is ended, and no time is known."""
    monkeypatch.setenv("STANDIN_CASE", case)
    monkeypatch.setattr(recorder_module, "ANSWER", 3.0)
    monkeypatch.setattr(recorder_module, "PATIENCE", 0.3)
    outcome = run(tmp_path / "perf.data", seconds=0.2)
    assert (outcome.begun, outcome.unanswered, outcome.traced, outcome.traced_at_least) == (begun, not begun, None, None)
    assert outcome.exit_status == -signal.SIGINT


def test_perf_without_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It traces for longer than its command runs."""
    monkeypatch.setenv("STANDIN_CASE", "no-control")
    assert run(tmp_path / "perf.data", seconds=0.2).exit_status == NOT_KNOWN
    outcome = run(tmp_path / "perf.data", "sleep", "0.3", confirms=False)
    assert (outcome.complete, outcome.exit_status, outcome.command_status, outcome.traced) == (True, 0, 0, None)
    assert outcome.traced_at_least is not None
    assert 0.3 <= outcome.traced_at_least <= (outcome.ended - outcome.started).total_seconds() + 1e-5


@pytest.mark.parametrize(("command", "status"), [("exit 7", 7), ("kill -SEGV $$", -11), ("exit 255", 255)])
def test_status_is_the_commands(tmp_path: Path, command: str, status: int) -> None:
    outcome = run(tmp_path / "perf.data", "sh", "-c", command)
    assert (outcome.command_status, outcome.command_stopped, outcome.complete) == (status, False, True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signal_to_us_stops_perf(tmp_path: Path, number: signal.Signals) -> None:
    before = signal.getsignal(number)
    outcome = run(tmp_path / "perf.data", during=lambda pid: os.kill(pid, number))
    assert (outcome.complete, outcome.stopped_by) == (True, number.name)
    assert outcome.traced is not None
    assert signal.getsignal(number) is before


def test_second_interrupt_while_perf_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It changes nothing: perf was told once."""
    monkeypatch.setenv("STANDIN_CASE", "slow-to-finish")

    def twice(pid: int) -> None:
        os.kill(pid, signal.SIGINT)
        time.sleep(0.5)
        os.kill(pid, signal.SIGINT)

    outcome = run(tmp_path / "perf.data", "sleep", "20", during=twice)
    assert outcome.complete
    assert outcome.traced is not None
    assert "signals: [2]" in outcome.stderr
    assert (outcome.command_status, outcome.command_stopped) == (-signal.SIGTERM, True)


def test_interrupt_before_perf_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_CASE", "late-to-begin")
    output = tmp_path / "perf.data"
    timer = threading.Timer(0.8, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    outcome = run(output)
    timer.join()
    assert (outcome.complete, outcome.exit_status, outcome.stopped_by) == (False, -signal.SIGTERM, "SIGTERM")
    assert not output.exists()


def test_our_own_failure_leaves_no_perf_behind(tmp_path: Path) -> None:
    output = tmp_path / "perf.data"

    def fail(progress: RecordingProgress) -> None:
        if progress.size:
            raise ValueError("from the progress line")

    with pytest.raises(ValueError, match="progress line"):
        run(output, "sleep", "30", progress=fail)
    assert not [process for process in running_processes() if str(output) in process.arguments]


def test_a_terminal_that_is_gone_does_not_end_the_recording(tmp_path: Path) -> None:
    output = tmp_path / "perf.data"

    def fail(_: RecordingProgress) -> None:
        raise OSError(5, "Input/output error")

    assert run(output, "sleep", "0.5", progress=fail).complete


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

    outcome = run(output, "sleep", "0.6", progress=to_perf)
    assert sent
    assert (outcome.complete, outcome.asked, outcome.stopped_by) == (True, True, None)


def test_missing_perf(tmp_path: Path) -> None:
    with Switch() as switch, pytest.raises(FileNotFoundError):
        Recorder([str(tmp_path / "perf"), "record"], tmp_path / "perf.data", switch).run()


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
