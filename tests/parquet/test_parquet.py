"""Parquet pages of every encoding and size: as polars and DuckDB read them, statistics among them."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from ptttool.decoders.contract import PROTOCOLS, RecordProtocol, TraceProtocol
from ptttool.decoders.elements.model import schema_of as element_schema
from ptttool.exporters.parquet import Parquet, columns_of
from ptttool.parquet.arrow_schema import arrow_schema
from ptttool.parquet.file import ParquetFile, RowGroup
from ptttool.parquet.pages import Cells, chunk_of
from ptttool.parquet.schema import Column
from ptttool.table.batch import Batch
from ptttool.table.frame import polars_schema
from ptttool.table.values import NUMPY_DTYPES, Values
from ptttool.tlp.columns import TLP_SCHEMA
from tests.support.rows import schema_of

SIZES = (1, 7, 8, 9, 31, 128, 129, 257, 4097)
# Columns of every type, and largest values on both sides of every change of encoding.
LARGEST = {
    "bcm": (0, 1),
    "first_be": (2, 15, 16, 255),
    "tag": (1, 15, 255, 256, 4094, 4095, 4096, 65535),
    "time": (1, 255, 4095, 4096, (1 << 31) - 1, 1 << 31, (1 << 32) - 1),
    "address": (255, 4095, 4096, (1 << 63) - 1, 1 << 63, (1 << 64) - 1),
    "cpu": (0, 255, 4096, (1 << 31) - 1),
    "kind": (0, len(TLP_SCHEMA["kind"].values) - 1),
    "class": (1, 2),
}
CASES = [(name, largest) for name, all_largest in LARGEST.items() for largest in all_largest]


def blocks(name: str, largest: int, nulls: str, few: bool) -> list[tuple[Batch, list[Any]]]:
    """Row groups of all sizes, each with its values, ``largest`` among them."""
    rng = random.Random(f"{name} {largest} {nulls} {few}")
    made = []
    for size in SIZES:
        pool = [rng.randint(0, largest) for _ in range(200)] if few else None
        values = [rng.choice(pool) if pool else rng.randint(0, largest) for _ in range(size)]
        values[rng.randrange(size)] = largest
        valid = np.array([nulls == "none" or (nulls == "some" and rng.random() < 0.7) for _ in values])
        array = np.array(values, dtype=NUMPY_DTYPES[TLP_SCHEMA[name].dtype])
        column = Values(array if valid.any() else None, None if valid.all() else valid)
        names = TLP_SCHEMA[name].values or None
        shown = [(value if names is None else names[value]) if has else None for value, has in zip(values, valid, strict=True)]
        made.append((Batch(TLP_SCHEMA.select([name]), size, {name: column}), shown))
    return made


def written(path: Path, name: str, groups: list[Batch]) -> None:
    encode = Parquet().encoder(TLP_SCHEMA.select([name]))
    with path.open("wb") as file:
        parquet = ParquetFile(file, columns_of(TLP_SCHEMA.select([name])), {}, created_by="tests")
        for group in groups:
            parquet.add(encode(group))
        parquet.close()


@pytest.mark.parametrize("few", [False, True], ids=["any", "few-values"])
@pytest.mark.parametrize("nulls", ["none", "some", "all"])
@pytest.mark.parametrize(("name", "largest"), CASES)
def test_values_and_statistics(tmp_path: Path, name: str, largest: int, nulls: str, few: bool) -> None:
    path = tmp_path / "x.parquet"
    made = blocks(name, largest, nulls, few)
    written(path, name, [block for block, _ in made])
    expected = [value for _, values in made for value in values]
    assert pl.read_parquet(path)[name].to_list() == expected
    found = duckdb.execute(f"select \"{name}\" from read_parquet('{path}')").fetchall()
    assert [value for (value,) in found] == expected
    rows = duckdb.execute(
        "select row_group_id, num_values, stats_null_count, stats_min_value, stats_max_value "
        f"from parquet_metadata('{path}') order by row_group_id"
    ).fetchall()
    assert len(rows) == len(SIZES)
    for (_, values), (_, count, null_count, smallest, most) in zip(made, rows, strict=True):
        present = [value for value in values if value is not None]
        assert (count, null_count) == (len(values), len(values) - len(present))
        assert (smallest, most) == ((str(min(present)), str(max(present))) if present else (None, None))


@pytest.mark.parametrize(
    "numbers",
    [
        range(5, 6),
        range(0, 129 * 16, 16),
        range(7, 7 + 4097),
        range(1 << 40, (1 << 40) + 32 * 257, 32),
        range((1 << 63) - 3, (1 << 63) + 5),
    ],
)
def test_evenly_spaced_numbers(tmp_path: Path, numbers: range) -> None:
    path = tmp_path / "x.parquet"
    written(path, "offset", [Batch(TLP_SCHEMA.select(["offset"]), len(numbers), {"offset": Values(numbers)})])
    assert pl.read_parquet(path)["offset"].to_list() == [*numbers]
    assert [value for (value,) in duckdb.execute(f"select \"offset\" from read_parquet('{path}')").fetchall()] == [*numbers]


@pytest.mark.parametrize("dtype", ["u32", "u64", "i64"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bits", [0, 1, 4, 5, 8, 9, 16, 17, 24, 25, 32, 33, 64])
def test_numbers_near_one_another(tmp_path: Path, dtype: str, size: int, bits: int) -> None:
    """Differences of every width and number, also where numbers begin anew behind the largest; none where that would take more room."""
    path = tmp_path / "x.parquet"
    width = int(dtype[1:])
    rng = random.Random(f"{dtype} {size} {bits}")
    number, numbers = 1 << width - 1, []
    for place in range(size):
        least, most = -(1 << bits) // 2, -(1 << bits) // 2 + (1 << bits) - 1
        number += (least, most)[place] if place < 2 else rng.randint(least, most)
        numbers.append(number % (1 << width))
    array = np.array(numbers, dtype=f"<u{width // 8}").view(f"<{dtype[0]}{width // 8}")
    column = Column("x", dtype, near=True)
    with path.open("wb") as file:
        parquet = ParquetFile(file, (column,), {}, created_by="tests")
        parquet.add(RowGroup(size, (chunk_of(column, Cells(array), size),)))
        parquet.close()
    assert pl.read_parquet(path)["x"].to_list() == array.tolist()
    assert [value for (value,) in duckdb.execute(f"select x from read_parquet('{path}')").fetchall()] == array.tolist()
    ((encodings, least, most),) = duckdb.execute(
        f"select encodings, stats_min_value, stats_max_value from parquet_metadata('{path}')"
    ).fetchall()
    assert (int(least), int(most)) == (array.min(), array.max())
    if size > 2 and bits:
        assert ("DELTA_BINARY_PACKED" in encodings) == (bits <= (24 if width == 32 else 32))


def arrow_schema_of_polars(schema: dict[str, pl.DataType]) -> str:
    empty = io.BytesIO()
    pl.DataFrame(schema=schema).write_parquet(empty)
    empty.seek(0)
    return pl.read_parquet_metadata(empty)["ARROW:schema"]


@pytest.mark.parametrize("names", [(), ("kind",), ("kind", "tag", "class"), TLP_SCHEMA.names], ids=len)
def test_the_arrow_schema_is_that_of_polars(names: tuple[str, ...]) -> None:
    assert arrow_schema(columns_of(TLP_SCHEMA.select(names))) == arrow_schema_of_polars(schema_of(names))


@pytest.mark.parametrize("protocol", [*PROTOCOLS], ids=lambda protocol: protocol.name)
def test_the_arrow_schema_of_elements_is_that_of_polars(protocol: TraceProtocol[Any]) -> None:
    schema = protocol.schema if isinstance(protocol, RecordProtocol) else element_schema(protocol.fields)
    assert arrow_schema(columns_of(schema)) == arrow_schema_of_polars(polars_schema(schema))


@pytest.mark.parametrize("count", [1, 255, 256, 70_000])
def test_the_arrow_schema_of_many_values(count: int) -> None:
    values = tuple(f"é{number}" for number in range(count))
    columns = (Column("x", "enum", values), Column("y", "enum", values), Column("z", "enum", ("x",)))
    assert arrow_schema(columns) == arrow_schema_of_polars({column.name: pl.Enum(column.values) for column in columns})


def test_a_file_without_rows_and_one_of_many_groups(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    written(path, "tag", [])
    assert pl.read_parquet(path).height == 0
    assert duckdb.execute(f"select count(*) from read_parquet('{path}')").fetchall() == [(0,)]
    written(
        path,
        "tag",
        [Batch(TLP_SCHEMA.select(["tag"]), 2, {"tag": Values(np.array([1, number], dtype=np.uint16))}) for number in range(3000)],
    )
    assert duckdb.execute(f"select count(*), sum(tag)::bigint from read_parquet('{path}')").fetchall() == [(6000, 3000 + 2999 * 1500)]
    # Groups that cannot hold a value are passed over, so the order that statistics are in must be told.
    assert pl.scan_parquet(path).filter(pl.col("tag") == 2999).collect().height == 1
    assert b"\x1c\x00\x00" in path.read_bytes()[-200:]
