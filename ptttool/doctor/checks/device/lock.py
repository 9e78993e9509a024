"""No other run of ptttool holds a device."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.device.lock import holder_of_device
from ptttool.doctor.contract import Finding, device_check, failed, unknown
from ptttool.doctor.facts import Facts
from ptttool.errors import BusyError
from ptttool.machine.model import PttDevice


@device_check(
    "lock", order=71, that="that could be locked", fine=lambda _: "no other run of ptttool holds a device",
    recorded="locks of other runs of ptttool",
)  # fmt: skip
def lock(_facts: Facts, device: PttDevice) -> Iterator[Finding]:
    """Look who holds the lock of a device. It is not taken: a trace that starts meanwhile would be refused."""
    try:
        holder = holder_of_device(device.name)
    except OSError as error:
        yield unknown("lock-unreadable", f"the lock of {device.name} cannot be read: {error.strerror}", device=device.name)
        return
    if holder is None:
        return
    details = {"pid": holder.pid, "user": holder.user, "purpose": holder.purpose, "since": holder.since}
    message, cause, hint = f"{device.name}: locked by {holder}", "one trace at a time", "wait until it has ended, or stop it"
    fix = f"kill -INT {holder.pid}"
    yield failed("locked", message, cause, fix, error=BusyError, device=device.name, details=details, hint=hint)
