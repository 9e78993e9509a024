"""The options that say what to trace, shared by ``event``, ``trace`` and ``top``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.capture.event.terms import Completions, Direction, Format, Pattern, TlpType, parse_direction, parse_types
from ptttool.cli.help.commands import OptionGroup
from ptttool.cli.help.panels import Panel
from ptttool.cli.help.stray import looks_like_a_device
from ptttool.cli.options.device import DeviceOption
from ptttool.errors import UsageError

if TYPE_CHECKING:
    from ptttool.capture.event.choose import EventOptions


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
DirectionOption = Annotated[
    Direction,
    typer.Option(
        "--direction",
        parser=parse_direction,
        metavar="[inbound|outbound|both]",
        help="Inbound is from the device to the processor. Outbound takes one type at a time; both needs --format 4dw.",
    ),
]
ForOption = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="ANALYSIS,...",
        help="What the recording is for: names of analyses, such as traffic, payload, latency, outstanding, errors, mmio, attributes, io. "
        "The plan for them chooses the format, the direction and the types.",
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
    typer.Option("--cpu", min=0, metavar="N", help="The CPU that records. By default one of the device's cpumask with little else to do."),
]


AuxSizeOption = Annotated[
    str | None,
    typer.Option(
        "--aux-size",
        metavar="SIZE",
        help="Size of the AUX area, the buffer that the device fills: a power of two, at least 16M. By default 64M. A driver that hands "
        "trace over only when the area is full (Linux before 6.8, openEuler) ends the trace there: then as much as memory and disk allow, "
        "up to 2G.",
    ),
]


class EventTerms(OptionGroup, frozen=True):
    """The options that say what to trace."""

    rootport: RootPortOption = None
    requester: RequesterOption = None
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="LIST",
            help="Types of TLPs, with commas: p (posted), np (non-posted), cpl (completions). By default all three.",
        ),
    ] = None
    direction: DirectionOption = Direction.INBOUND
    completions: Annotated[
        Completions | None,
        typer.Option(
            "--completions",
            case_sensitive=False,
            help="Which inbound completions, where not all can be traced (8DW inbound, and both directions): b, those of DMA "
            "remote-to-local and peer-to-peer requests (the default), or a, all others; with a no other inbound TLP is traced.",
        ),
    ] = None
    format: Annotated[
        Format,
        typer.Option(
            "--format",
            case_sensitive=False,
            help="4dw: 16 bytes a TLP, 11 bits of time, no prefix. 8dw: 32 bytes, the whole header, 32 bits of time, one direction.",
        ),
    ] = Format.DW4
    pattern: Annotated[
        Pattern | None,
        typer.Option(
            "--pattern",
            case_sensitive=False,
            rich_help_panel=Panel.WHAT,
            help="Layout of the headers, where the PMU has the term: legacy, or v1 (PCIe 6 era fields).",
        ),
    ] = None
    device: DeviceOption = None

    def asked(self, *, force: bool, command: Sequence[str] | None = None) -> EventOptions:
        """Return what is asked for; `command` is to run meanwhile.

        Raises
        ------
        UsageError
            There are two requesters, a type is unknown, or there is not one filter.
        """
        from ptttool.capture.event.choose import EventOptions

        if command and not self.rootport and self.requester is None and looks_like_a_device(command[0]):
            hint = f"to trace it: --rootport {command[0]}"
            raise UsageError("nothing to trace: no root port and no requester", hint=hint, code="no-filter")
        return EventOptions(
            root_ports=tuple(self.rootport or ()),
            requester=one_requester(self.requester),
            types=parse_types(",".join(self.types)) if self.types else tuple(TlpType),
            direction=self.direction,
            completions=self.completions,
            format=self.format,
            pattern=self.pattern,
            device=self.device,
            force=force,
        )


def one_requester(requesters: list[str] | None) -> str | None:
    """Return the one requester of the options; a UsageError where there are two."""
    if requesters is not None and len(requesters) > 1:
        raise UsageError("one requester can be traced at a time", hint="give --requester once", code="two-requesters")
    return requesters[0] if requesters else None
