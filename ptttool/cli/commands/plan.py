"""``ptttool plan``: which recording answers a question, what it costs, and the command that makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.help.panels import Panel
from ptttool.cli.options.device import DeviceOption
from ptttool.cli.options.event import ForOption, RequesterOption, RootPortOption, one_requester
from ptttool.cli.options.units import parse_duration, parse_size
from ptttool.cli.terminal.talk import print_diagnostics, print_json

EXAMPLES = (
    Example("ptttool plan --rootport nvme0 --for latency", "How to record for the latencies of an NVMe drive.", on_demo=True),
    Example(
        "ptttool plan --rootport ens2 --for payload,errors --write-speed 500M",
        "Several questions, and a disk of known speed.",
        on_demo=True,
    ),
)


@app.command("plan", stage=Stage.TRACE, rank=10, examples=EXAMPLES)
def plan(
    rootport: RootPortOption = None,
    requester: RequesterOption = None,
    purposes: ForOption = None,
    device: DeviceOption = None,
    duration: Annotated[
        str, typer.Option("--duration", metavar="TIME", help="How long each recording is: 10, 1.5s, 500ms, 2m.")
    ] = "10",
    aux_size: Annotated[
        str | None,
        typer.Option(
            "--aux-size", metavar="SIZE", help="Size of the AUX area. By default what holds 0.1 s of a full link, from 64M to 1G; "
            "more with a driver that ends the trace when the area is full.",
        ),
    ] = None,
    write_speed: Annotated[
        str | None,
        typer.Option(
            "--write-speed", metavar="SIZE", rich_help_panel=Panel.HOW,
            help="Bytes a second that the disk of the output takes, such as 500M: the plan then says when a trace would end early.",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE",
            help="Where the recording goes: the plan looks at the free space there.", readable=False,
        )
    ] = Path("perf.data"),
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:  # fmt: skip
    """Plan the recording that answers a question.

    The question is the name of an analysis. The plan says which events to record and why several may be needed, how much trace the link
    can produce, how long the AUX area and the disk last, what such a recording cannot show, and which counter of the processor answers
    more cheaply, if one does. Its last line is the command to run. Nothing is recorded.

    How much the link can produce follows from its present speed and width, the sizes that are set (MPS, MRRS) and the size of a record:
    it is the most there can be, and no measurement.
    """
    from ptttool.api.planning import plan_for
    from ptttool.cli.views.plan import print_plan
    from ptttool.errors import UsageError
    from ptttool.machine.discovery import open_source, require_machine

    if purposes is None:
        hint = "names of analyses: traffic, payload, latency, outstanding, errors, mmio, attributes, io"
        raise UsageError("--for is missing: what is the recording for?", hint=hint, code="missing-option")
    seconds = parse_duration(duration)
    size = None if aux_size is None else parse_size(aux_size, "--aux-size")
    speed = None if write_speed is None else parse_size(write_speed, "--write-speed")
    machine = require_machine(open_source(sysfs, demo), tune=False)
    capture_plan = plan_for(
        machine, purposes, root_ports=rootport or (), requester=one_requester(requester), device=device, duration=seconds, output=output,
        aux_size=size, write_speed=speed,
    )  # fmt: skip
    if json:
        print_json(capture_plan)
        return
    print_diagnostics(capture_plan.diagnostics)
    print_plan(capture_plan)
