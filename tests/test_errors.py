"""The tree of errors and the table of exit codes."""

from __future__ import annotations

import pickle
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

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


@pytest.mark.parametrize(
    ("marks", "command"),
    [
        (["env/pipx_metadata.json"], "pipx inject ptttool"),
        (["env/uv-receipt.toml"], "uv tool install"),
        (["CONTENTS", "bin/ptttool"], "pipx install"),
        ([], "-m pip install"),
    ],
)
def test_a_missing_package_is_added_where_ptttool_is(
    marks: list[str], command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "env").mkdir()
    (tmp_path / "bin").mkdir()
    for mark in marks:
        (tmp_path / mark).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    hint = errors.MissingPackageError.of_extra("flow", "capstone", "flow").hint
    assert hint is not None
    assert command in hint
    # Nobody's package of the same name is installed: the project is not on PyPI.
    assert "install ptttool" not in hint
    assert "capstone" in hint or "[flow]" in hint


def test_a_missing_package_is_added_in_a_version_that_works() -> None:
    hint = errors.MissingPackageError.of_extra("--scheduler", "distributed", "cluster").hint
    assert hint is not None
    assert {"distributed", "fsspec"} <= set(re.findall(r"\w+", hint))
