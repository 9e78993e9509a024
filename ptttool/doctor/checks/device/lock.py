"""No other run of ptttool holds a device."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.device.lock import holder_of_device
from ptttool.doctor.contract import Finding, check, failed, not_recorded, ok, unknown
from ptttool.doctor.facts import Facts
from ptttool.errors import BusyError


@check("lock", order=71)
def lock(facts: Facts) -> Iterator[Finding]:
    """Look who holds the lock of each device. It is not taken: a trace that starts meanwhile would be refused."""
    if not facts.live:
        yield not_recorded("locks of other runs of ptttool")
        return
    if not facts.devices:
        yield unknown("no-device", "no PTT device that could be locked")
        return
    found = [_look(device.name) for device in facts.devices]
    yield from [one for one in found if one is not None] or [ok("no other run of ptttool holds a device")]


def _look(device: str) -> Finding | None:
    try:
        holder = holder_of_device(device)
    except OSError as error:
        return unknown("lock-unreadable", f"the lock of {device} cannot be read: {error.strerror}", device=device)
    if holder is None:
        return None
    details = {"pid": holder.pid, "user": holder.user, "purpose": holder.purpose, "since": holder.since}
    message, cause, hint = f"{device}: locked by {holder}", "one trace at a time", "wait until it has ended, or stop it"
    fix = f"kill -INT {holder.pid}"
    return failed("locked", message, cause, fix, error=BusyError, device=device, details=details, hint=hint)
