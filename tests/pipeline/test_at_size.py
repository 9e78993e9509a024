"""Hundreds of thousands of TLPs, more than one unit of work, through several processes to every format: sums of each column are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ptttool.cli.main import main
from ptttool.tlp.columns import ALL_COLUMNS, DW_COLUMNS, TLP_SCHEMA
from tests.reference import hisi_ptt as reference

pytestmark = pytest.mark.slow

COLUMNS = (*ALL_COLUMNS, *DW_COLUMNS)
ENUMS = {column.name: column.values for column in TLP_SCHEMA if column.values}
MASK = (1 << 64) - 1


def expected_sums(path: Path) -> tuple[int, dict[str, tuple[int, int]]]:
    """Rows; for each column how many have a value, and the sum of values weighted by their rows: it knows their order."""
    rows = 0
    counts, sums = dict.fromkeys(COLUMNS, 0), dict.fromkeys(COLUMNS, 0)
    codes = {name: {text: code for code, text in enumerate(texts)} for name, texts in ENUMS.items()}
    for row in reference.read_recording(path):
        rows += 1
        for name in COLUMNS:
            value = row[name]
            if value is not None:
                counts[name] += 1
                sums[name] += rows * (codes[name][value] if name in codes else value)
    return rows, {name: (counts[name], sums[name] & MASK) for name in COLUMNS}


def sums_of(frame: pl.DataFrame, start: int) -> dict[str, tuple[int, int]]:
    """The same of a frame whose first row has this number."""
    found = {}
    weights = np.arange(start, start + frame.height, dtype=np.uint64)
    for name in COLUMNS:
        column = frame[name].to_physical() if TLP_SCHEMA[name].values else frame[name]
        values = column.fill_null(0).cast(pl.UInt64).to_numpy()
        found[name] = (len(column) - column.null_count(), int((weights * values).sum(dtype=np.uint64)))
    return found


def number_of(name: str, text: str) -> int:
    if TLP_SCHEMA[name].style == "hex":
        return int(text, 16)
    bus, device, function = (int(part, 16) for part in text.replace(".", ":").split(":"))
    return bus << 8 | device << 3 | function


def numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Text columns of csv and jsonl as the numbers that they stand for."""
    columns = []
    for column in frame.iter_columns():
        if column.dtype == pl.String and column.name not in ENUMS:
            texts = column.unique().drop_nulls().to_list()
            column = column.replace_strict(texts, [number_of(column.name, text) for text in texts], return_dtype=pl.UInt64)
        elif column.name in ENUMS:
            column = column.cast(pl.Enum(ENUMS[column.name]))
        columns.append(column)
    return pl.DataFrame(columns)


@pytest.mark.parametrize(("form", "mebibytes"), [("8dw", 9), ("4dw", 5)])
def test_every_column(form: str, mebibytes: int, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    assert main(["generate", "--format", form, "--size", f"{mebibytes}M", "--profile", "mixed", "-o", str(path)]) == 0
    rows, expected = expected_sums(path)
    assert rows > ((mebibytes - 1) << 20) // (32 if form == "8dw" else 16)
    for name in ("parquet", "arrow", "jsonl", "csv"):
        out = tmp_path / f"out.{name}"
        command = ["decode", str(path), "-o", str(out), "--columns", ",".join(COLUMNS), "--jobs", "2"]
        assert main(command) == 0
        match name:
            case "parquet":
                frame = pl.read_parquet(out)
            case "arrow":
                frame = pl.read_ipc(out)
            case "jsonl":
                frame = numbers(pl.read_ndjson(out, infer_schema_length=None))
            case _:
                frame = numbers(pl.read_csv(out, infer_schema_length=None))
        assert frame.height == rows
        assert sums_of(frame, 1) == expected, name
        out.unlink()
    folder = tmp_path / "folder"
    assert main(["decode", str(path), "-o", f"{folder}/", "--words"]) == 0
    assert sums_of(pl.read_parquet(folder / "*.parquet").sort("index"), 1) == expected
