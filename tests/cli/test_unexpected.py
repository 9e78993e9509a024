"""Exceptions that no code expects: one line, exit code 70, and a report where one is wanted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ptttool.cli.crash_report import LEFT_OUT, report_text, without_secrets
from ptttool.cli.main import load_commands, main
from ptttool.cli.unexpected import explained
from tests import ROOT
from tests.support.distributions import make_distribution

COMMAND = '''
import threading
import typer
from ptttool.cli.app import app

KINDS = {"value": ValueError, "memory": MemoryError, "end": EOFError, "deep": RecursionError, "import": ImportError, "base": BaseException}

@app.command("fail")
def fail(kind: str, json: bool = False, password: str = "") -> None:
    """Fail."""
    if kind == "thread":
        thread = threading.Thread(target=fail, args=("value",))
        thread.start()
        thread.join()
    elif kind == "leave":
        raise SystemExit("leaving\\x1b[2J")
    else:
        raise KINDS[kind]("some\\x1b[2J\\ntext")
'''
ANALYSIS = '''
from ptttool import ANALYSES, Analysis

class Odd(Exception):
    """An exception that cannot be unpickled."""
    def __init__(self, one, two):
        super().__init__("odd")

class Failing(Analysis):
    name = "failing"
    meaning = "fails"
    columns = ("tag",)
    def update(self, batch):
        raise Odd(1, 2)
    def merge(self, later):
        pass
    def result(self, context):
        pass

ANALYSES.add("failing", Failing)
'''


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    points = {"ptttool.commands": {"fail": "toy_fail"}, "ptttool.analyses": {"failing": "toy_analysis"}}
    make_distribution(folder, "toys", {"toy_fail": COMMAND, "toy_analysis": ANALYSIS}, points)
    assert main(["generate", "--size", "64K", "-o", str(folder / "perf.data")]) == 0
    return folder


def run(installed: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = os.environ | {"PYTHONPATH": f"{installed}:{ROOT}"} | environment
    done = subprocess.run([sys.executable, "-m", "ptttool", *arguments], capture_output=True, text=True, env=given, cwd=installed)
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stderr
    return done


@pytest.mark.parametrize(
    ("kind", "code", "word"),
    [
        ("value", 70, "internal-error"),
        ("end", 70, "internal-error"),
        ("base", 70, "internal-error"),
        ("deep", 70, "too-deep"),
        ("memory", 9, "no-memory"),
    ],
)
def test_one_line_and_a_code(installed: Path, kind: str, code: int, word: str) -> None:
    done = run(installed, "fail", kind, "--json")
    assert done.returncode == code
    lines = done.stderr.splitlines()
    assert [line.split(":")[1].strip() for line in lines] == ["error", "hint"]
    assert json.loads(done.stdout)["error"]["code"] == word


def test_where_it_was_raised(installed: Path) -> None:
    error = json.loads(run(installed, "fail", "value", "--json").stdout)["error"]
    assert error["exception"] == "ValueError"
    assert error["place"].startswith("ptttool/cli/")


def test_text_of_a_plug_in_that_leaves(installed: Path) -> None:
    done = run(installed, "fail", "leave")
    assert (done.returncode, done.stderr) == (1, "ptttool: error: leaving\\x1b[2J\n")


def test_exceptions_in_threads_are_for_the_report(installed: Path) -> None:
    done = run(installed, "fail", "thread")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_report(installed: Path, tmp_path: Path) -> None:
    report = tmp_path / "report"
    for arguments, environment in [
        (["--crash-report", str(report)], {}),
        ([f"--crash-report={report}"], {}),
        ([], {"PTTTOOL_CRASH_REPORT": str(report)}),
    ]:
        done = run(installed, *arguments, "fail", "value", **environment)
        assert done.returncode == 70
        assert str(report) in done.stderr
        assert report.stat().st_mode & 0o777 == 0o600
        text = report.read_text()
        assert "Traceback" in text and "toy_fail.py" in text and "Python" in text
        report.unlink()


def test_a_report_replaces_nothing(installed: Path, tmp_path: Path) -> None:
    report = tmp_path / "report"
    report.write_text("mine")
    assert run(installed, "--crash-report", str(report), "fail", "value").returncode == 70
    assert run(installed, "--crash-report", str(tmp_path / "none" / "report"), "fail", "value").returncode == 70
    assert report.read_text() == "mine"


def test_no_report_without_a_defect(installed: Path, tmp_path: Path) -> None:
    assert run(installed, "--crash-report", str(tmp_path / "report"), "info", "not-there").returncode == 6
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_analysis_that_fails(installed: Path, tmp_path: Path, jobs: str) -> None:
    report = tmp_path / "report"
    done = run(installed, "--crash-report", str(report), "analyze", "failing", "perf.data", "--jobs", jobs)
    assert done.returncode == 70
    text = report.read_text()
    assert "toy_analysis.py" in text
    assert ("In a worker:" in text) is (jobs == "2")


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ("list --json", "list --json"),
        ("trace --rootport 00:10.0 --no-decode -o x mysql --password=secret", f"trace --rootport 00:10.0 --no-decode -o x {LEFT_OUT}"),
        ("trace --rootport=00:10.0 --json -- mysql --password=secret", f"trace --rootport=00:10.0 --json -- {LEFT_OUT}"),
        ("--plugins event --demo -- mysql --password=secret", f"--plugins event --demo -- {LEFT_OUT}"),
        ("trace --rootport", "trace --rootport"),
    ],
)
def test_no_secrets_of_a_command_line(arguments: str, shown: str) -> None:
    load_commands()
    found, secrets = without_secrets(arguments.split())
    assert " ".join(found) == shown
    assert ("--password=secret" in secrets) is ("secret" in arguments)
    text = report_text(ValueError("running mysql --password=secret"), arguments.split())
    assert ("secret" not in text) is ("secret" in arguments)


def test_no_secrets_of_addresses() -> None:
    text = report_text(OSError("s3://key:secret@host/file?token=secret"), ["info", "s3://key:secret@host/file?token=secret"])
    assert "secret" not in text
    assert "host/file" in text


def test_an_error_of_ptttool_stays_what_it_is() -> None:
    from ptttool.errors import UsageError

    error = UsageError("wrong", hint="so")
    assert explained(error, []) is error
    assert error.hint == "so"


@pytest.mark.parametrize("megabytes", [100, 150, 180, 250, 400])
def test_little_memory(installed: Path, megabytes: int) -> None:
    """Whatever fails first: numpy, polars or the work. The libraries may print lines of their own, and may end the process themselves."""
    line = f'ulimit -v {megabytes}000; exec "$0" -m ptttool decode --where tag=1 --limit 1 --to csv perf.data'
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", line, sys.executable], capture_output=True, text=True, env=environment, cwd=installed)
    assert "Traceback" not in done.stderr
    assert done.returncode <= 1 or done.returncode in (8, 9, 70, 130)
    if done.returncode > 1:
        assert "ulimit -v" in done.stderr


SIGNALLED = """
import os, signal, sys, time
from ptttool.cli.terminal.interrupts import tidy_end
from ptttool.cli.unexpected import guarded

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), int(sys.argv[1]))
        time.sleep(0)

def main():
    with tidy_end():
        Finalized()
        time.sleep(60)
    return 0

guarded(main)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_where_exceptions_are_ignored_ends_the_command(number: signal.Signals) -> None:
    ended = subprocess.run([sys.executable, "-c", SIGNALLED, str(int(number))], cwd=ROOT, check=False, capture_output=True, timeout=30)
    assert ended.returncode == (-number if number == signal.SIGINT else 128 + number)
