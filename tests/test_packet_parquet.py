"""Elements in Parquet: what polars and DuckDB read is what frames of the same elements say, types and nulls among them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from ptttool.packet_output import write
from ptttool.packet_parquet import Groups
from ptttool.packet_rows import Rows, gathered
from ptttool.packet_text import frame_of
from ptttool.packets.batch import DTYPES, Batch, Spans
from ptttool.packets.decoder import PROTOCOLS, stack_of
from ptttool.packets.elements import FLAG_NAMES, KIND_NAMES, Field
from ptttool.packets.parameters import Given, read_file
from ptttool.parquet.file import ParquetFile
from tests.packets import toy
from tests.packets.streams import batches, stack, streams_of

FOLDERS = (Path(__file__).parents[1] / "fixtures" / "etrace", Path(__file__).parents[2] / "shared" / "vectors")
VECTORS = [path for folder in FOLDERS for path in sorted(folder.rglob("*.bin"))]
COLOURS = ("red", "green", "blue")
KINDS = ("u8", "u16", "u32", "u64", "i64", "bool", "enum", "bytes")
FIELDS = tuple(Field(f"{dtype}_{number}", dtype, "", COLOURS if dtype == "enum" else ()) for dtype in KINDS for number in range(2))


def check(path: Path, rows: Sequence[Rows], fields: Sequence[Field], *, raw: bool) -> None:
    """Hold a file against the frames of what it was made of."""
    wanted = pl.concat([frame_of(part, fields, raw=raw) for part in (rows or [Rows(Batch.empty())])])
    found = pl.read_parquet(path)
    assert found.schema == wanted.schema
    assert_frame_equal(found, wanted)
    read = duckdb.execute(f"select * from read_parquet('{path}')").fetchall()
    assert read == wanted.rows()
    for name, dtype, *_ in duckdb.execute(f"describe select * from read_parquet('{path}')").fetchall():
        assert dtype == duckdb_type(wanted.schema[name])


def duckdb_type(dtype: pl.DataType) -> str:
    if dtype == pl.Binary:
        return "BLOB"
    if dtype.is_integer():
        signs = {
            "UInt8": "UTINYINT",
            "UInt16": "USMALLINT",
            "UInt32": "UINTEGER",
            "UInt64": "UBIGINT",
            "Int32": "INTEGER",
            "Int64": "BIGINT",
        }
        return signs[str(dtype)]
    return "BOOLEAN" if dtype == pl.Boolean else "VARCHAR"


def arrays(dtype: str, count: int) -> st.SearchStrategy[Any]:
    """Values of a field: any, few different ones, near one another, all the same."""
    if dtype == "bytes":
        return spans(count, absent=True)
    if dtype in ("bool", "enum"):
        return lists(st.integers(0, 1 if dtype == "bool" else len(COLOURS) - 1), count).map(lambda values: np.array(values, dtype=np.uint8))
    kind = np.dtype(DTYPES[dtype])
    low, high = (int(np.iinfo(kind).min), int(np.iinfo(kind).max))
    any_number = st.integers(low, high) | st.sampled_from((low, high, 0, 1, 255 % (high + 1), 4096 % (high + 1)))
    steps = st.integers(1, 40).flatmap(lambda bits: lists(st.integers(-(1 << bits - 1), (1 << bits - 1) - 1), count))
    made = st.one_of(
        lists(any_number, count),
        lists(any_number, 3).flatmap(lambda few: lists(st.sampled_from(few), count)),
        any_number.map(lambda value: [value] * count),
        st.tuples(any_number, steps).map(lambda both: [both[0] + sum(both[1][: n + 1]) for n in range(count)]),
    )
    return made.map(lambda values: np.array([(value - low) % (high - low + 1) + low for value in values], dtype=kind))


def lists(of: st.SearchStrategy[Any], count: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(of, min_size=count, max_size=count)


@st.composite
def spans(draw: st.DrawFn, count: int, *, absent: bool) -> Spans:
    """Byte strings one after the other, or anywhere."""
    data = np.frombuffer(draw(st.binary(min_size=1, max_size=80)), dtype=np.uint8)
    length = np.array(draw(lists(st.integers(0, 6), count)), dtype=np.int64)
    if draw(st.booleans()):
        start = np.cumsum(length) - length
        data = np.resize(data, max(int(length.sum()), 1))
    else:
        start = np.array(draw(lists(st.integers(0, len(data) - 1), count)), dtype=np.int64)
        length = np.minimum(length, len(data) - start)
    if absent and draw(st.booleans()):
        start = np.where(np.array(draw(lists(st.booleans(), count)), dtype=np.bool_), -1, start)
    return Spans(data, start, length)


@st.composite
def made(draw: st.DrawFn, biggest: int = 300) -> Batch:
    """Batches with every kind of column: for all elements, for none, for some, in several parts."""
    count = draw(st.sampled_from((0, 1, 7, 8, 9, 33, 129, biggest)) | st.integers(0, biggest))
    batch = Batch(
        draw(st.sampled_from(("a", "b"))),
        draw(arrays("u64", count)),
        draw(arrays("u64", count)),
        kind=np.array(draw(lists(st.integers(0, len(KIND_NAMES) - 1), count)), dtype=np.uint8),
        channel=np.array(draw(lists(st.integers(-1, draw(st.sampled_from((-1, 0, 300)))), count)), dtype=np.int32),
        flags=np.array(draw(lists(st.integers(0, draw(st.sampled_from((0, len(FLAG_NAMES) - 1)))), count)), dtype=np.uint32),
        timestamp=draw(st.none() | arrays("u64", count)),
        raw=draw(spans(count, absent=True)),
    )
    masks = [np.array(draw(lists(st.booleans(), count)), dtype=np.bool_) for _ in range(2)]
    shared = [np.flatnonzero(mask) for mask in (masks[0], masks[1] & ~masks[0])]
    for field in FIELDS:
        for rows in draw(st.sampled_from(((), (None,), (shared[0],), (shared[1], shared[0]), (shared[0], shared[1]), (None, shared[0])))):
            values = draw(arrays(field.dtype, count if rows is None else len(rows)))
            batch.put(field.name, values, rows)
    return batch


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_any_batches(data: st.DataObject) -> None:
    places = st.tuples(st.sampled_from((None, "x.bin", "y.bin")), st.sampled_from((None, 0, 3)))
    groups = data.draw(st.lists(st.lists(st.tuples(made(), places), min_size=1, max_size=2), max_size=3))
    raw = data.draw(st.booleans())
    several = data.draw(st.booleans())
    rows = [[Rows(batch, file or "x" if several else None, cpu) for batch, (file, cpu) in group] for group in groups]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        with path.open("wb") as file:
            made_groups = Groups(FIELDS, raw=raw)
            parquet = ParquetFile(file, made_groups.columns, {})
            for group in rows:
                parquet.add(made_groups.group_of(group))
            parquet.close()
        check(path, [part for group in rows for part in group], FIELDS, raw=raw)


@pytest.mark.parametrize("name", [protocol.name for protocol in PROTOCOLS if protocol.make is not None])
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_every_protocol(name: str, data: st.DataObject) -> None:
    stream = data.draw(streams_of(name))
    fields = stack(name, stream.parameters).fields
    rows = [Rows(batch) for batch in batches(name, stream, (len(stream.data) // 2,))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        with path.open("wb") as file:
            write("parquet", rows, fields, file, {}, raw=True)
        check(path, rows, fields, raw=True)


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_vectors(path: Path, tmp_path: Path) -> None:
    given = read_file(path.with_suffix(".params")) if path.with_suffix(".params").exists() else {}
    for name in ("riscv-etrace", "riscv-encap") if path.parent.name.startswith("etrace") else ("coresight-16",):
        chosen = stack_of(name, given if name == "riscv-etrace" else {})
        decoder = chosen.decoder()
        rows = [Rows(decoder.feed(path.read_bytes(), index=0), path.name, 1), Rows(decoder.finish(), path.name, 1)]
        with (tmp_path / "x.parquet").open("wb") as file:
            write("parquet", rows, chosen.fields, file, {}, raw=True)
        check(tmp_path / "x.parquet", rows, chosen.fields, raw=True)


def test_groups_are_bounded() -> None:
    """By their rows, and by the bytes that their elements lie in, however few they are."""
    decoder = stack_of(toy.NAME, {"longest": Given("9", "-p")}).decoder()
    batch = decoder.feed(b"\x01\x02" * (1 << 19), index=0)
    assert [len(group) for group in gathered([Rows(batch.take(np.arange(40_000)))] * 5)] == [2, 2, 1]
    assert len(batch.raw.data) == 1 << 20
    assert max(len(group) for group in gathered([Rows(batch.take(np.arange(1)))] * 50)) == 16
    assert list(gathered([Rows(Batch.empty())])) == []


def test_facts_are_in_the_footer(tmp_path: Path) -> None:
    with (tmp_path / "x.parquet").open("wb") as file:
        write("parquet", [], (), file, {"ptttool.protocol": "toy"}, raw=False)
    assert pl.read_parquet_metadata(tmp_path / "x.parquet")["ptttool.protocol"] == "toy"
    assert pl.read_parquet(tmp_path / "x.parquet").height == 0
