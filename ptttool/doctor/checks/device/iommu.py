"""The IOMMU does not translate the addresses of the PTT devices."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.doctor.contract import Finding, check, failed, not_recorded, ok, unknown
from ptttool.doctor.facts import Facts
from ptttool.doctor.fixes import boot_with
from ptttool.machine.unusable.without_driver import DRIVER
from ptttool.wording import in_words

_PARAMETER = "iommu.passthrough=1"
_ONE_BOOT = "the command here is for this boot, and for an IOMMU group without other devices (Linux 5.11 or later)"


@check("iommu", order=30)
def iommu(facts: Facts) -> Iterator[Finding]:
    """Look at the type of the domain of each device's IOMMU group: the driver takes ``identity`` alone, or no IOMMU."""
    if facts.machine.devices and len(facts.machine.devices) >= len(facts.functions):
        yield ok("the driver accepts the DMA mappings of every PTT device")
        return
    if not facts.functions:
        yield unknown("no-device", "no PTT device whose IOMMU group could be looked at")
        return
    types = {str(one.address): facts.line(f"/sys/bus/pci/devices/{one.address}/iommu_group/type") for one in facts.functions}
    translated = [address for address, kind in types.items() if kind is not None and kind.startswith("DMA")]
    if translated:
        bind = " && ".join(
            f"echo identity > /sys/bus/pci/devices/{address}/iommu_group/type && echo {address} > /sys/bus/pci/drivers/{DRIVER}/bind"
            for address in translated
        )
        permanent = boot_with(_PARAMETER, facts.distribution)
        effect = "it takes effect at the next boot" if permanent else _ONE_BOOT
        yield failed(
            "iommu-translates",
            f"the IOMMU translates for {in_words(translated)} (domain type {in_words(sorted({str(types[one]) for one in translated}))})",
            f"the driver {DRIVER} requires direct DMA mappings: boot with {_PARAMETER}; {effect}",
            permanent or f"modprobe {DRIVER}; {bind}",
            details={"functions": translated, "types": types},
        )
    elif None in types.values():
        yield _without_type(facts)
    else:
        yield ok(f"the IOMMU does not translate for the PTT devices ({in_words(sorted({str(kind) for kind in types.values()}))})")


def _without_type(facts: Facts) -> Finding:
    if not facts.live:
        return not_recorded("the IOMMU groups of the PTT devices")
    if facts.names("/sys/kernel/iommu_groups") == [] or facts.names("/sys/class/iommu") == []:
        return ok("no IOMMU is in use")
    return unknown("no-iommu-type", "the kernel does not say how the IOMMU maps the PTT devices")
