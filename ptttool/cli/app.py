"""The typer application, to which every command adds itself, and the options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ptttool.cli.help.about import About, Example
from ptttool.cli.help.commands import App, Group

EXAMPLES = (
    Example("ptttool list", "What there is on this machine; with --demo, on a recorded one.", on_demo=True),
    Example("ptttool trace --rootport nvme0 --duration 10 -o nvme.data", "Record what an NVMe drive sends.", on_demo=True),
    Example("ptttool info nvme.data", "What was recorded, and what is missing."),
    Example("ptttool report nvme.data -o nvme.html", "All of it on one page."),
)


app = App(
    name="ptttool",
    cls=type("Group", (Group,), {"about": About(examples=EXAMPLES)}),
    help="Tune and trace PCIe links with the HiSilicon PTT device, and decode its traces.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, with a stable schema, on standard output.")]
SysfsOption = Annotated[
    Path | None,
    typer.Option(
        "--sysfs",
        metavar="PATH",
        help="Use a recorded or mounted machine instead: a folder or tar archive that contains sys/, or sys itself, such as an sosreport.",
        readable=False,
    ),
]
DemoOption = Annotated[
    bool,
    typer.Option(
        "--demo",
        help="Use the recorded machine that comes with ptttool; --demo=openeuler-5.10 and --demo=kunpeng-6.1 show it under other kernels.",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
