"""``ptttool list``: the PTT devices of a machine."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec.structs import replace

from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.options.device import OneDeviceArgument, choose_device
from ptttool.cli.options.given import refuse_beside
from ptttool.cli.terminal.talk import console, print_json

EXAMPLES = (
    Example("ptttool list", "What there is on this machine.", on_demo=True),
    Example("ptttool list --tree", "The same, down to the endpoints behind each root port.", on_demo=True),
    Example("ptttool list --demo", "The recorded machine that comes with ptttool: it needs no hardware."),
)


@app.command("list", stage=Stage.FIND, rank=10, examples=EXAMPLES)
def list_devices(
    context: typer.Context,
    device: OneDeviceArgument = None,
    tree: Annotated[
        bool, typer.Option("--tree", help="Show what is behind each root port, with PCI names, and links in the words of lspci.")
    ] = False,
    untraceable: Annotated[
        bool,
        typer.Option(
            "--untraceable",
            help="List the devices that no PTT device can trace, and why: those in the processor, and those behind other root ports.",
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("-v", "--verbose", help="Also SICL and core, PMU type, path in sysfs, bits of the event terms."),
    ] = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """List PTT devices, their root ports and what is behind them.

    For each device: PCI address, NUMA node, the CPUs that can record it, and its root ports with their links and what is behind them.
    Notes on standard error say what the kernel does not say, and what cannot be read; reading everything needs root.
    """
    from ptttool.cli.views.machine import (
        common_lines,
        device_details,
        device_table,
        device_tree,
        print_diagnostics,
        untraceable_table,
    )
    from ptttool.cli.views.unfinished import print_unfinished
    from ptttool.machine.discovery import open_source, require_machine

    if tree:
        refuse_beside("--tree", context, refused=("json", "verbose", "untraceable"))
    if untraceable:
        refuse_beside("--untraceable", context, refused=("device", "verbose"))
    source = open_source(sysfs, demo)
    machine = require_machine(source, tune=json or (device is not None and not tree))
    if untraceable:
        from ptttool.machine.unusable.untraceable import untraceable_of

        machine = replace(machine, untraceable=untraceable_of(machine, source))
    chosen = choose_device(machine, device, quiet=json) if device is not None else None
    if chosen is not None:
        machine = replace(machine, devices=(chosen,))
    if json:
        from ptttool.machine.details.read import with_details

        print_json(with_details(source, machine))
        print_unfinished(source)
        return
    out = console()
    if tree:
        for one in device_tree(machine):
            out.print(one)
    elif machine.untraceable is not None:
        out.print(
            untraceable_table(machine.untraceable)
            if machine.untraceable
            else "No untraceable endpoint was found. Integrated ones can be told only from their configuration space, which root reads."
        )
        return
    elif chosen is not None:
        out.print(device_details(machine, chosen, verbose=verbose))
    else:
        out.print(device_table(machine, out.width, verbose=verbose))
        out.print()
        for line in common_lines(machine, verbose=verbose):
            out.print(line)
    print_diagnostics(machine)
    print_unfinished(source)
