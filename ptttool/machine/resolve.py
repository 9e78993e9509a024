"""From what people write (an address, ``nvme0``, ``eth1``) to a root port or requester and the PTT device that traces it.

Pure look-ups in a :class:`~ptttool.machine.model.Machine`, recorded or not.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ptttool.errors import DeviceError, UsageError
from ptttool.machine.model import REQUESTER, ROOT_PORT, Machine, PttDevice
from ptttool.machine.topology import is_bridge
from ptttool.pci import PciAddress
from ptttool.wording import in_words

Resolved = tuple[PciAddress, PttDevice, str | None]


def resolve_root_port(machine: Machine, text: str, *, device: PttDevice | None = None) -> Resolved:
    """The root port that ``text`` names or lies behind, its PTT device, and a sentence where another function was named.

    ``device``: the one the user chose; needed where the kernel does not tell which device a port belongs to. Raises DeviceError for
    what is not on the machine or traced by no PTT device, UsageError for an ambiguous name and for a port of another device.
    """
    address = find_function(machine, text)
    port = _port_above(machine, address)
    chosen = _choose(machine, ROOT_PORT, port, device)
    if port == address and address == PciAddress.try_parse(text):
        return port, chosen, None
    name = text.strip()
    if port == address:
        return port, chosen, f"{name} is root port {address}"
    if PciAddress.try_parse(text) is not None:
        return port, chosen, f"{address} is behind root port {port}"
    return port, chosen, f"{name} is {address}, behind root port {port}"


def resolve_requester(machine: Machine, text: str, *, device: PttDevice | None = None) -> Resolved:
    """The requester that ``text`` names, its PTT device, and a sentence where a name was given. Errors: as :func:`resolve_root_port`."""
    address = find_function(machine, text)
    if any(address == one.address for owner in machine.devices for one in owner.root_ports):
        raise UsageError(f"{address} is a root port, no requester", hint=f"use --rootport {address}", code="not-a-requester")
    chosen = _choose(machine, REQUESTER, address, device)
    return address, chosen, None if PciAddress.try_parse(text) is not None else f"{text.strip()} is {address}"


def find_function(machine: Machine, text: str) -> PciAddress:
    """The function with that address (domain 0 if none is given) or kernel name. Raises DeviceError, UsageError."""
    address = PciAddress.try_parse(text)
    filters = {one.address for device in machine.devices for one in device.filters}
    if address is not None:
        if address in machine.functions or address in filters:
            return address
        near = [other for other in sorted({*machine.functions, *filters}) if other[1:3] == address[1:3]]
        hint = f"there is {_either(near)}" if near else "ptttool list --tree shows what is there"
        raise DeviceError(f"no PCI function {address} on {machine.origin}", hint=hint, code="unknown-function")
    name = text.strip().removeprefix("/dev/")
    owners = [address for address, function in sorted(machine.functions.items()) if name in function.kernel_names]
    if len(owners) == 1:
        return owners[0]
    if owners:
        raise UsageError(f"{name} is reached through {in_words(owners)}", hint="name one of them by its address", code="ambiguous-name")
    if not name:
        raise UsageError("an empty name", hint="write an address such as 0000:00:10.0, or a name such as nvme0", code="bad-pci-address")
    known = sorted({known for function in machine.functions.values() for known in function.kernel_names})
    near_names = [k for k in known if name.startswith(k)] or difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"did you mean {_either(near_names)}?" if near_names else "ptttool list --tree shows addresses and names"
    raise DeviceError(
        f"{name!r} is neither a PCI address (0000:00:10.0) nor the name of a PCI device on {machine.origin}",
        hint=hint,
        code="unknown-function",
    )


def _port_above(machine: Machine, address: PciAddress) -> PciAddress:
    if any(address == one.address for device in machine.devices for one in device.root_ports):
        return address
    port = machine.root_port_of(address)
    if port is not None:
        return port
    function = machine.functions.get(address)
    if function is not None and is_bridge(function):
        return address
    raise DeviceError(
        f"{address} is no root port and has none above it: PTT traces root ports only",
        hint=_offer(machine, ROOT_PORT),
        code="no-root-port",
    )


def _choose(machine: Machine, kind: str, address: PciAddress, device: PttDevice | None) -> PttDevice:
    """The device that offers the filter."""
    offering = [one for one in machine.devices if any(entry.kind == kind and entry.address == address for entry in one.filters)]
    if device is not None:
        if device in offering:
            return device
        owner = f"it belongs to {_either(one.name for one in offering)}" if offering else _offer(machine, kind, device)
        raise UsageError(f"{address} is no {kind} of {device.name}", hint=owner, code="wrong-device")
    if not offering:
        raise DeviceError(f"no PTT device traces {kind} {address}", hint=_offer(machine, kind), code="not-traced")
    if len(offering) > 1:
        names = [one.name for one in offering]
        raise UsageError(
            f"this kernel does not tell which PTT device {kind} {address} belongs to: it may be {_either(names)}",
            hint=f"choose with --device NAME (the kernel refuses a {kind} that is not the device's)",
            code="ambiguous-device",
            candidates=names,
        )
    return offering[0]


def _offer(machine: Machine, kind: str, device: PttDevice | None = None) -> str:
    devices = machine.devices if device is None else (device,)
    known = sorted({one.address for owner in devices for one in owner.filters if one.kind == kind})
    if not known:
        return f"there is no {kind}"
    return f"{kind}s: {', '.join(map(str, known[:12]))}{', …' if len(known) > 12 else ''}"


def _either(things: Iterable[object]) -> str:
    return in_words(things, "or")
