"""``ptttool flow``: the instructions that a RISC-V hart executed, from its trace and its program."""

from __future__ import annotations

from typing import Annotated

import typer

from ptttool.cli.app import ForceOption, app
from ptttool.cli.options import packet as options


@app.command("flow")
def flow(
    files: options.FilesArgument,
    elf: Annotated[
        list[str],
        typer.Option(
            "--elf", metavar="PROGRAM[@OFFSET]", help="The program that ran, and where it was loaded if not where it says; may be repeated."
        ),
    ],
    parameter: options.ParameterOption = None,
    params: options.ParamsOption = None,
    packets: Annotated[bool, typer.Option("--packets", help="The packets that tell of it, too.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="End at the first packet that is not as it should be, or does not fit the program.")
    ] = False,
    limit: options.LimitOption = None,
    channel: options.ChannelOption = None,
    input_format: options.InputOption = None,
    to: options.ToOption = None,
    output: options.OutputOption = None,
    force: ForceOption = False,
    json: options.JsonLinesOption = False,
) -> None:
    """Follow RISC-V E-Trace through the program: what was executed, as ranges of instructions.

    FILE is raw trace, or a perf.data. Each range ends with a branch or jump, and names the function and the line of source that it begins
    in. Where packets and program do not agree, or the program is not at hand, that is told, and following goes on at the next
    synchronisation. Implicit returns, branch prediction and the jump target cache are not followed.
    """
    from ptttool.decoders.parameters import Given
    from ptttool.decoders.riscv.flow.protocol import NAME, OF_PACKETS, SHOWN
    from ptttool.errors import UsageError

    given = options.given_of(params, parameter)
    if "elf" in given:
        raise UsageError(f"{given['elf'].where}: elf and --elf exclude each other", hint="say --elf once more", code="bad-parameter")
    options.run_job(
        files,
        NAME,
        {**given, "elf": Given(",".join(elf), "--elf")},
        form=input_format,
        to=to,
        output=output,
        json=json,
        channel=channel,
        params=params,
        strict=strict,
        limit=limit,
        raw=packets,
        without=() if packets else OF_PACKETS,
        fields=None if packets else SHOWN,
        layout="elements" if packets else "flow",
        force=force,
    )
