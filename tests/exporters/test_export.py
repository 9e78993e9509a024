"""Frames as CSV, JSON lines, Parquet and Arrow: what is read back is what was written."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.cli.main import main
from ptttool.errors import InputError, UsageError
from ptttool.exporters.contract import EXPORTERS, ExportContext, exporter_name, write_pieces
from ptttool.pci import format_id
from ptttool.table.batch import Batch
from ptttool.table.text import as_shown, as_text
from ptttool.table.values import NUMPY_DTYPES, Values
from ptttool.tlp.columns import ALL_COLUMNS, DEFAULT_COLUMNS, TLP_SCHEMA
from tests.support import captures
from tests.support.rows import Read, schema_of

LIMITS = {"u8": (0, 255), "u16": (0, 0xFFFF), "u32": (0, 0xFFFFFFFF), "u64": (0, (1 << 64) - 1), "i32": (0, (1 << 31) - 1)}
ENUMS = {column.name: column.values for column in TLP_SCHEMA if column.values}


def values_of(name: str) -> st.SearchStrategy[Any]:
    column = TLP_SCHEMA[name]
    if column.dtype == "enum":
        return st.none() | st.sampled_from(ENUMS[name])
    low, high = LIMITS[column.dtype]
    return st.none() | st.integers(low, high) | st.sampled_from([low, 1, high])


@st.composite
def frames(draw: st.DrawFn) -> pl.DataFrame:
    """Any rows of any columns."""
    names = draw(st.lists(st.sampled_from(TLP_SCHEMA.names), min_size=1, max_size=6, unique=True))
    count = draw(st.integers(1, 5))
    columns = {name: draw(st.lists(values_of(name), min_size=count, max_size=count)) for name in names}
    return pl.DataFrame(columns, schema=schema_of(names))


def slow_text(name: str, value: int | str | None) -> int | str | None:
    """A value as csv and jsonl hold it, made one by one."""
    if value is None or isinstance(value, str):
        return value
    style = TLP_SCHEMA[name].style
    return format_id(value) if style == "id" else f"{value:#x}" if style == "hex" else value


def batch_of(frame: pl.DataFrame) -> Batch:
    """A frame as the decoder would have given it: with anything where there is no value, evenly spaced numbers as a range."""
    columns = {}
    for name in frame.columns:
        series = frame[name]
        codes = [None if value is None else ENUMS[name].index(value) if name in ENUMS else value for value in series.to_list()]
        valid = series.is_not_null().to_numpy()
        array = np.array([1 if code is None else code for code in codes], dtype=NUMPY_DTYPES[TLP_SCHEMA[name].dtype])
        if name in ("index", "offset") and len(codes) > 1 and valid.all():
            first, step = int(array[0]), int(array[1]) - int(array[0])
            if step > 0 and codes == [*range(first, first + step * len(codes), step)]:
                columns[name] = Values(range(first, first + step * len(codes), step))
                continue
        columns[name] = Values(array if valid.any() else None, None if valid.all() else valid)
    return Batch(TLP_SCHEMA.select(frame.columns), frame.height, columns)


def written(name: str, parts: list[pl.DataFrame]) -> bytes:
    file = io.BytesIO()
    write(name, map(batch_of, parts), file, parts[0].columns, {"ptttool.event": "hisi_ptt0_0/x/"})
    return file.getvalue()


def write(name: str, batches: Iterable[Batch], file: IO[bytes], columns: Sequence[str], facts: Mapping[str, str]) -> None:
    """Batches to a file, one by one."""
    exporter, schema = EXPORTERS.get(name), TLP_SCHEMA.select(columns)
    write_pieces(exporter.writer(file, schema, ExportContext(facts=facts)), map(exporter.encoder(schema), batches))


def real_frames(columns: tuple[str, ...] = ALL_COLUMNS) -> list[pl.DataFrame]:
    with Read(captures.FOLDER / "6.12" / "s-8dw-ports-dir3.data") as trace:
        frame = pl.concat(trace.frames(columns))
    return [frame[:1000], frame[1000:1000], frame[1000:]]


@given(frames())
def test_csv_and_jsonl_of_any_rows(frame: pl.DataFrame) -> None:
    expected = [{name: slow_text(name, value) for name, value in row.items()} for row in frame.to_dicts()]
    assert [json.loads(line) for line in written("jsonl", [frame]).splitlines()] == expected
    rows = list(csv.DictReader(io.StringIO(written("csv", [frame]).decode())))
    assert rows == [{name: "" if value is None else str(value) for name, value in row.items()} for row in expected]


@given(frames())
def test_people_see_codes_in_hexadecimal(frame: pl.DataFrame) -> None:
    shown = as_shown(frame, TLP_SCHEMA)
    for name in frame.columns:
        for value, text in zip(frame[name].to_list(), shown[name].to_list(), strict=True):
            if value is not None and TLP_SCHEMA[name].shown_style == "hex":
                assert text == f"{value:#x}"


@pytest.mark.parametrize("name", ["csv", "jsonl"])
def test_several_frames_are_one_text(name: str) -> None:
    parts = real_frames()
    assert written(name, parts) == written(name, [pl.concat(parts)])
    assert written(name, parts[1:2]) == (",".join(ALL_COLUMNS).encode() + b"\n" if name == "csv" else b"")


def test_jsonl_has_all_columns_in_order_and_null_for_what_is_absent() -> None:
    (frame, *_) = real_frames()
    line = written("jsonl", [frame[:1]]).splitlines()[0]
    row = json.loads(line)
    assert tuple(row) == ALL_COLUMNS
    assert row["kind"] == "CplD"
    assert row["address"] is None
    assert line.startswith(b'{"index":0,"offset":0,"cpu":0,')


@pytest.mark.parametrize("name", ["parquet", "arrow"])
def test_binary_formats_keep_numbers_and_enums(name: str, tmp_path: Path) -> None:
    parts = real_frames()
    path = tmp_path / "out"
    path.write_bytes(written(name, parts))
    back = pl.read_parquet(path) if name == "parquet" else pl.read_ipc(path)
    assert back.schema == schema_of(ALL_COLUMNS)
    assert back.equals(pl.concat(parts))
    path.write_bytes(written(name, parts[1:2]))
    back = pl.read_parquet(path) if name == "parquet" else pl.read_ipc(path)
    assert (back.schema, back.height) == (schema_of(ALL_COLUMNS), 0)


def test_parquet_holds_facts_about_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    path.write_bytes(written("parquet", real_frames()))
    assert pl.read_parquet_metadata(path)["ptttool.event"] == "hisi_ptt0_0/x/"


@pytest.mark.parametrize("name", ["csv", "jsonl", "parquet", "arrow"])
def test_what_goes_wrong_on_the_way_comes_out_as_it_is(name: str) -> None:
    part = real_frames()[0]

    def broken() -> Iterator[Batch]:
        yield batch_of(part)
        raise InputError("perf.data", "it is broken")

    with pytest.raises(InputError, match="it is broken"):
        write(name, broken(), io.BytesIO(), part.columns, {})


class FullDisk(io.RawIOBase):
    """Takes some bytes and no more."""

    def __init__(self) -> None:
        self.room = 1000

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.room -= len(data)
        if self.room < 0:
            raise OSError(28, "No space left on device")
        return len(data)


@pytest.mark.parametrize("name", ["csv", "jsonl", "parquet", "arrow"])
def test_a_full_disk_is_a_plain_os_error(name: str) -> None:
    part = real_frames()[0]
    many = (batch_of(part) for _ in range(100))
    file: IO[bytes] = FullDisk()  # type: ignore[assignment]
    with pytest.raises(OSError, match="No space left") as caught:
        write(name, many, file, part.columns, {})
    assert caught.value.errno == 28


def test_the_default_columns_of_the_formats() -> None:
    context = ExportContext()
    assert EXPORTERS.get("csv").columns(TLP_SCHEMA, context) == DEFAULT_COLUMNS
    assert all(EXPORTERS.get(name).columns(TLP_SCHEMA, context) == ALL_COLUMNS for name in ("jsonl", "parquet", "arrow"))
    assert [exporter.name for exporter in EXPORTERS if exporter.is_binary] == ["arrow", "parquet", "pcapng", "perfetto"]


@pytest.mark.parametrize(
    ("to", "output", "expected"),
    [
        (None, None, None),
        (None, "out", None),
        ("csv", None, "csv"),
        ("csv", "out.parquet", "csv"),
        (None, "out.csv", "csv"),
        (None, "OUT.CSV", "csv"),
        (None, "out.jsonl", "jsonl"),
        (None, "out.ndjson", "jsonl"),
        (None, "out.parquet", "parquet"),
        (None, "out.arrow", "arrow"),
        (None, "out.feather", "arrow"),
        (None, "out.ipc", "arrow"),
        (None, "out.txt", "table"),
        ("perf", "out.txt", "perf"),
        ("table", "out.csv", "table"),
        (None, "/dev/null", None),
        (None, "/dev/shm/out.parquet", "parquet"),
    ],
)
def test_the_format_is_named_or_follows_from_the_suffix(to: str | None, output: str | None, expected: str | None) -> None:
    assert exporter_name(to, None if output is None else Path(output)) == expected


@pytest.mark.parametrize(("to", "output"), [("xml", None), (None, "out.xlsx"), ("CSV", None)])
def test_unknown_formats(to: str | None, output: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        exporter_name(to, None if output is None else Path(output))
    assert "csv" in str(caught.value.hint)


def test_text_of_every_id_and_of_every_short_number() -> None:
    values = list(range(1 << 16))
    frame = pl.DataFrame({"requester": values, "st": values}, schema=schema_of(("requester", "st")))
    assert as_text(frame, TLP_SCHEMA)["requester"].to_list() == [format_id(value) for value in values]
    assert as_shown(frame, TLP_SCHEMA)["st"].to_list() == [hex(value) for value in values]


@given(st.lists(frames(), min_size=1, max_size=3))
def test_parquet_of_any_rows(parts: list[pl.DataFrame]) -> None:
    """Row groups of any values, found again by them."""
    parts = [part for part in parts if part.columns == parts[0].columns]
    data = io.BytesIO(written("parquet", parts))
    whole = pl.concat(parts)
    assert pl.read_parquet(data).equals(whole)
    for name in whole.columns:
        for value in {*whole[name].drop_nulls().to_list()}:
            data.seek(0)
            assert pl.scan_parquet(data).filter(pl.col(name) == value).collect().height == (whole[name] == value).sum(), name


def test_pandas_reads_exact_integers_from_parquet(tmp_path: Path) -> None:
    """By default, it makes floats of integers where one is absent."""
    high = (1 << 64) - 1
    frame = pl.DataFrame({"address": [high, None, high - 4], "kind": ["MRd", "CplD", "MRd"], "cpu": [0, None, 2], "requester": [1, 2, 3]})
    path = tmp_path / "out.parquet"
    path.write_bytes(written("parquet", [frame.cast(schema_of(frame.columns))]))  # type: ignore[arg-type]
    for options in ({}, {"dtype_backend": "numpy_nullable"}, {"dtype_backend": "pyarrow"}, {"columns": ["address"]}):
        read = pd.read_parquet(path, **options)
        assert read["address"].dropna().to_list() == [high, high - 4]
        assert read["address"].isna().to_list() == [False, True, False]
    whole = pd.read_parquet(path)
    assert [str(dtype) for dtype in whole.dtypes] == ["UInt64", "category", "Int32", "UInt16"]
    assert (whole["address"] == high).sum() == 1


def test_pandas_reads_folders_and_every_capture(tmp_path: Path) -> None:
    path = captures.path_of("6.12/x-switch-port14", tmp_path)
    assert main(["decode", str(path), "-o", f"{tmp_path / 'folder'}/"]) == 0
    read = pd.read_parquet(tmp_path / "folder")
    with ptttool.open(path) as recording:
        own = recording.to_pandas()
    assert read["address"].dtype == own["address"].dtype == "UInt64"
    assert read["address"].equals(own["address"])
