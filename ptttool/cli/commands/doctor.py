"""``ptttool doctor``: whether a trace would work here, and if not, why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.options.device import OneDeviceArgument
from ptttool.cli.options.units import parse_size
from ptttool.cli.terminal.talk import note, print_json
from ptttool.wording import clean

EXAMPLES = (
    Example(
        "ptttool doctor", "Whether a trace would work on this machine, with a command for what is in the way.", on_demo=True, exit_code=1
    ),
    Example("ptttool doctor nvme0", "Whether the device that traces nvme0 can be traced.", on_demo=True, exit_code=1),
    Example("ptttool doctor 0_2 --aux-size 512M", "The same for one device and a larger AUX area.", on_demo=True, exit_code=1),
)


@app.command("doctor", stage=Stage.FIND, rank=30, examples=EXAMPLES)
def doctor(
    device: OneDeviceArgument = None,
    aux_size: Annotated[
        str | None,
        typer.Option("--aux-size", metavar="SIZE", help="Size of the AUX area of a trace. By default what 'ptttool trace' takes."),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="The recording that a trace would write; nothing is written.", readable=False),
    ] = Path("perf.data"),
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Check whether a trace would work here, and what is in the way.

    A line for each check: ok, warning, failed or unknown; below it the cause, and a command that mends it. Checks look and change
    nothing. Of a recorded machine (--demo, --sysfs), what it does not hold is unknown.

    Exit code 0: a trace would work, on every device or on DEVICE. 1: that is not known. Else it is the code with which a trace would
    fail.
    """
    from ptttool.api.machine import examine_machine

    size = None if aux_size is None else parse_size(aux_size, "--aux-size")
    examination = examine_machine(device, sysfs, demo=demo, aux_size=size, output=output)
    if examination.explanation is not None:
        note(clean(examination.explanation))
    if json:
        print_json(examination)
    else:
        from ptttool.cli.views.doctor import print_examination

        print_examination(examination)
    raise typer.Exit(examination.exit_code)
