"""PTT devices that the driver does not drive: why a machine has no PMU of them, or fewer than it has devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import DeviceError
from ptttool.machine.model import Machine, PciFunction, PttDevice
from ptttool.machine.read_device import first_line
from ptttool.machine.sources.contract import Source, or_none
from ptttool.machine.unusable.old_kernels import ptt_functions
from ptttool.pci import PciAddress
from ptttool.wording import in_words

DRIVER = "hisi_ptt"
_MODULES = "/sys/module"
_MODPROBE = f"modprobe {DRIVER}; if the kernel log then says 'requires direct DMA mappings', boot with iommu.passthrough=1"


def functions_without_driver(functions: Mapping[PciAddress, PciFunction], devices: Iterable[PttDevice]) -> list[PciAddress]:
    """Return the PCI functions with the ID of a PTT device that are bound to no driver, and that belong to no device."""
    addresses = {device.pci for device in devices}
    return [one.address for one in ptt_functions(functions) if one.driver is None and one.address not in addresses]


def report_functions(functions: Mapping[PciAddress, PciFunction], devices: Iterable[PttDevice]) -> list[Diagnostic]:
    """Report the PTT devices without a driver on a machine that has others."""
    return [
        Diagnostic(Severity.WARNING, "not-bound", f"{address} is a PTT device (19e5:a12e) bound to no driver", hint=how_to_bind(address))
        for address in functions_without_driver(functions, devices)
    ]


def how_to_bind(address: PciAddress) -> str:
    """Return the hint for a PTT device without a driver."""
    return f"as root: echo {address} > /sys/bus/pci/drivers/{DRIVER}/bind"


def explain_absence(source: Source, machine: Machine) -> DeviceError:
    """Make the error of a machine without PTT devices: no such hardware, no driver, or a driver that refused."""
    ptts = ptt_functions(machine.functions)
    where = machine.origin
    if not ptts:
        return DeviceError(
            f"no PTT device on {where}: no PCI function has the ID 19e5:a12e",
            hint="PTT is a part of Kunpeng 930 processors; --demo shows a recorded one",
        )
    addresses = [str(function.address) for function in ptts]
    listed = in_words(addresses)
    domains = {first_line(source, f"/sys/bus/pci/devices/{address}/iommu_group/type") for address in addresses}
    if any(domain is not None and domain.startswith("DMA") for domain in domains):
        return DeviceError(
            f"no PTT device is usable on {where}: the IOMMU translates for {listed}, and the driver {DRIVER} requires direct DMA mappings",
            hint=f"boot with iommu.passthrough=1, then modprobe {DRIVER}",
            code="iommu-translates",
            functions=addresses,
        )
    there = f"no PTT device is usable on {where}: {listed} {'is' if len(ptts) == 1 else 'are'} there (19e5:a12e), but the driver {DRIVER}"
    # Copies of machines may have no list of modules.
    modules = or_none(source.names, _MODULES)
    if modules is not None and DRIVER not in modules:
        return DeviceError(f"{there} is not loaded", hint=_MODPROBE, code="driver-not-loaded", functions=addresses)
    if modules is not None and all(function.driver is None for function in ptts):
        pronoun = "it" if len(ptts) == 1 else "them"
        return DeviceError(
            f"{there} is loaded and not bound to {pronoun}", hint=how_to_bind(ptts[0].address), code="not-bound", functions=addresses
        )
    return DeviceError(f"{there} registered no PMU", hint=_MODPROBE, code="no-driver", functions=addresses)
