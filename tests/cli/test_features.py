"""The table of features by protocol (``docs/features.md``): what works for one protocol works for every one, but for its exceptions."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from ptttool.cli.main import main
from tests import ROOT
from tests.support import captures

TRACE = ROOT / "fixtures" / "etrace" / "median-basic.bin"
PROGRAM = ROOT / "fixtures" / "riscv"
Asked = tuple[str, list[str], Path | None, str, list[str]]
# How each protocol is asked for; its recording; a condition that some of the records meet; two columns.
PTT: Asked = ("hisi-ptt", [], None, "kind = 'MRd'", ["index", "tag"])
ENCAP: Asked = ("riscv-encap", ["-p", "srcid_bits=6"], TRACE, "size > 2", ["index", "size"])
ETRACE: Asked = ("riscv-etrace", [], TRACE, "kind = 'addr'", ["index", "address"])
FLOW: Asked = (
    "riscv-flow",
    ["-p", f"elf={PROGRAM / 'program.elf'}", "-p", "iaddress_width_p=64"],
    PROGRAM / "program.bin",
    "last_i_type = 'br'",
    ["index", "st_addr"],
)
FRAMES: Asked = ("coresight-16", [], None, "size > 1", ["index", "size"])
ETMV2: Asked = (
    "etmv2",
    ["-p", "data_addr=no", "-p", "data_value=no", "-p", "contextid_bytes=0", "-p", "isa=arm"],
    None,
    "size > 0",
    ["index", "size"],
)
ALL = [PTT, ENCAP, ETRACE, FLOW, FRAMES, ETMV2]


class Case:
    """A protocol with a file of its trace."""

    def __init__(self, case: Asked, folder: Path) -> None:
        self.protocol, options, path, self.where, self.columns = case
        self.options = ["--protocol", self.protocol, *options]
        self.folder = folder
        if self.protocol == "hisi-ptt":
            path = captures.path_of("6.12/x-switch-port14", folder)
        elif path is None:
            path = folder / "raw.bin"
            frame = bytes.fromhex("21a002a123a204b006b108b20ab32066")
            path.write_bytes(frame * 64 if self.protocol == "coresight-16" else (bytes(5) + bytes([0x80, 0x08]) + bytes(9)) * 64)
        self.path = path

    def run(self, *options: str | Path, files: tuple[Path, ...] = (), code: int = 0) -> None:
        arguments = ["decode", *self.options, *map(str, (self.path, *files)), *map(str, options)]
        assert main(arguments) == code, arguments

    def frame(self, *options: str | Path, files: tuple[Path, ...] = ()) -> pl.DataFrame:
        output = self.folder / "out.parquet"
        self.run("-o", output, "--force", *options, files=files)
        return pl.read_parquet(output)


@pytest.fixture(params=ALL, ids=lambda case: case[0])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    return Case(request.param, tmp_path)


def test_conditions_columns_limit_offset(case: Case) -> None:
    whole = case.frame()
    kept = case.frame("--where", case.where)
    assert 0 < kept.height <= whole.height
    assert case.frame("--columns", ",".join(case.columns)).equals(whole.select(case.columns))
    assert case.frame("--offset", "2", "--limit", "3").equals(whole[2:5])
    assert case.frame("--where", case.where, "--limit", "1", "--columns", ",".join(case.columns)).equals(kept.select(case.columns)[:1])


def test_rows_around_one_and_transactions(case: Case, tmp_path: Path) -> None:
    assert case.frame("--at", "2", "--context", "1").equals(case.frame()[1:4])
    case.run("--follow", "0", code=0 if case.protocol == "hisi-ptt" else 2)
    if case.protocol == "hisi-ptt":
        assert main(["compare", str(case.path), str(case.path)]) == 0


@pytest.mark.parametrize("exporter", ["table", "csv", "jsonl", "parquet", "arrow"])
def test_every_exporter(case: Case, exporter: str, tmp_path: Path) -> None:
    rows = case.frame().height
    output = tmp_path / "output"
    case.run("--to", exporter, "-o", output)
    case.run("--to", exporter, "-o", tmp_path / "few", "--columns", ",".join(case.columns), "--where", case.where)
    if exporter == "arrow":
        assert pl.read_ipc(output).height == rows
    elif exporter == "parquet":
        assert pl.read_parquet(output).height == rows
    else:
        assert len(output.read_bytes().splitlines()) == rows + (exporter != "jsonl")


def test_json(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    case.run("--json", "--limit", "2")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 2
    assert set(case.columns) <= set(lines[0]) == set(lines[1])


def test_the_text_of_perf_is_for_tlps_alone(case: Case, tmp_path: Path) -> None:
    case.run("--to", "perf", "-o", tmp_path / "text", code=0 if case.protocol == "hisi-ptt" else 2)


def test_packets_are_of_tlps_alone(case: Case, tmp_path: Path) -> None:
    case.run("--to", "pcapng", "-o", tmp_path / "capture", code=0 if case.protocol == "hisi-ptt" else 2)
    case.run("--columns", ",".join(case.columns), "-o", tmp_path / "columns.pcapng", code=2)
    time = ["--time-model", "counter"] if case.protocol == "hisi-ptt" else []
    case.run("--to", "perfetto", "-o", tmp_path / "trace", *time, code=0 if case.protocol == "hisi-ptt" else 2)
    assert not (tmp_path / "columns.pcapng").exists()


def test_several_inputs_folders_partitions(case: Case, tmp_path: Path) -> None:
    rows = case.frame().height
    second = tmp_path / "second.data"
    second.write_bytes(case.path.read_bytes())
    folder = tmp_path / "folder"
    case.run("-o", f"{folder}/", "--partition", "recording", files=(second,))
    assert pl.scan_parquet(folder).select(pl.len()).collect().item() == 2 * rows
    assert len(list(folder.glob("recording=*"))) == 2
    assert case.frame("--columns", ",".join(case.columns), files=(second,)).height == 2 * rows


def test_remote_paths(case: Case) -> None:
    output = case.folder / "remote.parquet"
    assert main(["decode", *case.options, f"file://{case.path}", "-o", str(output)]) == 0
    assert pl.read_parquet(output).equals(case.frame())


def test_jobs_and_strict(case: Case) -> None:
    assert case.frame("--jobs", "2").equals(case.frame("--jobs", "1"))
    output = case.folder / "strict.parquet"
    assert main(["decode", *case.options, str(case.path), "-o", str(output), "--strict"]) in (0, 6)


def test_info(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    rows = case.frame().height
    capsys.readouterr()
    assert main(["info", *case.options, str(case.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["records"] == rows


@pytest.mark.parametrize(("options", "of_tlps"), [(["--words"], True), (["--pattern", "legacy"], True), (["--channel", "1"], False)])
def test_options_of_single_protocols(case: Case, options: list[str], of_tlps: bool, tmp_path: Path) -> None:
    case.run(*options, "-o", tmp_path / "out.csv", code=0 if (case.protocol == "hisi-ptt") is of_tlps else 2)
