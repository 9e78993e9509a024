"""Every source through one suite; the running machine's under umockdev, with the real libudev."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ptttool.errors import MissingPackageError
from ptttool.machine.sources.udev import UdevSource
from tests.machine import source_suite
from tests.machine.source_suite import *  # noqa: F403
from tests.support.machines import NEW, OLD, REPOSITORY, umockdev


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


def test_names_that_are_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyudev decodes strictly; umockdev takes no such names, so that libudev's answers are made up here."""

    class Properties(dict[str, bytes]):
        def __getitem__(self, name: str) -> str:  # type: ignore[override]
            if name == "GONE":
                raise KeyError(name)
            return super().__getitem__(name).decode()

    class Device:
        properties = Properties(ID_MODEL=b"\xff", GONE=b"", ID_VENDOR=b"Huawei")

        def __init__(self, path: bytes) -> None:
            self.path = path

        @property
        def sys_path(self) -> str:
            return self.path.decode()

    source = UdevSource()
    monkeypatch.setattr(
        type(source._context), "list_devices", lambda self, subsystem: [Device(b"/sys/b"), Device(b"/sys/\xff"), Device(b"/sys/a")]
    )
    assert source.devices("net") == ["/sys/a", "/sys/b"]
    monkeypatch.setattr(source._pyudev.Devices, "from_sys_path", lambda context, path: Device(b"/sys/a"))
    assert source.properties("/sys/a") == {"ID_VENDOR": "Huawei"}
