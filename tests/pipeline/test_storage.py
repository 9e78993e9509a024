"""Remote storage that fails while a recording is read from it, or a folder written to it."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from ptttool.cli.main import main
from tests.support import captures
from tests.support.recordings import build_perfdata, words_8dw

MEMORY: Any = MemoryFileSystem


class Failing(MEMORY):  # type: ignore[misc]
    """A storage in memory that answers with an error after some bytes or files."""

    protocol = "failing"
    store: dict[str, Any] = {}  # noqa: RUF012 - as fsspec has it
    pseudo_dirs = [""]  # noqa: RUF012
    readable = 1 << 30
    writable = 1 << 30

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        found: str = MEMORY._strip_protocol(path.replace("failing://", "memory://"))
        return found

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> Any:
        if (end or 0) > Failing.readable:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().cat_file(path, start, end, **options)

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        file = super()._open(path, mode, **options)
        if "r" in mode:
            whole = file.read

            def read(size: int = -1) -> Any:
                if file.tell() + size > Failing.readable:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                return whole(size)

            file.read = read
        else:
            store = file.write

            def write(data: bytes) -> Any:
                if file.tell() + len(data) > Failing.writable:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return store(data)

            file.write = write
        return file


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Failing]]:
    register: Any = fsspec.register_implementation
    register("failing", Failing, clobber=True)
    monkeypatch.setattr(Failing, "store", {})
    monkeypatch.setattr(Failing, "pseudo_dirs", [""])
    monkeypatch.setattr(Failing, "readable", 1 << 30)
    monkeypatch.setattr(Failing, "writable", 1 << 30)
    system = Failing()
    system.pipe_file("/perf.data", build_perfdata([(0, number << 20, words_8dw(20_000)) for number in range(3)]))
    yield Failing
    Failing.clear_instance_cache()


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    said = capsys.readouterr()
    assert len([line for line in said.err.splitlines() if line.startswith("ptttool: error: ")]) == 1
    assert "Traceback" not in said.err
    code: str = json.loads(said.out)["error"]["code"]
    return code


def test_a_storage_that_works(storage: type[Failing], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", "failing://perf.data", "--jobs", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"]["records"] == 60_000
    assert main(["decode", "failing://perf.data", "-o", "failing://out/", "--jobs", "1"]) == 0
    assert [name for name in storage.store if name.startswith("/out/")]


@pytest.mark.parametrize("readable", [0, 60, 5000, 1_000_000])
def test_reading_fails(storage: type[Failing], readable: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    storage.readable = readable
    assert main(["info", "--json", "failing://perf.data", "--jobs", "1"]) == 6
    assert refusal(capsys) in ("bad-input", "truncated", "damaged")
    assert main(["decode", "failing://perf.data", "-o", str(tmp_path / "out.csv"), "--jobs", "1"]) == 6
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("writable", [0, 5000])
def test_writing_fails(storage: type[Failing], writable: int, capsys: pytest.CaptureFixture[str]) -> None:
    storage.writable = writable
    assert main(["decode", "failing://perf.data", "-o", "failing://out/", "--json", "--jobs", "1"]) == 6
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert "No space left" in said.err + said.out
    assert not [name for name in storage.store if name.startswith("/out/")]


class GoneError(Exception):
    """As packages of storages have them: not an OSError."""


def test_a_server_that_is_gone(storage: type[Failing], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def gone(*_arguments: Any, **_options: Any) -> Any:
        raise GoneError("could not connect\nto the endpoint")

    monkeypatch.setattr(Failing, "_open", gone)
    assert main(["info", "--json", "failing://perf.data", "--jobs", "1"]) == 6
    assert refusal(capsys) == "bad-input"
    monkeypatch.setattr(Failing, "exists", gone)
    recording = str(captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data")
    assert main(["decode", recording, "-o", "failing://out/", "--json", "--jobs", "1"]) == 6
    assert refusal(capsys) == "cannot-write"
