"""Recordings from Python: tables for every library, batches, analyses, files; errors as codes."""

from __future__ import annotations

import doctest
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from msgspec import Struct

import ptttool
from ptttool.analyses.loss.analysis import LossSigns
from ptttool.analyses.summary import TlpSummary
from ptttool.api import recording as api
from ptttool.cli.main import main
from ptttool.decoders.riscv.encap.framing import EncapSettings
from tests.decoders.riscv.encap_encoder import normal
from tests.support import captures
from tests.support.recordings import build_perfdata, words_8dw

TLPS = captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data"
FORM = EncapSettings(srcid_bits=6, type_bits=2)
EXAMPLE = bytes.fromhex("06813204000002")


def examples() -> list[doctest.DocTest]:
    return [test for test in doctest.DocTestFinder().find(api, api.__name__) if test.examples]


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name.rpartition(".")[2])
def test_examples(example: doctest.DocTest, request: pytest.FixtureRequest) -> None:
    example.globs |= {"getfixture": request.getfixturevalue, "ptttool": ptttool}
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.fixture
def packets(tmp_path: Path) -> Path:
    """Packets of two sources, one without data, and null packets."""
    path = tmp_path / "trace.bin"
    path.write_bytes(EXAMPLE + normal(FORM, 0x155, 9, channel=2) + bytes(3) + EXAMPLE)
    return path


@pytest.fixture(params=["hisi-ptt", "riscv-encap"])
def recording(request: pytest.FixtureRequest, packets: Path) -> Iterator[ptttool.Recording]:
    """An open recording of TLPs, and one of packets."""
    if request.param == "hisi-ptt":
        opened = ptttool.open(TLPS)
    else:
        opened = ptttool.open(packets, "riscv-encap", parameters={"srcid_bits": 6, "type_bits": 2})
    with opened:
        yield opened


