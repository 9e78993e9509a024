"""The counterpart of ``bench/columns.c``: ``columns.py FILE 8dw|4dw core|default`` prints the same JSON document, using one core."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence

import numpy as np

from ptttool.decoders.hisi_ptt.columns import decode
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.decoders.hisi_ptt.records import UNIT_RECORDS, Piece
from ptttool.decoders.hisi_ptt.traced import direction_rule
from ptttool.decoders.hisi_ptt.units import LoadedTlpUnit, TlpUnit
from ptttool.pipeline.jobs import load
from ptttool.table.batch import Batch
from ptttool.tlp.columns import DEFAULT_COLUMNS

SETS = {
    "core": ("time", "kind", "class", "length_dw", "payload_bytes", "requester", "tag", "address"),
    "default": tuple(name for name in DEFAULT_COLUMNS if name != "index"),
}


def columns_of(unit: TlpUnit, columns: Sequence[str]) -> Batch:
    """Decode records in memory to columns: this is what is measured."""
    loaded = load(unit)
    assert isinstance(loaded, LoadedTlpUnit)
    return decode(loaded.records, columns)


def total(batch: Batch, name: str) -> tuple[int, int]:
    """Return the number of valid values of a column, and their sum."""
    present = np.asarray(batch.values(name).present())
    return len(present), int(present.sum(dtype=np.uint64))


def main(path: str, form: str, chosen: str) -> None:
    """Decode all records twice: first to add up the columns, then to measure."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    layout, columns = Layout(form == "8dw"), SETS[chosen]
    data = np.fromfile(path, dtype=np.uint8).data
    step = UNIT_RECORDS * layout.record_size
    parts = [(start, data[start : start + step]) for start in range(0, len(data), step)]
    # What the event of a generated recording says: it has all inbound TLPs in 8DW, and both directions in 4DW.
    rule = direction_rule(None, given="inbound" if layout.eight_dw else "both")
    units = [TlpUnit(layout, (Piece("", start, len(part), start, 0, part),), direction=rule) for start, part in parts]
    records = 0
    totals = dict.fromkeys(columns, (0, 0))
    for unit in units:
        batch = columns_of(unit, columns)
        records += batch.size
        for name in columns:
            valid, added = total(batch, name)
            totals[name] = (totals[name][0] + valid, totals[name][1] + added & 0xFFFF_FFFF_FFFF_FFFF)
    started = time.perf_counter()
    for unit in units:
        columns_of(unit, columns)
    seconds = time.perf_counter() - started
    found = {name: {"valid": valid, "sum": added} for name, (valid, added) in totals.items()}
    sys.stdout.write(json.dumps({"seconds": seconds, "records": records, "columns": found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
