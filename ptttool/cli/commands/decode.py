"""``ptttool decode``: a recording's TLPs, to a table or a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ptttool.cli.app import DemoOption, ForceOption, SysfsOption, app
from ptttool.cli.options.reading import InputOption, JobsOption, PatternOption, RecordingsArgument, SchedulerOption
from ptttool.cli.terminal.talk import PrintedError, json_line
from ptttool.errors import PtttoolError, UsageError


@app.command("decode")
def decode(
    files: RecordingsArgument,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="<table|csv|jsonl|parquet|arrow|perf>",
            help="How to write the TLPs. By default the suffix of the output file says it, else it is a table. perf: the text that a "
            "corrected perf report -D prints of the AUX data, whole payloads with all-zero records.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to: whole or not at all; - is standard output, FOLDER/ a folder of Parquet files.",
            show_default=False,
        ),
    ] = None,
    force: ForceOption = False,
    where: Annotated[
        str | None,
        typer.Option(
            "--where",
            metavar="CONDITION",
            help="Only TLPs for which this SQL condition on columns is true, such as: "
            "kind = 'MRd' AND requester = '01:00.0' AND address >= 0x4000",
            show_default=False,
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="A,B,C",
            help="These columns, in this order. By default csv holds a subset, a table one line a TLP, everything else all columns.",
            show_default=False,
        ),
    ] = None,
    words: Annotated[
        bool, typer.Option("--words", help="The header words dw0 to dw3, too, as recorded: those of 8DW are what ptttool tlp takes.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", metavar="N", min=0, help="At most so many TLPs. A table on a terminal shows a page by default.", show_default=False
        ),
    ] = None,
    offset: Annotated[
        int, typer.Option("--offset", metavar="N", min=0, help="Pass over so many TLPs first (of those that --where takes).")
    ] = 0,
    input_format: InputOption = None,
    pattern: PatternOption = None,
    partition: Annotated[
        str | None,
        typer.Option(
            "--partition",
            metavar="host,device,recording",
            help="Sort the Parquet files of the folder that -o names into subfolders, as Hive names them: host=node7/.",
            show_default=False,
        ),
    ] = None,
    jobs: JobsOption = None,
    scheduler: SchedulerOption = None,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="The same as --to jsonl: one JSON object a line. A failure is one more, the last: an object with an error. "
            "With a folder: what was written, as JSON.",
        ),
    ] = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Decode the TLPs of recordings, to a table, CSV, JSON lines, Parquet, Arrow or perf's own text.

    FILE is a perf.data of perf record (as a file, a folder, from a pipe, compressed or cut off), or, with --input, a dump of AUX data
    without a container. A damaged FILE gives what could be read, and then the exit code 6.

    Several FILEs, and one with -o FOLDER/, become a folder of Parquet files, a table as it is for DuckDB, polars and Spark.

    The condition of --where is an SQL expression for polars: comparisons, IN, BETWEEN, LIKE, IS NULL, AND, OR, NOT, arithmetic (also on
    bits: & | XOR << >>), CASE, and functions of one TLP such as coalesce() and abs(). Numbers may be hexadecimal, IDs are written
    '01:00.0', texts stand in single quotes. A value that a column cannot have is an error, and so are aggregates and windows.

    The columns, their types and their meaning are listed in docs/columns.md; a field that a TLP does not have is empty (null). The Time
    field is raw: its unit is not documented.
    """
    from ptttool.cli.dataset_job import DatasetJob, is_dataset
    from ptttool.cli.decoding import DecodeJob

    if json and to not in (None, "jsonl"):
        raise UsageError(f"--json and --to {to} exclude each other", hint="--json is --to jsonl")
    if is_dataset(files, output, partition):
        if limit is not None or offset:
            raise UsageError("--limit and --offset have no place with a folder: it holds all TLPs", code="folder-whole")
        DatasetJob(
            files=files,
            output=output,
            to=to,
            force=force,
            where=where,
            columns=columns,
            words=words,
            partition=partition,
            raw_format=input_format,
            pattern=pattern,
            jobs=jobs,
            scheduler=scheduler,
            json=json,
        ).run()
        return
    job = DecodeJob(
        path=files[0],
        to="jsonl" if json else to,
        output=None if output in (None, "-") else Path(str(output)),
        force=force,
        where=where,
        columns=columns,
        words=words,
        limit=limit,
        offset=offset,
        raw_format=input_format,
        pattern=pattern,
        sysfs=sysfs,
        demo=demo,
        jobs=jobs,
        scheduler=scheduler,
        given_output=output or "",
    )
    try:
        job.run()
    except PtttoolError as error:
        if json and job.output is None:
            sys.stdout.write(json_line({"error": error.as_json()}))
            raise PrintedError(error) from error
        raise
