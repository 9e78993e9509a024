"""Read and write tune attributes through the driver.

A change is all or nothing. The old values are read before the first write. On any failure, Ctrl-C included, every attribute that was
written gets its old value back. The signals that end a program (of these, SIGHUP is a lost ssh session) are held during a write and
handled after it; SIGKILL cannot be held.
"""

from __future__ import annotations

import errno
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from ptttool.diagnostics import Diagnostic
from ptttool.errors import AccessError, DeviceError, HardwareError, InterruptedByUserError, PtttoolError
from ptttool.machine.model import PttDevice
from ptttool.machine.sources.contract import Source
from ptttool.tune.attributes import clamped_value, parse_assignments
from ptttool.wording import html_table

ROOT_ONLY = "tune files are for root alone (mode 0600): run this with sudo, as root, or with the capability CAP_DAC_OVERRIDE"
HELD_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU)


class ChangeState(StrEnum):
    """How far a change is."""

    PLANNED = "planned"
    WRITING = "writing"
    WRITTEN = "written"
    RESTORED = "restored"
    NOT_RESTORED = "not-restored"


@dataclass(frozen=True)
class Reading:
    """An attribute as it was read.

    Parameters
    ----------
    attribute : str
        Its name.
    value : int or None
        Its value; None if it could not be read.
    error : PtttoolError or None
        Why there is no value.
    """

    attribute: str
    value: int | None = None
    error: PtttoolError | None = None


@dataclass(frozen=True)
class Setting:
    """A value that an attribute of a device is to have, 0 to 2."""

    device: PttDevice
    attribute: str
    value: int


@dataclass(frozen=True)
class Change:
    """A change of one attribute.

    Parameters
    ----------
    device : PttDevice
        The device.
    attribute : str
        Name of the attribute.
    old, new : int
        Its values before and after. A value that was written was also read back.
    state : ChangeState
        How far the change is.
    """

    device: PttDevice
    attribute: str
    old: int
    new: int
    state: ChangeState = ChangeState.PLANNED

    @property
    def differs(self) -> bool:
        """False for an attribute that has the new value already: it is not written."""
        return self.old != self.new

    @property
    def label(self) -> str:
        """The attribute's name in messages."""
        return f"{self.device.name}/{self.attribute}"


OnChange = Callable[[Change], object]
"""Called before each write (``WRITING``), after its value was read back (``WRITTEN``), and after a failure for each attribute that was
written (``RESTORED`` or ``NOT_RESTORED``). An exception before a write fails the whole change."""


