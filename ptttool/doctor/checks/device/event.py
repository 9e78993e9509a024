"""An event of each device can be built."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.event.terms import REQUIRED_TERMS
from ptttool.doctor.contract import Finding, device_check, failed, warning
from ptttool.doctor.facts import Facts
from ptttool.machine.model import PttDevice
from ptttool.wording import counted, in_words


def _fine(facts: Facts) -> str:
    ports = sum(len(device.root_ports) for device in facts.devices)
    requesters = sum(len(device.requesters) for device in facts.devices)
    return f"{counted(ports, 'root port')} and {counted(requesters, 'requester')} can be traced"


@device_check("event", order=65, that="whose events could be looked at", fine=_fine)
def event(_facts: Facts, device: PttDevice) -> Iterator[Finding]:
    """Look at what an event needs: the PMU's number, its format terms, a root port or a requester."""
    if device.pmu_type is None:
        yield failed(
            "no-pmu-type", f"{device.name}: the number of the PMU cannot be read", device=device.name, hint="ptttool list shows why"
        )
    missing = [name for name in REQUIRED_TERMS if name not in device.format]
    if missing:
        cause = "the driver may differ from mainline's"
        yield failed("unknown-format", f"{device.name} has no event term {in_words(missing)}", cause, device=device.name)
    if not device.filters:
        cause = "without a root port there is nothing to trace: its PCIe core may not be in use"
        yield warning("no-filters", f"{device.name} has neither root ports nor requesters", cause, device=device.name)
