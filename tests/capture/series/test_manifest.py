"""The file of a series: names, states, files that are not one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ptttool.capture.series.manifest import (
    RunState,
    Series,
    SeriesRun,
    is_series,
    load,
    problems_of,
    recordings_of,
    run_path,
    save,
    series_path,
)
from ptttool.errors import InputError
from ptttool.recording.folders import with_folders

RUNS = (SeriesRun("outbound-p", "x.1-outbound-p.data", "e1"), SeriesRun("outbound-np", "x.2-outbound-np.data", "e2"))


@pytest.mark.parametrize(
    ("output", "series", "run"),
    [
        ("perf.data", "perf.series.json", "perf.2-inbound.data"),
        ("a/b", "a/b.series.json", "a/b.2-inbound.data"),
        (".data", ".data.series.json", ".data.2-inbound.data"),
        ("x.y.data", "x.y.series.json", "x.y.2-inbound.data"),
    ],
)
def test_names(output: str, series: str, run: str) -> None:
    assert series_path(Path(output)) == Path(series)
    assert run_path(Path(output), 2, "inbound") == Path(run)
    assert is_series(series)
    assert not is_series(run)


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "x.series.json"
    series = Series(1, ("traffic",), RUNS).with_run(0, RunState.RECORDED).with_run(1, RunState.FAILED, "no space")
    save(path, series)
    assert load(path) == series
    assert [run.name for run in series.missing] == ["outbound-np"]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.series.json"
    save(path, Series(1, (), RUNS).with_run(0, RunState.RECORDED).with_run(1, RunState.RECORDING))
    (tmp_path / RUNS[0].file).write_bytes(b"PERFILE2")
    said: list[Any] = []
    assert with_folders([str(path)], said.append) == [str(tmp_path / RUNS[0].file)]
    assert [(one.code, one.details["missing"]) for one in said] == [("runs-missing", ["outbound-np"])]
    (tmp_path / RUNS[0].file).unlink()
    # What is named and no recording is not opened: a pipe would be waited for.
    for make in (lambda _: None, os.mkfifo):
        make(tmp_path / RUNS[0].file)
        assert [one.code for one in problems_of(path)] == ["runs-missing", "recording-missing"]
        with pytest.raises(InputError) as caught:
            list(recordings_of(path))
        assert caught.value.code == "no-recording"
        (tmp_path / RUNS[0].file).unlink(missing_ok=True)


def body(**changes: object) -> str:
    run = {"name": "a", "file": "a.data", "event": "e", "state": "recorded", "reason": None}
    whole: dict[str, object] = {"ptttool_series": 1, "purposes": [], "runs": [run]}
    changed = {key: value for key, value in changes.items() if key in run}
    return json.dumps({**whole, **({"runs": [{**run, **changed}]} if changed else changes)})


@pytest.mark.parametrize(
    "text",
    [
        "", "{}", "[]", "not json", "[" * 100_000, body(ptttool_series=2), body(runs=[]), body(file="../../etc/passwd"),
        body(file="/etc/passwd"),
        body(file=".."), body(file=""), body(file="a\0b"), body(state="done"), body(runs=[json.loads(body())["runs"][0]] * 65),
        body(purposes=3), "\x1b[31m", '{"ptttool_series": 1, "runs": [' + " " * (1 << 20),
    ],
)  # fmt: skip
def test_what_is_not_the_file_of_a_series(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.series.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load(path)
    assert caught.value.code == "bad-series"
    assert "\x1b" not in caught.value.message


def test_a_file_that_is_not_there_and_one_that_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, code in ((tmp_path / "pipe", "cannot-read"), (tmp_path / "x.series.json", "no-such-file"), (tmp_path, "cannot-read")):
        with pytest.raises(InputError) as caught:
            load(path)
        assert caught.value.code == code
