"""The driver has a PMU for every PTT device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ptttool.doctor.contract import Finding, check, failed, ok, unknown, warning
from ptttool.doctor.facts import Facts
from ptttool.machine.unusable.without_driver import DRIVER, explain_absence, functions_without_driver
from ptttool.pci import PciAddress
from ptttool.wording import counted, in_words

_LOAD = f"modprobe {DRIVER}"


@check("driver", order=40)
def driver(facts: Facts) -> Iterator[Finding]:
    """Compare PMUs with PCI functions; the cause of a difference is what trace reports, too."""
    devices = facts.machine.devices
    if not devices and not facts.functions:
        yield unknown("no-device", f"nothing for the driver {DRIVER} to drive")
        return
    if not devices:
        absence = explain_absence(facts.source, facts.machine)
        fix = _fix(facts, absence.code)
        yield failed(absence.code, absence.message, fix=fix, details=absence.details, hint=absence.hint)
        return
    left = functions_without_driver(facts.machine.functions, devices)
    has_addresses = all(device.pci is not None for device in devices)
    if left and has_addresses:
        addresses = [str(address) for address in left]
        yield warning(
            "not-bound",
            f"{in_words(addresses)} {'is' if len(left) == 1 else 'are'} bound to no driver; {counted(len(devices), 'device')} can be used",
            "the driver may have refused it (see the kernel log), or somebody has unbound it",
            _bind(left),
            functions=addresses,
        )
    else:
        yield ok(f"{DRIVER} has {in_words([device.name for device in devices])}")


def _fix(facts: Facts, code: str) -> str | None:
    """Return the command for a cause; None where another check has it."""
    if code == "iommu-translates":
        return None
    return _bind([one.address for one in facts.functions]) if code == "not-bound" else _LOAD


def _bind(functions: Iterable[PciAddress]) -> str:
    return "; ".join(f"echo {address} > /sys/bus/pci/drivers/{DRIVER}/bind" for address in functions)
