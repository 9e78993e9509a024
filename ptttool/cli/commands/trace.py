"""``ptttool trace``: record, keep what is needed to read it later, and say what came of it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.options.event import (
    CompletionsOption,
    CpuOption,
    DeviceOption,
    DirectionOption,
    EventOptions,
    ForceEventOption,
    FormatOption,
    PatternOption,
    RequesterOption,
    RootPortOption,
    TypeOption,
    choose,
    one_requester,
    types_given,
)
from ptttool.cli.options.machine import load_machine, open_source
from ptttool.cli.terminal.talk import clean, note, print_json, print_line, warn
from ptttool.errors import UsageError
from ptttool.units import parse_duration, parse_size


# What follows the first word that is no option is the command's own, options included.
@app.command("trace", context_settings={"allow_interspersed_args": False})
def trace(
    rootport: RootPortOption = None,
    requester: RequesterOption = None,
    types: TypeOption = None,
    direction: DirectionOption = "inbound",
    completions: CompletionsOption = None,
    format: FormatOption = "4dw",
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
    decode: Annotated[bool, typer.Option("--decode/--no-decode", help="Read the recording afterwards and sum it up.")] = True,
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
    """Record the TLPs that the options describe, with perf, and sum them up.

    Before anything starts it is checked whether it can work; the first thing in the way is told with what to do about it. Ctrl-C ends
    the recording and keeps it. Beside FILE a small FILE.ptttool.json keeps the names of ports and devices, the options and the
    tune attributes: what a recording itself cannot say. Afterwards: what was recorded, and every sign that something was lost. A
    recording without a TLP is a failure.

    On a recorded machine (--demo, --sysfs) a recording that was made there with the same options is replayed instead.
    """
    from ptttool.capture.preflight import check_aux_size, choose_cpu, online_cpus
    from ptttool.cli.tracing import TraceJob

    if str(output) == "-":
        raise UsageError("a recording cannot go to standard output: perf finishes it by writing its head", hint="name a file with -o")
    options = EventOptions(
        tuple(rootport or ()), one_requester(requester), types_given(types), direction, completions, format, pattern, device, force
    )
    size = parse_size(aux_size, "--aux-size")
    check_aux_size(size)
    seconds = None if duration is None else parse_duration(duration)
    if seconds is not None and command:
        raise UsageError("--duration and a COMMAND exclude each other: the recording lasts as long as the command", code="two-durations")
    source = open_source(sysfs, demo)
    machine = load_machine(source, tune=not dry_run)
    chosen = choose(options, machine)
    assert chosen.device is not None
    job = TraceJob(
        source=source,
        machine=machine,
        chosen=chosen,
        device=chosen.device,
        cpu=choose_cpu(chosen.device, cpu, online_cpus(source) if source.live else None),
        aux_size=size,
        output=output,
        seconds=seconds,
        traced=tuple(command or ()),
        verbose=verbose,
        json=json,
    )
    job.warnings += chosen.built.warnings
    for text in (*chosen.notes, *chosen.built.notes):
        note(clean(text))
    for text in chosen.built.warnings:
        warn(clean(text))
    if dry_run:
        if json:
            print_json({**job.as_json(), "command_line": shlex.join(job.command)})
        else:
            print_line(clean(shlex.join(job.command)))
        return
    recorded = job.record() if source.live else job.replay()
    from ptttool.cli.views.trace_report import report

    report(job, recorded, decode=decode)
