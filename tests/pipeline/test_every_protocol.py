"""What works for one protocol works for all: rows, columns, ranges, inputs, outputs, processes, strictness."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa
import pytest

import ptttool
from ptttool.cli.main import main
from ptttool.errors import WorkersError
from ptttool.pipeline.lanes import Lanes
from ptttool.pipeline.recording import OpenRecording, Request
from tests import ROOT
from tests.decoders.coresight.frames import frames
from tests.support import captures
from tests.support.processes import workers_of
from tests.support.recordings import auxtrace_info, build_perfdata, words_8dw

pytestmark = pytest.mark.slow

TLPS = captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data"
ETRACE = ROOT / "fixtures" / "etrace" / "median-basic"
# One frame of three sources, as often as it takes.
FRAME = frames([(0x10, b"one"), (0x11, b"three"), (0x12, b"2")])


def coresight(chunks: list[tuple[int, int, bytes]]) -> bytes:
    """A recording of CoreSight trace."""
    return build_perfdata(name="cs_etm/@tmc_etr0/", auxtrace_type=3, info=auxtrace_info(3, 0, 11 << 32 | 1, 0), chunks=chunks)


def several_cpus(frame_count: int) -> bytes:
    """Streams of three CPUs, their chunks in turn, each of another length."""
    chunks, ends = [], [0, 0, 0]
    for number in range(6):
        cpu = number % 3
        data = FRAME * (frame_count * (cpu + 1))
        chunks.append((cpu, ends[cpu], data))
        ends[cpu] += len(data)
    return coresight(chunks)


class Case(NamedTuple):
    """A recording of a protocol, with the options that decode it."""

    path: Path
    options: list[str]
    condition: str
    columns: list[str]


@pytest.fixture(scope="module")
def cpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cpus") / "cs.data"
    path.write_bytes(several_cpus(400))
    return path


@pytest.fixture(params=["hisi-ptt", "coresight-16", "riscv-encap", "riscv-etrace"])
def case(request: pytest.FixtureRequest, cpus: Path) -> Case:
    if request.param == "hisi-ptt":
        return Case(TLPS, [], "kind = 'MRd' AND requester = '01:00.0'", ["requester", "index"])
    if request.param == "coresight-16":
        return Case(cpus, [], "channel = 0x11 AND size > 1", ["payload", "cpu", "index"])
    if request.param == "riscv-encap":
        return Case(ETRACE.with_suffix(".bin"), ["--protocol", "riscv-encap", "-p", "srcid_bits=6"], "channel IN (1, 5)", ["size", "raw"])
    parameters = ["--params", str(ETRACE.with_suffix(".params"))]
    return Case(ETRACE.with_suffix(".bin"), ["--protocol", "riscv-etrace", *parameters], "size > 3", ["kind", "index"])


def decoded(case: Case, folder: Path, *options: str, suffix: str = "parquet", code: int = 0, inputs: list[str] | None = None) -> bytes:
    """The file that a decoding command writes."""
    target = folder / f"out.{suffix}"
    target.unlink(missing_ok=True)
    assert main(["decode", *case.options, *(inputs or [str(case.path)]), *options, "-o", str(target)]) == code
    return target.read_bytes()


def frame(case: Case, folder: Path, *options: str, **more: Any) -> pl.DataFrame:
    return pl.read_parquet(decoded(case, folder, *options, **more))


def plain(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))


def test_rows_and_columns(case: Case, tmp_path: Path) -> None:
    whole = frame(case, tmp_path)
    wanted = frame(case, tmp_path, "--where", case.condition)
    assert 0 < wanted.height < whole.height
    unwanted = frame(case, tmp_path, "--where", f"NOT ({case.condition})")
    assert wanted.height + unwanted.height <= whole.height
    some = frame(case, tmp_path, "--where", case.condition, "--columns", ",".join(case.columns))
    assert some.equals(wanted.select(case.columns))
    assert frame(case, tmp_path, "--offset", "3", "--limit", "5").equals(whole[3:8])
    assert frame(case, tmp_path, "--where", case.condition, "--offset", "2", "--limit", "3").equals(wanted[2:5])
    assert frame(case, tmp_path, "--offset", str(whole.height + 1)).height == 0
    assert frame(case, tmp_path, "--limit", "0").schema == whole.schema
    assert frame(case, tmp_path, "--columns", "all").columns == whole.columns


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "arrow", "txt"])
def test_processes_give_the_same_bytes(case: Case, suffix: str, tmp_path: Path) -> None:
    alone = decoded(case, tmp_path, "--jobs", "1", suffix=suffix)
    assert decoded(case, tmp_path, "--jobs", "2", suffix=suffix) == alone
    assert decoded(case, tmp_path, "--jobs", "3", "--where", case.condition, suffix=suffix) == decoded(
        case, tmp_path, "--where", case.condition, suffix=suffix
    )


def test_arrow(case: Case, tmp_path: Path) -> None:
    table = pa.ipc.open_file(decoded(case, tmp_path, "--to", "arrow", suffix="arrow")).read_all()
    assert plain(pl.DataFrame(table)).equals(plain(frame(case, tmp_path)))


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "txt"])
def test_several_inputs_in_one_output(case: Case, suffix: str, tmp_path: Path) -> None:
    """The column ``file`` tells them apart; a range and a condition are over all of them."""
    other = tmp_path / "other.data"
    other.write_bytes(case.path.read_bytes())
    inputs = [str(case.path), str(other)]
    columns = ",".join(("file", *case.columns))
    read: dict[str, Any] = {
        "parquet": pl.read_parquet,
        "csv": partial(pl.read_csv, infer_schema=False),
        "jsonl": partial(pl.read_ndjson, infer_schema_length=None),
    }
    one = decoded(case, tmp_path, "--columns", columns.removeprefix("file,"), suffix=suffix)
    both = decoded(case, tmp_path, "--columns", columns, suffix=suffix, inputs=inputs)
    if suffix == "txt":
        assert both.count(b"\n") == 2 * one.count(b"\n") - 1
        assert both.count(str(other).encode()) == one.count(b"\n") - 1
        return
    rows, single = read[suffix](both), read[suffix](one)
    assert rows["file"].to_list() == [inputs[0]] * single.height + [inputs[1]] * single.height
    assert rows[single.height :].drop("file").equals(single)
    if suffix == "parquet":
        assert "file" in frame(case, tmp_path, inputs=inputs).columns
        part = frame(case, tmp_path, "--offset", str(single.height - 1), "--limit", "2", inputs=inputs)
        assert part["file"].to_list() == inputs
        last = frame(case, tmp_path, "--where", f"file = '{other}'", "--columns", columns, inputs=inputs)
        assert last.equals(rows[single.height :])
    assert decoded(case, tmp_path, "--columns", columns, "--jobs", "2", suffix=suffix, inputs=inputs) == both


def test_an_address_gives_what_the_file_gives(case: Case, tmp_path: Path) -> None:
    for suffix in ("csv", "jsonl"):
        local = decoded(case, tmp_path, suffix=suffix)
        assert decoded(case, tmp_path, suffix=suffix, inputs=[f"file://{case.path}"]) == local
        assert decoded(case, tmp_path, "--jobs", "2", suffix=suffix, inputs=[f"file://{case.path}"]) == local


def test_standard_input_gives_what_the_file_gives(case: Case, tmp_path: Path) -> None:
    form = ["--input", "perf"] if case.path.suffix == ".data" else []
    command = [sys.executable, "-m", "ptttool", "decode", *case.options, *form, "--to", "csv"]
    for jobs in ([], ["--jobs", "2"]):
        done = subprocess.run([*command, *jobs, "-"], input=case.path.read_bytes(), capture_output=True, check=True, cwd=ROOT)
        assert done.stdout == decoded(case, tmp_path, suffix="csv")


def test_a_folder(case: Case, tmp_path: Path) -> None:
    """A file for each stream, in folders for each partition; all of them together are the recording."""
    whole = plain(frame(case, tmp_path))
    keys = ["index"] if "cpu" not in whole.columns else ["cpu", "index"]
    for number, options in enumerate((["--jobs", "1"], ["--jobs", "2"], ["--partition", "recording,host"])):
        folder = tmp_path / f"{number}"
        assert main(["decode", *case.options, str(case.path), "-o", f"{folder}/", *options]) == 0
        files = sorted(folder.rglob("*.parquet"))
        streams = 1 if "cpu" not in whole.columns else whole["cpu"].n_unique()
        assert len(files) == streams
        if number == 2:
            assert {path.parent.parent.name for path in files} == {f"recording={case.path.name}"}
            assert all(path.parent.name.startswith("host=") for path in files)
        rows = plain(pl.concat([pl.read_parquet(path, hive_partitioning=False) for path in files]))
        assert rows.sort(keys).equals(whole.sort(keys))
    some = tmp_path / "some"
    arguments = ["--where", case.condition, "--columns", ",".join(case.columns)]
    assert main(["decode", *case.options, str(case.path), "-o", f"{some}/", *arguments]) == 0
    assert pl.read_parquet(some / "*.parquet").height == frame(case, tmp_path, *arguments).height


def test_several_inputs_in_a_folder(case: Case, tmp_path: Path) -> None:
    other = tmp_path / "other.data"
    other.write_bytes(case.path.read_bytes())
    folder = tmp_path / "both"
    assert main(["decode", *case.options, str(case.path), str(other), "-o", f"{folder}/"]) == 0
    assert pl.read_parquet(folder / "*.parquet").height == 2 * frame(case, tmp_path).height


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More than pipes between processes take."""
    path = tmp_path_factory.mktemp("long") / "cs.data"
    path.write_bytes(several_cpus(40_000))
    return path


