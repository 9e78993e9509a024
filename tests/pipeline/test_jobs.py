"""Several processes give what one gives, in its order; a folder of Parquet files holds what one file holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from ptttool.cli.main import main
from ptttool.decoders.hisi_ptt.splitter import HisiPttSettings, TlpSplitter
from ptttool.documents import to_json
from ptttool.errors import InputError, WorkersError
from ptttool.pipeline.jobs import Each
from ptttool.pipeline.query import Query
from ptttool.pipeline.work import Select
from ptttool.pipeline.workers.pool import Pool, Workers
from ptttool.table.where import compile_where
from ptttool.tlp.columns import TLP_SCHEMA
from tests.support import captures
from tests.support.recordings import build_perfdata, words_4dw, words_8dw
from tests.support.rows import Read

REAL = captures.FOLDER / "6.12" / "s-8dw-ports-dir3.data"
CONFIG_8DW = 0x1_0728_0001


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Pool(2) as workers:
        yield workers


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Several units of both formats on two CPUs, with all-zero records in the midst of them, and tails."""
    path = tmp_path_factory.mktemp("jobs") / "perf.data"
    chunks = []
    zeros = bytes(32 * 1000)
    for number in range(6):
        cpu, eight = number % 2, number != 3
        data = words_8dw(70_000) + zeros + words_8dw(7) if eight else words_4dw(90_000)
        chunks.append((cpu, number << 24, data + bytes(number)))
    path.write_bytes(build_perfdata(chunks, config=CONFIG_8DW))
    return path


def test_the_sums_are_the_same(recording: Path, workers: Workers) -> None:
    with Read(recording) as alone, Read(recording) as together:
        assert alone.tally() == together.tally(workers=workers)
        assert alone.findings == together.findings
        assert (alone.progress.done, alone.progress.records) == (together.progress.done, together.progress.records)
        assert alone.findings.zero_records == 5 * 1000


