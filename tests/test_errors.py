"""The tree of errors and the table of exit codes."""

from __future__ import annotations

import pickle
import re
import signal
from collections.abc import Iterator

import pytest

from ptttool import errors
from ptttool.documents import ErrorBody
from ptttool.errors import ExitCode, InputError, InterruptedByUserError, PtttoolError
from tests import ROOT


def every_class(kind: type[PtttoolError] = PtttoolError) -> Iterator[type[PtttoolError]]:
    for below in kind.__subclasses__():
        yield below
        yield from every_class(below)


def test_every_class_has_an_exit_code_and_every_code_a_class() -> None:
    ours = {kind for kind in every_class() if kind.__module__ == errors.__name__}
    signals = {ExitCode.HANGUP, ExitCode.QUIT, ExitCode.TERMINATED, ExitCode.CPU_TIME}
    assert {kind.exit_code for kind in ours} == set(ExitCode) - {ExitCode.SUCCESS, ExitCode.DIFFERENT} - signals
    assert all(isinstance(kind.exit_code, ExitCode) for kind in every_class())


def test_documentation_has_the_table() -> None:
    """One page, the README or one in docs/, has the table of exit codes, as the errors have it."""
    rows = [
        re.findall(r"(?m)^\| (\d+) \| (.+) \|$", section)
        for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
        for section in re.findall(r"(?ms)^#+ Exit codes$(.*?)(?=^#|\Z)", path.read_text(encoding="utf-8"))
    ]
    assert rows == [[(str(int(code)), code.meaning) for code in ExitCode]]


@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGHUP", 129), ("SIGQUIT", 131), ("SIGTERM", 143), ("SIGXCPU", 152)])
def test_a_signal_has_its_exit_code(number: str, code: int) -> None:
    error = InterruptedByUserError("interrupted", ending=signal.Signals[number])
    assert error.exit_code == code
    assert pickle.loads(pickle.dumps(error)).exit_code == code
    assert InterruptedByUserError("interrupted").exit_code == 130


@pytest.mark.parametrize("error", [InputError("a.data", "it is short", offset=104, hint="again", code="truncated", size=3)])
def test_pickled_errors_are_whole(error: PtttoolError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (ErrorBody.of(again), str(again), again.exit_code) == (ErrorBody.of(error), str(error), error.exit_code)
