"""Measure one Parquet writer: ``writers.py FILE own|polars|pyarrow|pyarrow-tuned OUTPUT``.

FILE is a Parquet file of TLPs with all columns. It is read first. Then the writer gets the same row groups in its own native form: numpy
arrays with validity masks, a polars frame, or an Arrow table. Standard output gets one JSON document: ``seconds`` (user and system CPU
time of all threads, best of three), ``rows`` and ``bytes``. All writers use zstd, level 1.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from ptttool.parquet import ABSENT, Cells, Column, ParquetFile, RowGroup, chunk_of, levels_of

ROWS = 1 << 18
TIMES = 3
# Columns that the decoder passes as a range if their values are evenly spaced.
_SPACED = ("index", "offset")
# Best encodings for pyarrow: dictionaries for columns with few values, differences for ascending numbers.
_DICTIONARIES = (pa.uint8(), pa.uint16())
_DELTAS = {"index": "DELTA_BINARY_PACKED", "offset": "DELTA_BINARY_PACKED"}


def dtype_of(kind: Any) -> str:
    """Return the writer's dtype of an Arrow type."""
    if pa.types.is_dictionary(kind):
        return "enum"
    return {"uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "int32": "i32", "int64": "i64", "bool": "bool"}[str(kind)]


class Own:
    """The project's own writer."""

    def __init__(self, table: Any) -> None:
        self.columns = []
        for field in table.schema:
            dtype = dtype_of(field.type)
            names: tuple[str, ...] = ()
            if dtype == "enum":
                names = tuple(table[field.name].unify_dictionaries().chunk(0).dictionary.to_pylist())
            self.columns.append(Column(field.name, dtype, names))
        self.groups = [self._group(table.slice(start, ROWS)) for start in range(0, table.num_rows, ROWS)]

    def _group(self, table: Any) -> tuple[int, list[tuple[Any, Any]]]:
        """Return the number of rows, and values and validity masks as the decoder shares them."""
        masks: dict[bytes, Any] = {}
        cells: list[tuple[Any, Any]] = []
        for column in self.columns:
            values = table[column.name].combine_chunks()
            if values.null_count == len(values):
                cells.append((None, None))
                continue
            present = values.drop_null()
            array = np.asarray(present.indices if column.dtype == "enum" else present)
            if column.dtype == "enum":
                array = array.astype(np.uint8)
            valid = np.asarray(values.is_valid())
            mask = masks.setdefault(valid.tobytes(), valid) if values.null_count else None
            cells.append((spaced(array) if column.name in _SPACED and mask is None else array, mask))
        return len(table), cells

    def __call__(self, path: Path) -> None:
        """Write the table to a file."""
        with path.open("wb") as file:
            parquet = ParquetFile(file, self.columns, {}, created_by="bench")
            for rows, cells in self.groups:
                levels: dict[int, bytes] = {}
                chunks = []
                for column, (values, mask) in zip(self.columns, cells, strict=True):
                    if values is None:
                        chunks.append(chunk_of(column, ABSENT, rows))
                        continue
                    if mask is not None and id(mask) not in levels:
                        levels[id(mask)] = levels_of(mask)
                    chunks.append(chunk_of(column, Cells(values, None if mask is None else levels[id(mask)]), rows))
                parquet.add(RowGroup(rows, tuple(chunks)))
            parquet.close()


def spaced(array: Any) -> Any:
    """Return a range where numbers are evenly spaced, as the decoder does."""
    steps = np.unique(np.diff(array)).tolist()
    return range(int(array[0]), int(array[-1]) + 1, steps[0]) if len(steps) == 1 and steps[0] > 0 else array


def polars(table: Any) -> Callable[[Path], None]:
    """Return polars' writer of a table."""
    frame = pl.DataFrame(table)
    return lambda path: frame.write_parquet(path, compression="zstd", compression_level=1, row_group_size=ROWS)


def arrow(table: Any, **options: Any) -> Callable[[Path], None]:
    """Return pyarrow's writer of a table."""
    return lambda path: pq.write_table(table, path, compression="zstd", compression_level=1, row_group_size=ROWS, **options)


def tuned(table: Any) -> Callable[[Path], None]:
    """Return pyarrow's writer with the encodings that suit the columns."""
    few = [field.name for field in table.schema if pa.types.is_dictionary(field.type) or field.type in _DICTIONARIES]
    return arrow(table, use_dictionary=few, column_encoding={name: code for name, code in _DELTAS.items() if name in table.column_names})


WRITERS: dict[str, Callable[[Any], Callable[[Path], None]]] = {"own": Own, "polars": polars, "pyarrow": arrow, "pyarrow-tuned": tuned}


def main(arguments: Sequence[str]) -> int:
    """Measure one writer."""
    source, name, output = arguments
    table = pq.read_table(source)
    write = WRITERS[name](table)
    path = Path(output)
    write(path)
    best = float("inf")
    for _ in range(TIMES):
        started = time.process_time()
        write(path)
        best = min(best, time.process_time() - started)
    size = path.stat().st_size
    same = pl.read_parquet(path).equals(pl.read_parquet(source))
    path.unlink()
    sys.stdout.write(json.dumps({"seconds": best, "rows": table.num_rows, "bytes": size, "same": same}))
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
