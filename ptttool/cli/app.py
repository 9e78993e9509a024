"""The typer application, to which every command adds itself, and the options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="ptttool",
    help="Tune and trace PCIe links with the HiSilicon PTT device, and decode its traces.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, with a stable schema, on standard output.")]
SysfsOption = Annotated[
    Path | None,
    typer.Option(
        "--sysfs",
        metavar="DIR",
        help="Use a recorded or mounted machine instead: a folder that contains sys/, or sys itself. tune set and apply write into it.",
    ),
]
DemoOption = Annotated[bool, typer.Option("--demo", help="Use the recorded machine that comes with ptttool.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]