@dataclass(frozen=True)
class TunePlan:
    """Changes of tune attributes, planned or carried out.

    Parameters
    ----------
    changes : tuple of Change
        One for each attribute that was named.
    diagnostics : tuple of Diagnostic
        Values that were clamped, names that this machine does not have.
    asked : Mapping[str, str]
        The values as they were given, by attribute.
    missing : tuple of (str, str or None)
        Devices and attributes of a profile that this machine does not have: device, and attribute or None for the whole device.
    left_alone : tuple of (str, str or None)
        Devices and attributes of this machine that the profile does not name.
    done : bool
        Whether the changes were carried out.
    """

    changes: tuple[Change, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    asked: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[tuple[str, str | None], ...] = ()
    left_alone: tuple[tuple[str, str | None], ...] = ()
    done: bool = False

    def apply(self, on_change: OnChange | None = None) -> TunePlan:
        """Carry the changes out; see :func:`apply_changes`."""
        return replace(self, changes=apply_changes(self.changes, on_change=on_change), done=True)

    def _repr_html_(self) -> str:
        rows = [(change.device.name, change.attribute, change.old, change.new, change.state) for change in self.changes]
        return html_table(("PTT device", "Attribute", "Old", "New", "State"), rows)


def attribute_names(device: PttDevice) -> list[str]:
    """List the attributes in a device's ``tune`` folder, sorted.

    The driver names its files as C identifiers are named. Anything else in a copied folder, such as an editor's backup, is ignored.

    Returns
    -------
    list of str
        Empty where there is no such folder.

    Raises
    ------
    DeviceError
        The device is gone.
    AccessError
        The folder cannot be listed.
    """
    source = _source(device)
    try:
        return [name for name in source.names(f"{device.sysfs}/tune") if name.isascii() and name.isidentifier()]
    except FileNotFoundError:
        try:
            source.names(device.sysfs)
        except FileNotFoundError:
            raise _gone(device.name, device) from None
        return []
    except PermissionError:
        raise AccessError(f"{device.name}: the tune folder cannot be listed", hint=ROOT_ONLY, device=device.name) from None


def read_value(device: PttDevice, attribute: str) -> int:
    """Read the value of an attribute.

    Raises
    ------
    AccessError
        The file cannot be read.
    HardwareError
        The device did not answer in time, or the file does not hold a number.
    DeviceError
        The device is gone.
    """
    try:
        text = _source(device).read(f"{device.sysfs}/tune/{attribute}")
    except OSError as error:
        raise _explain(error, device, attribute, "reading it") from None
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 9:
        raise HardwareError(
            f"{device.name}/{attribute}: {text!r} was read, which is not a value", code="odd-value", device=device.name, attribute=attribute
        )
    return int(digits)


def read_attributes(device: PttDevice) -> list[Reading]:
    """Read every attribute of a device. One that cannot be read has its error instead of a value."""
    readings = []
    for attribute in attribute_names(device):
        try:
            readings.append(Reading(attribute, read_value(device, attribute)))
        except (AccessError, HardwareError) as error:
            readings.append(Reading(attribute, error=error))
    return readings


def plan_changes(settings: Sequence[Setting]) -> tuple[Change, ...]:
    """Read what each setting would change, and write nothing.

    Raises
    ------
    AccessError, HardwareError, DeviceError
        A value cannot be read; it could not be restored.
    """
    return tuple(
        Change(setting.device, setting.attribute, read_value(setting.device, setting.attribute), setting.value) for setting in settings
    )


def plan_values(device: PttDevice, values: Mapping[str, int] | Sequence[str]) -> TunePlan:
    """Plan new values of a device's attributes.

    Parameters
    ----------
    device : PttDevice
        The device.
    values : Mapping[str, int] or Sequence[str]
        Values by attribute, or texts such as ``qos_tx_p=2``. A value above 2 becomes 2, as in the hardware.

    Raises
    ------
    UsageError
        A name or a value is wrong.
    AccessError, HardwareError, DeviceError
        An old value cannot be read.
    """
    texts = [f"{name}={value}" for name, value in values.items()] if isinstance(values, Mapping) else values
    assignments = parse_assignments(device.name, attribute_names(device), texts)
    return TunePlan(
        changes=plan_changes([Setting(device, assignment.attribute, assignment.value) for assignment in assignments]),
        diagnostics=tuple(clamped_value(assignment.attribute, assignment.asked) for assignment in assignments if assignment.clamped),
        asked={assignment.attribute: assignment.asked for assignment in assignments},
    )


def set_attributes(
    device: PttDevice, values: Mapping[str, int] | Sequence[str], *, dry_run: bool = False, on_change: OnChange | None = None
) -> TunePlan:
    """Set attributes of a device, all or none.

    Parameters
    ----------
    device : PttDevice
        The device.
    values : Mapping[str, int] or Sequence[str]
        As :func:`plan_values` takes them.
    dry_run : bool
        Check and read everything, write nothing.
    on_change : callable, optional
        Called with each change before and after it is written; see :data:`OnChange`.

    Raises
    ------
    UsageError
        A name or a value is wrong.
    AccessError, HardwareError, DeviceError, InterruptedByUserError
        See :func:`apply_changes`.
    """
    plan = plan_values(device, values)
    return plan if dry_run else plan.apply(on_change)


def apply_changes(changes: Sequence[Change], *, on_change: OnChange | None = None) -> tuple[Change, ...]:
    """Write every attribute that differs, one write each, and read it back.

    Parameters
    ----------
    changes : Sequence[Change]
        From :func:`plan_changes`; the devices can differ.
    on_change : callable, optional
        Called with each change before and after it is written; see :data:`OnChange`.

    Returns
    -------
    tuple of Change
        The changes; those that were written have the state ``WRITTEN``.

    Raises
    ------
    AccessError, HardwareError, DeviceError, InterruptedByUserError
        A write failed or was interrupted. ``details["restored"]`` is True if all attributes have their old values again. If not, the
        error is a HardwareError with the code ``not-restored``, and ``details["state"]`` lists the values that the others have.
    """
    observe = on_change or _ignore
    touched: list[Change] = []
    done: list[Change] = []
    with _held_signals() as caught:
        try:
            for change in changes:
                if not change.differs:
                    done.append(change)
                    continue
                observe(replace(change, state=ChangeState.WRITING))
                # Noted before the write: one that fails or is interrupted can have been stored all the same.
                touched.append(change)
                _write(change.device, change.attribute, change.new)
                done.append(replace(change, state=ChangeState.WRITTEN))
                observe(done[-1])
                name = caught()
                if name is not None:
                    raise InterruptedByUserError(f"interrupted ({name})", ending=signal.Signals[name], signal=name)
        except PtttoolError as error:
            raise _undo(touched, error, observe) from None
        except KeyboardInterrupt:
            raise _undo(touched, InterruptedByUserError("interrupted"), observe) from None
        except BaseException:
            _restore(touched, observe)
            raise
    return tuple(done)


def _ignore(_: Change) -> None:
    """Observe nothing."""


def _source(device: PttDevice) -> Source:
    if device.source is None:
        raise DeviceError(
            f"{device.name} was read from a file, not from a machine", hint="find the machine first", code="no-machine", device=device.name
        )
    return device.source


def _write(device: PttDevice, attribute: str, value: int) -> None:
    """Write an attribute once and compare it with what is read back."""
    try:
        # With a line end, as echo writes it.
        _source(device).write(f"{device.sysfs}/tune/{attribute}", f"{value}\n")
    except OSError as error:
        raise _explain(error, device, attribute, f"writing {value}") from None
    got = read_value(device, attribute)
    if got != value:
        raise HardwareError(
            f"{device.name}/{attribute}: {value} was written, {got} is read back",
            hint="another program may be tuning this device, or the hardware does not take the value",
            code="mismatch",
            device=device.name,
            attribute=attribute,
            wanted=value,
            got=got,
        )


def _restore(touched: Sequence[Change], observe: OnChange) -> list[tuple[Change, int | None]]:
    """Write the old values back, the last change first; return the changes that could not be undone, with the value now if it is known."""
    failed: list[tuple[Change, int | None]] = []
    for change in reversed(touched):
        now = _value_or_none(change)
        if now != change.old:
            try:
                _write(change.device, change.attribute, change.old)
            except PtttoolError:
                now = _value_or_none(change)
                if now != change.old:
                    failed.append((change, now))
    lost = {change.label for change, _ in failed}
    for change in touched:
        state = ChangeState.NOT_RESTORED if change.label in lost else ChangeState.RESTORED
        with suppress(Exception):  # the failure that is being handled matters more than the observer's
            observe(replace(change, state=state))
    return failed[::-1]


def _value_or_none(change: Change) -> int | None:
    try:
        return read_value(change.device, change.attribute)
    except PtttoolError:
        return None


def _undo(touched: Sequence[Change], error: PtttoolError, observe: OnChange) -> PtttoolError:
    """Restore the old values; return the error that says what the attributes hold now."""
    failed = _restore(touched, observe)
    if not failed:
        return error.amended("all tune attributes are as they were", restored=True)
    holding = ", ".join(
        f"{change.label} (was {change.old}) " + ("has an unknown value" if now is None else f"is {now}") for change, now in failed
    )
    rest = "; every other tune attribute is as it was" if len(failed) < len(touched) else ""
    state = [{"device": change.device.name, "attribute": change.attribute, "was": change.old, "holds": now} for change, now in failed]
    return HardwareError(
        f"{error.message}; NOT restored: {holding}{rest}",
        hint="set it back by hand once the device answers: "
        + "; ".join(f"ptttool tune set {change.device.name} {change.attribute}={change.old}" for change, _ in failed),
        code="not-restored",
        **(error.details | {"cause": error.code, "restored": False, "state": state}),
    )


def _explain(error: OSError, device: PttDevice, attribute: str, doing: str) -> PtttoolError:
    """Turn an error of the system into one of ours. ``doing``: what was tried."""
    name = f"{device.name}/{attribute}"
    facts: dict[str, Any] = {"device": device.name, "attribute": attribute}
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
            return _gone(name, device)
        case _:
            return HardwareError(f"{name}: {doing} failed: {error.strerror or error}", code="io-error", **facts)


def _gone(what: str, device: PttDevice) -> DeviceError:
    return DeviceError(f"{what} is gone", hint="was the driver unloaded? see 'ptttool list'", code="device-gone", device=device.name)


@contextmanager
def _held_signals() -> Iterator[Callable[[], str | None]]:
    """Hold the signals that would end the program; yield a function that returns the name of the first one that came.

    A signal that was ignored before (nohup) stays ignored. Only the main thread can hold signals; in others this does nothing.
    """
    caught: list[int] = []
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in HELD_SIGNALS:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, lambda got, _frame: caught.append(got))
    try:
        yield lambda: signal.Signals(caught[0]).name if caught else None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