def plain(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Rows in which enums are texts."""
    return frame.with_columns(pl.col(pl.Enum).cast(pl.String)).to_dicts()


def from_duckdb(relation: Any) -> list[dict[str, Any]]:
    """The rows of a relation."""
    rows: list[dict[str, Any]] = relation.to_arrow_table().to_pylist()
    return rows


def as_python(value: Any) -> Any:
    return None if value is None or value is pd.NA or value != value else value.item() if hasattr(value, "item") else value


def test_the_same_rows_for_every_library(recording: ptttool.Recording) -> None:
    """What a row does not have is null everywhere; enums are texts; 64-bit numbers and byte strings stay whole."""
    expected = plain(recording.to_polars())
    assert len(expected) > 3
    assert any(None in row.values() for row in expected)
    assert plain(pl.DataFrame(recording)) == expected
    assert recording.to_arrow().to_pylist() == expected
    assert pa.table(recording).to_pylist() == expected
    assert pa.RecordBatchReader.from_stream(recording).read_all().to_pylist() == expected
    assert from_duckdb(duckdb.sql("select * from recording")) == expected
    reader = pa.RecordBatchReader.from_stream(recording)
    assert from_duckdb(duckdb.from_arrow(reader)) == expected
    for frame in (recording.to_pandas(), pd.DataFrame.from_arrow(recording).astype(object)):
        found = [{name: as_python(value) for name, value in row.items()} for row in frame.astype(object).to_dict("records")]
        assert [row.keys() for row in found] == [row.keys() for row in expected]
        assert found == expected


def test_the_same_rows_of_a_batch(recording: ptttool.Recording) -> None:
    batch = next(iter(recording.batches()))
    expected = plain(batch.to_polars())
    assert plain(pl.DataFrame(batch)) == expected
    assert pa.table(batch).to_pylist() == expected
    assert from_duckdb(duckdb.sql("select * from batch")) == expected
    frame = pd.DataFrame.from_arrow(batch).astype(object)
    assert [{name: as_python(value) for name, value in row.items()} for row in frame.to_dict("records")] == expected


def test_pandas_has_nullable_integers() -> None:
    with ptttool.open(TLPS) as recording:
        frame = recording.to_pandas()
    assert frame["address"].dtype == "UInt64"
    assert frame["requester"].dtype == "UInt16"
    assert frame["kind"].dtype == "category"
    assert frame["completer"].isna().any()


def test_the_largest_numbers(tmp_path: Path) -> None:
    """An address of 64 bits, all set but the lowest two."""
    path = tmp_path / "perf.data"
    record = words_8dw(1)
    path.write_bytes(build_perfdata([(0, 0, record[:16] + b"\xff\xff\xff\xff\xfc\xff\xff\xff" + record[24:])]))
    with ptttool.open(path) as recording:
        wanted = 0xFFFF_FFFF_FFFF_FFFC
        assert recording.to_polars()["address"][0] == wanted
        assert recording.to_pandas()["address"][0] == wanted
        assert pa.table(recording)["address"][0].as_py() == wanted
        assert duckdb.connect().execute("select address from recording").fetchall() == [(wanted,)]


def test_an_empty_recording(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(build_perfdata([]))
    with ptttool.open(path) as recording:
        names = list(recording.schema.usual_names)
        assert recording.to_polars().shape == (0, len(names))
        assert [batch.size for batch in recording.batches()] == [0]
        assert pa.table(recording).num_rows == recording.to_arrow().num_rows == 0
        assert list(recording.to_pandas().columns) == names == list(pd.DataFrame.from_arrow(recording).columns)
        assert duckdb.connect().execute("select count(*) from recording").fetchall() == [(0,)]
        assert recording.analyze("summary").records == 0
        assert recording.export(tmp_path / "out.parquet") == 0
        assert pl.read_parquet(tmp_path / "out.parquet").schema == recording.to_polars().schema


def test_rows_and_columns() -> None:
    with ptttool.open(TLPS) as recording:
        whole = recording.to_polars()
        wanted = whole.filter(pl.col("kind") == "MRd").select("requester", "index")
        part = recording.to_polars(["requester", "index"], "kind = 'MRd'")
        assert part.equals(wanted)
        assert recording.to_polars(["requester", "index"], "kind = 'MRd'", offset=3, limit=5).equals(wanted[3:8])
        batches = [batch.to_polars() for batch in recording.batches(("requester", "index"), "kind = 'MRd'", jobs=2)]
        assert pl.concat(batches).equals(wanted)
        assert recording.to_arrow(["index"], limit=2).to_pydict() == {"index": [0, 1]}
        assert recording.to_pandas(["index"], limit=2)["index"].to_list() == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [({"columns": ["indx"]}, "unknown-column"), ({"columns": ["index", "index"]}, "column-twice"), ({"where": "kind ="}, None)],
)
def test_wrong_questions(arguments: dict[str, Any], code: str | None) -> None:
    with ptttool.open(TLPS) as recording:
        with pytest.raises(ptttool.UsageError) as caught:
            recording.batches(**arguments)
        assert code is None or caught.value.code == code


def test_two_walks_at_once(recording: ptttool.Recording) -> None:
    """A walk that has not ended is not disturbed by the next one."""
    first = recording.batches()
    begun = next(first)
    whole = recording.to_polars()
    rows = pl.concat([begun.to_polars(), *(batch.to_polars() for batch in first)])
    assert rows.equals(whole)


def test_a_reader_decodes_what_it_takes(tmp_path: Path) -> None:
    """Through Arrow the rows come batch by batch: what lies behind is not decoded yet."""
    path = tmp_path / "perf.data"
    path.write_bytes(build_perfdata([(0, 0, words_8dw(600_000))]))
    with ptttool.open(path) as recording:
        reader = pa.RecordBatchReader.from_stream(recording)
        first = reader.read_next_batch()
        walk = recording._last_walk
        assert walk is not None
        assert 0 < first.num_rows <= walk.findings.records < 600_000
        assert first.num_rows + sum(batch.num_rows for batch in reader) == 600_000


def test_without_pyarrow_and_pandas() -> None:
    """Tables go through Arrow all the same; what needs a package says so."""
    code = f"""
import sys
sys.modules["pyarrow"] = sys.modules["pandas"] = None
import polars, ptttool
with ptttool.open({str(TLPS)!r}) as recording:
    print(polars.DataFrame(recording).equals(recording.to_polars()))
    for method in (recording.to_arrow, recording.to_pandas):
        try:
            method()
        except ptttool.MissingPackageError as error:
            print(error.code, error.details["package"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["True", "missing-package pyarrow", "missing-package pandas"]


def test_analyses(packets: Path) -> None:
    with ptttool.open(TLPS) as recording:
        summary = recording.analyze("summary")
        assert isinstance(summary, TlpSummary)
        assert summary.records == recording.to_polars().height
        assert recording.analyze("summary", jobs=2) == summary
        reads = recording.analyze("summary", where="kind = 'MRd'")
        assert reads.records == summary.kinds["MRd"].records
        assert isinstance(recording.analyze("loss"), LossSigns)
        with pytest.raises(ptttool.UsageError) as caught:
            recording.analyze("elements")
        assert caught.value.code == "missing-columns"
        with pytest.raises(ptttool.UsageError) as unknown:
            recording.analyze("sumary")
        assert unknown.value.code == "unknown-analysis"
    with ptttool.open(packets, "riscv-encap", parameters={"srcid_bits": 6, "type_bits": 2}) as recording:
        elements = recording.analyze("elements")
        assert (elements.records, elements.channels) == (4, {"1": 2, "2": 1})
        assert isinstance(elements, Struct)


def test_files(recording: ptttool.Recording, tmp_path: Path) -> None:
    """A file from Python is that of the command line."""
    parameters = [] if recording.is_ptt else ["--protocol", "riscv-encap", "-p", "srcid_bits=6", "-p", "type_bits=2"]
    for suffix in ("csv", "jsonl", "parquet", "arrow", "txt"):
        here, there = tmp_path / f"here.{suffix}", tmp_path / f"there.{suffix}"
        rows = recording.export(here)
        assert main(["decode", recording.path, *parameters, "-o", str(there)]) == 0
        assert rows == recording.to_polars(["index"]).height
        assert here.read_bytes() == there.read_bytes()
    with pytest.raises(ptttool.OutputError) as caught:
        recording.export(tmp_path / "here.csv")
    assert caught.value.code == "exists"
    assert recording.export(tmp_path / "here.csv", "jsonl", limit=1, force=True) == 1
    with pytest.raises(ptttool.UsageError) as unknown:
        recording.export(tmp_path / "here.doc")
    assert unknown.value.code == "unknown-format"


def test_the_text_of_perf(tmp_path: Path, packets: Path) -> None:
    with ptttool.open(TLPS) as recording:
        records = recording.export(tmp_path / "here", "perf")
        assert records == recording.to_polars(["index"]).height
    assert main(["decode", str(TLPS), "--to", "perf", "-o", str(tmp_path / "there")]) == 0
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
    with ptttool.open(packets, "riscv-encap") as other, pytest.raises(ptttool.UsageError) as caught:
        other.export(tmp_path / "x", "perf")
    assert caught.value.code == "other-protocol"
    assert not (tmp_path / "x").exists()


def test_after_its_end(recording: ptttool.Recording) -> None:
    begun = recording.batches()
    next(begun)
    recording.close()
    recording.close()
    for use in (recording.to_polars, lambda: next(begun), lambda: recording.analyze("loss"), lambda: pa.table(recording)):
        with pytest.raises((ptttool.UsageError, OSError, pa.ArrowInvalid)) as caught:
            use()
        assert getattr(caught.value, "code", "recording-closed") == "recording-closed"
    assert recording.path in recording._repr_html_()
    assert recording.schema.names


def test_damage_and_strictness(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    content = build_perfdata([(0, 0, words_8dw(100))])
    path.write_bytes(content[: content.index(words_8dw(1)) + 320])
    with ptttool.open(path) as recording:
        assert recording.to_polars().height == 10
        assert {"truncated", "missing-bytes"} <= {found.code for found in recording.diagnostics}
    bad = words_8dw(3) + b"\xff\xff\xff\xff\0\0\0\0" + b"\xff" * 24 + words_8dw(3)
    path.write_bytes(build_perfdata([(0, 0, bad)]))
    with ptttool.open(path, strict=True) as recording:
        with pytest.raises(ptttool.InputError) as caught:
            recording.to_polars()
        assert (caught.value.code, caught.value.offset is not None) == ("strict", True)
        assert "error" not in recording._repr_html_() or recording.path in recording._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        (["none"], ptttool.InputError, "no-such-file"),
        ([TLPS, "riscv-encap"], ptttool.InputError, "other-pmu"),
        ([TLPS, "riscv"], ptttool.UsageError, "unknown-protocol"),
    ],
)
def test_what_cannot_be_opened(arguments: list[Any], kind: type[ptttool.PtttoolError], code: str) -> None:
    with pytest.raises(kind) as caught:
        ptttool.open(*arguments)
    assert caught.value.code == code


def test_in_a_notebook(recording: ptttool.Recording) -> None:
    shown = recording._repr_html_()
    assert recording.path in shown and "<table" in shown
    assert shown.count("<tr>") < 20
    assert recording.path in repr(recording)


def test_names_of_the_recorded_machine(tmp_path: Path) -> None:
    """``trace`` keeps the machine beside a recording; elsewhere there is none."""
    path = tmp_path / "perf.data"
    assert main(["trace", "--demo", "--rootport", "0000:00:10.0", "--no-decode", "-o", str(path)]) == 0
    with ptttool.open(path) as recording:
        assert recording.machine is not None
        assert [device.name for device in recording.machine.devices] == [recording.device]
        recording.export(tmp_path / "named.txt", limit=3)
    assert main(["decode", str(path), "--limit", "3", "-o", str(tmp_path / "same.txt")]) == 0
    assert (tmp_path / "named.txt").read_text() == (tmp_path / "same.txt").read_text()
    with ptttool.open(TLPS) as recording:
        assert recording.machine is None


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
import ptttool
recording = ptttool.open("-")
print("<table" in recording._repr_html_(), recording.to_polars().height > 0)
try:
    recording.to_polars()
except ptttool.UsageError as error:
    print(error.code)
"""
    done = subprocess.run([sys.executable, "-c", code], input=TLPS.read_bytes(), capture_output=True, check=True)
    assert done.stdout.decode().split() == ["False", "True", "stdin-twice"]
