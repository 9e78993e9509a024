"""The CPUs of PTT devices that are offline: the driver's cpumask has only those that are online."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.cpus import format_cpus, parse_cpu_list
from ptttool.machine.model import PttDevice
from ptttool.machine.sources.contract import Source, or_none

_SYSTEM = "/sys/devices/system"


def with_offline_cpus(source: Source, devices: Iterable[PttDevice]) -> list[PttDevice]:
    """Add the CPUs of each device's NUMA node that are offline.

    Where the node of an offline CPU is not recorded, or that of a device is not known, the CPU is added to devices without any CPU.

    Parameters
    ----------
    source : Source
        The machine.
    devices : iterable of PttDevice
        Its devices.

    Returns
    -------
    list of PttDevice
        The devices. A device with all CPUs offline has a diagnostic, ``cpus-offline``.
    """
    present, online = _list(source, "present"), _list(source, "online")
    if present is None or online is None or set(present) <= set(online):
        return list(devices)
    offline = sorted(set(present) - set(online))
    return [_with(device, _of_node(source, device, offline)) for device in devices]


def _with(device: PttDevice, offline: tuple[int, ...]) -> PttDevice:
    if device.cpus or not offline:
        return replace(device, offline_cpus=offline)
    message = f"no CPU can record: {words_of(device, offline)} {'is' if len(offline) == 1 else 'are'} offline"
    warning = Diagnostic(Severity.WARNING, "cpus-offline", message, how_to_bring_online(offline[0]), device.name, {"cpus": list(offline)})
    return replace(device, offline_cpus=offline, diagnostics=(*device.diagnostics, warning))


def words_of(device: PttDevice, cpus: tuple[int, ...]) -> str:
    """Describe the offline CPUs of a device: ``CPUs 0-1, all of NUMA node 0,``."""
    noun = "CPU" if len(cpus) == 1 else "CPUs"
    return f"{noun} {format_cpus(cpus)}" + ("" if device.numa_node is None else f", all of NUMA node {device.numa_node},")


def how_to_bring_online(cpu: int) -> str:
    """Return the hint for a CPU that is offline."""
    return f"as root: echo 1 > {_SYSTEM}/cpu/cpu{cpu}/online"


def _of_node(source: Source, device: PttDevice, offline: list[int]) -> tuple[int, ...]:
    """Return those of the offline CPUs that are on a device's NUMA node.

    The node has links to its CPUs, which offline CPUs keep; its ``cpulist`` has only those that are online.
    """
    names = None if device.numa_node is None else or_none(source.names, f"{_SYSTEM}/node/node{device.numa_node}")
    on_node = {int(name[3:]) for name in names or () if re.fullmatch(r"cpu[0-9]{1,6}", name)}
    if not on_node:
        return () if device.cpus else tuple(offline)
    return tuple(cpu for cpu in offline if cpu in on_node)


def _list(source: Source, name: str) -> tuple[int, ...] | None:
    try:
        return parse_cpu_list(source.read(f"{_SYSTEM}/cpu/{name}"))
    except (OSError, ValueError):
        return None
