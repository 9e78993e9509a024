"""Files of the Parquet writer hold the same values for pyarrow, DuckDB and polars: every dtype, nulls, ranges, several row groups."""

from __future__ import annotations

import doctest
import io
import pickle
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptttool.parquet
from ptttool.parquet import ABSENT, Cells, Column, DType, ParquetFile, RowGroup, Strings, Texts, chunk_of, levels_of

NAMES = ("MRd", "MWr", "Ärger", "", "x" * 300)
RANGES = {DType.U8: 8, DType.U16: 16, DType.U32: 32, DType.U64: 64, DType.I32: -32, DType.I64: -64}
NUMPY = {"u8": "u1", "u16": "<u2", "u32": "<u4", "u64": "<u8", "i32": "<i4", "i64": "<i8"}
ARROW: dict[str, pa.DataType] = {
    "u8": pa.uint8(), "u16": pa.uint16(), "u32": pa.uint32(), "u64": pa.uint64(), "i32": pa.int32(), "i64": pa.int64(), "bool": pa.bool_(),
    "text": pa.large_string(), "bytes": pa.large_binary(),
}  # fmt: skip
POLARS: dict[str, Any] = {
    "u8": pl.UInt8(), "u16": pl.UInt16(), "u32": pl.UInt32(), "u64": pl.UInt64(), "i32": pl.Int32(), "i64": pl.Int64(),
    "bool": pl.Boolean(), "enum": pl.Enum(NAMES), "text": pl.String(), "bytes": pl.Binary(),
}  # fmt: skip


@dataclass
class Made:
    """A column with its values, row group by row group."""

    column: Column
    groups: list[list[Any]]
    spaced: bool = False

    @property
    def values(self) -> list[Any]:
        return [value for group in self.groups for value in group]


def number(dtype: DType) -> st.SearchStrategy[int]:
    bits = RANGES[dtype]
    least, most = (0, (1 << bits) - 1) if bits > 0 else (-(1 << -bits - 1), (1 << -bits - 1) - 1)
    # Small numbers, neighbours of a large one, and any: each has its own encoding.
    return st.one_of(
        st.integers(0, min(most, 300)), st.integers(max(least, most - 5000), most), st.integers(least, most), st.integers(0, min(most, 3))
    )


@st.composite
def columns(draw: st.DrawFn, sizes: Sequence[int], name: str) -> Made:
    """A column of any type; a part of its rows, all or none are null in each row group."""
    dtype = draw(st.sampled_from([*DType]))
    near = dtype in ("u32", "u64", "i64") and draw(st.booleans())
    spaced = dtype in ("u64", "u32") and draw(st.booleans())
    column = Column(name, dtype, NAMES if dtype == "enum" else (), near)
    if spaced:
        start, step = draw(st.integers(0, 1 << 20)), draw(st.integers(1, 1 << 10))
        return Made(column, [[start + step * row for row in range(size)] for size in sizes], True)
    special: dict[str, st.SearchStrategy[Any]] = {
        "bool": st.booleans(), "enum": st.sampled_from(NAMES), "text": st.sampled_from(("one", "two", "drei é")),
        "bytes": st.binary(max_size=40),
    }  # fmt: skip
    value = special[dtype] if dtype in special else number(dtype)
    groups = []
    for size in sizes:
        nulls = draw(st.sampled_from(["none", "some", "all"]))
        one = {"none": value, "some": st.none() | value, "all": st.none()}[nulls]
        groups.append(draw(st.lists(one, min_size=size, max_size=size)))
    return Made(column, groups)


@st.composite
def tables(draw: st.DrawFn) -> list[Made]:
    sizes = draw(st.lists(st.sampled_from([1, 2, 7, 8, 9, 31, 33, 130]), max_size=3))
    return [draw(columns(sizes, f"c{index}")) for index in range(draw(st.integers(1, 5)))]


def cells_of(made: Made, group: int) -> Cells:
    values = made.groups[group]
    valid = np.array([value is not None for value in values], dtype=np.bool_)
    if not valid.any():
        return ABSENT
    levels = None if valid.all() else levels_of(valid)
    present = [value for value in values if value is not None]
    dtype = made.column.dtype
    if made.spaced:
        step = present[1] - present[0] if len(present) > 1 else 1
        return Cells(range(present[0], present[-1] + 1, step))
    if dtype == "bytes":
        length = np.array([len(value) for value in present], dtype=np.int64)
        # With a gap in front of each: strings need not be next to one another.
        data = np.frombuffer(b"".join(b"-" + value for value in present), dtype=np.uint8)
        return Cells(Strings(data, np.cumsum(length + 1) - length, length), levels)
    if dtype == "text":
        texts = tuple(dict.fromkeys(present))
        return Cells(Texts(np.array([texts.index(value) for value in present], dtype=np.uint8), texts), levels)
    if dtype == "enum":
        return Cells(np.array([NAMES.index(value) for value in present], dtype=np.uint8), levels)
    return Cells(np.array(present, dtype=NUMPY.get(dtype, "?")), levels)