def test_a_folder_holds_one_protocol(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.data"
    other.write_bytes(build_perfdata([(0, 0, FRAME)], name="cs_etm//", auxtrace_type=3, info=auxtrace_info(3, 0, 11 << 32 | 1, 0)))
    assert main(["decode", str(TLPS), str(other), "-o", f"{tmp_path}/out/", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "other-protocol"
    assert [entry.name for entry in tmp_path.iterdir()] == ["other.data"]


def test_files_are_decoded_ahead(tmp_path: Path) -> None:
    """Raw traces are a stream each: several files at once give the same rows, in the order of the files."""
    trace = ETRACE.with_suffix(".bin").read_bytes()
    paths = [tmp_path / f"{number}.bin" for number in range(4)]
    for number, path in enumerate(paths):
        path.write_bytes(trace * (1 + number))
    arguments = ["decode", "--protocol", "riscv-etrace", "--params", str(ETRACE.with_suffix(".params")), *map(str, paths)]
    for jobs in ("1", "3"):
        assert main([*arguments, "-o", str(tmp_path / f"{jobs}.csv"), "--jobs", jobs]) == 0
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "3.csv").read_bytes()
    assert not workers_of()
    assert main([*arguments, str(tmp_path / "none"), "-o", str(tmp_path / "4.csv"), "--jobs", "3"]) == 6
    assert not (tmp_path / "4.csv").exists()
    assert not workers_of()


def test_a_killed_process_of_streams(long: Path) -> None:
    """The walk ends with an error, without the other streams to their end."""
    streams = iter(Lanes(partial(OpenRecording, Request(str(long))), 2))
    next(streams)
    begun = workers_of()
    assert len(begun) == 2
    os.kill(begun[0], signal.SIGKILL)
    with pytest.raises(WorkersError) as caught:
        for _ in streams:
            pass
    assert caught.value.code == "worker-killed"
    assert not workers_of()


def test_an_error_in_a_process() -> None:
    """It is raised as it is, not taken for the end of the process."""
    opened: Any = partial(open, "/none/perf.data")
    with pytest.raises(FileNotFoundError):
        next(iter(Lanes(opened, 2)))


def test_a_killed_process_of_a_command(long: Path) -> None:
    command = [sys.executable, "-m", "ptttool", "decode", "--json", "--jobs", "2", str(long)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(1)  # the rest waits in pipes
        for child in workers_of(process.pid):
            os.kill(child, signal.SIGKILL)
        last = process.stdout.read().splitlines()[-1]
        assert process.wait(60) == 9
        assert b'"error": {"code": "worker-killed"' in last
        assert b"Traceback" not in process.stderr.read()


def tlps(*records: bytes) -> bytes:
    return build_perfdata([(0, 0, b"".join(records))])


RESERVED = b"\xff\xff\xff\xff\0\0\0\0" + b"\xff" * 24


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "txt"])
def test_strict(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows before the first odd one are written to standard output, and the error says where it is."""
    path = tmp_path / "perf.data"
    path.write_bytes(tlps(words_8dw(3), RESERVED, words_8dw(3)))
    to = {"txt": "table"}.get(suffix, suffix)
    for jobs in ("1", "2"):
        assert main(["decode", "--strict", "--to", to, "--jobs", jobs, str(path)]) == 6
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 3 + (suffix != "jsonl")
    assert main(["decode", "--strict", "--json", str(path)]) == 6
    error = json.loads(capsys.readouterr().out.splitlines()[-1])["error"]
    assert (error["code"], error["offset"]) == ("strict", 96)
    assert main(["decode", "--json", str(path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 7


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (["--channel", "1"], 2, "no-channels"),
        (["--protocol", "riscv-encap"], 6, "other-pmu"),
        (["--protocol", "coresight-16"], 6, "other-pmu"),
        (["--protocol", "hisi"], 2, "unknown-protocol"),
    ],
)
def test_what_is_refused_of_tlps(arguments: list[str], exit_code: int, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", *arguments, "--json", str(TLPS)]) == exit_code
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["error"]["code"] == code


def test_tlps_are_not_packets(cpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, code in (
        (["--protocol", "hisi-ptt"], "other-pmu"),
        (["--words"], "no-header-dws"),
        (["--to", "perf"], "other-protocol"),
    ):
        options = ["--json"] if "--to" not in arguments else []
        assert main(["decode", *arguments, *options, str(cpus)]) in (2, 6)
        if options:
            assert json.loads(capsys.readouterr().out.splitlines()[-1])["error"]["code"] == code


def test_different_protocols_in_one_output(cpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--json", str(TLPS), str(cpus)]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert json.loads(lines[-1])["error"]["code"] == "other-protocol"
    assert len(lines) == 5569 + 1


def test_raw_records_by_a_parameter(tmp_path: Path) -> None:
    path = tmp_path / "trace.bin"
    path.write_bytes(words_8dw(50))
    named = Case(path, ["--protocol", "hisi-ptt", "-p", "input=8dw"], "", [])
    assert frame(named, tmp_path).height == 50
    assert decoded(named, tmp_path) == decoded(Case(path, ["--input", "8dw"], "", []), tmp_path)
    with ptttool.open(path, "hisi-ptt", parameters={"input": "8dw"}) as recording:
        assert recording.to_polars().height == 50
