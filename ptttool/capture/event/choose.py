"""From names that people use (``nvme0``, ``00:10.0``) to an event of one PTT device. Touches no machine."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ptttool.capture.event.build import AskedTrace, BuiltEvent, TraceRequest, build, check_one_filter
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import UsageError
from ptttool.machine.model import Machine, PttDevice
from ptttool.machine.pmu import PMU_PREFIX, device_numbers
from ptttool.machine.resolve import resolve_requester, resolve_root_port
from ptttool.pci import PciAddress


class EventOptions(AskedTrace[str], frozen=True, kw_only=True):
    """What to trace, in the user's words.

    Parameters
    ----------
    root_ports : tuple of str
        PCI addresses or names, each or several with commas; an endpoint stands for its root port.
    requester : str or None
        PCI address or name of one function.
    device : str or None
        The PTT device; by default that of the root port or requester.
    force : bool
        As of :func:`~ptttool.capture.event.build.build`.

    Raises
    ------
    UsageError
        There is neither a root port nor a requester, or there are both.
    """

    device: str | None = None
    force: bool = False

    def __post_init__(self) -> None:
        check_one_filter(bool(self.root_ports), self.requester is not None)

    @property
    def root_port_names(self) -> list[str]:
        """The root ports, one each."""
        return [name for text in self.root_ports for name in text.split(",")]

    def request(self, device: str, root_ports: Iterable[PciAddress], requester: PciAddress | None) -> TraceRequest:
        """Make the request for a device, with the addresses that the names stand for."""
        asked = {name: getattr(self, name) for name in AskedTrace.__struct_fields__}
        return TraceRequest(device=device, **asked | {"root_ports": tuple(root_ports), "requester": requester})


class ChosenEvent(Struct, frozen=True):
    """An event, and the device that traces it.

    Parameters
    ----------
    request : TraceRequest
        The request, with addresses.
    built : BuiltEvent
        The event.
    device : PttDevice or None
        None where the event was computed without a machine.
    machine : Machine or None
        The machine on which names were looked up.
    notes : tuple of Diagnostic
        How names were understood.
    """

    request: TraceRequest
    built: BuiltEvent
    device: PttDevice | None
    machine: Machine | None
    notes: tuple[Diagnostic, ...] = ()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All that is to be reported: how names were understood, then what the event brings."""
        return self.notes + self.built.diagnostics


def choose(options: EventOptions, machine: Machine, device: PttDevice | None = None) -> ChosenEvent:
    """Find the device and the addresses that the options mean, and build the event.

    Parameters
    ----------
    options : EventOptions
        What to trace.
    machine : Machine
        Where names are looked up.
    device : PttDevice or None
        The device that ``options.device`` names.

    Raises
    ------
    UsageError
        A name is ambiguous, root ports belong to two devices, or the request cannot be traced.
    DeviceError
        A name is unknown, or no PTT device traces it.
    """
    named = device
    sentences: list[str | None] = []
    ports: list[PciAddress] = []
    requester: PciAddress | None = None
    for text in options.root_port_names:
        port, owner, sentence = resolve_root_port(machine, text, device=named)
        if device is None:
            device = owner
        elif owner.name != device.name:
            raise UsageError(
                f"root ports {ports[0]} and {port} belong to two devices, {device.name} and {owner.name}",
                hint="an event is for one device: trace them one after the other",
                code="two-devices",
            )
        if port not in ports:
            ports.append(port)
        sentences.append(sentence)
    if options.requester is not None:
        requester, device, sentence = resolve_requester(machine, options.requester, device=named)
        sentences.append(sentence)
    assert device is not None  # there is a root port or a requester
    request = options.request(device.name, ports, requester)
    notes = tuple(Diagnostic(Severity.INFO, "name-resolved", sentence) for sentence in sentences if sentence is not None)
    return ChosenEvent(request, build(request, device=device, force=options.force), device, machine, notes)


def choose_without_machine(options: EventOptions) -> ChosenEvent:
    """Build the event of options that give a device and PCI addresses, with the terms of the mainline driver.

    Raises
    ------
    UsageError
        The device or a function is not given in full, or the request cannot be traced.
    """
    name = f"{PMU_PREFIX}{(options.device or '').removeprefix(PMU_PREFIX)}"
    if device_numbers(name) is None:
        raise UsageError(
            f"{options.device!r} is not the name of a PTT device",
            hint=f"they are named {PMU_PREFIX}<SICL>_<core>, such as {PMU_PREFIX}0_2",
            code="bad-device-name",
        )
    requester = None if options.requester is None else _address(options.requester)
    request = options.request(name, [_address(text) for text in options.root_port_names], requester)
    message = "computed without the device: it was not checked whether its driver has this filter"
    return ChosenEvent(request, build(request, force=options.force), None, None, (Diagnostic(Severity.INFO, "not-checked", message),))


def _address(text: str) -> PciAddress:
    address = PciAddress.try_parse(text)
    if address is None:
        raise UsageError(
            f"{text!r} is not a PCI address, and there is no machine to look it up on",
            hint="write it as domain:bus:device.function, for example 0000:00:10.0; or give --sysfs",
            code="bad-pci-address",
        )
    return address
