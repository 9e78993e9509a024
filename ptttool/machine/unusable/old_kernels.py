"""What some kernels do not say: a device's PCI function (and openEuler's), and its filters (before 6.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from msgspec.structs import replace

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.cpus import format_cpus, format_ranges, parse_cpu_ranges
from ptttool.machine.model import REQUESTER, ROOT_PORT, Filter, Machine, PciFunction, PciFunctions, PttDevice
from ptttool.machine.read_device import FOLDERS, filter_value, first_line
from ptttool.machine.sources.contract import Source, or_none
from ptttool.machine.topology import is_bridge
from ptttool.pci import PciAddress

PTT_ID: Final = (0x19E5, 0xA12E)
"""Vendor and device of the PCI function of a PTT device."""


def ptt_functions(functions: Mapping[PciAddress, PciFunction]) -> list[PciFunction]:
    """Return the PCI functions with the ID of a PTT device, by address."""
    return [function for _, function in sorted(functions.items()) if (function.vendor, function.device) == PTT_ID]


def match_pci(source: Source, devices: Sequence[PttDevice], functions: Mapping[PciAddress, PciFunction]) -> list[PttDevice]:
    """Find the PCI addresses of devices without one in their sysfs path.

    The driver sets a PMU's cpumask to the CPUs of its PCI function's NUMA node, and sysfs gives each function's too. Where one free
    function and one such device share them, they belong together.
    """
    taken = {device.pci for device in devices}
    if None not in taken:
        return list(devices)
    paths = {PciAddress.try_parse(path.rpartition("/")[2]): path for path in source.devices("pci")}
    free: dict[str, list[PciAddress]] = {}  # by their CPUs
    for address in (f.address for f in ptt_functions(functions) if f.address not in taken):
        try:
            cpus = format_ranges(parse_cpu_ranges(first_line(source, f"{paths.get(address)}/local_cpulist") or ""))
        except ValueError:
            continue
        if cpus:
            free.setdefault(cpus, []).append(address)
    alike = Counter(format_cpus(device.cpus) for device in devices if device.pci is None)
    matches = {cpus: _match(free.get(cpus, []), functions, count) for cpus, count in alike.items()}
    return [device if device.pci is not None else _matched(device, *matches[format_cpus(device.cpus)]) for device in devices]


def _match(candidates: Sequence[PciAddress], functions: Mapping[PciAddress, PciFunction], alike: int) -> tuple[dict[str, Any], Diagnostic]:
    """Return what is known of devices that may be any of the candidates, and why; `alike`: how many devices have these CPUs."""
    nodes = {functions[address].numa_node for address in candidates}
    names = [str(address) for address in candidates]
    is_sure = len(candidates) == alike == 1
    message = "this kernel does not link the PMU to its PCI function"
    if is_sure:
        message += f": {names[0]} is the only one with the same CPUs"
    else:
        message += ", so that its PCI address is unknown" + (f": one of {', '.join(names)}" if names else "")
    fields = {"pci": candidates[0] if is_sure else None, "numa_node": nodes.pop() if len(nodes) == 1 else None}
    return fields, Diagnostic(Severity.INFO, "pci-matched" if is_sure else "pci-unknown", message, details={"candidates": names})


def _matched(device: PttDevice, fields: Mapping[str, Any], why: Diagnostic) -> PttDevice:
    return replace(device, **fields, diagnostics=(*device.diagnostics, replace(why, where=device.name)))


def with_filters(source: Source, devices: Sequence[PttDevice], functions: Mapping[PciAddress, PciFunction]) -> list[PttDevice]:
    """Compute the filters of devices without filter files; each gets a diagnostic that says so.

    Which root ports belong to a device, the driver reads from a device register that sysfs does not show. It takes root ports of
    the PTT's PCI domain only, and a PCIe core is on one NUMA node: every root port of that domain and node can belong to the device.
    """
    is_there = [_has_filters(source, device) for device in devices]
    if all(is_there):
        return list(devices)
    own = {f.address: f.numa_node for f in ptt_functions(functions)}
    root_ports = [f for _, f in sorted(functions.items()) if is_bridge(f) and f.parent is None]
    machine = Machine(origin="", functions=PciFunctions(functions))
    below: dict[PciAddress | None, list[PciAddress]] = {}
    for address in sorted(functions):
        below.setdefault(machine.root_port_of(address), []).append(address)

    @cache
    def computed(domains: frozenset[int], node: int | None) -> tuple[tuple[Filter, ...], tuple[Filter, ...]]:
        ports = [f.address for f in root_ports if f.address.domain in domains and (None in (f.numa_node, node) or f.numa_node == node)]
        requesters = sorted(address for port in ports for address in below.get(port, ()))
        return (
            tuple(Filter(address, filter_value(ROOT_PORT, address), computed=True) for address in ports),
            tuple(Filter(address, filter_value(REQUESTER, address), computed=True) for address in requesters),
        )

    def with_computed(device: PttDevice) -> PttDevice:
        domains = {address.domain for address, node in own.items() if device.pci in (None, address) and node in (None, device.numa_node)}
        ports, requesters = computed(frozenset(domains), device.numa_node)
        message = (
            "this kernel has no filter files: filters are computed from the PCI addresses, and which root ports are this device's is "
            "unknown; the kernel refuses those that are not"
        )
        diagnostics = (*device.diagnostics, Diagnostic(Severity.INFO, "filters-computed", message, where=device.name))
        return replace(device, root_ports=ports, requesters=requesters, ports_known=False, diagnostics=diagnostics)

    return [device if there else with_computed(device) for device, there in zip(devices, is_there, strict=True)]


def _has_filters(source: Source, device: PttDevice) -> bool:
    if device.filters:
        return True
    names = or_none(source.names, device.sysfs)
    return names is None or bool(set(FOLDERS.values()) & set(names))