def write(path: Path, table: list[Made], through_pickle: bool = False) -> None:
    with path.open("wb") as file:
        parquet = ParquetFile(file, [made.column for made in table], {"key": "välue"}, created_by="tests version 1")
        for group in range(len(table[0].groups)):
            rows = len(table[0].groups[group])
            done = RowGroup(rows, tuple(chunk_of(made.column, cells_of(made, group), rows) for made in table))
            if through_pickle:
                buffers: list[pickle.PickleBuffer] = []
                small = pickle.dumps(done, 5, buffer_callback=buffers.append)
                done = pickle.loads(small, buffers=[memoryview(buffer).toreadonly() for buffer in buffers])
            parquet.add(done)
        parquet.close()


@settings(deadline=None)
@given(tables(), st.booleans())
def test_three_readers_agree(table: list[Made], through_pickle: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.parquet"
        write(path, table, through_pickle)
        expected = {made.column.name: made.values for made in table}
        arrow = pq.read_table(path)
        assert {name: arrow[name].to_pylist() for name in arrow.column_names} == expected
        frame = pl.read_parquet(path)
        assert frame.to_dict(as_series=False) == expected
        assert frame.schema == pl.Schema({made.column.name: POLARS[made.column.dtype] for made in table})
        rows = duckdb.execute(f"select * from read_parquet('{path}')").fetchall()
        assert [[row[index] for row in rows] for index in range(len(table))] == [*expected.values()]
        for made in table:
            read = arrow.schema.field(made.column.name).type
            assert pa.types.is_dictionary(read) if made.column.dtype == "enum" else read == ARROW[made.column.dtype]
        check_statistics(path, table)


def check_statistics(path: Path, table: list[Made]) -> None:
    """Row counts, null counts, minimum and maximum as pyarrow finds them."""
    metadata = pq.read_metadata(path)
    assert metadata.created_by == "tests version 1"
    assert metadata.metadata[b"key"].decode() == "välue"
    assert metadata.num_row_groups == len(table[0].groups)
    for group in range(metadata.num_row_groups):
        for index, made in enumerate(table):
            chunk = metadata.row_group(group).column(index)
            present = [value for value in made.groups[group] if value is not None]
            assert (chunk.num_values, chunk.statistics.null_count) == (len(made.groups[group]), len(made.groups[group]) - len(present))
            if present and made.column.dtype != "bytes":
                assert (chunk.statistics.min, chunk.statistics.max) == (min(present), max(present))
            else:
                assert not chunk.statistics.has_min_max


@pytest.mark.parametrize("size", [1, 5, 1 << 17])
def test_sparse_columns(tmp_path: Path, size: int) -> None:
    """A value in few rows of many, at the ends too; the null rows of two columns are shared."""
    valid = np.zeros(size, dtype=np.bool_)
    valid[[0, size // 2, -1]] = True
    count = int(valid.sum())
    levels = levels_of(valid)
    columns = (Column("x", "u16"), Column("y", "i64", near=True))
    values = np.arange(60_000, 60_000 + count).astype("<u2"), np.arange(-1, count - 1, dtype="<i8")
    path = tmp_path / "x.parquet"
    with path.open("wb") as file:
        parquet = ParquetFile(file, columns, {}, created_by="tests")
        parquet.add(RowGroup(size, tuple(chunk_of(c, Cells(v, levels), size) for c, v in zip(columns, values, strict=True))))
        parquet.close()
    arrow = pq.read_table(path)
    for column, value in zip(columns, values, strict=True):
        assert np.array_equal(np.asarray(arrow[column.name].is_valid()), valid)
        assert arrow[column.name].drop_null().to_pylist() == value.tolist()
        assert pl.read_parquet(path)[column.name].drop_nulls().to_list() == value.tolist()
    assert duckdb.execute(f"select count(x), sum(x)::bigint from '{path}'").fetchone() == (count, int(values[0].sum(dtype=np.int64)))


def test_two_threads_encode_at_once() -> None:
    """Each thread has its own compressor: chunks are the same as those that one thread makes."""
    column = Column("x", "u64")
    arrays = [np.random.default_rng(seed).integers(0, 1 << 63, 1 << 15, dtype=np.uint64) for seed in range(8)]
    alone = [chunk_of(column, Cells(array), len(array)).data for array in arrays]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert [*pool.map(lambda array: chunk_of(column, Cells(array), len(array)).data, arrays)] == alone


def test_an_unknown_dtype_is_refused() -> None:
    with pytest.raises(ValueError, match="f64"):
        Column("x", "f64")


def test_a_file_that_cannot_seek() -> None:
    class Pipe(io.RawIOBase):
        written = b""

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.written += bytes(data)
            return len(data)

    pipe = Pipe()
    column = Column("x", "u8")
    parquet = ParquetFile(pipe, (column,), {}, created_by="tests")  # type: ignore[arg-type]
    parquet.add(RowGroup(0, (chunk_of(column, ABSENT, 0),)))
    parquet.add(RowGroup(3, (chunk_of(column, Cells(np.array([1, 2, 3], np.uint8)), 3),)))
    parquet.close()
    assert pl.read_parquet(pipe.written)["x"].to_list() == [1, 2, 3]


def test_the_example_of_the_package() -> None:
    assert doctest.testmod(ptttool.parquet).failed == 0
