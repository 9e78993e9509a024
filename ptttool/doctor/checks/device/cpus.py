"""A CPU can record each device."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.cpu import choose_cpu
from ptttool.doctor.contract import Finding, device_check, failed, warning
from ptttool.doctor.facts import Facts
from ptttool.errors import PtttoolError
from ptttool.machine.cpus import format_cpus
from ptttool.machine.model import PttDevice


def _fine(facts: Facts) -> str:
    groups: dict[str, list[str]] = {}
    for device in facts.devices:
        groups.setdefault(format_cpus(device.cpus), []).append(device.name)
    return "; ".join(f"CPUs {numbers} can record {', '.join(names)}" for numbers, names in groups.items())


@device_check("cpus", order=60, that="whose CPUs could be looked at", fine=_fine)
def cpus(facts: Facts, device: PttDevice) -> Iterator[Finding]:
    """Look at a device's cpumask, which has the online CPUs of its NUMA node."""
    online = facts.host.online if facts.host is not None else None
    try:
        chosen, _ = choose_cpu(device, None, online)
    except PtttoolError as error:
        offline = device.offline_cpus
        fix = f"echo 1 > /sys/devices/system/cpu/cpu{offline[0]}/online" if offline else None
        hint = None if offline else error.hint
        yield failed(error.code, error.message, fix=fix, error=type(error), device=device.name, hint=hint)
        return
    if online is not None and chosen not in online:
        fix = f"echo 1 > /sys/devices/system/cpu/cpu{chosen}/online"
        yield failed("cpu-offline", f"no CPU of {device.name} ({format_cpus(device.cpus)}) is online", fix=fix, device=device.name)
    elif device.offline_cpus:
        yield warning(
            "some-cpus-offline",
            f"CPUs {format_cpus(device.offline_cpus)} of {device.name} are offline; {format_cpus(device.cpus)} can record it",
            fix=f"echo 1 > /sys/devices/system/cpu/cpu{device.offline_cpus[0]}/online",
            device=device.name,
            cpus=list(device.offline_cpus),
        )
