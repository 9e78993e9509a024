"""The program that perf runs: it reports the begin of the trace, and becomes the command with the signals and descriptors of before."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ptttool.capture.perf.workload import Workload
from tests import ROOT

# Prints the descriptors that it has, and how it handles signals.
SHOW = (
    "import os, signal; names = ('SIGHUP', 'SIGQUIT', 'SIGINT', 'SIGPIPE', 'SIGXFSZ');"
    "print([int(n) for n in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{n}')],"
    "*(int(signal.getsignal(getattr(signal, n)) == signal.SIG_IGN) for n in names))"
)


def run(workload: Workload) -> subprocess.CompletedProcess[str]:
    def as_perf() -> None:
        for number in (signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)

    return subprocess.run(workload.words, capture_output=True, text=True, pass_fds=workload.pass_fds, preexec_fn=as_perf, timeout=20)


def test_it_reports_its_start() -> None:
    with Workload(0) as workload:
        before = time.monotonic()
        assert run(workload).returncode == 0
        workload.begun()
        assert select.select([workload], [], [], 5)[0]
        start = workload.start()
    assert start is not None
    assert before < start.time < time.monotonic()
    assert start.pid > 0


def test_it_did_not_run() -> None:
    with Workload() as workload:
        workload.begun()
        assert workload.start() is None


def test_it_waits_until_ptttool_ends() -> None:
    workload = Workload()
    process = subprocess.Popen(workload.words, pass_fds=workload.pass_fds)
    workload.begun()
    assert workload.start() is not None
    assert process.poll() is None
    workload.close()
    assert process.wait(10) == 0


@pytest.mark.parametrize("show", [False, True])
def test_it_becomes_the_command(show: bool) -> None:
    command = [sys.executable, "-I", "-c", "import sys; print(sys.argv[1:])", "a  b", "", "ü\n", "--password=x"]
    with Workload(command=command, show_arguments=show) as workload:
        done = run(workload)
    assert done.stdout == f"{command[4:]}\n"
    assert ("--password=x" in workload.words) == show


def test_the_command_has_the_descriptors_and_signals_of_before() -> None:
    with Workload(command=[sys.executable, "-I", "-c", SHOW]) as workload:
        shown = run(workload).stdout.rsplit("]", 1)
    # Python ignores the last two by itself.
    assert shown == ["[0, 1, 2", " 0 0 0 1 1\n"]


def test_a_signal_that_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Workload(command=[sys.executable, "-I", "-c", SHOW]) as workload:
            assert run(workload).stdout.endswith("] 1 0 0 1 1\n")
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(("command", "status"), [("no-such-command", 127), ("/", 126)])
def test_command_that_cannot_be_run(command: str, status: int) -> None:
    with Workload(command=[command]) as workload:
        assert run(workload).returncode == status


def test_the_command_keeps_its_standard_error() -> None:
    """perf's standard error is read by ptttool; the command's is where it was."""
    code = (
        "import subprocess, sys\n"
        "from ptttool.capture.perf.workload import Workload\n"
        "with Workload(command=['sh', '-c', 'echo \"$1\" >&2; exit 9', 'sh', 'a  b']) as workload:\n"
        "    done = subprocess.run(workload.words, stderr=subprocess.DEVNULL, pass_fds=workload.pass_fds)\n"
        "sys.exit(done.returncode)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (9, "a  b\n")


def test_a_module_in_the_working_directory_is_not_imported(tmp_path: Path) -> None:
    for name in ("os", "signal", "select", "errno", "time"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(99)", encoding="utf-8")
    with Workload(0) as workload:
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        done = subprocess.run(workload.words, pass_fds=workload.pass_fds, cwd=tmp_path, env=environment)
    assert done.returncode == 0
