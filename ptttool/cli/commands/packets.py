"""``ptttool packets``: packet traces of other trace units, decoded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ptttool.cli.app import ForceOption, app
from ptttool.cli.talk import json_line
from ptttool.errors import PtttoolError, UsageError


@app.command("packets")
def packets(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Raw trace or perf.data; - reads standard input.")],
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            metavar="NAME",
            help="The protocol: 'ptttool protocols' lists them. A perf.data may do without: its type of AUX trace stands for one.",
            show_default=False,
        ),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("-p", "--parameter", metavar="KEY=VALUE", help="A parameter of the protocol or of its framing.", show_default=False),
    ] = None,
    params: Annotated[
        list[Path] | None,
        typer.Option(
            "--params",
            metavar="FILE",
            help="Parameters from a file with a line key=value each, such as .scf and flat TOML files. -p comes before it.",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="End at the first reserved value, or bytes that are no packet.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", metavar="N", min=0, help="At most so many elements. A table on a terminal shows a page.", show_default=False
        ),
    ] = None,
    channel: Annotated[
        list[str] | None,
        typer.Option("--channel", metavar="N", help="Only this source ID or trace ID (0x… too); may be repeated.", show_default=False),
    ] = None,
    raw: Annotated[bool, typer.Option("--raw/--no-raw", help="The packets' bytes, too, or not.")] = True,
    input_format: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="<perf|raw>",
            help="What FILE is. By default its first bytes say it; standard input is raw.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="<table|jsonl|csv|parquet>",
            help="How to write the elements. By default the suffix of the output file says it, else it is a table.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to: whole or not at all; - is standard output.", show_default=False),
    ] = None,
    force: ForceOption = False,
    json: Annotated[
        bool,
        typer.Option(
            "--json", help="The same as --to jsonl: one JSON object a line. A failure is one more, the last: an object with an error."
        ),
    ] = False,
) -> None:
    """Decode packet traces of other trace units: RISC-V, CoreSight.

    FILE is raw trace, or a perf.data whose AUX data are of that protocol. The elements, their kinds and fields are listed in
    docs/elements.md; what an element does not have is absent. A damaged FILE gives what could be read, and then the exit code 6.
    """
    from ptttool.cli.packets_job import PacketsJob
    from ptttool.packets.parameters import parse_options, read_file

    if json and to not in (None, "jsonl"):
        raise UsageError(f"--json and --to {to} exclude each other", hint="--json is --to jsonl")
    if input_format not in (None, "perf", "raw"):
        raise UsageError(f"no input format is called {input_format!r}", hint="known: perf, raw")
    given = {name: value for path in params or () for name, value in read_file(path).items()} | parse_options(parameter or ())
    job = PacketsJob(
        paths=files,
        protocol=protocol,
        given=given,
        form=input_format,
        strict=strict,
        to="jsonl" if json else to,
        output=None if output in (None, "-") else Path(str(output)),
        force=force,
        raw=raw,
        channels=tuple(_number(text) for text in channel or ()),
        limit=limit,
        descriptions=tuple(params or ()),
    )
    try:
        job.run()
    except PtttoolError as error:
        if json and job.output is None:
            sys.stdout.write(json_line({"error": error.as_json()}))
            error.in_document = True
        raise


def _number(text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 16:
        raise UsageError(f"--channel {text}: no channel", hint="a number such as 16 or 0x10")
    return value
