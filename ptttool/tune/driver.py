"""Tune attributes: read, write, read back, and put everything back when one fails.

All or nothing: the old values are read before the first write, and on any failure, Ctrl-C included, every tune attribute that was
written is set back to its old value. SIGINT, SIGTERM and SIGHUP (a lost ssh session) are held while attributes are
written and acted on between two of them; SIGKILL cannot be held.
"""

from __future__ import annotations

import errno
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ptttool.errors import AccessError, DeviceError, HardwareError, InterruptedByUserError, PtttoolError
from ptttool.machine.model import PttDevice
from ptttool.machine.sources.contract import Source
from ptttool.tune.attributes import Change, Setting, attribute_label

ROOT_ONLY = "tune files are for root alone (mode 0600): run this with sudo, as root, or with the capability CAP_DAC_OVERRIDE"
HELD_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Reading:
    """One tune attribute as read: its value, or why there is none."""

    attribute: str
    value: int | None = None
    error: PtttoolError | None = None


def attribute_names(source: Source, device: PttDevice) -> list[str]:
    """The tune attributes in the device's ``tune`` folder, sorted; none where there is no such folder. DeviceError for a
    device that is gone.

    The driver names its files like C identifiers; what else lies in a copied folder (an editor's backup) is no tune attribute.
    """
    try:
        return [name for name in source.names(f"{device.sysfs}/tune") if name.isascii() and name.isidentifier()]
    except FileNotFoundError:
        try:
            source.names(device.sysfs)
        except FileNotFoundError:
            raise _gone(device) from None
        return []
    except PermissionError:
        raise AccessError(f"{device.name}: the tune folder may not be listed", hint=ROOT_ONLY) from None


def read_value(source: Source, device: PttDevice, attribute: str) -> int:
    """A tune attribute's value. Raises AccessError, HardwareError (no answer in time, no number) or DeviceError (gone)."""
    try:
        text = source.read(_path(device, attribute))
    except OSError as error:
        raise _explain(error, device, attribute, "reading it") from None
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 9:
        raise HardwareError(
            f"{attribute_label(device, attribute)}: reads {text!r}, which is no value",
            code="odd-value",
            attribute=attribute,
            device=device.name,
        )
    return int(digits)


def read_all(source: Source, device: PttDevice) -> list[Reading]:
    """Every tune attribute of a device, each with its value or its error."""
    readings = []
    for attribute in attribute_names(source, device):
        try:
            readings.append(Reading(attribute, read_value(source, device, attribute)))
        except (AccessError, HardwareError) as error:
            readings.append(Reading(attribute, error=error))
    return readings


def plan(source: Source, settings: Sequence[Setting]) -> list[Change]:
    """What each setting would change. Only reads; raises as :func:`read_value`, so that nothing is written over what cannot be restored."""
    return [
        Change(setting.device, setting.attribute, read_value(source, setting.device, setting.attribute), setting.value)
        for setting in settings
    ]


def carry_out(source: Source, changes: Sequence[Change]) -> list[Change]:
    """Write every tune attribute that differs, one write each, and read it back; what was read back is in the result.

    On any failure all touched attributes are restored and the error says so, or says which could not be (HardwareError ``not-restored``
    with ``details["state"]``). Raises AccessError, HardwareError, DeviceError, InterruptedByUserError.
    """
    touched: list[Change] = []
    with _held_signals() as caught:
        try:
            for change in changes:
                if change.changes:
                    # Noted before the write: one that fails or is interrupted may have been stored all the same.
                    touched.append(change)
                    _write(source, change.device, change.attribute, change.new)
                    name = caught()
                    if name is not None:
                        raise InterruptedByUserError(f"interrupted ({name})")
        except PtttoolError as error:
            raise _undo(source, touched, error) from None
        except KeyboardInterrupt:
            raise _undo(source, touched, InterruptedByUserError("interrupted")) from None
        except BaseException:
            _restore(source, touched)
            raise
    return list(changes)


def _path(device: PttDevice, attribute: str) -> str:
    return f"{device.sysfs}/tune/{attribute}"


