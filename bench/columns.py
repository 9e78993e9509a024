"""ptttool's side of ``bench/columns.c``: ``columns.py FILE 8dw|4dw core|default``, the same JSON of the same columns, on one core."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from ptttool.columns import DEFAULT_COLUMNS
from ptttool.protocols.hisi_ptt import Layout, decode_block

# Records that ptttool decodes at a time.
PART = 1 << 18
SETS = {
    "core": ("time", "kind", "class", "length_dw", "payload_bytes", "requester", "tag", "address"),
    "default": tuple(name for name in DEFAULT_COLUMNS if name != "index"),
}


def decode(words: np.ndarray[Any, np.dtype[np.uint32]], layout: Layout, columns: Sequence[str]) -> pl.DataFrame:
    """What is measured: the library's function from records, shape (n, 8 or 4), to columns."""
    return decode_block(words, layout, columns)


def total(frame: pl.DataFrame, name: str) -> tuple[int, int]:
    """How many records have a column, and the sum of its values."""
    series = frame[name].to_physical().cast(pl.UInt64)
    return len(series) - series.null_count(), int(series.sum())


def main(path: str, form: str, chosen: str) -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # threads of polars, too
    layout, columns = Layout(form == "8dw"), SETS[chosen]
    words = np.fromfile(path, dtype="<u4").reshape(-1, layout.words)
    parts = [words[start : start + PART] for start in range(0, len(words), PART)]
    records = 0
    totals = dict.fromkeys(columns, (0, 0))
    for part in parts:
        frame = decode(part, layout, columns)
        records += frame.height
        for name in columns:
            having, added = total(frame, name)
            totals[name] = (totals[name][0] + having, totals[name][1] + added & 0xFFFF_FFFF_FFFF_FFFF)
    started = time.perf_counter()
    for part in parts:
        decode(part, layout, columns)
    seconds = time.perf_counter() - started
    found = {name: {"having": having, "sum": added} for name, (having, added) in totals.items()}
    sys.stdout.write(json.dumps({"seconds": seconds, "records": records, "columns": found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
