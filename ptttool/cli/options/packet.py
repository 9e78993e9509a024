"""The options that commands which decode packet traces share, and how they run."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ptttool.cli.terminal.talk import PrintedError, json_line
from ptttool.errors import PtttoolError, UsageError

if TYPE_CHECKING:
    from ptttool.decoders.parameters import Given

FilesArgument = Annotated[list[str], typer.Argument(metavar="FILE...", help="Raw trace or perf.data; - reads standard input.")]
ParameterOption = Annotated[
    list[str] | None,
    typer.Option("-p", "--parameter", metavar="KEY=VALUE", help="A parameter of the protocol or of its framing.", show_default=False),
]
ParamsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--params",
        metavar="FILE",
        help="Parameters from a file with a line key=value each, such as .scf and flat TOML files. -p comes before it.",
        show_default=False,
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", min=0, help="At most so many elements. A table on a terminal shows a page.", show_default=False),
]
ChannelOption = Annotated[
    list[str] | None,
    typer.Option("--channel", metavar="N", help="Only this source ID or trace ID (0x… too); may be repeated.", show_default=False),
]
RawOption = Annotated[bool, typer.Option("--raw/--no-raw", help="The packets' bytes, too, or not.")]
InputOption = Annotated[
    str | None,
    typer.Option(
        "--input",
        metavar="<perf|raw>",
        help="What FILE is. By default its first bytes say it; standard input is raw.",
        show_default=False,
    ),
]
ToOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="<table|jsonl|csv|parquet>",
        help="How to write the elements. By default the suffix of the output file says it, else it is a table.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Where to: whole or not at all; - is standard output.", show_default=False),
]
JsonLinesOption = Annotated[
    bool,
    typer.Option(
        "--json", help="The same as --to jsonl: one JSON object a line. A failure is one more, the last: an object with an error."
    ),
]


def given_of(params: Sequence[Path] | None, parameter: Sequence[str] | None) -> dict[str, Given]:
    """Parameters of files and of the command line, which comes first."""
    from ptttool.decoders.parameters import parse_options, read_file

    return {name: value for path in params or () for name, value in read_file(path).items()} | parse_options(parameter or ())


def run_job(
    files: list[str],
    protocol: str | None,
    given: Mapping[str, Given],
    *,
    form: str | None,
    to: str | None,
    output: str | None,
    json: bool,
    channel: Sequence[str] | None,
    params: Sequence[Path] | None,
    **more: Any,
) -> None:
    """Decode as the options say; ``more``: of :class:`~ptttool.cli.packets_job.PacketsJob`, as they are."""
    from ptttool.cli.packets_job import PacketsJob

    try:
        if json and to not in (None, "jsonl"):
            raise UsageError(f"--json and --to {to} exclude each other", hint="--json is --to jsonl")
        if form not in (None, "perf", "raw"):
            raise UsageError(f"no input format is called {form!r}", hint="known: perf, raw")
        PacketsJob(
            paths=files,
            protocol=protocol,
            given=given,
            form=form,
            to="jsonl" if json else to,
            output=None if output in (None, "-") else Path(str(output)),
            channels=tuple(_number(text) for text in channel or ()),
            descriptions=tuple(params or ()),
            **more,
        ).run()
    except PtttoolError as error:
        if json:
            sys.stdout.write(json_line({"error": error.as_json()}))
            raise PrintedError(error) from error
        raise


def _number(text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 16:
        raise UsageError(f"--channel {text}: no channel", hint="a number such as 16 or 0x10")
    return value
