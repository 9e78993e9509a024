"""Elements of packet traces as text and files: table, CSV, JSON lines, Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import IO

from ptttool.exporters.packet_rows import Rows, gathered
from ptttool.table.schema import Column

SUFFIXES: dict[str, tuple[str, ...]] = {
    "table": (".txt",), "csv": (".csv",), "jsonl": (".jsonl", ".ndjson"), "parquet": (".parquet", ".pq"),
}  # fmt: skip
BINARY = ("parquet",)


def write(
    name: str,
    rows: Iterable[Rows],
    fields: Sequence[Column],
    file: IO[bytes],
    facts: Mapping[str, str],
    *,
    raw: bool,
    layout: str = "elements",
    width: int | None = None,
) -> bool:
    """Write elements in one of :data:`SUFFIXES`' formats. Returns whether lines were cut.

    ``fields``: that they may have. ``facts``: kept where the format has a place for them. ``raw``: the packets' bytes, too. ``layout``: of
    a table (:data:`ptttool.exporters.packet_table.LAYOUTS`). ``width``: at which its lines are cut; None for whole lines.
    """
    if name == "parquet":
        from ptttool.exporters.export import fill
        from ptttool.exporters.packet_parquet import Groups
        from ptttool.exporters.parquet_blocks import CREATED_BY
        from ptttool.parquet.file import ParquetFile

        groups = Groups(fields, raw=raw)
        fill(ParquetFile(file, groups.columns, facts, created_by=CREATED_BY), map(groups.group_of, gathered(rows)))
        return False
    from ptttool.exporters.packet_table import Table
    from ptttool.exporters.packet_text import write_text

    table = Table(fields, layout, width)
    write_text(name, rows, fields, file, raw=raw, table=table)
    return table.cut
