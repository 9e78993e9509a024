"""Errors of the operating system get the code of their cause."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ptttool.errors import ExitCode
from ptttool.files import failures
from ptttool.files.failures import output_failure

CODES = {
    errno.ENOSPC: "disk-full",
    errno.EDQUOT: "disk-full",
    errno.EFBIG: "file-too-large",
    errno.EROFS: "read-only",
    errno.EACCES: "output-not-permitted",
    errno.EPERM: "output-not-permitted",
    errno.EIO: "cannot-write",
    errno.ELOOP: "cannot-write",
}


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_codes(number: int, kind: str) -> None:
    failure = output_failure("the output", OSError(number, os.strerror(number)), kind=kind)
    assert failure.code == CODES[number]
    assert failure.exit_code == (ExitCode.NO_PERMISSION if failure.code == "output-not-permitted" else ExitCode.FILE)
    assert "the output" in failure.message and os.strerror(number) in failure.message


def test_an_error_without_a_text() -> None:
    assert os.strerror(errno.EIO) in output_failure("x", OSError(errno.EIO, None)).message
    assert "odd" in output_failure("x", OSError("odd")).message


def test_a_root_without_procfs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    assert output_failure("x", gone).code == "cannot-write"
    monkeypatch.setattr(failures, "_PROCESS", tmp_path / "self")
    assert output_failure("x", gone).code == "no-procfs"
