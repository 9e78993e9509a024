"""The devices answer."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.doctor.contract import Finding, check, not_recorded, ok, unknown, warning
from ptttool.doctor.facts import Facts
from ptttool.errors import HardwareError, PtttoolError
from ptttool.machine.model import PttDevice
from ptttool.tune.values import attribute_names, read_value


@check("registers", order=67, needed=False)
def registers(facts: Facts) -> Iterator[Finding]:
    """Read a tune attribute of each device, which waits until the device is idle; a trace waits for that, too."""
    if not facts.live:
        yield not_recorded("whether the devices answer")
        return
    if not facts.devices:
        yield unknown("no-device", "no PTT device that could be asked")
        return
    found = [_ask(device) for device in facts.devices]
    yield from [one for one in found if one is not None] or [ok("every device answers")]


def _ask(device: PttDevice) -> Finding | None:
    try:
        names = attribute_names(device)
        if not names:
            return unknown("no-attributes", f"{device.name} has no tune attribute that could be read", device=device.name)
        read_value(device, names[0])
    except HardwareError as error:
        cause = "a trace of a device that is never idle is empty, without an error; the kernel log may say more"
        return warning(error.code, error.message, cause, "dmesg | grep -i ptt", device=device.name)
    except PtttoolError as error:
        return unknown(error.code, error.message, device=device.name)
    return None
