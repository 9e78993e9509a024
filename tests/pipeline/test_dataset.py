"""Folders of Parquet files: what others do meanwhile, no room, links."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import fsspec
import polars as pl
import pytest

from ptttool.cli import folder as command
from ptttool.cli.main import main
from ptttool.pipeline.dataset import Location, new_folder, write_recording
from ptttool.pipeline.query import Query
from ptttool.pipeline.recording import OpenRecording, Request
from ptttool.pipeline.workers.pool import Promise, Workers
from tests.support import captures
from tests.support.recordings import build_perfdata, words_8dw

R = TypeVar("R")

REAL = captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data"


def decode(*arguments: object) -> int:
    return main(["decode", str(REAL), *map(str, arguments)])


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_no_folder_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert decode("-o", out, "--partition", "host") == 0
    before = {name: (out / name).stat().st_ino for name in names(out)}
    for force in ([], ["--force"]):
        capsys.readouterr()
        assert decode("-o", out, "--partition", "host", "--json", *force) == 6
        error = json.loads(capsys.readouterr().out)["error"]
        assert error["code"] == "exists" and error["hint"]
        assert {name: (out / name).stat().st_ino for name in names(out)} == before
    assert names(tmp_path)[0] == "out" and {path.name for path in tmp_path.iterdir()} == {"out"}


def test_what_comes_while_a_folder_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    real = command._write_one

    def write_one(*arguments: Any) -> object:
        out.mkdir()
        (out / "notes.txt").write_text("mine")
        return real(*arguments)

    monkeypatch.setattr(command, "_write_one", write_one)
    assert decode("-o", f"{out}/", "--force", "--json") == 6
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "exists"
    assert names(tmp_path) == ["out", "out/notes.txt"]


@contextmanager
def file_size(limit: int) -> Iterator[None]:
    """No file gets larger: writing it fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("there", [False, True])
def test_no_room(tmp_path: Path, there: bool, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    if there:
        out.mkdir()
    before = names(tmp_path)
    capfd.readouterr()
    with file_size(4096):
        assert decode("-o", f"{out}/", "--force", "--json") == 6
    error = json.loads(capfd.readouterr().out)["error"]
    assert error["code"] == "file-too-large"
    assert f"{out}/" in error["message"] and ".ptttool-tmp" not in error["message"]
    assert error["hint"]
    assert names(tmp_path) == before


def test_a_killed_run_leaves_nothing_for_long(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from ptttool.cli import folder; from ptttool.cli.main import main\n"
        "real = folder._write_one\n"
        "def write_one(*arguments):\n"
        "    real(*arguments)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "folder._write_one = write_one\n"
        "main(sys.argv[1:])"
    )
    out = tmp_path / "out"
    line = [sys.executable, "-c", code, "decode", str(REAL), "-o", f"{out}/"]
    assert subprocess.run(line, check=False, stderr=subprocess.DEVNULL).returncode == -signal.SIGKILL
    assert [name for name in names(tmp_path) if name.endswith(".parquet")]
    assert decode("--limit", "1", "--to", "csv", "-o", tmp_path / "one.csv") == 0
    assert names(tmp_path) == ["one.csv"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_link_of_another_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home, mine = tmp_path / "home", tmp_path / "mine"
    home.mkdir()
    mine.mkdir()
    (home / "out").symlink_to(mine)
    for path in (home, home / "out"):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    for force in ([], ["--force"]):
        capsys.readouterr()
        assert decode("-o", f"{home / 'out'}/", "--json", *force) == 6
        assert json.loads(capsys.readouterr().out)["error"]["code"] == "untrusted-link"
    assert names(mine) == []


def test_an_own_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real/deep")
    assert decode("-o", f"{tmp_path / 'out'}/") == 0
    assert (tmp_path / "out").is_symlink()
    assert len([*(tmp_path / "real" / "deep").iterdir()]) == 1


class Late(Workers):
    """Workers that run each cancelled task when its successor has ended, as a worker does that had begun it."""

    jobs = 2

    def __init__(self) -> None:
        self.cancelled: list[Callable[[], Any]] = []

    def submit(self, function: Callable[..., R], *arguments: Any) -> Promise[R]:
        return _Submitted(self, partial(function, *arguments))

    def run_cancelled(self) -> None:
        for call in self.cancelled:
            call()


@dataclass
class _Submitted(Generic[R]):
    workers: Late
    call: Callable[[], R]
    size: int = 0

    def result(self) -> R:
        return self.call()

    def cancel(self) -> None:
        self.workers.cancelled.append(self.call)


@pytest.mark.parametrize("kind", ["local", "remote"])
def test_a_task_that_was_dropped_ends_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """It counted its rows from another number: its file is not the one of the dataset."""
    monkeypatch.setattr("ptttool.pipeline.dataset.PART_BYTES", 1 << 20)
    path = tmp_path / "late.data"
    data, zeros = words_8dw(150_000), bytes(32 * 1000)
    path.write_bytes(build_perfdata([(0, number << 24, data + zeros * (number == 2)) for number in range(6)], config=0x1_0728_0001))
    out = str(tmp_path / "out") if kind == "local" else "memory://late-out"
    workers = Late()
    with OpenRecording(Request(str(path))) as recording, new_folder(out) as folder:
        written = write_recording(recording, Query(("index", "offset")), Location(folder, 0, "late", ()), workers)
        workers.run_cancelled()
    assert written == 900_000
    assert len(workers.cancelled) > 1
    system, name = fsspec.core.url_to_fs(out)
    files = system.find(name)
    assert all(file.endswith(".parquet") for file in files)
    frames = []
    for file in files:
        with system.open(file) as opened:
            frames.append(pl.read_parquet(opened))
    assert pl.concat(frames).sort("index")["index"].equals(pl.Series("index", range(900_000), pl.UInt64))
