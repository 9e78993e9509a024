"""From what people write (an address, ``nvme0``, ``0_2``) to a PTT device, a root port or a requester.

Pure look-ups in a :class:`~ptttool.machine.model.Machine`, recorded or not.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ptttool.errors import DeviceError, PtttoolError, UsageError
from ptttool.machine.model import REQUESTER, ROOT_PORT, FilterKind, Machine, PttDevice, Untraceable
from ptttool.machine.pmu import PMU_PREFIX
from ptttool.machine.topology import endpoints_behind, is_bridge
from ptttool.machine.unusable.untraceable import why_untraceable
from ptttool.machine.unusable.without_driver import functions_without_driver
from ptttool.pci import PciAddress
from ptttool.wording import did_you_mean, in_words


class Resolved(NamedTuple):
    """A root port or a requester that was found.

    Parameters
    ----------
    address : PciAddress
        Its address.
    device : PttDevice
        The PTT device that traces it.
    explanation : str or None
        How it was found, as a sentence without its full stop; None where the address itself was given.
    """

    address: PciAddress
    device: PttDevice
    explanation: str | None


def find_device(machine: Machine, name: str | None) -> PttDevice:
    """Find a PTT device; parameters and errors are those of :func:`resolve_device`."""
    return resolve_device(machine, name)[0]


def resolve_device(machine: Machine, name: str | None) -> tuple[PttDevice, str | None]:
    """Find the PTT device that a text names, or that traces the function that it names.

    Parameters
    ----------
    machine : Machine
        The machine.
    name : str or None
        ``hisi_ptt0_2``, ``ptt0_2``, ``0_2`` or its PCI address; or an endpoint, switch port or root port, by its PCI address or a name
        such as ``nvme0``. None for the only device of the machine.

    Returns
    -------
    device : PttDevice
        The device.
    explanation : str or None
        How it was found, as a sentence without its full stop; None where its own name or address was given, or none.

    Raises
    ------
    DeviceError
        There is no such device or function, or no PTT device traces it.
    UsageError
        There are several devices, and no name is given; or the name is ambiguous.
    """
    names = [device.name for device in machine.devices]
    if name is None:
        if len(machine.devices) == 1:
            return machine.devices[0], None
        raise UsageError("which PTT device?", hint=f"name one: {', '.join(names)}", code="device-needed", devices=names)
    text = name.strip()
    device = _device_named(machine.devices, text)
    if device is not None:
        return device, None
    try:
        port = resolve_root_port(machine, text)
    except PtttoolError as error:
        if error.code not in ("unknown-function", "bad-pci-address"):
            raise
        near = _near_devices(names, text) or error.details.get("near", [])
        raise DeviceError(
            f"no PTT device {text!r} on {machine.origin}, and no PCI function of that name",
            hint=did_you_mean(near) if near else f"PTT devices: {', '.join(names)}{_traced_text(machine)}",
            code="unknown-device",
            devices=names,
        ) from None
    return port.device, f"{port.explanation or f'{port.address} is a root port'}, of {port.device.name}"


def traced_names(machine: Machine) -> dict[PciAddress, list[str]]:
    """Return the kernel's name of each function that the devices trace, by root port; ports without one have no place in it."""
    ports = [one.address for device in machine.devices for one in device.root_ports]
    by_port = {port: [each.kernel_names[0] for each in endpoints_behind(machine, port) if each.kernel_names] for port in ports}
    return {port: names for port, names in by_port.items() if names}


def _traced_text(machine: Machine) -> str:
    kernel_names = [name for names in traced_names(machine).values() for name in names]
    return f"; or what they trace: {', '.join(kernel_names[:12])}{', …' if len(kernel_names) > 12 else ''}" if kernel_names else ""


def _device_named(devices: Iterable[PttDevice], text: str) -> PttDevice | None:
    """Find a device by its name, in full or its end (``ptt0_2``, ``0_2``), or by its PCI address."""
    by_name = {device.name: device for device in devices}
    word = text.rstrip("/").rpartition("/")[2]  # a path in sysfs, or the start of an event string
    for name, device in by_name.items():
        if word in (name, name.removeprefix(PMU_PREFIX), name.removeprefix(PMU_PREFIX[:5])):
            return device
    own = {device.pci: device for device in by_name.values() if device.pci is not None}
    addresses = _matching(text, own)
    return own[addresses[0]] if len(addresses) == 1 else None


def _near_devices(names: Sequence[str], text: str) -> list[str]:
    numbers = re.sub(r"\D+", "_", text.removeprefix(PMU_PREFIX)).strip("_")
    begun = [name for name in names if numbers and name.startswith(f"{PMU_PREFIX}{numbers}")]
    return begun or difflib.get_close_matches(text, names, n=3, cutoff=0.8)


