"""The options that say what to trace, shared by ``event`` and ``trace``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.capture.event.terms import Completions, Direction, Format, Pattern, TlpType, parse_direction, parse_types
from ptttool.cli.help.panels import Panel
from ptttool.cli.help.stray import looks_like_a_device
from ptttool.cli.options.device import choose_device
from ptttool.errors import DeviceError, MissingPackageError, UsageError

if TYPE_CHECKING:
    from ptttool.capture.event.choose import ChosenEvent, EventOptions
    from ptttool.machine.model import Machine


def _directions() -> list[str]:
    return list(Direction)


RootPortOption = Annotated[
    list[str] | None,
    typer.Option(
        "--rootport",
        metavar="BDF",
        help="Trace the TLPs of this root port: its PCI address, with or without domain. An endpoint, by address or name (nvme0, eth1), "
        "stands for its root port. Several ports of one device with commas, or with the option repeated.",
    ),
]
RequesterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--requester",
        metavar="BDF",
        help="Trace the TLPs of this one function instead: a PCI address or a name. Cannot be combined with --rootport.",
    ),
]
TypeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--type", metavar="LIST", help="Types of TLPs, with commas: p (posted), np (non-posted), cpl (completions). By default all three."
    ),
]
DirectionOption = Annotated[
    Direction,
    typer.Option(
        "--direction",
        parser=parse_direction,
        metavar="[inbound|outbound|both]",
        autocompletion=_directions,
        help="Inbound is from the device to the processor. Outbound takes one type at a time; both needs --format 4dw.",
    ),
]
CompletionsOption = Annotated[
    Completions | None,
    typer.Option(
        "--completions",
        case_sensitive=False,
        help="Which inbound completions, where not all can be traced (8DW inbound, and both directions): b, those of DMA remote-to-local "
        "and peer-to-peer requests (the default), or a, all others; with a no other inbound TLP is traced.",
    ),
]
FormatOption = Annotated[
    Format,
    typer.Option(
        "--format",
        case_sensitive=False,
        help="4dw: 16 bytes a TLP, 11 bits of time, no prefix. 8dw: 32 bytes, the whole header, 32 bits of time, one direction.",
    ),
]
PatternOption = Annotated[
    Pattern | None,
    typer.Option(
        "--pattern",
        case_sensitive=False,
        rich_help_panel=Panel.WHAT,
        help="Layout of the headers, where the PMU has the term: legacy, or v1 (PCIe 6 era fields).",
    ),
]
ForceEventOption = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Build what the kernel documentation excludes and the driver takes (several types outbound), and --pattern v1 where the PMU "
        "cannot be looked at.",
    ),
]
CpuOption = Annotated[
    int | None,
    typer.Option("--cpu", min=0, metavar="N", help="The CPU that records. By default the first of the device's cpumask."),
]


def one_requester(given: list[str] | None) -> str | None:
    """Return the one requester of the options; a UsageError where there are two."""
    if given is not None and len(given) > 1:
        raise UsageError("one requester can be traced at a time", hint="give --requester once", code="two-requesters")
    return given[0] if given else None


def event_options(
    *,
    rootport: list[str] | None,
    requester: list[str] | None,
    types: list[str] | None,
    direction: Direction,
    completions: Completions | None,
    format: Format,
    pattern: Pattern | None,
    device: str | None,
    force: bool,
    command: Sequence[str] | None = None,
) -> EventOptions:
    """Make one object of the options, each named as the commands name them; `command` is to run meanwhile.

    Raises
    ------
    UsageError
        There are two requesters, a type is unknown, or there is not one filter.
    """
    from ptttool.capture.event.choose import EventOptions

    if command and not rootport and requester is None and looks_like_a_device(command[0]):
        raise UsageError("nothing to trace: no root port and no requester", hint=f"to trace it: --rootport {command[0]}", code="no-filter")
    return EventOptions(
        root_ports=tuple(rootport or ()),
        requester=one_requester(requester),
        types=parse_types(",".join(types)) if types else tuple(TlpType),
        direction=direction,
        completions=completions,
        format=format,
        pattern=pattern,
        device=device,
        force=force,
    )


def choose_on(options: EventOptions, machine: Machine) -> ChosenEvent:
    """Build the event on a machine."""
    from ptttool.capture.event.choose import choose

    return choose(options, machine, None if options.device is None else choose_device(machine, options.device))


def machine_for(options: EventOptions, sysfs: Path | None, demo: bool) -> Machine | None:
    """Return the machine that the options are about; None where there is none and ``--device`` is enough."""
    from ptttool.machine.discovery import open_source, require_machine

    if sysfs is not None or demo:
        return require_machine(open_source(sysfs, demo), tune=False)
    try:
        return require_machine(open_source(None, False), tune=False)
    except (DeviceError, MissingPackageError) as error:
        if options.device is not None:
            return None
        if error.code == DeviceError.code:
            error.hint = "with --device and PCI addresses an event is computed anyway; --sysfs reads another machine, --demo a recorded one"
        raise
