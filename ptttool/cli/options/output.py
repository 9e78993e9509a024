"""The options that commands which write decoded rows share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ptttool.errors import UsageError

ToOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="FORMAT",
        help="How to write the rows: table, csv, jsonl, parquet, arrow, pcapng, perfetto, perf, or a format of another package. By "
        "default the suffix of the output file says it, else it is a table. perf: the text that a corrected perf report -D prints of PTT's "
        "AUX data, whole payloads with all-zero records.",
    ),
]
OutputOption = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Where to: whole or not at all; - is standard output, FOLDER/ a folder of Parquet files."
    ),
]
WhereOption = Annotated[
    str | None,
    typer.Option(
        "--where",
        "-w",
        metavar="CONDITION",
        help="Only rows for which this SQL condition on columns is true, such as: "
        "kind = 'MRd' AND requester = '01:00.0' AND address >= 0x4000",
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        "-c",
        metavar="A,B,C",
        help="These columns, in this order; help lists them. By default csv holds a subset, a table one line a row, everything else all "
        "columns.",
    ),
]


class Ids(StrEnum):
    """How IDs are written in columns of texts."""

    ID = "id"
    TEXT = "text"


IdsOption = Annotated[
    Ids,
    typer.Option(
        "--ids",
        metavar="<id|text>",
        help="text: table, csv and jsonl write IDs with the names of devices, such as 'nvme0 01:00.0'; names come from the file that "
        "'ptttool trace' keeps beside a recording, or from --sysfs.",
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", "-n", metavar="N", min=0, help="At most this number of rows. A table on a terminal shows a page by default."),
]
OffsetOption = Annotated[int, typer.Option("--offset", metavar="N", min=0, help="Skip this number of rows (of those that --where takes).")]
KernelOption = Annotated[
    Path | None,
    typer.Option(
        "--kernel",
        readable=False,
        metavar="FILE",
        help="perfetto: the kernel's side of the recording, as 'ptttool trace --with nvme,block' records it, for commands above the "
        "transactions. By default the file beside it: NAME.kernel.data of NAME.data.",
    ),
]
RawOption = Annotated[bool | None, typer.Option("--raw/--no-raw", help="Packet protocols: the packets' bytes, too (the default), or not.")]
JsonLinesOption = Annotated[
    bool,
    typer.Option(
        "--json",
        help="The same as --to jsonl: one JSON object a line. A failure is one more, the last: an object with an error. "
        "With a folder: what was written, as JSON.",
    ),
]


def format_of(to: str | None, *, json: bool) -> str | None:
    """Return the name of the format that --to and --json choose; None where neither is given."""
    if not json:
        return to
    if to not in (None, "jsonl"):
        raise UsageError(f"--json and --to {to} exclude each other", hint="--json is --to jsonl")
    return "jsonl"
