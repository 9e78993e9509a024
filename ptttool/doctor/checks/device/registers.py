"""The devices answer."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.doctor.contract import Finding, device_check, unknown, warning
from ptttool.doctor.facts import Facts
from ptttool.errors import HardwareError, PtttoolError
from ptttool.machine.model import PttDevice
from ptttool.tune.values import attribute_names, read_value


@device_check(
    "registers", order=67, that="that could be asked", fine=lambda _: "every device answers", recorded="whether the devices answer",
    needed=False,
)  # fmt: skip
def registers(_facts: Facts, device: PttDevice) -> Iterator[Finding]:
    """Read a tune attribute of a device, which waits until the device is idle; a trace waits for that, too."""
    try:
        names = attribute_names(device)
        if names:
            read_value(device, names[0])
        else:
            yield unknown("no-attributes", f"{device.name} has no tune attribute that could be read", device=device.name)
    except HardwareError as error:
        cause = "a trace of a device that is never idle is empty, without an error; the kernel log may say more"
        yield warning(error.code, error.message, cause, "dmesg | grep -i ptt", device=device.name)
    except PtttoolError as error:
        yield unknown(error.code, error.message, device=device.name)
