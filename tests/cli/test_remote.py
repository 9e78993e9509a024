"""What stands beside a recording is found beside its address, too, or missed aloud."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fsspec
import pytest

from ptttool.capture.budget import MAX_SIDECAR_BYTES
from ptttool.capture.names import SUFFIX, sidecar_names
from ptttool.capture.series.manifest import RunState, Series, SeriesRun, is_series, save
from ptttool.capture.sidecar import find
from ptttool.cli.main import main

COUNTED = ("decode", "--columns", "requester,direction", "--ids", "text", "--to", "csv")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("remote")
    trace = ["trace", "--demo", "--rootport", "nvme0", "--direction", "both", "--format", "4dw", "-o", str(folder / "both.data")]
    assert main(trace) == 0
    return folder


@pytest.fixture
def storage(folder: Path) -> Any:
    system = fsspec.filesystem("memory")
    system.pipe({f"/runs/{path.name}": path.read_bytes() for path in folder.iterdir()})
    yield system
    system.rm("/runs", recursive=True)


def lines(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, list[str]]:
    """Return standard output of a command that succeeds, and the lines of standard error."""
    capsys.readouterr()
    assert main([*words]) == 0
    said = capsys.readouterr()
    return said.out, said.err.splitlines()


@pytest.mark.parametrize("command", [COUNTED, ("analyze", "traffic", "--json"), ("info", "--json"), ("report", "--to", "md")])
def test_as_on_this_machine(capsys: pytest.CaptureFixture[str], folder: Path, storage: Any, command: tuple[str, ...]) -> None:
    there, said = lines(capsys, *command, "memory://runs/both.data")
    here, _ = lines(capsys, *command, str(folder / "both.data"))
    assert there.replace("memory://runs", str(folder)) == here
    assert not [line for line in said if "warning" in line]


def test_every_process_sees_it(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    here, _ = lines(capsys, *COUNTED, str(folder / "both.data"))
    there, _ = lines(capsys, *COUNTED, f"file://{folder}/both.data", "--jobs", "2")
    assert (there, "unknown" in there) == (here, False)


@pytest.mark.parametrize("command", [COUNTED, ("decode", "--limit", "1"), ("analyze", "payload"), ("info",)])
def test_one_that_is_not_there_is_named_once(capsys: pytest.CaptureFixture[str], storage: Any, command: tuple[str, ...]) -> None:
    storage.rm(f"/runs/both.data{SUFFIX}")
    _, said = lines(capsys, *command, "memory://runs/both.data")
    assert [f"memory://runs/both.data{SUFFIX}" in line for line in said if "warning" in line] == [True]


@pytest.mark.parametrize("command", [COUNTED, ("decode", "--limit", "1"), ("analyze", "payload"), ("info",)])
def test_nor_is_one_on_this_machine(capsys: pytest.CaptureFixture[str], folder: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    path = tmp_path / "both.data"
    path.write_bytes((folder / "both.data").read_bytes())
    _, said = lines(capsys, *command, str(path))
    assert [f"{path}{SUFFIX}" in line for line in said if "warning" in line] == [True]
    _, said = lines(capsys, *command, str(path), "--downstream", "01")
    assert not [line for line in said if "warning" in line]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b" " * (MAX_SIDECAR_BYTES + 1), "over-budget"),
        (b"{", "sidecar-not-json"),
        (b"{}", "sidecar-foreign"),
        (b'{"ptttool_sidecar": 2}', "sidecar-version"),
    ],
)
def test_the_same_checks(storage: Any, text: bytes, code: str) -> None:
    storage.pipe_file(f"/runs/both.data{SUFFIX}", text)
    sidecar, problem = find("memory://runs/both.data")
    assert (sidecar, problem and problem.code) == (None, code)


def test_of_another_recording(storage: Any) -> None:
    whole = bytearray(storage.cat_file("/runs/both.data"))
    whole[1000] ^= 1
    storage.pipe_file("/runs/both.data", bytes(whole))
    sidecar, problem = find("memory://runs/both.data")
    assert (sidecar, problem and problem.code) == (None, "sidecar-other-recording")


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("s3://b/x.data", ["s3://b/x.data{}"]),
        ("s3://b/x.data?versionId=Az9", ["s3://b/x.data{}"]),
        ("https://h/x.data.zst?key=a/b", ["https://h/x.data.zst{}?key=a/b", "https://h/x.data{}?key=a/b"]),
        ("simplecache::s3://b/x.data", ["simplecache::s3://b/x.data{}"]),
        ("zip://x.data::s3://b/all.zip", ["zip://x.data{}::s3://b/all.zip"]),
        ("x.data.gz", ["x.data.gz{}", "x.data{}"]),
    ],
)
def test_names(address: str, names: list[str]) -> None:
    assert sidecar_names(address) == [name.format(SUFFIX) for name in names]


def test_a_series(capsys: pytest.CaptureFixture[str], storage: Any, tmp_path: Path) -> None:
    runs = (SeriesRun("one", "both.data", "e", RunState.RECORDED), SeriesRun("two", "gone.data", "e", RunState.RECORDED))
    save(tmp_path / "x.series.json", Series(1, (), runs))
    storage.pipe_file("/runs/x.series.json", (tmp_path / "x.series.json").read_bytes())
    out, said = lines(capsys, "analyze", "summary", "memory://runs/x.series.json", "--json")
    assert json.loads(out)["path"] == "memory://runs/both.data"
    assert ["gone.data" in line for line in said if "warning" in line] == [True]
    assert is_series("https://h/x.series.json?key=1")
    assert main(["info", "memory://runs/none.series.json"]) == 6
