"""What a machine's PCI functions mean to each other and to people: who sits behind which port, links in lspci's words.

Pure look-ups in a :class:`~ptttool.machine.model.Machine`; strings may hold whatever the devices say, control characters too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ptttool.machine.model import Filter, Machine, PciFunction, PttDevice
from ptttool.pci import PciAddress

BRIDGE_CLASS = 0x0604


def is_bridge(function: PciFunction) -> bool:
    """True for a PCI-to-PCI bridge: a root port, a switch port."""
    return function.class_code is not None and function.class_code >> 8 == BRIDGE_CLASS


def faces_down(machine: Machine, function: PciFunction) -> bool:
    """True for a port whose link lies below it: a root port, a switch's downstream port.

    On a PCIe path the bridges take turns: root port, upstream port, downstream port, upstream port…
    """
    return is_bridge(function) and sum(1 for _ in machine.ancestors(function.address)) % 2 == 0


def endpoints_behind(machine: Machine, port: PciAddress) -> list[PciFunction]:
    """Every function below a port that is no bridge itself, in address order."""
    return [function for function in walk(machine, port) if not is_bridge(function)]


def walk(machine: Machine, port: PciAddress) -> Iterator[PciFunction]:
    """Every function below a port, depth first; each once, however the recording is knotted."""
    children = children_by_parent(machine)
    seen = {port}
    left = children.get(port, [])[::-1]
    while left:
        function = left.pop()
        if function.address not in seen:
            seen.add(function.address)
            yield function
            left += children.get(function.address, [])[::-1]


def children_by_parent(machine: Machine) -> dict[PciAddress, list[PciFunction]]:
    """The functions right below each bridge, in address order: :meth:`Machine.children` for all bridges at once."""
    children: dict[PciAddress, list[PciFunction]] = {}
    for _, function in sorted(machine.functions.items()):
        if function.parent is not None:
            children.setdefault(function.parent, []).append(function)
    return children


def names_behind(machine: Machine, port: PciAddress, *, most: int = 6) -> str:
    """What people call the endpoints behind a port: the kernel's names, else the PCI names; nothing behind: an empty string."""
    functions = endpoints_behind(machine, port)
    names = [function.kernel_names[0] if function.kernel_names else function.name for function in functions]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def link_words(machine: Machine, function: PciFunction) -> str | None:
    """A link's state as lspci -vv prints it (``LnkSta``): ``Speed 2.5GT/s (downgraded), Width x1 (downgraded)``.

    Below what the function can do is downgraded, except at a port whose link lies below it: there the other end may be the slower one.
    Above is overdriven. None for a function without a link.
    """
    link = function.link
    if link is None:
        return None
    down = faces_down(machine, function)
    speed = _transfers(link.speed)
    shown_speed = f"{speed:g}GT/s" if speed else "unknown"
    shown_width = f"x{link.width}" if link.width is not None else "unknown"
    speed_remark = _compare(speed, _transfers(link.max_speed), down)
    return f"Speed {shown_speed}{speed_remark}, Width {shown_width}{_compare(link.width, link.max_width, down)}"


def _transfers(text: str | None) -> float | None:
    """GT/s of sysfs's ``16.0 GT/s PCIe``; 0 for a speed that the kernel has no word for, None where it says nothing."""
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


def format_cpus(cpus: Iterable[int]) -> str:
    """CPUs as the kernel lists them: ``0-1,4``."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)


def device_groups(machine: Machine) -> list[tuple[PttDevice, ...]]:
    """Devices one by one; those whose ports the kernel does not tell apart, together."""
    groups: list[tuple[PttDevice, ...]] = []
    unknown: dict[tuple[Filter, ...], list[PttDevice]] = {}
    for device in machine.devices:
        if device.ports_known:
            groups.append((device,))
        else:
            unknown.setdefault(device.filters, []).append(device)
    return groups + [tuple(devices) for devices in unknown.values()]


def notes_by_devices(machine: Machine) -> list[str]:
    """The machine's notes, then the devices', a note that several share once."""
    shared: dict[str, list[str]] = {}
    for device in machine.devices:
        for note in device.notes:
            shared.setdefault(note, []).append(device.name)
    return [*machine.notes, *(f"{', '.join(names)}: {note}" for note, names in shared.items())]


def functions_by_id(machine: Machine) -> dict[int, PciFunction]:
    """The functions by Requester ID; an ID that several PCI domains have names none."""
    found: dict[int, list[PciFunction]] = {}
    for address, function in machine.functions.items():
        found.setdefault(address.routing_id, []).append(function)
    return {routing_id: functions[0] for routing_id, functions in found.items() if len(functions) == 1}
