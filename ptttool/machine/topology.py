"""The tree of a machine's PCI functions: what is behind which port, links in the words of lspci.

Pure look-ups in a :class:`~ptttool.machine.model.Machine`; strings can hold anything that devices say, control characters too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ptttool.diagnostics import Diagnostic
from ptttool.machine.budget import MAX_BUSES_ABOVE
from ptttool.machine.model import Filter, Machine, PciFunction, PttDevice
from ptttool.pci import PciAddress
from ptttool.wording import clean

BRIDGE_CLASS = 0x0604
FUNCTIONS_GONE: Final = "functions-gone"
"""Code of the diagnostic with the functions that are listed, and gone or not recorded."""
UNKNOWN: Final = "?"
EMPTY: Final = "(empty)"


def is_bridge(function: PciFunction) -> bool:
    """Tell whether a function is a PCI-to-PCI bridge: a root port, a switch port."""
    return function.class_code is not None and function.class_code >> 8 == BRIDGE_CLASS


def faces_down(machine: Machine, function: PciFunction) -> bool:
    """Tell whether a function is a port with its link below it: a root port, a switch's downstream port.

    On a PCIe path the bridges alternate: root port, upstream port, downstream port, upstream port…
    """
    return is_bridge(function) and sum(1 for _ in machine.ancestors(function.address)) % 2 == 0


def endpoints_behind(machine: Machine, port: PciAddress) -> list[PciFunction]:
    """List the functions below a port that are not bridges, by address."""
    return [function for function in walk(machine, port) if not is_bridge(function)]


def walk(machine: Machine, port: PciAddress) -> Iterator[PciFunction]:
    """Yield every function below a port, depth first; each once, even where a recording has loops."""
    children = machine.children
    addresses = {port}
    left = [(function, 1) for function in reversed(children.get(port, []))]
    while left:
        function, depth = left.pop()
        if function.address not in addresses:
            addresses.add(function.address)
            yield function
            if depth < MAX_BUSES_ABOVE:
                left += [(below, depth + 1) for below in reversed(children.get(function.address, []))]


def not_recorded_behind(machine: Machine, port: PciAddress) -> list[PciAddress] | None:
    """List the functions behind a port that are listed somewhere and not recorded; None where it is not known what is behind the port."""
    function = machine.functions.get(port)
    if function is None:
        return None
    listed = (one.details.get("functions") for one in machine.diagnostics if one.code == FUNCTIONS_GONE)
    texts = [str(text) for texts in listed if isinstance(texts, list | tuple) for text in texts]
    missing = [address for text in texts if (address := PciAddress.try_parse(text)) is not None and address.domain == port.domain]
    if not missing:
        return []
    if function.secondary is None or function.subordinate is None:
        return None
    return [address for address in missing if function.secondary <= address.bus <= function.subordinate]


def is_empty(machine: Machine, port: PciAddress) -> bool | None:
    """Tell whether nothing is behind a port; None where that is not known."""
    if endpoints_behind(machine, port):
        return False
    missing = not_recorded_behind(machine, port)
    return None if missing is None else not missing


def names_behind(machine: Machine, port: PciAddress, *, most: int = 6) -> str | None:
    """Name the endpoints behind a port: by the kernel's names, else the PCI names.

    Returns
    -------
    str or None
        An empty text where nothing is behind the port; None where it is not known what is.
    """
    functions = endpoints_behind(machine, port)
    names = [function.kernel_names[0] if function.kernel_names else function.name for function in functions]
    missing = not_recorded_behind(machine, port)
    if missing is None and not names:
        return None
    names += [f"{address.short} (not recorded)" for address in missing or ()]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def words_behind(machine: Machine, port: PciAddress) -> str:
    """Name what is behind a port for people: ``(empty)`` only where that is known, else ``?``."""
    names = names_behind(machine, port)
    return UNKNOWN if names is None else names or EMPTY


def link_words(machine: Machine, function: PciFunction) -> str | None:
    """Describe a link as lspci -vv does (``LnkSta``): ``Speed 2.5GT/s (downgraded), Width x1 (downgraded)``.

    A link below its function's maximum is downgraded, except at a port with its link below it: there the other end can be the slower
    one. A link above the maximum is overdriven. None for a function without a link.
    """
    link = function.link
    if link is None:
        return None
    down = faces_down(machine, function)
    speed = gigatransfers(link.speed)
    shown_speed = f"{speed:g}GT/s" if speed else "unknown"
    shown_width = f"x{link.width}" if link.width is not None else "unknown"
    speed_remark = _compare(speed, gigatransfers(link.max_speed), down)
    return f"Speed {shown_speed}{speed_remark}, Width {shown_width}{_compare(link.width, link.max_width, down)}"


def port_link(machine: Machine, port: PciAddress) -> str:
    """Describe the link below a port in short: ``16GT/s x4``; ``(downgraded)`` where what is at its other end could do more."""
    function = machine.functions.get(port)
    if function is None or function.link is None:
        return UNKNOWN
    speed, width = gigatransfers(function.link.speed), function.link.width
    shown = f"{f'{speed:g}GT/s' if speed else UNKNOWN} {UNKNOWN if width is None else f'x{width}'}"
    below = (link_words(machine, one) or "" for one in machine.children.get(port, ()))
    return f"{shown} (downgraded)" if any("(downgraded)" in words for words in below) else shown


def gigatransfers(text: str | None) -> float | None:
    """Return the GT/s of sysfs's ``16.0 GT/s PCIe``; 0 for a speed that the kernel cannot name, None where it says nothing."""
    if text is None:
        return None
    match = re.match(r"(\d+(?:\.\d+)?) ?GT/s", text)
    return float(match[1]) if match else 0.0


