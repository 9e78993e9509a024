"""``ptttool filters``: the root ports and requesters that a trace can be restricted to."""

from __future__ import annotations

from msgspec.structs import replace

from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.options.device import OneDeviceArgument, OneDeviceOption, choose_device
from ptttool.cli.terminal.talk import console, print_json
from ptttool.errors import UsageError

EXAMPLES = (
    Example("ptttool filters", "Everything that --rootport and --requester of 'ptttool trace' take.", on_demo=True),
    Example("ptttool filters --device hisi_ptt0_2", "Those of one PTT device.", on_demo=True),
)


@app.command("filters", stage=Stage.FIND, rank=30, examples=EXAMPLES)
def filters(
    name: OneDeviceArgument = None,
    device: OneDeviceOption = None,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """List the root ports and requesters that can be traced.

    Each line has the value of the event term filter, the PCI address, the kernel's names and the PCI name. Values of root ports can be
    or-ed to trace several; a requester cannot be combined. Kernels before 6.5 do not list the filters; the values are then computed from
    the PCI addresses, and a note says so.
    """
    from ptttool.cli.views.machine import filter_sections, print_diagnostics
    from ptttool.machine.discovery import open_source, require_machine
    from ptttool.machine.documents import FiltersDocument

    if name is not None and device is not None:
        raise UsageError("DEVICE and --device are the same: give one of them")
    device = name if device is None else device
    machine = require_machine(open_source(sysfs, demo), tune=False)
    if device is not None:
        machine = replace(machine, devices=(choose_device(machine, device, quiet=json),))
    if json:
        print_json(FiltersDocument.of(machine))
        return
    out = console()
    for number, (heading, table) in enumerate(filter_sections(machine)):
        if number:
            out.print()
        out.print(heading, style="bold")
        if table is not None:
            out.print(table)
    print_diagnostics(machine)
