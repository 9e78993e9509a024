"""The options that describe what to trace, shared by the commands that make an event; and from them to the event."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from ptttool.capture.event.build import BuiltEvent, TraceRequest, build, one_filter
from ptttool.capture.event.terms import INBOUND, TYPES
from ptttool.errors import DeviceError, MissingPackageError, UsageError
from ptttool.machine.model import Machine, PttDevice
from ptttool.machine.resolve import resolve_requester, resolve_root_port
from ptttool.pci import PciAddress
from ptttool.wording import in_words

Direction = Literal["inbound", "outbound", "both"]
Completions = Literal["a", "b"]
Format = Literal["4dw", "8dw"]
Pattern = Literal["legacy", "v1"]

RootPortOption = Annotated[
    list[str] | None,
    typer.Option(
        "--rootport",
        metavar="BDF",
        help="Trace the TLPs of this root port: its PCI address, with or without domain. An endpoint, by address or name (nvme0, eth1), "
        "stands for its root port. Repeat for several ports of one device.",
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
        case_sensitive=False,
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
        "--pattern", case_sensitive=False, help="Layout of the headers, where the PMU has the term: legacy, or v1 (PCIe 6 era fields)."
    ),
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device", metavar="NAME", help="The PTT device, such as hisi_ptt0_2. By default it follows from the root port or requester."
    ),
]
ForceEventOption = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Build what the kernel's document excludes and the driver takes (several types outbound), and --pattern v1 where the PMU "
        "cannot be looked at.",
    ),
]
CpuOption = Annotated[
    int | None,
    typer.Option("--cpu", min=0, metavar="N", help="The CPU that records. By default the first of the device's cpumask."),
]

ALL_TYPES = ",".join(TYPES)
_DEVICE_NAME = re.compile(r"(?:hisi_ptt)?([0-9]{1,9}_[0-9]{1,9})")


@dataclass(frozen=True)
class EventOptions:
    """The options as given. Raises UsageError unless there is one filter: root ports or a requester."""

    root_ports: tuple[str, ...] = ()
    requester: str | None = None
    types: str = ALL_TYPES
    direction: str = INBOUND
    completions: str | None = None
    format: str = "4dw"
    pattern: str | None = None
    device: str | None = None
    force: bool = False

    def __post_init__(self) -> None:
        one_filter(bool(self.root_ports), self.requester is not None)


def one_requester(given: list[str] | None) -> str | None:
    """The value of --requester, which may be repeated by mistake only: the device filters by one."""
    if given is not None and len(given) > 1:
        raise UsageError("one requester can be traced at a time", hint="give --requester once", code="two-requesters")
    return given[0] if given else None


def types_given(given: list[str] | None) -> str:
    """The values of --type, one or several, with commas between."""
    return ",".join(given) if given else ALL_TYPES


def request_as_json(request: TraceRequest) -> dict[str, object]:
    """What was asked for, for ``--json`` and for sidecars."""
    return {
        "root_ports": [str(address) for address in request.root_ports],
        "requester": None if request.requester is None else str(request.requester),
        "types": list(request.types),
        "direction": request.direction,
        "completions": request.completions,
        "format": request.format,
        "pattern": request.pattern,
    }


@dataclass(frozen=True)
class ChosenEvent:
    """An event and where it goes. ``device``: None where no machine is known. ``notes``: how names were understood."""

    name: str
    request: TraceRequest
    built: BuiltEvent
    device: PttDevice | None
    notes: tuple[str, ...] = ()


def machine_for(options: EventOptions, sysfs: Path | None, demo: bool) -> Machine | None:
    """The machine that the options speak of.

    A recorded one if asked for; else this one if it has PTT devices; else none, which will do where ``--device`` is given.
    """
    from ptttool.cli.options.machine import load_machine, open_source

    if sysfs is not None or demo:
        return load_machine(open_source(sysfs, demo), tune=False)
    try:
        return load_machine(open_source(None, False), tune=False)
    except (DeviceError, MissingPackageError) as error:
        if options.device is not None:
            return None
        if error.code == DeviceError.code:
            error.hint = (
                "with --device and PCI addresses an event is computed all the same; --sysfs reads another machine, --demo a recorded one"
            )
        raise


def choose(options: EventOptions, machine: Machine | None) -> ChosenEvent:
    """The event that the options ask for, on the device they mean; errors as of :func:`ptttool.capture.event.build.build`."""
    if machine is None:
        return _without_machine(options)
    from ptttool.cli.options.machine import find_device

    named = device = None if options.device is None else find_device(machine, options.device)
    notes: list[str] = []
    ports: list[PciAddress] = []
    requester: PciAddress | None = None
    for text in options.root_ports:
        port, owner, sentence = resolve_root_port(machine, text, device=named)
        if device is None:
            device = owner
        elif owner.name != device.name:
            raise UsageError(
                f"root ports {ports[0]} and {port} belong to two devices, {device.name} and {owner.name}",
                hint="an event is one device's: trace them one after the other",
                code="two-devices",
            )
        ports.append(port)
        notes += [] if sentence is None else [sentence]
    if options.requester is not None:
        requester, device, sentence = resolve_requester(machine, options.requester, device=named)
        notes += [] if sentence is None else [sentence]
    assert device is not None
    request = _request(options, device.name, tuple(ports), requester)
    return ChosenEvent(device.name, request, build(request, device=device, force=options.force), device, tuple(notes))


def _without_machine(options: EventOptions) -> ChosenEvent:
    match = _DEVICE_NAME.fullmatch(options.device or "")
    if match is None:
        raise UsageError(
            f"{options.device!r} is no name of a PTT device", hint="they are called hisi_ptt<SICL>_<core>, such as hisi_ptt0_2"
        )
    name = f"hisi_ptt{match[1]}"
    ports = tuple(_address(text) for text in options.root_ports)
    requester = None if options.requester is None else _address(options.requester)
    request = _request(options, name, ports, requester)
    note = "computed without the device: whether its driver has this filter was not checked"
    return ChosenEvent(name, request, build(request, force=options.force), None, (note,))


def _address(text: str) -> PciAddress:
    found = PciAddress.try_parse(text)
    if found is None:
        raise UsageError(
            f"{text!r} is no PCI address, and there is no machine to look it up on",
            hint="write it as domain:bus:device.function, for example 0000:00:10.0; or give --sysfs",
            code="bad-pci-address",
        )
    return found


def _request(options: EventOptions, name: str, ports: tuple[PciAddress, ...], requester: PciAddress | None) -> TraceRequest:
    return TraceRequest(
        device=name,
        root_ports=ports,
        requester=requester,
        types=parse_types(options.types),
        direction=options.direction,
        completions=options.completions,
        format=options.format,
        pattern=options.pattern,
    )


def parse_types(text: str) -> tuple[str, ...]:
    """``p,np,cpl`` to names of types."""
    types = tuple(word.strip().lower() for word in text.split(","))
    for word in types:
        if word not in TYPES:
            raise UsageError(
                f"--type {text!r}: {word!r} is no type of TLP", hint=f"give {in_words(list(TYPES), 'or')}, several with commas"
            )
    return types