_PARTS = re.compile(
    r"(?:(?:(?P<domain>[0-9a-f]{1,8}):)?(?P<bus>[0-9a-f]{1,2}):)?(?P<device>[0-9a-f]{1,2})(?:\.(?P<function>[0-7]))?", re.IGNORECASE
)


def _matching(text: str, addresses: Iterable[PciAddress]) -> list[PciAddress]:
    """List the addresses that a text stands for: all of an address, or a part such as ``00:10`` or ``10.0``. No domain: 0 comes first."""
    match = _PARTS.fullmatch(text.rpartition("/")[2])
    if match is None or not (match["bus"] or match["function"]):
        return []
    parts = [None if match[name] is None else int(match[name], 16) for name in ("domain", "bus", "device", "function")]
    matches = sorted(address for address in addresses if all(part in (None, own) for part, own in zip(parts, address, strict=True)))
    return [address for address in matches if address.domain == 0] or matches


def resolve_root_port(machine: Machine, text: str, *, device: PttDevice | None = None) -> Resolved:
    """Find the root port that a text names, or that is above the function that it names.

    Parameters
    ----------
    machine : Machine
        The machine.
    text : str
        A PCI address or a kernel name such as ``nvme0``.
    device : PttDevice, optional
        The device that the user chose; needed where the kernel does not say which device a port belongs to.

    Raises
    ------
    DeviceError
        There is no such function, or no PTT device traces it.
    UsageError
        The name is ambiguous, or the port belongs to another device.
    """
    _refuse_device(machine, text, ROOT_PORT)
    address = find_function(machine, text, prefer=ROOT_PORT)
    port = _port_above(machine, address, text)
    chosen = _choose(machine, ROOT_PORT, port, device, text, address)
    is_exact = address == PciAddress.try_parse(text)
    if port == address and is_exact:
        return Resolved(port, chosen, None)
    name = text.strip()
    if port == address:
        return Resolved(port, chosen, f"{name} is root port {address}")
    if is_exact:
        return Resolved(port, chosen, f"{address} is behind root port {port}")
    return Resolved(port, chosen, f"{name} is {address}, behind root port {port}")


def resolve_requester(machine: Machine, text: str, *, device: PttDevice | None = None) -> Resolved:
    """Find the requester that a text names. Parameters and errors are those of :func:`resolve_root_port`."""
    _refuse_device(machine, text, REQUESTER)
    address = find_function(machine, text, prefer=REQUESTER)
    if any(address == one.address for owner in machine.devices for one in owner.root_ports):
        raise UsageError(f"{address} is a root port, not a requester", hint=f"use --rootport {address}", code="not-a-requester")
    chosen = _choose(machine, REQUESTER, address, device, text, address)
    return Resolved(address, chosen, None if PciAddress.try_parse(text) == address else f"{text.strip()} is {address}")


def _refuse_device(machine: Machine, text: str, kind: FilterKind) -> None:
    """Raise UsageError for a text that names a PTT device."""
    device = _device_named(machine.devices, text.strip())
    if device is not None:
        raise UsageError(
            f"{text.strip()} is {'a PTT device' if text.strip() == device.name else f'the PTT device {device.name}'}, not a {kind}",
            hint=f"its {_offer(_known([device], kind), kind)}",
            code="not-a-function",
            device=device.name,
            known=_known([device], kind),
        )


def find_function(machine: Machine, text: str, *, prefer: FilterKind | None = None) -> PciAddress:
    """Find the PCI function with an address or a kernel name.

    Parameters
    ----------
    machine : Machine
        The machine.
    text : str
        A kernel name such as ``nvme0``, or a PCI address. The domain may be left out, and so may be bus or function where that leaves one
        function only: ``00:10``, ``10.0``.
    prefer : FilterKind, optional
        Of several functions, take the only one that is a filter of this kind.

    Raises
    ------
    DeviceError
        There is no such function.
    UsageError
        There are several.
    """
    filters = {one.address for device in machine.devices for one in device.filters}
    text = text.strip()
    matches = _matching(text, {*machine.functions, *filters})
    if len(matches) > 1 and prefer is not None:
        preferred = {one.address for device in machine.devices for one in device.filters_of(prefer)}
        matches = [address for address in matches if address in preferred] or matches
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageError(
            f"{text} may be {in_words(matches[:12], 'or')}{', …' if len(matches) > 12 else ''}",
            hint="name one of them by its whole address",
            code="ambiguous-name",
            candidates=[str(one) for one in matches],
        )
    address = PciAddress.try_parse(text)
    if address is not None:
        near = [str(other) for other in sorted({*machine.functions, *filters}) if other[1:3] == address[1:3]]
        hint = f"there is {in_words(near, 'or')}" if near else "ptttool list --tree shows what is there"
        raise DeviceError(
            f"no PCI function {address} on {machine.origin}", hint=hint, code="unknown-function", function=str(address), near=near
        )
    name = text.strip().removeprefix("/dev/")
    owners = [address for address, function in sorted(machine.functions.items()) if name in function.kernel_names]
    if len(owners) == 1:
        return owners[0]
    if owners:
        raise UsageError(
            f"{name} is reached through {in_words(owners)}",
            hint="name one of them by its address",
            code="ambiguous-name",
            candidates=[str(owner) for owner in owners],
        )
    if not name:
        raise UsageError("an empty name", hint="write an address such as 0000:00:10.0, or a name such as nvme0", code="bad-pci-address")
    kernel_names = sorted({each for function in machine.functions.values() for each in function.kernel_names})
    near_names = [k for k in kernel_names if name.startswith(k)] or difflib.get_close_matches(name, kernel_names, n=3, cutoff=0.5)
    hint = did_you_mean(near_names) if near_names else "ptttool list --tree shows addresses and names"
    raise DeviceError(
        f"{name!r} is neither a PCI address (0000:00:10.0) nor the name of a PCI device on {machine.origin}",
        hint=hint,
        code="unknown-function",
        function=name,
        near=near_names,
    )


