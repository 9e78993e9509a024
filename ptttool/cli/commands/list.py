"""``ptttool list``: the PTT devices of a machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.options.machine import find_device, load_machine, open_source
from ptttool.cli.terminal.talk import console, print_json
from ptttool.errors import UsageError
from ptttool.machine.model import as_json


@app.command("list")
def list_devices(
    device: Annotated[
        str | None,
        typer.Argument(metavar="DEVICE", help="Only this device, in full: hisi_ptt0_2, 0_2 or its PCI address.", show_default=False),
    ] = None,
    tree: Annotated[
        bool, typer.Option("--tree", help="Show what sits behind each root port, with PCI names and links as lspci words them.")
    ] = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """List the PTT devices of this machine.

    For each device: PCI address, NUMA node, the CPUs that may record it, the type number of its PMU and its root ports with what is
    behind them. What the kernel does not tell, or may not be read, is said on standard error; reading everything needs root.
    """
    if tree and json:
        raise UsageError("--tree and --json exclude each other")
    machine = load_machine(open_source(sysfs, demo), tune=json or (device is not None and not tree))
    chosen = find_device(machine, device) if device is not None else None
    if chosen is not None:
        machine = replace(machine, devices=(chosen,))
    if json:
        print_json(as_json(machine))
        return
    from ptttool.cli.views.machine import common_lines, device_details, device_table, device_tree, tell_notes

    out = console()
    if tree:
        for one in device_tree(machine):
            out.print(one)
    elif chosen is not None:
        out.print(device_details(machine, chosen))
    else:
        out.print(device_table(machine, out.width))
        out.print()
        for line in common_lines(machine):
            out.print(line)
    tell_notes(machine)
