"""``ptttool selftest``: what the documents leave open, measured on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ptttool.cli.app import ForceOption, JsonOption, app
from ptttool.cli.help.about import Example, KeptFile, Stage
from ptttool.cli.options.event import CpuOption
from ptttool.cli.terminal.talk import note, outlive_reader, print_diagnostic, print_diagnostics, print_json
from ptttool.errors import ExitCode, UsageError

EXAMPLES = (
    Example("ptttool selftest", "Read registers of the first endpoint while it is traced, and judge each assumption.", needs_terminal=True),
    Example(
        "ptttool selftest nvme0 --load read -o selftest.tar.gz",
        "Read the drive, too, and keep the recordings for support.",
        needs_terminal=True,
    ),
    Example("ptttool selftest --from anchors", "Judge recordings and readings that were made elsewhere.", exit_code=1),
)
FILES = (KeptFile("/var/lib/ptttool/machine.json", "The clock that was measured: later traces know nanoseconds by it."),)
LOADS = ("config", "read")


@app.command("selftest", stage=Stage.FIND, rank=35, examples=EXAMPLES, files=FILES)
def selftest(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A PTT device, root port or endpoint (0_2, nvme0); by default the first endpoint awake."),
    ] = None,
    load: Annotated[
        str,
        typer.Option(
            "--load", metavar="LOAD",
            help="config: reads of the first 64 bytes of configuration space. read: reads of the endpoint's disk past the page cache, too.",
        ),
    ] = "config",
    tune: Annotated[bool, typer.Option("--tune", help="Write back the value that each tune attribute has, noted in the journal.")] = False,
    folder: Annotated[
        Path | None,
        typer.Option("--from", metavar="FOLDER", help="Record nothing: judge NAME.data and NAME.reads.json in a folder.", readable=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write an archive: recordings, readings, result, and what 'ptttool collect' takes.",
            readable=False,
        ),
    ] = None,
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="Replace addresses in the archive's recordings by region and offset, and the host's name.")
    ] = False,
    cpu: CpuOption = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Measure what no document says: clock, order, what is recorded.

    Registers of an endpoint are read in a pattern that cannot be mistaken, with the clock taken before and after each read, while each
    format and direction is recorded. So it is known which TLPs must be there, and when. Each assumption becomes confirmed, refuted or
    not tested, with the number and the TLPs that show it.

    It needs root and about 30 s, and only reads: registers, with --load read the front of a disk. Nothing is written but by --tune, which
    writes the values that are there. A device that somebody traces is left alone (exit code 75).

    The clock is kept: from then on 'ptttool trace' writes it beside each recording, and results have nanoseconds without --tick-ns.

    Exit code 0: nothing is refuted. 1: something is. Another one: the test could not be finished; what was recorded until then is judged.
    """
    from ptttool.api.selftest import Verdict, judge_recordings, run_selftest
    from ptttool.cli.terminal.interrupts import tidy_end
    from ptttool.cli.views.selftest import print_selftest

    outlive_reader(is_result=json)
    if load not in LOADS:
        raise UsageError(f"--load: unknown value {load!r}", hint="choose config or read", code="unknown-load")
    if anonymize and output is None:
        raise UsageError("--anonymize is about the archive: give -o FILE", code="no-archive")
    error = None
    if folder is not None:
        others = (("NAME", name), ("--tune", tune), ("-o", output), ("--cpu", cpu is not None), ("--force", force))
        given = [word for word, is_given in others if is_given]
        if given or load != LOADS[0]:
            raise UsageError(f"--from records nothing: it excludes {', '.join(given) or '--load'}", code="from-excludes")
        result = judge_recordings(folder)
        print_diagnostics(result.diagnostics)
    else:
        with tidy_end():
            result, error = run_selftest(
                name, load=load, tune=tune, cpu=cpu, archive=output, anonymize=anonymize, force=force,
                progress=lambda each: note(f"recording {each}"), report=print_diagnostic,
            )  # fmt: skip
    if json:
        print_json(result)
    else:
        print_selftest(result)
    if folder is None and output is None:
        note("the recordings are not kept: -o FILE keeps them")
    if error is not None:
        raise typer.Exit(error.exit_code)
    if folder is not None and any(one.code != "reads-ended" for one in result.diagnostics):
        raise typer.Exit(ExitCode.FILE)
    raise typer.Exit(ExitCode.DIFFERENT if result.count(Verdict.REFUTED) else ExitCode.SUCCESS)