@pytest.mark.parametrize("name", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("condition", [None, "index % 1000 = 7 AND cpu = 1"])
def test_files_are_the_same(recording: Path, tmp_path: Path, name: str, condition: str | None) -> None:
    where = [] if condition is None else ["--where", condition]
    for jobs in ("1", "2"):
        assert main(["decode", str(recording), "--to", name, "-o", str(tmp_path / jobs), "--jobs", jobs, *where]) == 0
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


@pytest.mark.parametrize("name", ["csv", "parquet"])
@pytest.mark.parametrize("where", [(), ("--where", "index % 1000 = 7")])
def test_zeros_that_come_late(tmp_path: Path, name: str, where: tuple[str, ...]) -> None:
    """Rows are numbered by sizes until the first batch with all-zero records; those under way behind it are numbered anew."""
    data, zeros = words_8dw(100_000), bytes(32 * 1000)
    path = tmp_path / "late.data"
    path.write_bytes(build_perfdata([(0, number << 24, data + zeros * (number in (7, 9))) for number in range(12)], config=CONFIG_8DW))
    for jobs in ("1", "2"):
        assert (
            main(["decode", str(path), "--to", name, "-o", str(tmp_path / jobs), "--columns", "index,offset", "--jobs", jobs, *where]) == 0
        )
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    frame = (pl.read_csv if name == "csv" else pl.read_parquet)(tmp_path / "2")
    assert frame["index"].to_list() == list(range(7 if where else 0, 1_200_000, 1000 if where else 1))


def test_arrow_is_the_same(recording: Path, tmp_path: Path) -> None:
    for jobs in ("1", "2"):
        assert main(["decode", str(recording), "-o", str(tmp_path / f"{jobs}.arrow"), "--jobs", jobs]) == 0
    assert pl.read_ipc(tmp_path / "1.arrow").equals(pl.read_ipc(tmp_path / "2.arrow"))


def test_a_range_of_rows(recording: Path, workers: Workers) -> None:
    query = Query(("index", "offset", "cpu"), compile_where("cpu = 0", TLP_SCHEMA), 100_000, 70_000)
    with Read(recording) as alone, Read(recording) as together:
        assert pl.concat(alone.frames((), query=query)).equals(pl.concat(together.frames((), query=query, workers=workers)))


def test_standard_input_is_read_by_one(recording: Path) -> None:
    with recording.open("rb") as file:
        command = [sys.executable, "-m", "ptttool", "info", "-", "--json", "--jobs", "2"]
        done = subprocess.run(command, input=file.read(), capture_output=True, check=True)
    with Read(recording) as trace:
        assert json.loads(done.stdout)["records"] == trace.tally().records


def test_a_file_that_is_shortened_names_itself(recording: Path, tmp_path: Path, workers: Workers) -> None:
    path = tmp_path / "shortened"
    path.write_bytes(recording.read_bytes())
    with Read(path) as trace:
        splitter = TlpSplitter(trace.recording.source(), HisiPttSettings())
        first = next(splitter.units(1 << 15)).unit.bare()
    path.write_bytes(recording.read_bytes()[: 1 << 20])
    of_a_worker(workers)
    future = workers.submit(Each(Select(Query(("time",))), str(path)), [first], 0)
    with pytest.raises(InputError, match=f"{path}: offset 0x[0-9a-f]+: ") as caught:
        future.result()
    assert caught.value.code == "truncated" and caught.value.offset == 1 << 20
    path.rename(tmp_path / "moved")
    path.write_bytes(recording.read_bytes())
    with pytest.raises(InputError) as caught:
        workers.submit(Each(Select(Query(("time",))), str(path)), [first], 0).result()
    assert caught.value.code == "replaced"
    path.unlink()
    with pytest.raises(InputError, match="no such file"):
        workers.submit(Each(Select(Query(("time",))), str(path)), [first], 0).result()


def test_a_killed_process_is_told(recording: Path) -> None:
    with Pool(2) as workers, Read(recording) as trace:
        of_a_worker(workers)
        for worker in workers._crew:
            worker.process.end()
        with pytest.raises(WorkersError) as caught:
            trace.tally(workers=workers)
        assert (caught.value.exit_code, caught.value.code, caught.value.details["outcome"]) == (9, "worker-killed", "SIGKILL")


def of_a_worker(workers: Workers) -> int:
    """The process of one, once they have begun."""
    while (process := workers.submit(os.getpid).result()) == os.getpid():
        time.sleep(0.01)
    return process


def test_no_more_processes_than_there_is_work(recording: Path) -> None:
    with Pool(1000) as workers, Read(recording) as trace:
        assert trace.tally(workers=workers).records == trace.findings.records
        assert len(workers._crew) < 20


@pytest.mark.parametrize("path", ["/dev/fd/{}", "/proc/self/fd/{}"])
def test_a_descriptor_as_a_path(recording: Path, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    with recording.open("rb") as file:
        assert main(["info", "--json", "--jobs", "2", path.format(file.fileno())]) == 0
    assert json.loads(capsys.readouterr().out)["records"] == decoded(recording).height


def test_standard_input_that_is_a_file(recording: Path) -> None:
    with recording.open("rb") as file:
        command = [sys.executable, "-m", "ptttool", "info", "-", "--json", "--jobs", "2"]
        done = subprocess.run(command, stdin=file, capture_output=True, check=True)
    assert json.loads(done.stdout)["records"] == decoded(recording).height


def test_the_mode_of_an_empty_folder_stays(tmp_path: Path) -> None:
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    assert main(["decode", str(REAL), "-o", str(folder)]) == 0
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [entry.suffix for entry in folder.iterdir()] == [".parquet"]


def test_force_takes_nothing_that_is_not_its_own(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "here" / "perf.data"
    path.parent.mkdir()
    path.write_bytes(recording.read_bytes())
    assert main(["decode", str(path), "-o", str(path.parent), "--force", "--json"]) == 6
    output = capsys.readouterr()
    assert json.loads(output.out)["error"]["code"] == "exists"
    assert path.read_bytes() == recording.read_bytes()
    assert main(["decode", str(path), "-o", f"file://{path.parent}/", "--force"]) == 6
    assert path.exists()


def test_odd_names(tmp_path: Path) -> None:
    """Names that are no UTF-8, that have every character, that are as long as can be."""
    names = [os.fsdecode(b"\xff\xfe.data"), "a b%=\n'.data", "n" * 255]
    for name in names:
        (tmp_path / name).write_bytes(REAL.read_bytes())
    folder = tmp_path / "out"
    assert main(["decode", *(str(tmp_path / name) for name in names), "-o", str(folder), "--partition", "recording"]) == 0
    assert pl.scan_parquet(folder).collect().height == 3 * decoded(REAL).height
    assert main(["decode", str(tmp_path / names[0]), "-o", str(tmp_path / "out.parquet")]) == 0


def test_interrupted_by_ctrl_c(tmp_path: Path) -> None:
    """Nothing half-written, no process left, no traceback."""
    path = tmp_path / "big"
    with path.open("wb") as file:
        file.write(build_perfdata([(0, i << 25, words_8dw(1 << 18)) for i in range(12)], config=CONFIG_8DW))
    process = subprocess.Popen(
        [sys.executable, "-m", "ptttool", "decode", str(path), "-o", str(tmp_path / "out.jsonl"), "--jobs", "2"],
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while not [*tmp_path.glob(".out.jsonl*")]:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in told, told
    assert [entry.name for entry in tmp_path.iterdir()] == ["big"]
    deadline = time.monotonic() + 60
    with pytest.raises(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(process.pid, 0)
            time.sleep(0.05)


def decoded(path: Path) -> pl.DataFrame:
    with Read(path) as trace:
        return pl.concat(trace.frames(("index", "kind", "requester", "address", "payload_bytes")))


def test_several_recordings_by_host(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that DuckDB and polars read as it is: hosts from the recordings."""
    folder = tmp_path / "traces"
    assert main(["decode", str(recording), str(REAL), "-o", str(folder), "--partition", "host,recording", "--jobs", "2"]) == 0
    assert "TLPs of 2 recordings written to" in capsys.readouterr().err
    tables = f"read_parquet('{folder}/**/*.parquet', hive_partitioning = true)"
    sums = 'count(*), sum(payload_bytes)::bigint, count(distinct requester), max("index")'
    found = duckdb.execute(f"select recording, {sums} from {tables} group by all order by 1").fetchall()
    expected = []
    for path in sorted((recording, REAL), key=lambda path: path.name):
        frame = decoded(path)
        expected.append((path.name, frame.height, frame["payload_bytes"].sum(), frame["requester"].n_unique(), frame["index"].max()))
    assert found == expected
    assert duckdb.execute(f"select distinct host from {tables} order by 1").fetchall() == [("kunpeng",), ("ptt-rig",)]
    frame = pl.scan_parquet(folder, hive_partitioning=True).filter(pl.col("recording") == REAL.name).sort("index").collect()
    assert frame.select(decoded(REAL).columns).equals(decoded(REAL))


def test_a_folder_is_whole_or_not_there(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "traces"
    assert main(["decode", str(tmp_path / "none"), str(tmp_path / "neither"), "-o", str(folder)]) == 6
    assert not folder.exists() and not [*tmp_path.iterdir()]
    told = capsys.readouterr().err
    assert f"{tmp_path}/none: no such file" in told and f"{tmp_path}/neither: no such file" in told
    # What can be read is written, what cannot is named.
    assert main(["decode", str(recording), str(tmp_path / "none"), "-o", str(folder)]) == 6
    assert "none: no such file" in capsys.readouterr().err
    assert pl.read_parquet(folder / "*.parquet").height == decoded(recording).height
    assert main(["decode", str(REAL), "-o", f"{folder}/", "--json"]) == 6
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "exists"
    assert pl.read_parquet(folder / "*.parquet").height == decoded(recording).height
    assert [entry.name for entry in tmp_path.iterdir()] == ["traces"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "--partition", "host"], "need a folder"),
        (["a", "b", "-o", "out/", "--to", "csv"], "holds Parquet files, not csv"),
        (["a", "b", "-o", "out", "--partition", "rack"], "unknown partition 'rack'"),
        (["a", "a", "-o", "out"], "a is named twice"),
        (["a", "b", "-o", "out", "--limit", "3"], "--limit"),
        (["a", "b", "-o", "out", "--jobs", "2", "--scheduler", "tcp://127.0.0.1:1"], "exclude each other"),
    ],
)
def test_refused(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["decode", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_threads_of_the_caller_do_no_harm(recording: Path, workers: Workers) -> None:
    """Two walks at once share the same workers."""
    sums: list[Any] = []

    def walk() -> None:
        with Read(recording) as trace:
            sums.append(to_json(trace.tally(workers=workers)))

    threads = [threading.Thread(target=walk) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums[0] == sums[1] and np.isfinite(sums[0]["records"])
