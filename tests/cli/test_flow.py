"""``ptttool flow``: a program of four instructions and its trace, in every format, and what cannot be."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ptttool.cli.main import main
from tests.support.recordings import auxtrace_info, build_perfdata

# li a0,3; addi a0,a0,-1; bnez a0,.-2; ret; at 0x80000000.
PROGRAM = (
    "f0VMRgIBAQAAAAAAAAAAAAIA8wABAAAAAAAAgAAAAABAAAAAAAAAAAAAAAAAAAAAAQAAAEAAOAABAAAAAAAAAAEAAAAFAAAAeAAAAAAAAAAAAACAAAAAAAAAAIAAAAAACAAAAAAA"
    "AAAIAAAAAAAAAAIAAAAAAAAADUV9FX39goA="
)
# Support, start at 0x80000000, three branches and the address that ret went to, support: trace ended.
TRACE = bytes.fromhex("421f00 4573000000e0 420d02 414f")
RANGES = [("0x80000000", 3, True), ("0x80000002", 2, True), ("0x80000002", 2, False), ("0x80000006", 1, True), ("0x80000000", 1, True)]


@pytest.fixture
def elf(tmp_path: Path) -> Path:
    path = tmp_path / "loop.elf"
    path.write_bytes(base64.b64decode(PROGRAM))
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "loop.bin"
    path.write_bytes(TRACE)
    return path


def objects(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """JSON lines without what is absent."""
    found = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    return [{key: value for key, value in each.items() if value is not None} for each in found]


def ranges(found: list[dict[str, Any]]) -> list[tuple[str, int, bool]]:
    return [(each["st_addr"], each["num_instr_range"], each["last_instr_exec"]) for each in found if each["kind"] == "instr_range"]


def test_what_was_executed(elf: Path, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flow", "--elf", str(elf), "--json", str(trace)]) == 0
    found = objects(capsys)
    assert ranges(found) == RANGES
    assert [each["kind"] for each in found if each["kind"] != "instr_range"] == ["event", "trace_on", "pe_context", "eo_trace"]
    assert "raw" not in found[0]
    assert main(["flow", "--elf", str(elf), "--packets", "--json", str(trace)]) == 0
    found = objects(capsys)
    assert sum(each["size"] for each in found) == len(TRACE)
    assert [each["raw"] for each in found if "raw" in each] == ["421f00", "4573000000e0", "420d02", "414f"]


def test_table(elf: Path, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flow", "--elf", str(elf), str(trace)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["index", "kind", "from", "count", "ends", "with", "function", "source", "details"]
    assert lines[2].split() == ["3", "trace_on", "reason=normal"]
    assert lines[6].split() == ["9", "instr_range", "0x80000002", "2", "branch", "not", "taken"]
    assert lines[7].split() == ["9", "instr_range", "0x80000006", "1", "return"]
    assert main(["flow", "--elf", f"{elf}@0x1000", str(trace)]) == 0
    assert capsys.readouterr().out.splitlines()[4].split() == ["3", "addr_nacc", "st_addr=0x80000000"]


def test_files(elf: Path, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet, text = tmp_path / "flow.parquet", tmp_path / "flow.csv"
    assert main(["flow", "--elf", str(elf), str(trace), "-o", str(parquet)]) == 0
    assert main(["flow", "--elf", str(elf), str(trace), "-o", str(text)]) == 0
    frame = pl.read_parquet(parquet).filter(pl.col("kind") == "instr_range")
    assert frame.get_column("st_addr").to_list() == [int(start, 16) for start, _, _ in RANGES]
    assert frame.schema["symbol"] == frame.schema["source"] == pl.String
    assert pl.read_csv(text).filter(pl.col("kind") == "instr_range").get_column("num_instr_range").to_list() == [3, 2, 2, 1, 1]
    assert "format" not in frame.columns
    capsys.readouterr()
    assert main(["flow", "--elf", str(elf), str(trace), "-o", str(elf), "--to", "csv", "--force"]) == 2
    assert elf.read_bytes()[:4] == b"\x7fELF"


def test_a_program_elsewhere_and_another_beside_it(elf: Path, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.elf"
    other.write_bytes(elf.read_bytes()[:-8] + bytes(8))
    assert main(["flow", "--elf", f"{other}@0x1000", "--elf", str(elf), "--json", str(trace)]) == 0
    assert ranges(objects(capsys)) == RANGES
    assert main(["flow", "--elf", f"{elf}@0x1000", "--json", str(trace)]) == 0
    out, err = capsys.readouterr()
    assert [json.loads(line).get("st_addr") for line in out.splitlines() if "addr_nacc" in line] == ["0x80000000"]
    assert all(address in err for address in ("0x80000000", "0x80001000", "0x80001007"))
    assert main(["flow", "--elf", f"{elf}@nowhere", "--json", str(trace)]) == 2
    assert f"elf={elf}@nowhere" in capsys.readouterr().err


def test_addresses_of_fewer_bits_than_a_kernels(elf: Path, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the default width of 32 bits."""
    assert main(["flow", "--elf", f"{elf}@0xffffffff00000000", "--json", str(trace)]) == 0
    assert ranges(objects(capsys)) == [(f"0xffffffff{start[2:]}", count, jumped) for start, count, jumped in RANGES]