def _write(source: Source, device: PttDevice, attribute: str, value: int) -> None:
    """Write a tune attribute once and compare what is read back."""
    try:
        # With the newline, as echo writes it: the form that the driver sees every day.
        source.write(_path(device, attribute), f"{value}\n")
    except OSError as error:
        raise _explain(error, device, attribute, f"writing {value}") from None
    got = read_value(source, device, attribute)
    if got != value:
        raise HardwareError(
            f"{attribute_label(device, attribute)}: {value} was written, {got} is read back",
            hint="another program may be tuning this device, or the hardware does not take the value",
            code="mismatch",
            device=device.name,
            attribute=attribute,
            wanted=value,
            got=got,
        )


def _restore(source: Source, touched: Sequence[Change]) -> list[tuple[Change, int | None]]:
    """Bring attributes back, the last one first. Those that could not be, with what they hold now (None: unknown)."""
    failed: list[tuple[Change, int | None]] = []
    for change in reversed(touched):
        now: int | None
        try:
            now = read_value(source, change.device, change.attribute)
        except PtttoolError:
            now = None
        if now != change.old:
            try:
                _write(source, change.device, change.attribute, change.old)
            except PtttoolError:
                try:
                    now = read_value(source, change.device, change.attribute)
                except PtttoolError:
                    now = None
                if now != change.old:
                    failed.append((change, now))
    return failed[::-1]


def _undo(source: Source, touched: Sequence[Change], error: PtttoolError) -> PtttoolError:
    """Restore, and tell in the error what the tune attributes hold now."""
    failed = _restore(source, touched)
    if not failed:
        message = f"{error.message}; all tune attributes are as they were"
        return type(error)(message, hint=error.hint, code=error.code, **(error.details | {"restored": True}))
    holding = ", ".join(
        f"{change.label} (was {change.old}) " + ("holds an unknown value" if now is None else f"holds {now}") for change, now in failed
    )
    rest = "; every other attribute is as it was" if len(failed) < len(touched) else ""
    state = [{"device": change.device.name, "attribute": change.attribute, "was": change.old, "holds": now} for change, now in failed]
    return HardwareError(
        f"{error.message}; NOT restored: {holding}{rest}",
        hint="set it back by hand once the device answers: "
        + "; ".join(f"ptttool tune set {change.device.name} {change.attribute}={change.old}" for change, _ in failed),
        code="not-restored",
        **(error.details | {"cause": error.code, "restored": False, "state": state}),
    )


def _explain(error: OSError, device: PttDevice, attribute: str, doing: str) -> PtttoolError:
    """The system's refusal in words. ``doing``: what was tried."""
    name = attribute_label(device, attribute)
    facts = {"device": device.name, "attribute": attribute}
    reason = error.strerror or str(error)
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return AccessError(f"{name}: {doing} is not permitted", hint=ROOT_ONLY, **facts)
        case errno.EROFS:
            return AccessError(
                f"{name}: the file system is mounted read-only",
                hint="in a container, run this on the host instead, or mount /sys for writing",
                code="read-only",
                **facts,
            )
        case errno.ETIMEDOUT:
            return HardwareError(
                f"{name}: the hardware did not answer in time (ETIMEDOUT) while {doing}",
                hint="try again; if it stays, the device hangs: see the kernel log (dmesg)",
                code="timeout",
                **facts,
            )
        case errno.EINVAL:
            return HardwareError(f"{name}: the driver refuses {doing} (EINVAL)", code="refused", **facts)
        case errno.ENOENT | errno.ENODEV:
            return _gone(device, attribute)
        case _:
            return HardwareError(f"{name}: {doing} failed: {reason}", code="io-error", **facts)


def _gone(device: PttDevice, attribute: str | None = None) -> DeviceError:
    what = device.name if attribute is None else attribute_label(device, attribute)
    return DeviceError(f"{what} is gone", hint="was the driver unloaded? see 'ptttool list'", code="device-gone", device=device.name)


@contextmanager
def _held_signals() -> Iterator[Callable[[], str | None]]:
    """Hold the signals that would end the program; the function given tells the name of the first one that came.

    A signal that was ignored before (nohup) stays so. Only the main thread can hold signals; in others this does nothing.
    """
    caught: list[int] = []
    before: dict[signal.Signals, object] = {}
    if threading.current_thread() is threading.main_thread():
        for number in HELD_SIGNALS:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, lambda got, _frame: caught.append(got))
    try:
        yield lambda: signal.Signals(caught[0]).name if caught else None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
