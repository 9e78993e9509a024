"""``ptttool packets``: packet traces of other trace units, decoded."""

from __future__ import annotations

from typing import Annotated

import typer

from ptttool.cli.app import ForceOption, app
from ptttool.cli.options import packet as options


@app.command("packets")
def packets(
    files: options.FilesArgument,
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            metavar="NAME",
            help="The protocol: 'ptttool protocols' lists them. A perf.data may do without: its type of AUX trace stands for one.",
            show_default=False,
        ),
    ] = None,
    parameter: options.ParameterOption = None,
    params: options.ParamsOption = None,
    strict: Annotated[bool, typer.Option("--strict", help="End at the first reserved value, or bytes that are no packet.")] = False,
    limit: options.LimitOption = None,
    channel: options.ChannelOption = None,
    raw: options.RawOption = True,
    input_format: options.InputOption = None,
    to: options.ToOption = None,
    output: options.OutputOption = None,
    force: ForceOption = False,
    json: options.JsonLinesOption = False,
) -> None:
    """Decode packet traces of other trace units: RISC-V, CoreSight.

    FILE is raw trace, or a perf.data whose AUX data are of that protocol. The elements, their kinds and fields are listed in
    docs/elements.md; what an element does not have is absent. A damaged FILE gives what could be read, and then the exit code 6.
    """
    options.run_job(
        files,
        protocol,
        options.given_of(params, parameter),
        form=input_format,
        to=to,
        output=output,
        json=json,
        channel=channel,
        params=params,
        strict=strict,
        limit=limit,
        raw=raw,
        force=force,
    )