def _compare(now: float | None, most: float | None, down: bool) -> str:
    if now is None or most is None or now == most:
        return ""
    if now > most:
        return " (overdriven)"
    return "" if down else " (downgraded)"


def device_groups(machine: Machine) -> list[tuple[PttDevice, ...]]:
    """Group the devices: one by one, but together where the kernel does not say which root ports belong to which."""
    groups: list[tuple[PttDevice, ...]] = []
    unknown: dict[tuple[Filter, ...], list[PttDevice]] = {}
    for device in machine.devices:
        if device.ports_known:
            groups.append((device,))
        else:
            unknown.setdefault(device.filters, []).append(device)
    return groups + [tuple(devices) for devices in unknown.values()]


def all_diagnostics(machine: Machine) -> list[Diagnostic]:
    """List the machine's diagnostics, then those of its devices; one that several devices share comes once and names them all."""
    shared: dict[tuple[str, str], list[Diagnostic]] = {}
    for device in machine.devices:
        for one in device.diagnostics:
            shared.setdefault((one.code, one.message), []).append(one)
    merged = [
        replace(alike[0], message=f"{', '.join(str(one.where) for one in alike)}: {message}") for (_, message), alike in shared.items()
    ]
    return [*machine.diagnostics, *merged]


def kernel_names_by_id(machine: Machine | None) -> dict[int, str]:
    """Return the first name that the kernel has for each function, by Requester ID, safe for a terminal; none without a machine."""
    if machine is None:
        return {}
    return {number: clean(function.kernel_names[0]) for number, function in functions_by_id(machine).items() if function.kernel_names}


def ids_by_name(machine: Machine | None) -> dict[str, int]:
    """Return the requester IDs by the kernel's names, without names that several functions have; none without a machine."""
    by_name: dict[str, set[int]] = {}
    for function in () if machine is None else machine.functions.values():
        for name in function.kernel_names:
            by_name.setdefault(name, set()).add(function.address.routing_id)
    return {name: ids.pop() for name, ids in by_name.items() if len(ids) == 1}


def functions_by_id(machine: Machine) -> dict[int, PciFunction]:
    """Return the functions by requester ID, without IDs that several PCI domains have."""
    by_id: dict[int, list[PciFunction]] = {}
    for address, function in machine.functions.items():
        by_id.setdefault(address.routing_id, []).append(function)
    return {routing_id: functions[0] for routing_id, functions in by_id.items() if len(functions) == 1}
