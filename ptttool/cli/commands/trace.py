"""``ptttool trace``: record, keep what is needed to read it later, and say what came of it."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.capture.event.terms import Direction, Format
from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.options.device import DeviceOption
from ptttool.cli.options.event import (
    CompletionsOption,
    CpuOption,
    DirectionOption,
    ForceEventOption,
    FormatOption,
    PatternOption,
    RequesterOption,
    RootPortOption,
    TypeOption,
    event_options,
)
from ptttool.cli.options.units import parse_duration, parse_size
from ptttool.cli.terminal.interrupts import tidy_end
from ptttool.cli.terminal.streams import drop_output_if_closed
from ptttool.cli.terminal.talk import note, print_diagnostic, print_diagnostics, print_json, print_line
from ptttool.errors import PtttoolError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.capture.keep import Recorded
    from ptttool.capture.plan import Plan


EXAMPLES = (
    Example("ptttool trace --rootport nvme0 --duration 10 -o nvme.data", "What an NVMe drive sends, for 10 seconds.", on_demo=True),
    Example("ptttool trace --rootport nvme0 --format 8dw -- fio job.fio", "Whole headers, while a program runs.", on_demo=True),
    Example(
        "ptttool trace --rootport ens2 --type p --direction outbound --dry-run",
        "The perf command for what the processor writes to a network card.",
        on_demo=True,
    ),
)


# The first word that is not an option begins the user's command; later options belong to it.
@app.command("trace", stage=Stage.TRACE, rank=20, examples=EXAMPLES, context_settings={"allow_interspersed_args": False})
def trace(
    rootport: RootPortOption = None,
    requester: RequesterOption = None,
    types: TypeOption = None,
    direction: DirectionOption = Direction.INBOUND,
    completions: CompletionsOption = None,
    format: FormatOption = Format.DW4,
    pattern: PatternOption = None,
    device: DeviceOption = None,
    force: ForceEventOption = False,
    duration: Annotated[
        str | None, typer.Option("--duration", metavar="TIME", help="Record that long: 10, 1.5s, 500ms, 2m. Without it and without a "
        "COMMAND: until Ctrl-C.", show_default=False)
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The recording. One that is there already is kept as FILE.old.")
    ] = Path("perf.data"),
    aux_size: Annotated[
        str,
        typer.Option(
            "--aux-size", metavar="SIZE", help="Size of the AUX area, the buffer that the device fills: a power of two, at least 16M. "
            "A larger one survives longer bursts."
        ),
    ] = "64M",
    cpu: CpuOption = None,
    keep_command: Annotated[
        bool, typer.Option("--keep-command", help="Keep the arguments of COMMAND in the recording and the file beside it. Without it only "
        "its name and their number are kept: arguments can hold passwords.")
    ] = False,
    decode: Annotated[bool, typer.Option("--decode/--no-decode", help="Read the recording afterwards and sum it up.")] = True,
    fail_on_loss: Annotated[
        bool, typer.Option("--fail-on-loss", help="For CI: end with exit code 5 if something seems to be missing. The recording is kept.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the perf command and do nothing.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show what perf itself said.")] = False,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND...]", help="Record while this runs. Its own exit status is reported and does not become ptttool's.",
            show_default=False,
        ),
    ] = None,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:  # fmt: skip
    """Record TLPs with perf, sum them up, and report what is missing.

    Before perf starts, ptttool checks what can prevent the recording, and reports the first problem with its fix. Ctrl-C ends
    the recording and keeps it, and so does the end of the terminal. Beside FILE a small FILE.ptttool.json keeps the names of ports
    and devices, the options and the tune attributes: what a recording itself cannot say. Afterwards: what was recorded, and every
    sign that something was lost. A recording without a TLP is a failure. If ptttool or perf is killed, 'ptttool recover FILE' finds
    what was recorded.

    Where the kernel does not say which PTT device a root port belongs to (before Linux 6.5), the driver is asked, as root and while
    no process traces.

    On a recorded machine (--demo, --sysfs) a recording that was made there with the same options is replayed instead.
    """
    from ptttool.api.capture import choose_event, plan_recording
    from ptttool.capture.documents import DryRunDocument, PlanBody
    from ptttool.capture.plan import check_options
    from ptttool.machine.discovery import open_source, require_machine

    if not (json or dry_run):
        drop_output_if_closed()
    options = event_options(
        rootport=rootport,
        requester=requester,
        types=types,
        direction=direction,
        completions=completions,
        format=format,
        pattern=pattern,
        device=device,
        force=force,
    )
    size = parse_size(aux_size, "--aux-size")
    seconds = None if duration is None else parse_duration(duration)
    check_options(output, size, seconds, command or ())
    machine = require_machine(open_source(sysfs, demo), tune=not dry_run)
    chosen = choose_event(options, machine, ask_driver=not dry_run)
    plan = plan_recording(chosen, output=output, duration=seconds, command=command or (), cpu=cpu, aux_size=size, keep_command=keep_command)
    print_diagnostics(plan.chosen.diagnostics)
    if dry_run:
        line = shlex.join(plan.perf_command)
        if json:
            body = vars(PlanBody.of_plan(plan, plan.chosen.diagnostics)) | {"command": tuple(plan.perf_command)}
            print_json(DryRunDocument(**body, command_line=line))
        else:
            print_line(clean(line))
        return
    from ptttool.cli.views.trace_report import report

    recorded = _record(plan, verbose=verbose, json=json)
    try:
        report(plan, recorded, decode=decode, json=json, fail_on_loss=fail_on_loss)
        sys.stdout.flush()
    except OSError as error:
        if recorded.stopped_by != "SIGHUP" or error.errno != errno.EIO:
            raise
        # The terminal is gone, and the recording is good: there is no reader of the report.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _record(plan: Plan, *, verbose: bool, json: bool) -> Recorded:
    """Record with a progress line, and print what perf wrote if ``verbose``."""
    from ptttool.api.capture import record
    from ptttool.cli.views.recording_line import progress_line

    # With --json, standard output belongs to the document.
    live = plan.device.source is not None and plan.device.source.live
    command_stdout = sys.stderr.fileno() if json and live else None
    said = ""
    try:
        with nullcontext() if live else tidy_end(), progress_line(plan) as show:
            recorded = record(plan, progress=show, report=print_diagnostic, command_stdout=command_stdout)
        said = recorded.perf_stderr
        return recorded
    except PtttoolError as error:
        said = str(error.details.get("perf_stderr", ""))
        raise
    finally:
        for line in said.splitlines() if verbose else ():
            note(f"perf: {clean(line)}")
