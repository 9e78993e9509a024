"""Options and arguments that name PTT devices, and how commands look the names up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.terminal.talk import note
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.machine.model import Machine, PttDevice

_NAMES = "hisi_ptt0_2, 0_2, its PCI address, or what it traces (nvme0, ens2)"

DEVICE_HELP = f"The PTT device: {_NAMES}."
DeviceArgument = Annotated[str, typer.Argument(help=DEVICE_HELP, metavar="DEVICE")]
OneDeviceArgument = Annotated[str | None, typer.Argument(help=f"Only this PTT device: {_NAMES}.", metavar="DEVICE")]
OneDeviceOption = Annotated[str | None, typer.Option("--device", metavar="NAME", help=f"Only this PTT device: {_NAMES}.")]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        help=f"{DEVICE_HELP} By default it follows from the root port or requester.",
    ),
]


def choose_device(machine: Machine, name: str, *, quiet: bool = False) -> PttDevice:
    """Find the PTT device that a name stands for; say how it was found, unless `quiet`. Errors are those of ``resolve_device``."""
    from ptttool.machine.resolve import resolve_device

    device, explanation = resolve_device(machine, name)
    if explanation is not None and not quiet:
        note(clean(explanation))
    return device