def test_perf_data_and_standard_input(elf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(build_perfdata([(0, 0, TRACE)], name="rvtrace/event=1/", auxtrace_type=99, info=auxtrace_info(99, 11)))
    assert main(["flow", "--elf", str(elf), "--json", str(path)]) == 0
    found = objects(capsys)
    assert ranges(found) == RANGES
    assert {each["cpu"] for each in found} == {0}


def test_a_program_that_was_not_traced(elf: Path, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without its branch the outcomes have nothing to be of."""
    content = bytearray(elf.read_bytes())
    content[-4:-2] = b"\x01\x00"  # c.nop
    elf.write_bytes(content)
    assert main(["flow", "--elf", str(elf), "--json", str(trace)]) == 0
    out, err = capsys.readouterr()
    assert [json.loads(line)["problem"] for line in out.splitlines() if json.loads(line)["problem"]] == ["outcomes_left"]
    assert "packets and program do not agree: more outcomes than branches" in err
    assert main(["flow", "--elf", str(elf), "--strict", str(trace)]) == 6
    assert "offset 0x9: riscv-flow: packets and program do not agree" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda content: b"", "bad-elf"),
        (lambda content: b"#!/bin/sh\n", "bad-elf"),
        (lambda content: content[:60], "bad-elf"),
        (lambda content: content[:-2], "bad-elf"),
        (lambda content: content[:18] + b"\x3e\x00" + content[20:], "other-machine"),
        (lambda content: content[:56] + b"\x00\x00" + content[58:], "no-code"),
    ],
)
def test_files_that_are_no_program(elf: Path, trace: Path, change: Any, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    elf.write_bytes(change(elf.read_bytes()))
    assert main(["flow", "--elf", str(elf), str(trace)]) == 6
    out, err = capsys.readouterr()
    assert str(elf) in err
    assert not out
    assert main(["flow", "--elf", str(elf), "--json", str(trace)]) == 6
    (failure,) = objects(capsys)
    assert failure["error"]["code"] == code


def test_what_it_does_not_do(elf: Path, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flow", "--elf", str(tmp_path / "none.elf"), str(trace)]) == 6
    assert "none.elf: No such file" in capsys.readouterr().err
    assert main(["flow", "--elf", str(elf), "-p", "version=2019", str(trace)]) == 2
    assert "only packets of version 2.0" in capsys.readouterr().err
    assert main(["flow", "--elf", str(elf), "-p", f"elf={elf}", str(trace)]) == 2
    assert "elf and --elf exclude each other" in capsys.readouterr().err
    assert main(["flow", "--elf", f"{elf}@-0x90000000", str(trace)]) == 6
    assert "cannot be loaded at -0x10000000" in capsys.readouterr().err
    odd = tmp_path / "a,b.elf"
    odd.write_bytes(elf.read_bytes())
    assert main(["flow", "--elf", str(odd), str(trace), "--json"]) == 0
    assert ranges(objects(capsys)) == RANGES
    assert main(["flow", str(trace)]) == 2
    assert "--elf" in capsys.readouterr().err
    assert main(["flow", "--elf", "", str(trace)]) == 2
    assert "--elf: elf=" in capsys.readouterr().err


@pytest.mark.parametrize("package", ["capstone"])
def test_without_its_packages(
    elf: Path, trace: Path, package: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ptttool.decoders.riscv.flow import protocol as riscv_flow

    riscv_flow._code.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["flow", "--elf", str(elf), str(trace)]) == 8
    assert "-m pip install 'capstone" in capsys.readouterr().err
