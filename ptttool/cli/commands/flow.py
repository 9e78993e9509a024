"""``ptttool flow``: the instructions that a RISC-V hart executed, from its trace and its program."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec.structs import replace

from ptttool.cli.app import ForceOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.help.stray import check_quotes
from ptttool.cli.options import output as out
from ptttool.cli.options import reading
from ptttool.cli.terminal.talk import error_as_json_line
from ptttool.errors import UsageError

EXAMPLES = (Example("ptttool flow --elf program.elf hart.bin", "The ranges of instructions that a hart executed, with its program."),)


@app.command("flow", stage=Stage.READ, rank=60, examples=EXAMPLES)
def flow(
    files: reading.RecordingsArgument,
    elf: Annotated[
        list[str],
        typer.Option(
            "--elf", metavar="PROGRAM[@OFFSET]", help="The program that ran, and where it was loaded if not where it says; may be repeated."
        ),
    ],
    parameter: reading.ParameterOption = None,
    params: reading.ParamsOption = None,
    packets: Annotated[bool, typer.Option("--packets", help="The packets that say so, too.")] = False,
    strict: reading.StrictOption = False,
    where: out.WhereOption = None,
    columns: out.ColumnsOption = None,
    limit: out.LimitOption = None,
    offset: out.OffsetOption = 0,
    channel: reading.ChannelOption = None,
    input_format: reading.InputOption = None,
    jobs: reading.JobsOption = None,
    to: out.ToOption = None,
    output: out.OutputOption = None,
    force: ForceOption = False,
    json: out.JsonLinesOption = False,
) -> None:
    """Show what a RISC-V hart executed, from E-Trace and its program.

    FILE is raw trace, or a perf.data. Each range ends with a branch or jump, and names the function and the line of source that it begins
    in. Where packets and program do not agree, or a program is missing, that is reported, and following goes on at the next
    synchronisation. Implicit returns, branch prediction and the jump target cache are not followed.

    This is the short form of: ptttool decode --protocol riscv-flow -p elf=PROGRAM FILE.
    """
    from ptttool.cli.rows import Output
    from ptttool.decoders.parameters import Given
    from ptttool.decoders.riscv.flow.protocol import NAME, OF_PACKETS, SHOWN

    with error_as_json_line(json and output in (None, "-")):
        check_quotes(where, files)
        form = out.format_of(to, json=json)
        parameters = reading.given_parameters(reading.Protocol(parameter=parameter, params=params))
        if "elf" in parameters:
            raise UsageError(
                f"{parameters['elf'].where}: elf and --elf exclude each other", hint="say --elf once more", code="bad-parameter"
            )
        parameters["elf"] = Given(",".join(elf), "--elf")
        request = reading.request_of("", reading.Protocol(NAME), reading.Input(strict, channel, input_format), parameters)
        if not packets:
            request = replace(request, without=tuple(OF_PACKETS))
        fixed = ("file", "cpu", "index", "size", "channel", "timestamp", "protocol", "kind", "flags")
        Output(
            files, request, to=form, output=output, force=force, where=where, columns=columns, raw=packets, limit=limit,
            offset=offset, work=reading.Work(jobs), layout="elements" if packets else "flow", shown=None if packets else (*fixed, *SHOWN),
            descriptions=tuple(params or ()),
        ).write()  # fmt: skip
