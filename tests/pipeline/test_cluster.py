"""A real cluster of two worker processes gives what one process gives, and survives the loss of one of them."""

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

import distributed
import duckdb
import polars as pl
import pytest

from ptttool.cli.main import main
from ptttool.errors import InputError, WorkersError
from ptttool.exporters.parquet import Parquet
from ptttool.pipeline.workers import cluster as cluster_module
from ptttool.pipeline.workers.cluster import Cluster
from tests.decoders.coresight.frames import frames
from tests.support import captures
from tests.support.recordings import auxtrace_info, build_perfdata, words_4dw, words_8dw
from tests.support.rows import Read

LOCAL_CLUSTER: Any = distributed.LocalCluster
CONFIG_8DW = 0x1_0728_0001
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    with LOCAL_CLUSTER(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50, host="127.0.0.1"
    ) as dask:
        yield dask


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cluster, "batch_bytes", 1 << 20)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cluster") / "perf.data"
    chunks = [(n % 3, n << 24, (words_4dw(300_000) if n == 2 else words_8dw(280_000) + bytes(32 * 100)) + bytes(n)) for n in range(4)]
    path.write_bytes(build_perfdata(chunks, config=CONFIG_8DW))
    return path


def summary(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["info", "--json", *arguments]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_summary_is_the_same(dask: Any, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = summary(capsys, str(recording))
    assert summary(capsys, str(recording), "--scheduler", dask.scheduler_address) == alone
    elsewhere = summary(capsys, f"file://{recording}", "--scheduler", dask.scheduler_address)
    assert elsewhere.pop("path") == f"file://{recording}" and elsewhere["findings"]["zero_records"] == 300
    del alone["path"]
    assert elsewhere == alone
    assert {**summary(capsys, f"file://{recording}"), "path": None} == {**alone, "path": None}


def test_analyses_are_the_same(dask: Any, recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that look at the numbers of TLPs, too, although all-zero records are left out."""

    def found(*options: str) -> Any:
        assert main(["analyze", "latency,addresses,bandwidth", str(recording), "--json", "--time-model", "counter", *options]) == 0
        return json.loads(capsys.readouterr().out)

    assert found("--scheduler", dask.scheduler_address) == found()


@pytest.mark.parametrize("name", ["csv", "parquet"])
def test_files_are_the_same(dask: Any, recording: Path, tmp_path: Path, name: str) -> None:
    condition = ["--where", "index % 100 = 3"] if name == "csv" else []
    for number, options in enumerate(([str(recording)], [f"file://{recording}", "--scheduler", dask.scheduler_address])):
        assert main(["decode", *options, "--to", name, *condition, "-o", str(tmp_path / f"{number}")]) == 0
    frames = [pl.read_csv(tmp_path / n) if name == "csv" else pl.read_parquet(tmp_path / n) for n in "01"]
    assert frames[0].equals(frames[1])


def test_other_formats_of_a_recording_elsewhere(recording: Path, tmp_path: Path) -> None:
    for number, path in enumerate((str(recording), f"file://{recording}")):
        assert main(["decode", path, "--to", "perf", "-o", str(tmp_path / f"{number}")]) == 0
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()


@pytest.mark.parametrize("name", sorted(path.name for path in (captures.FOLDER / "6.12").glob("*.data")))
def test_every_recording_elsewhere(name: str) -> None:
    path = captures.FOLDER / "6.12" / name
    with Read(path) as here, Read(f"file://{path}") as there:
        assert here.tally() == there.tally()
        assert here.findings == there.findings
        assert (here.contents.features, here.contents.records) == (there.contents.features, there.contents.records)
        assert here.contents.problems == there.contents.problems == []


def test_a_folder_written_by_the_workers(dask: Any, recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptttool.pipeline.dataset.PART_BYTES", 4 << 20)
    folder = tmp_path / "traces"
    assert main(["decode", str(recording), "-o", f"{folder}/", "--partition", "host", "--scheduler", dask.scheduler_address]) == 0
    assert len([*folder.glob("host=kunpeng/*.parquet")]) > 3
    with Read(recording) as trace:
        whole = pl.concat(trace.frames(("index", "offset", "cpu", "kind", "address")))
    tables = f"read_parquet('{folder}/**/*.parquet', hive_partitioning = true)"
    assert duckdb.execute(f'select count(*), count(distinct "index"), max("index"), any_value(host) from {tables}').fetchall() == [
        (whole.height, whole.height, whole.height - 1, "kunpeng")
    ]
    frame = pl.scan_parquet(folder).sort("index").select(whole.columns).collect()
    assert frame.equals(whole)


def packets(folder: Path) -> Path:
    """Packet streams of three CPUs."""
    path = folder / "cs.data"
    frame = frames([(0x10, b"one"), (0x11, b"three")])
    info = auxtrace_info(3, 0, 11 << 32 | 1, 0)
    chunks = [(cpu, 0, frame * 500 * (cpu + 1)) for cpu in range(3)]
    path.write_bytes(build_perfdata(chunks, name="cs_etm/@tmc_etr0/", auxtrace_type=3, info=info))
    return path


def test_packet_streams_in_a_folder(dask: Any, tmp_path: Path) -> None:
    """The workers write a file for each stream."""
    path = packets(tmp_path)
    tables = []
    for number, options in enumerate(([], ["--scheduler", dask.scheduler_address])):
        folder = tmp_path / f"{number}"
        assert main(["decode", str(path), "-o", f"{folder}/", *options]) == 0
        assert len([*folder.glob("*.parquet")]) == 3
        tables.append(pl.read_parquet(folder / "*.parquet").sort("cpu", "index"))
    assert tables[0].height > 0
    assert tables[0].equals(tables[1])


def test_a_packet_stream_in_one_file(dask: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is decoded in order, so a cluster has nothing to do."""
    assert main(["decode", str(packets(tmp_path)), "--json", "--scheduler", dask.scheduler_address]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "stream-in-order"


def test_a_packet_stream_is_not_summed_up_by_a_cluster(dask: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", str(packets(tmp_path)), "--scheduler", dask.scheduler_address]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "stream-in-order"


@pytest.fixture
def many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a hundred files of one recording: work that takes its time."""
    monkeypatch.setattr("ptttool.pipeline.dataset.PART_BYTES", 1 << 18)
    monkeypatch.setattr(Parquet, "rows", 1 << 13)


def test_a_killed_worker_is_survived(many_parts: None, recording: Path, tmp_path: Path) -> None:
    with LOCAL_CLUSTER(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50, host="127.0.0.1"
    ) as dask:
        pids = [worker.process.process.pid for worker in dask.workers.values()]
        killed = threading.Event()

        def kill_one() -> None:
            deadline = time.monotonic() + 60
            while not (begun := [*tmp_path.glob(".*.ptttool-tmp/new/r0000-*.parquet")]) and time.monotonic() < deadline:
                time.sleep(0.01)
            os.kill(pids[0], signal.SIGKILL)
            if begun and not (tmp_path / "out").exists():
                killed.set()

        thread = threading.Thread(target=kill_one, daemon=True)
        thread.start()
        assert main(["decode", str(recording), "-o", f"{tmp_path}/out/", "--scheduler", dask.scheduler_address]) == 0
        thread.join()
        assert killed.is_set()
    with Read(recording) as trace:
        expected = trace.tally()
    found = (
        pl.scan_parquet(tmp_path / "out").select(pl.len(), pl.col("index").n_unique().alias("n"), pl.col("payload_bytes").sum()).collect()
    )
    assert found.row(0) == (expected.records, expected.records, expected.payload_bytes)
    assert not [*tmp_path.rglob(".*")]


def test_a_file_that_the_workers_do_not_have_names_itself(dask: Any, recording: Path, tmp_path: Path) -> None:
    path = tmp_path / "gone"
    path.write_bytes(recording.read_bytes())
    with Cluster(dask.scheduler_address) as workers, Read(path) as trace:
        path.unlink()
        with pytest.raises(InputError, match=f"{path}: offset 0x[0-9a-f]+: no such file"):
            trace.tally(workers=workers)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("file:///none/perf.data", "no-such-file"),
        ("nothing://x/perf.data", "unknown-storage"),
        ("reference://x", "unknown-storage"),
        ("dir://x", "unknown-storage"),
        ("generic://x", "unknown-storage"),
        ("async_wrapper://x", "unknown-storage"),
        ("x:://y", "unknown-storage"),
        ("simplecache::file:///etc/passwd", "size-unknown"),
    ],
)
def test_addresses_that_lead_nowhere(path: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", path]) in (2, 6)
    assert json.loads(capsys.readouterr().out)["error"]["code"] == code


def test_all_workers_lost(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "FORLORN", 1)
    monkeypatch.setattr(cluster_module, "_LOOK", 0.2)
    with (
        LOCAL_CLUSTER(n_workers=1, processes=True, dashboard_address=":0", silence_logs=50, host="127.0.0.1") as dask,
        Cluster(dask.scheduler_address) as workers,
        Read(recording) as trace,
    ):
        dask.scale(0)
        with pytest.raises(WorkersError, match=r"tcp://") as caught:
            trace.tally(workers=workers)
        assert caught.value.code == "cluster-failed"


def test_the_scheduler_is_lost(many_parts: None, recording: Path, tmp_path: Path) -> None:
    """Told in one line, with its own exit code; nothing is left."""
    command = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(tmp_path / "s"),
    ]
    scheduler = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # The file is there before what is in it.
    while not (tmp_path / "s").exists() or not (tmp_path / "s").read_text().endswith("}"):
        time.sleep(0.05)
    address = json.loads((tmp_path / "s").read_text())["address"]
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard", "--nworkers", "1", "--nthreads", "1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                Cluster(address).close()
                break
            except WorkersError:
                assert time.monotonic() < deadline
                time.sleep(0.2)

        def kill() -> None:
            while not [*tmp_path.glob(".*.ptttool-tmp/new/*.parquet")] and time.monotonic() < deadline:
                time.sleep(0.01)
            scheduler.kill()

        threading.Thread(target=kill, daemon=True).start()
        assert main(["decode", str(recording), "-o", f"{tmp_path}/out/", "--scheduler", address]) == 9
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()
    assert not [*tmp_path.glob("*out*"), *tmp_path.glob(".*")]


def test_no_scheduler(recording: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "PATIENCE", 1)
    for address, exit_code, code in (("tcp://127.0.0.1:1", 9, "no-scheduler"), ("http://x:8786", 2, "bad-scheduler")):
        assert main(["info", str(recording), "--json", "--scheduler", address]) == exit_code
        assert json.loads(capsys.readouterr().out)["error"]["code"] == code


def test_another_version_and_no_workers(dask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "__version__", "0.0.0")
    with pytest.raises(WorkersError, match=r"0\.0\.0") as caught:
        Cluster(dask.scheduler_address)
    assert caught.value.code == "other-version"
    with (
        LOCAL_CLUSTER(n_workers=0, processes=True, dashboard_address=":0", silence_logs=50, host="127.0.0.1") as empty,
        pytest.raises(WorkersError) as none,
    ):
        Cluster(empty.scheduler_address)
    assert none.value.code == "no-workers"
