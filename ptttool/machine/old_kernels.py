"""What kernels before 6.5 do not say, worked out from what they do say: a device's PCI function and its filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.cpus import parse_cpu_list
from ptttool.machine.model import REQUESTER, ROOT_PORT, Filter, Machine, PciFunction, PttDevice
from ptttool.machine.read_device import filter_value, first_line
from ptttool.machine.sources.contract import Source
from ptttool.machine.topology import is_bridge
from ptttool.pci import PciAddress

PTT_ID: Final = (0x19E5, 0xA12E)
"""Vendor and device of the PCI function of a PTT device."""


def match_pci(source: Source, devices: Sequence[PttDevice], functions: Mapping[PciAddress, PciFunction]) -> list[PttDevice]:
    """Find the PCI addresses of devices without one in their sysfs path.

    The driver sets a PMU's cpumask to the CPUs of its PCI function's NUMA node, and sysfs gives each function's too. Where one free
    function and one such device share them, they belong together.
    """
    taken = {device.pci for device in devices}
    if None not in taken:
        return list(devices)
    paths = {PciAddress.try_parse(path.rpartition("/")[2]): path for path in source.devices("pci")}
    free: dict[PciAddress, tuple[int, ...]] = {}
    for address, function in functions.items():
        if (function.vendor, function.device) == PTT_ID and address not in taken:
            try:
                free[address] = parse_cpu_list(first_line(source, f"{paths.get(address)}/local_cpulist") or "")
            except ValueError:
                free[address] = ()
    alike = [device.cpus for device in devices if device.pci is None]
    return [device if device.pci is not None else _match_one(device, free, alike, functions) for device in devices]


def compute_filters(device: PttDevice, functions: Mapping[PciAddress, PciFunction]) -> PttDevice:
    """Compute the filters of a device without filter files.

    Which root ports belong to a device, the driver reads from a device register that sysfs does not show. It takes root ports of
    the PTT's PCI domain only, and a PCIe core is on one NUMA node: every root port of that domain and node can belong to the device.
    """
    domains = {
        address.domain
        for address, f in functions.items()
        if (f.vendor, f.device) == PTT_ID and device.pci in (None, address) and f.numa_node in (None, device.numa_node)
    }
    ports = [
        address
        for address, f in sorted(functions.items())
        if address.domain in domains
        and is_bridge(f)
        and f.parent is None
        and (f.numa_node is None or device.numa_node is None or f.numa_node == device.numa_node)
    ]
    wanted = set(ports)
    machine = Machine("", functions=functions)
    below = [address for address in sorted(functions) if machine.root_port_of(address) in wanted]
    message = (
        "this kernel has no filter files: filters are computed from the PCI addresses, and which root ports are this device's is unknown; "
        "the kernel refuses those that are not"
    )
    return replace(
        _with(device, "filters-computed", message),
        root_ports=tuple(Filter(ROOT_PORT, address, filter_value(ROOT_PORT, address), computed=True) for address in ports),
        requesters=tuple(Filter(REQUESTER, address, filter_value(REQUESTER, address), computed=True) for address in below),
        ports_known=False,
    )


def _match_one(
    device: PttDevice,
    free: Mapping[PciAddress, tuple[int, ...]],
    alike: Sequence[tuple[int, ...]],
    functions: Mapping[PciAddress, PciFunction],
) -> PttDevice:
    candidates = sorted(address for address, cpus in free.items() if cpus and cpus == device.cpus)
    nodes = {functions[address].numa_node for address in candidates}
    device = replace(device, numa_node=nodes.pop() if len(nodes) == 1 else None)
    addresses = [str(address) for address in candidates]
    if len(candidates) == 1 and alike.count(device.cpus) == 1:
        message = f"this kernel does not link the PMU to its PCI function: {addresses[0]} is the only one with the same CPUs"
        return replace(_with(device, "pci-matched", message, candidates=addresses), pci=candidates[0])
    which = f": one of {', '.join(addresses)}" if addresses else ""
    message = f"this kernel does not link the PMU to its PCI function, so that its PCI address is unknown{which}"
    return _with(device, "pci-unknown", message, candidates=addresses)


def _with(device: PttDevice, code: str, message: str, **details: object) -> PttDevice:
    return replace(device, diagnostics=(*device.diagnostics, Diagnostic(Severity.INFO, code, message, where=device.name, details=details)))
