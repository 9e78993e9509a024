"""``ptttool filters``: what a trace can be restricted to."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.options.machine import find_device, load_machine, open_source
from ptttool.cli.terminal.talk import console, print_json
from ptttool.machine.model import REQUESTER, ROOT_PORT, Filter, Machine, filter_as_json


@app.command("filters")
def filters(
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="NAME", help="Only this PTT device: hisi_ptt0_2, 0_2 or its PCI address.", show_default=False),
    ] = None,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """List the root ports and requesters that a trace can be restricted to.

    Each with the value that the event's term filter takes, its PCI address, the kernel's names and its PCI name. Values of root ports
    may be or-ed to trace several; a requester stands alone. Kernels before 6.5 offer no such list: the values are then computed from
    the PCI addresses, and that is said.
    """
    machine = load_machine(open_source(sysfs, demo), tune=False)
    if device is not None:
        machine = replace(machine, devices=(find_device(machine, device),))
    if json:
        print_json(_as_json(machine))
        return
    from ptttool.cli.views.machine import filter_sections, tell_notes

    out = console()
    for number, (heading, table) in enumerate(filter_sections(machine)):
        if number:
            out.print()
        out.print(heading, style="bold")
        if table is not None:
            out.print(table)
    tell_notes(machine)


def _as_json(machine: Machine) -> dict[str, Any]:
    """``notes``; ``devices``: per device ``name``, ``ports_known``, ``notes``, ``multiselect`` (``root_ports``, ``requesters``), and
    ``root_ports`` and ``requesters``: each ``address``, ``value``, ``hex``, ``computed``, ``name``, ``kernel_names``."""

    def entry(one: Filter) -> dict[str, Any]:
        function = machine.functions.get(one.address)
        return {
            **filter_as_json(one),
            "name": function.name if function is not None else None,
            "kernel_names": list(function.kernel_names) if function is not None else [],
        }

    return {
        "notes": list(machine.notes),
        "devices": [
            {
                "name": device.name,
                "ports_known": device.ports_known,
                "multiselect": {"root_ports": device.multiselect.get(ROOT_PORT), "requesters": device.multiselect.get(REQUESTER)},
                "root_ports": [entry(one) for one in device.root_ports],
                "requesters": [entry(one) for one in device.requesters],
                "notes": list(device.notes),
            }
            for device in machine.devices
        ],
    }
