"""``ptttool metrics``: numbers for Prometheus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ptttool.cli.app import DemoOption, JsonOption, SysfsOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.options.given import refuse_beside
from ptttool.cli.terminal.talk import PrintedError, print_json, warn
from ptttool.errors import UsageError
from ptttool.wording import clean

EXAMPLES = (
    Example("ptttool metrics", "Devices, tune attributes, links and the doctor's checks of this machine.", on_demo=True),
    Example("ptttool metrics -o ptttool.prom", "For node_exporter's textfile collector: name a file in its folder.", on_demo=True),
    Example("ptttool metrics nvme.data", "TLPs, bytes, signs of loss and latency of a recording."),
    Example("ptttool metrics --dashboard", "A dashboard for Grafana: import what this prints."),
)


@app.command("metrics", stage=Stage.MORE, rank=20, examples=EXAMPLES)
def metrics(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE...", help="Recordings, or folders of them, instead of this machine."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this file, which is replaced as a whole.", readable=False),
    ] = None,
    openmetrics: Annotated[bool, typer.Option("--openmetrics", help="Write OpenMetrics 1.0 instead of Prometheus' text format.")] = False,
    doctor: Annotated[bool, typer.Option("--doctor/--no-doctor", help="Run the checks of 'ptttool doctor', too.")] = True,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Print a dashboard for Grafana, as JSON, or write it to the file of -o; do nothing else.")
    ] = False,
    json: JsonOption = False,
    sysfs: SysfsOption = None,
    demo: DemoOption = False,
) -> None:
    """Print numbers on devices or recordings for Prometheus.

    Of this machine: PTT devices, tune attributes, filters, links, changes that were cut off, and what 'ptttool doctor' says. With FILE,
    of recordings: TLPs and bytes by direction and class, signs of loss, latency in ticks. A value that is not known has no sample.
    The file that -o names is replaced as a whole: node_exporter's textfile collector can read it at any moment.
    """
    from ptttool.api.metrics import DASHBOARD, machine_metrics, recording_metrics
    from ptttool.files.atomic import output_file

    if dashboard:
        refuse_beside("--dashboard", context, takes=("dashboard", "output", "json"))
        if output is None or str(output) == "-":
            sys.stdout.write(DASHBOARD.read_text(encoding="utf-8"))
            return
        with output_file(output, force=True) as file:
            file.write(DASHBOARD.read_bytes())
        return
    if json and (output is not None or openmetrics):
        raise UsageError("--json prints JSON on standard output: -o and --openmetrics are for the text format", code="json-is-printed")
    if files:
        if sysfs is not None or demo:
            raise UsageError("recordings have their own metrics: --sysfs and --demo are for those of a machine", code="two-subjects")
        refuse_beside("FILE", context, refused=("doctor",))
    numbers = recording_metrics(files) if files else machine_metrics(sysfs, demo=demo, doctor=doctor)
    if json:
        print_json(numbers.samples.document)
    elif output is None or str(output) == "-":
        sys.stdout.write(numbers.text(openmetrics=openmetrics))
    else:
        numbers.write(output, openmetrics=openmetrics)
    for error in numbers.errors[1:]:
        warn(clean(error.message))
    if numbers.errors:
        raise PrintedError(numbers.errors[0]) if json else numbers.errors[0]
