"""Every source through one suite; the running machine's under umockdev, with the real libudev."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ptttool.errors import MissingPackageError
from ptttool.host.udev import UdevSource
from tests.host import source_suite
from tests.host.source_suite import *  # noqa: F403
from tests.machines import NEW, OLD, REPOSITORY, umockdev


@pytest.mark.parametrize("name", [NEW, OLD])
def test_the_suite_under_umockdev(name: str, tmp_path: Path) -> None:
    suite = Path(source_suite.__file__)
    done = subprocess.run(
        [
            *umockdev(name, tmp_path),
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n0",
            "-p",
            "no:cacheprovider",
            "-o",
            "python_files=*.py",
            str(suite),
        ],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "PTTTOOL_TEST_MACHINE": name},
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) == sum(name.startswith("test_") for name in vars(source_suite)), done.stdout
    assert "skipped" not in done.stdout


def test_without_libudev(monkeypatch: pytest.MonkeyPatch) -> None:
    """As pyudev says it where no libudev is installed."""
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    monkeypatch.setattr("pyudev._ctypeslib.utils.find_library", lambda name: None)
    with pytest.raises(MissingPackageError) as caught:
        UdevSource()
    assert caught.value.code == "no-libudev"
    assert caught.value.exit_code == 8
    assert "--sysfs" in str(caught.value.hint)


def test_without_pyudev(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyudev", None)
    with pytest.raises(MissingPackageError) as caught:
        UdevSource()
    assert caught.value.code == "no-pyudev"
