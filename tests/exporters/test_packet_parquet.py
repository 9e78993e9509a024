"""Elements in Parquet: what polars and DuckDB read is what frames of the same elements say, types and nulls among them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from ptttool.decoders.contract import PROTOCOLS, RecordProtocol
from ptttool.decoders.element_batch import Elements
from ptttool.decoders.elements import FLAG_NAMES, KIND_NAMES, column
from ptttool.decoders.parameters import Given, read_file
from ptttool.decoders.stack import stack_of
from ptttool.exporters.packet_output import write
from ptttool.exporters.packet_parquet import Groups
from ptttool.exporters.packet_rows import Rows, gathered
from ptttool.exporters.packet_text import frame_of
from ptttool.parquet.file import ParquetFile
from ptttool.table.batch import NUMPY_DTYPES, Strings
from ptttool.table.schema import Column, DType
from tests import ROOT
from tests.decoders import toy
from tests.decoders.streams import batches, stack, streams_of

FOLDERS = (ROOT / "fixtures" / "etrace", ROOT.parent / "shared" / "vectors")
VECTORS = [path for folder in FOLDERS for path in sorted(folder.rglob("*.bin"))]
COLOURS = ("red", "green", "blue")
KINDS = ("u8", "u16", "u32", "u64", "i64", "bool", "enum", "bytes")
FIELDS = tuple(column(f"{dtype}_{number}", DType(dtype), "", COLOURS if dtype == "enum" else ()) for dtype in KINDS for number in range(2))


def check(path: Path, rows: Sequence[Rows], fields: Sequence[Column], *, raw: bool) -> None:
    """Hold a file against the frames of what it was made of."""
    wanted = pl.concat([frame_of(part, fields, raw=raw) for part in (rows or [Rows(Elements.empty())])])
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


@dataclass(frozen=True)
class Making:
    """Makes columns: hypothesis chooses what kind of values, a generator of numbers with a drawn seed the values."""

    draw: st.DrawFn
    random: np.random.Generator

    def mask(self, count: int) -> Any:
        return self.random.random(count) < self.draw(st.sampled_from((0.0, 0.02, 0.5, 1.0)))

    def values(self, dtype: str, count: int) -> Any:
        """Values of a field: any, few different ones, near one another, all the same."""
        if dtype == "bytes":
            return self.spans(count)
        if dtype in ("bool", "enum"):
            return self.random.integers(0, 2 if dtype == "bool" else len(COLOURS), count).astype(np.uint8)
        kind: Any = NUMPY_DTYPES[dtype]
        low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        edges = np.array([low, high, 0, 1, high // 2, *(min(high, edge) for edge in (255, 256, 4095, 4096))], dtype=kind)
        style = self.draw(st.sampled_from(("any", "few", "near", "same", "small")))
        if style == "same":
            return np.full(count, self.random.choice(edges))
        if style == "small":
            most = self.draw(st.sampled_from((1, 2, 15, 16, 255, 256, 4095, 4096)))
            return self.random.integers(0, min(most, high), count, endpoint=True).astype(kind)
        if style == "near":
            bits = self.draw(st.integers(1, 40))
            steps = self.random.integers(-(1 << bits - 1), 1 << bits - 1, count)
            return (np.cumsum(steps).astype(np.uint64) + self.random.choice(edges).astype(np.uint64)).astype(kind)
        numbers = self.random.integers(low, high, 4 if style == "few" else count, endpoint=True, dtype=kind)
        return self.random.choice(np.append(numbers[:4], edges[:2]), count) if style == "few" else numbers

    def spans(self, count: int) -> Strings:
        """Byte strings one after the other, or anywhere."""
        data = self.random.integers(0, 256, 6 * count + 1, dtype=np.uint8)
        length = self.random.integers(0, 7, count)
        start = np.cumsum(length) - length
        if self.draw(st.booleans()):
            start = self.random.permutation(start)
            length = np.minimum(length, len(data) - start)
        return Strings(data, np.where(self.mask(count), -1, start), length)


@st.composite
def made(draw: st.DrawFn) -> Elements:
    """Batches with every kind of column: for all elements, for none, for some, in several parts."""
    making = Making(draw, np.random.default_rng(draw(st.integers(0, 1 << 32))))
    count = draw(st.sampled_from((0, 1, 7, 8, 9, 33, 129, 1000)) | st.integers(0, 300))
    channel, flags = making.random.integers(0, 300, count), making.random.integers(1, len(FLAG_NAMES), count)
    batch = Elements(
        draw(st.sampled_from(("a", "b"))),
        making.values("u64", count),
        making.values("u64", count),
        kind=making.random.integers(0, len(KIND_NAMES), count),
        channel=np.where(making.mask(count), -1, channel),
        flags=np.where(making.mask(count), 0, flags),
        timestamp=making.values("u64", count),
        timed=making.mask(count),
        raw=making.spans(count),
    )
    mask, other = making.mask(count), making.mask(count)
    shared = np.flatnonzero(mask), np.flatnonzero(other & ~mask)
    for field in FIELDS:
        for rows in draw(st.sampled_from(((), (None,), shared[:1], shared, shared[::-1], (None, shared[0])))):
            batch.put(field.name, making.values(field.dtype, count if rows is None else len(rows)), rows)
    return batch


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
            parquet = ParquetFile(file, made_groups.columns, {}, created_by="tests")
            for group in rows:
                parquet.add(made_groups.group_of(group))
            parquet.close()
        check(path, [part for group in rows for part in group], FIELDS, raw=raw)


@pytest.mark.parametrize("name", [protocol.name for protocol in PROTOCOLS if not isinstance(protocol, RecordProtocol)])
@settings(max_examples=25)
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
        rows = [Rows(decoder.feed(path.read_bytes(), offset=0), path.name, 1), Rows(decoder.finish(), path.name, 1)]
        with (tmp_path / "x.parquet").open("wb") as file:
            write("parquet", rows, chosen.fields, file, {}, raw=True)
        check(tmp_path / "x.parquet", rows, chosen.fields, raw=True)


def test_groups_are_bounded() -> None:
    """By their rows, and by the bytes that their elements lie in, however few they are."""
    decoder = stack_of(toy.NAME, {"longest": Given("9", "-p")}).decoder()
    batch = decoder.feed(b"\x01\x02" * (1 << 19), offset=0)
    assert [len(group) for group in gathered([Rows(batch.take(np.arange(40_000)))] * 5)] == [2, 2, 1]
    assert len(batch.raw.data) == 1 << 20
    assert max(len(group) for group in gathered([Rows(batch.take(np.arange(1)))] * 50)) == 16
    assert list(gathered([Rows(Elements.empty())])) == []


def test_facts_are_in_the_footer(tmp_path: Path) -> None:
    with (tmp_path / "x.parquet").open("wb") as file:
        write("parquet", [], (), file, {"ptttool.protocol": "toy"}, raw=False)
    assert pl.read_parquet_metadata(tmp_path / "x.parquet")["ptttool.protocol"] == "toy"
    assert pl.read_parquet(tmp_path / "x.parquet").height == 0
