"""``ptttool event``: a perf event from structured options."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated

import typer

from ptttool.capture.perf.command import perf_command
from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.options.event import (
    ChosenEvent,
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
    machine_for,
    one_requester,
    request_as_json,
    types_given,
)
from ptttool.cli.terminal.talk import clean, note, print_json, print_line, warn


# What follows the first word that is no option is the command's own, options included.
@app.command("event", context_settings={"allow_interspersed_args": False})
def event(
    rootport: RootPortOption = None,
    requester: RequesterOption = None,
    types: TypeOption = None,
    direction: DirectionOption = "inbound",
    completions: CompletionsOption = None,
    format: FormatOption = "4dw",
    pattern: PatternOption = None,
    device: DeviceOption = None,
    cpu: CpuOption = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="What perf shall run meanwhile. Without one it records until Ctrl-C."),
    ] = None,
    force: ForceEventOption = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Print the perf event that traces what the options describe.

    Three lines: the event string, its 64-bit config, and the whole perf command. Nothing is run.

    No device is needed if --device is given and all else by PCI address: then the event is computed, at the bit positions of the mainline
    driver. Where the device can be looked at, its own bit positions and its driver's list of filters count.
    """
    from ptttool.capture.preflight import choose_cpu

    options = EventOptions(
        root_ports=tuple(rootport or ()),
        requester=one_requester(requester),
        types=types_given(types),
        direction=direction,
        completions=completions,
        format=format,
        pattern=pattern,
        device=device,
        force=force,
    )
    chosen = choose(options, machine_for(options, sysfs, demo))
    known = chosen.device
    if known is not None and (known.cpus or cpu is not None):
        cpu = choose_cpu(known, cpu, None)
    words = perf_command(chosen.built.event, cpu=cpu, command=command or ())
    notes = [*chosen.notes, *chosen.built.notes]
    if cpu is None:
        where = f"/sys/bus/event_source/devices/{chosen.name}/cpumask"
        notes.append(f"perf opens the event on all CPUs (-a): one of {where}, given with --cpu, is enough and takes less memory")
    if json:
        print_json(_document(chosen, words, notes))
        return
    for text in notes:
        note(clean(text))
    for text in chosen.built.warnings:
        warn(clean(text))
    print_line(clean(chosen.built.event))
    print_line(f"{chosen.built.config:#x}")
    print_line(clean(shlex.join(words)))


def _document(chosen: ChosenEvent, words: Sequence[str], notes: Sequence[str]) -> dict[str, object]:
    built, request = chosen.built, chosen.request
    return {
        "event": built.event,
        "config": built.config,
        "config_hex": f"{built.config:#x}",
        "command": list(words),
        "command_line": shlex.join(words),
        "device": chosen.name,
        "fields": dict(built.fields),
        **request_as_json(request),
        "inbound": list(built.flow.inbound),
        "outbound": list(built.flow.outbound),
        "checked": built.checked,
        "warnings": list(built.warnings),
        "notes": list(notes),
    }
