"""What older kernels do not say or do: a device's PCI function and its filters (before 6.5), early commits of trace (before 6.8)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.cpus import format_cpus, format_ranges, parse_cpu_ranges
from ptttool.machine.model import REQUESTER, ROOT_PORT, Filter, Machine, PciFunction, PciFunctions, PttDevice
from ptttool.machine.read_device import filter_value, first_line
from ptttool.machine.sources.contract import Source
from ptttool.machine.topology import is_bridge
from ptttool.pci import PciAddress

PTT_ID: Final = (0x19E5, 0xA12E)
"""Vendor and device of the PCI function of a PTT device."""

EARLY_COMMIT: Final = (6, 8)
"""The first mainline release whose driver hands trace over before the AUX area is full (7a527d4d9273). No stable release has it, and none
of the openEuler drivers that were read."""


def commits_early(release: str | None) -> bool | None:
    """Tell whether the driver of a kernel hands trace to perf before the AUX area is full; None where the release is not known.

    Without it a trace is never longer than the AUX area: what is in it reaches perf at its end, and the trace ends there.

    Parameters
    ----------
    release : str or None
        Release of the kernel, such as ``5.10.0-216.0.0.115.oe2203sp4.aarch64``.
    """
    found = re.match(r"(\d{1,4})\.(\d{1,4})", release or "", re.ASCII)
    return None if found is None else (int(found[1]), int(found[2])) >= EARLY_COMMIT


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
    for address, function in sorted(functions.items()):
        if (function.vendor, function.device) == PTT_ID and address not in taken:
            try:
                cpus = format_ranges(parse_cpu_ranges(first_line(source, f"{paths.get(address)}/local_cpulist") or ""))
            except ValueError:
                continue
            if cpus:
                free.setdefault(cpus, []).append(address)
    cpus_of = {device.name: format_cpus(device.cpus) for device in devices if device.pci is None}
    alike = Counter(cpus_of.values())
    candidates = {cpus: _Candidates.of(free.get(cpus, []), functions) for cpus in alike}
    return [
        device if device.pci is not None else _match_one(device, candidates[cpus_of[device.name]], alike[cpus_of[device.name]])
        for device in devices
    ]


class _Candidates(Struct, frozen=True, dict=True):
    """Functions that may be a device's.

    Parameters
    ----------
    addresses : tuple of PciAddress
        Their addresses, sorted.
    names : tuple of str
        The same as texts.
    node : int or None
        Their NUMA node; None where they differ.
    """

    addresses: tuple[PciAddress, ...]
    names: list[str]
    node: int | None

    @classmethod
    def of(cls, addresses: Sequence[PciAddress], functions: Mapping[PciAddress, PciFunction]) -> _Candidates:
        nodes = {functions[address].numa_node for address in addresses}
        return cls(tuple(addresses), [str(address) for address in addresses], nodes.pop() if len(nodes) == 1 else None)

    @cached_property
    def unknown(self) -> str:
        """The message for a device that may be any of them."""
        which = f": one of {', '.join(self.names)}" if self.names else ""
        return f"this kernel does not link the PMU to its PCI function, so that its PCI address is unknown{which}"


class ComputedFilters:
    """The filters of devices without filter files.

    Which root ports belong to a device, the driver reads from a device register that sysfs does not show. It takes root ports of
    the PTT's PCI domain only, and a PCIe core is on one NUMA node: every root port of that domain and node can belong to the device.

    Parameters
    ----------
    functions : Mapping[PciAddress, PciFunction]
        The machine's PCI functions.
    """

    def __init__(self, functions: Mapping[PciAddress, PciFunction]) -> None:
        self._functions = functions
        self._own = {address: f.numa_node for address, f in functions.items() if (f.vendor, f.device) == PTT_ID}
        self._found: dict[tuple[frozenset[int], int | None], tuple[tuple[Filter, ...], tuple[Filter, ...]]] = {}

    @cached_property
    def _ports(self) -> tuple[PciFunction, ...]:
        return tuple(f for _, f in sorted(self._functions.items()) if is_bridge(f) and f.parent is None)

    @cached_property
    def _below(self) -> dict[PciAddress | None, list[PciAddress]]:
        """The functions below each root port."""
        machine = Machine(origin="", functions=PciFunctions(self._functions))
        below: dict[PciAddress | None, list[PciAddress]] = {}
        for address in sorted(self._functions):
            below.setdefault(machine.root_port_of(address), []).append(address)
        return below

    def of(self, device: PttDevice) -> PttDevice:
        """Return a device with its filters, and a diagnostic that says so."""
        domains = frozenset(
            address.domain for address, node in self._own.items() if device.pci in (None, address) and node in (None, device.numa_node)
        )
        key = (domains, device.numa_node)
        if key not in self._found:
            self._found[key] = self._compute(*key)
        message = (
            "this kernel has no filter files: filters are computed from the PCI addresses, and which root ports are this device's is "
            "unknown; the kernel refuses those that are not"
        )
        ports, requesters = self._found[key]
        return replace(_with(device, "filters-computed", message), root_ports=ports, requesters=requesters, ports_known=False)

    def _compute(self, domains: frozenset[int], node: int | None) -> tuple[tuple[Filter, ...], tuple[Filter, ...]]:
        ports = [
            f.address for f in self._ports if f.address.domain in domains and (f.numa_node is None or node is None or f.numa_node == node)
        ]
        below = sorted(address for port in ports for address in self._below.get(port, ()))
        return (
            tuple(Filter(address, filter_value(ROOT_PORT, address), computed=True) for address in ports),
            tuple(Filter(address, filter_value(REQUESTER, address), computed=True) for address in below),
        )


def _match_one(device: PttDevice, candidates: _Candidates, alike: int) -> PttDevice:
    """Give a device its PCI address, if there is only one and `alike`, the number of devices with these CPUs, is 1."""
    device = replace(device, numa_node=candidates.node)
    if len(candidates.addresses) == 1 and alike == 1:
        message = f"this kernel does not link the PMU to its PCI function: {candidates.names[0]} is the only one with the same CPUs"
        return replace(_with(device, "pci-matched", message, candidates=candidates.names), pci=candidates.addresses[0])
    return _with(device, "pci-unknown", candidates.unknown, candidates=candidates.names)


def _with(device: PttDevice, code: str, message: str, **details: object) -> PttDevice:
    return replace(device, diagnostics=(*device.diagnostics, Diagnostic(Severity.INFO, code, message, where=device.name, details=details)))