def _port_above(machine: Machine, address: PciAddress, text: str) -> PciAddress:
    if any(address == one.address for device in machine.devices for one in device.root_ports):
        return address
    port = machine.root_port_of(address)
    if port is not None:
        return port
    function = machine.functions.get(address)
    if function is not None and is_bridge(function):
        return address
    ports = _known(machine.devices, ROOT_PORT)
    found = _why_not(machine, address)
    reason = "is not a root port and has none above it" if found is None else found.text
    raise DeviceError(
        f"{_called(text, address)} {reason}: PTT traces root ports only",
        hint=f"{_offer(ports, ROOT_PORT)}; {_LIST}",
        code="no-root-port",
        function=str(address),
        known=ports,
        **({} if found is None else {"reason": found.reason}),
    )


_LIST = "'ptttool list --untraceable' shows what no PTT device can trace"


def _why_not(machine: Machine, address: PciAddress) -> Untraceable | None:
    return why_untraceable(machine, address, next((device.source for device in machine.devices), None))


def _called(text: str, address: PciAddress) -> str:
    """Return a function as the user wrote it, and its address."""
    name = text.strip()
    return str(address) if PciAddress.try_parse(name) == address else f"{name} ({address})"


def _choose(machine: Machine, kind: FilterKind, address: PciAddress, device: PttDevice | None, text: str, asked: PciAddress) -> PttDevice:
    """Choose the device that offers the filter; `asked`: the function that the text names, which may be behind a root port."""
    offering = [one for one in machine.devices if any(entry.address == address for entry in one.filters_of(kind))]
    owners = [one.name for one in offering]
    if device is not None:
        if device in offering:
            return device
        hint = f"it belongs to {in_words(owners, 'or')}" if owners else _offer(_known([device], kind), kind)
        raise UsageError(f"{address} is not a {kind} of {device.name}", hint=hint, code="wrong-device", device=device.name, owners=owners)
    if not offering:
        raise _not_traced(machine, kind, address, text, asked)
    if len(offering) > 1:
        raise UsageError(
            f"this kernel does not say which PTT device {kind} {address} belongs to: it may be {in_words(owners, 'or')}",
            hint=f"choose with --device NAME (the kernel refuses a {kind} of another device)",
            code="ambiguous-device",
            candidates=owners,
        )
    return offering[0]


def _not_traced(machine: Machine, kind: FilterKind, address: PciAddress, text: str, asked: PciAddress) -> DeviceError:
    filters = _known(machine.devices, kind)
    hint = _offer(filters, kind)
    unbound = [] if any(one.pci is None for one in machine.devices) else functions_without_driver(machine.functions, machine.devices)
    if unbound:
        noun = "is a PTT device" if len(unbound) == 1 else "are PTT devices"
        hint = f"{in_words(unbound)} {noun} bound to no driver: the {kind} may be of {'it' if len(unbound) == 1 else 'one of them'}; {hint}"
    found = None if unbound else _why_not(machine, asked)
    message = f"no PTT device traces {kind} {address}"
    if found is not None:
        hint = f"{hint}; {_LIST}"
        if asked != address or kind == REQUESTER:
            message = f"no PTT device traces {_called(text, asked)}: it {found.text}"
    return DeviceError(
        message,
        hint=hint,
        code="not-traced",
        function=str(address),
        **({} if found is None else {"reason": found.reason}),
        known=filters,
        without_driver=[str(one) for one in unbound],
    )


def _known(devices: Iterable[PttDevice], kind: FilterKind) -> list[str]:
    return [str(address) for address in sorted({one.address for owner in devices for one in owner.filters_of(kind)})]


def _offer(addresses: Sequence[str], kind: FilterKind) -> str:
    if not addresses:
        return f"there is no {kind}"
    return f"{kind}s: {', '.join(addresses[:12])}{', …' if len(addresses) > 12 else ''}"
