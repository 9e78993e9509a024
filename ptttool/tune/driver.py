"""Change tune attributes through the driver.

A change is all or nothing. The old values are read, and the whole change is in the journal, before the first write. On any failure,
Ctrl-C included, every attribute that was written gets its old value back. The signals that end a program (of these, SIGHUP is a lost ssh
session) are held during a write and handled after it. SIGKILL cannot be held: the journal then says what is half done.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Any, ClassVar

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from ptttool.diagnostics import Diagnostic
from ptttool.documents import document
from ptttool.errors import HardwareError, InterruptedByUserError, PtttoolError, UsageError
from ptttool.machine.model import PttDevice
from ptttool.tune.attributes import AttributeChange, clamped_value, is_clamped, parse_assignments, stored_value
from ptttool.tune.journal.records import Outcome, StepState
from ptttool.tune.journal.store import JournalWriter
from ptttool.tune.session import Session, tuning
from ptttool.tune.values import attribute_names, read_value, source_of, write_value
from ptttool.wording import html_table

HELD_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU)


class ChangeState(StrEnum):
    """How far a change is."""

    PLANNED = "planned"
    WRITING = "writing"
    WRITTEN = "written"
    RESTORED = "restored"
    NOT_RESTORED = "not-restored"


class Setting(Struct, frozen=True):
    """A value that an attribute of a device is to have, 0 to 2; ``asked`` is the value as it was given, if it was."""

    device: PttDevice
    attribute: str
    value: int
    asked: str | None = None


class Change(AttributeChange, frozen=True):
    """The change of one tune attribute.

    Parameters
    ----------
    on : PttDevice
        The device itself.
    differs : bool
        False if it had the new value already.
    asked : str or None
        The value as it was given.
    state : ChangeState
        How far the change is. A value that was written was also read back.
    """

    json_name: ClassVar = "ChangeDocument"
    json_omits_none: ClassVar = ("asked",)
    json_hides: ClassVar = ("on", "state")

    on: PttDevice
    differs: bool = field(default=False, name="changed")
    asked: str | None = None
    state: ChangeState = ChangeState.PLANNED

    def __post_init__(self) -> None:
        """Compare the values."""
        force_setattr(self, "differs", self.old != self.new)


OnChange = Callable[[Change], object]
"""Called before each write (``WRITING``), after its value was read back (``WRITTEN``), and after a failure for each attribute that was
written (``RESTORED`` or ``NOT_RESTORED``). An exception before a write fails the whole change."""


class AttributeName(Struct, frozen=True):
    """Names a tune attribute, or a whole device.

    Parameters
    ----------
    device : str
        Name of the device.
    attribute : str or None
        Name of the attribute; null for the whole device.
    """

    json_name: ClassVar = "AttributeNameDocument"

    device: str
    attribute: str | None


class AttributeNames(tuple[tuple[str, str | None], ...]):
    """Pairs of a device and an attribute, or None for the whole device; in JSON a list of objects."""

    __slots__ = ()

    json_type: ClassVar[Any] = tuple[AttributeName, ...]

    def as_json(self) -> list[AttributeName]:
        """Return the names."""
        return [AttributeName(*pair) for pair in self]


@document("tune-apply")
class TunePlan(Struct, frozen=True, kw_only=True):
    """What applying a profile changed.

    It is also what setting attributes without a profile changed; a dry run says what would be changed.

    Parameters
    ----------
    profile : str
        The profile's file.
    dry_run : bool
        True if nothing was written.
    changes : tuple of Change
        One for each attribute of the profile.
    missing : AttributeNames
        What this machine does not have.
    left_alone : AttributeNames
        What the profile does not name.
    diagnostics : tuple of Diagnostic
        Values that were clamped, names that this machine does not have.
    """

    json_hides: ClassVar = ("diagnostics",)

    profile: str = ""
    dry_run: bool = True
    changes: tuple[Change, ...] = ()
    missing: AttributeNames = AttributeNames()
    left_alone: AttributeNames = AttributeNames()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def done(self) -> bool:
        """Whether the changes were carried out."""
        return not self.dry_run

    def changes_of(self, device: PttDevice) -> tuple[Change, ...]:
        """Return the changes of one device."""
        return tuple(change for change in self.changes if change.device == device.name)

    def apply(self, on_change: OnChange | None = None, *, session: Session | None = None) -> TunePlan:
        """Carry the changes out; see :func:`apply_changes`."""
        return replace(self, changes=apply_changes(self.changes, on_change=on_change, session=session), dry_run=False)

    def _repr_html_(self) -> str:
        rows = [(change.device, change.attribute, change.old, change.new, change.state) for change in self.changes]
        return html_table(("PTT device", "Attribute", "Old", "New", "State"), rows)


def plan_changes(settings: Sequence[Setting]) -> tuple[Change, ...]:
    """Read what each setting would change, and write nothing.

    Raises
    ------
    AccessError, HardwareError, DeviceError
        A value cannot be read; it could not be restored.
    """
    return tuple(
        Change(one.device.name, one.attribute, read_value(one.device, one.attribute), one.value, one.device, asked=one.asked)
        for one in settings
    )


def plan_values(devices: PttDevice | Sequence[PttDevice], values: Mapping[str, int] | Sequence[str]) -> TunePlan:
    """Plan new values of attributes, the same for each of some devices.

    Parameters
    ----------
    devices : PttDevice or sequence of PttDevice
        One device or several.
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
    chosen = (devices,) if isinstance(devices, PttDevice) else devices
    assignments = [(device, *pair) for device in chosen for pair in parse_assignments(device.name, attribute_names(device), texts).items()]
    clamped = {attribute: asked for _, attribute, asked in assignments if is_clamped(asked)}
    return TunePlan(
        changes=plan_changes([Setting(device, attribute, stored_value(asked), asked) for device, attribute, asked in assignments]),
        diagnostics=tuple(clamped_value(attribute, asked) for attribute, asked in clamped.items()),
    )


def set_attributes(
    device: PttDevice | Sequence[PttDevice],
    values: Mapping[str, int] | Sequence[str],
    *,
    dry_run: bool = False,
    on_change: OnChange | None = None,
    journal: bool | str | os.PathLike[str] = True,
) -> TunePlan:
    """Set attributes of a device, or the same of several, all or none.

    Parameters
    ----------
    device : PttDevice or sequence of PttDevice
        The device, or several of one machine.
    values : Mapping[str, int] or Sequence[str]
        As :func:`plan_values` takes them.
    dry_run : bool
        Check and read everything, write nothing.
    on_change : callable, optional
        Called with each change before and after it is written; see :data:`OnChange`.
    journal : bool, str or path
        As :func:`~ptttool.tune.session.tuning` takes it.

    Raises
    ------
    UsageError
        A name or a value is wrong.
    BusyError
        Another process changes attributes of the machine.
    AccessError, HardwareError, DeviceError, OutputError, InterruptedByUserError
        See :func:`apply_changes`.
    """
    if dry_run:
        return plan_values(device, values)
    devices = (device,) if isinstance(device, PttDevice) else tuple(device)
    if not devices:
        return TunePlan(dry_run=False)
    names = ", ".join(one.name for one in devices)
    with tuning(source_of(devices[0]), f"Python: set {names}", journal=journal) as session:
        return plan_values(devices, values).apply(on_change, session=session)


def apply_changes(
    changes: Sequence[Change],
    *,
    on_change: OnChange | None = None,
    session: Session | None = None,
    repairs: Sequence[int] = (),
    undoes: Sequence[int] = (),
) -> tuple[Change, ...]:
    """Write every attribute that differs, one write each, and read it back.

    The whole change is in the machine's journal, on the disk, before the first write.

    Parameters
    ----------
    changes : Sequence[Change]
        From :func:`plan_changes`; the devices can differ, and are all of one machine.
    on_change : callable, optional
        Called with each change before and after it is written; see :data:`OnChange`.
    session : Session, optional
        From :func:`~ptttool.tune.session.tuning`, inside which the changes were planned. Without it, the machine is locked here, and an
        old value that is not the planned one any more is an error.
    repairs : Sequence[int]
        Numbers of earlier changes, cut off, that these restore or complete.
    undoes : Sequence[int]
        Numbers of earlier changes from before which these write the values.

    Returns
    -------
    tuple of Change
        The changes; those that were written have the state ``WRITTEN``.

    Raises
    ------
    UsageError
        The changes are of several machines.
    BusyError
        Another process changes attributes of the machine.
    AccessError, OutputError
        ``no-journal``: the journal cannot be written. Nothing was changed.
    AccessError, HardwareError, DeviceError, InterruptedByUserError
        A write failed or was interrupted. ``details["restored"]`` is True if all attributes have their old values again. If not, the
        error is a HardwareError with the code ``not-restored``, and ``details["state"]`` lists the values that the others have.
    """
    if len({id(change.on.source) for change in changes}) > 1 and len({source_of(change.on).identity for change in changes}) > 1:
        raise UsageError("the changes are of several machines", hint="change one machine after the other", code="several-machines")
    if session is None:
        if not changes:
            return ()
        with tuning(source_of(changes[0].on), "Python: apply changes") as own:
            _require_old_values(changes)
            return apply_changes(changes, on_change=on_change, session=own, repairs=repairs, undoes=undoes)
    differing = [change for change in changes if change.differs]
    with held_signals() as caught:
        run = Run(session.begin(differing, [change.on for change in differing], repairs, undoes), on_change or (lambda _: None))
        try:
            for change in differing:
                run.write(change)
                name = caught()
                if name is not None:
                    raise InterruptedByUserError(f"interrupted ({name})", ending=signal.Signals[name], signal=name)
        except PtttoolError as error:
            raise _undo(run, error, session) from None
        except KeyboardInterrupt:
            raise _undo(run, InterruptedByUserError("interrupted"), session) from None
        except BaseException:
            end_undone(run, run.restore(), session)
            raise
        session.end(run.writer, Outcome.DONE, [change.key for change in changes], repairs)
    return tuple(replace(change, state=ChangeState.WRITTEN) if change.differs else change for change in changes)


def _require_old_values(changes: Sequence[Change]) -> None:
    """Raise HardwareError if an attribute has another value than it had when its change was planned."""
    for change in changes:
        now = read_value(change.on, change.attribute)
        if now != change.old:
            raise HardwareError(
                f"{change.label}: {change.old} was read when the change was planned, {now} is read now",
                hint="plan the change again",
                code="changed-since",
                device=change.device,
                attribute=change.attribute,
                wanted=change.old,
                got=now,
            )


class Run:
    """The writes of one change, and how they are undone."""

    def __init__(self, writer: JournalWriter | None, observe: OnChange) -> None:
        self.writer = writer
        self.touched: list[Change] = []
        self._observe = observe

    def write(self, change: Change) -> None:
        """Write one attribute."""
        self._observe(replace(change, state=ChangeState.WRITING))
        # Noted before the write: one that fails or is interrupted can have been stored all the same.
        self.touched.append(change)
        write_value(change.on, change.attribute, change.new)
        self._note(len(self.touched) - 1, StepState.WRITTEN)
        self._observe(replace(change, state=ChangeState.WRITTEN))

    def restore(self) -> list[tuple[Change, int | None]]:
        """Write the old values back, the last change first; return the changes that could not be undone, with the value now if known."""
        failed: list[tuple[Change, int | None]] = []
        for at, change in reversed(list(enumerate(self.touched))):
            now = _value_or_none(change)
            if now != change.old:
                try:
                    write_value(change.on, change.attribute, change.old)
                except PtttoolError:
                    now = _value_or_none(change)
                    if now != change.old:
                        failed.append((change, now))
                        self._note(at, StepState.NOT_RESTORED, holds=now)
                        continue
            self._note(at, StepState.RESTORED)
        lost = {change.label for change, _ in failed}
        for change in self.touched:
            state = ChangeState.NOT_RESTORED if change.label in lost else ChangeState.RESTORED
            with suppress(Exception):  # the failure that is being handled matters more than the observer's
                self._observe(replace(change, state=state))
        return failed[::-1]

    def _note(self, at: int, state: StepState, **facts: object) -> None:
        if self.writer is not None:
            self.writer.step(at, state, **facts)


def _value_or_none(change: Change) -> int | None:
    try:
        return read_value(change.on, change.attribute)
    except PtttoolError:
        return None


def end_undone(run: Run, failed: Sequence[tuple[Change, int | None]], session: Session) -> None:
    """Close the journal of a change that was undone; leave it open where that failed."""
    if failed:
        session.fail(run.writer)
    else:
        session.end(run.writer, Outcome.RESTORED)


def _undo(run: Run, error: PtttoolError, session: Session) -> PtttoolError:
    """Restore the old values; return the error that says what the attributes hold now."""
    failed = run.restore()
    end_undone(run, failed, session)
    return error.amended("all tune attributes are as they were", restored=True) if not failed else not_restored(error, failed, run.touched)


def not_restored(error: PtttoolError, failed: Sequence[tuple[Change, int | None]], touched: Sequence[Change]) -> HardwareError:
    """Make the error of attributes that could not be restored.

    Parameters
    ----------
    error : PtttoolError
        Why they were to be restored.
    failed : Sequence of (Change, int or None)
        From :meth:`Run.restore`: the attributes that are not restored, with the values that they have now.
    touched : Sequence of Change
        All attributes that were to be restored.
    """
    holding = ", ".join(
        f"{change.label} (was {change.old}) " + ("has an unknown value" if now is None else f"is {now}") for change, now in failed
    )
    rest = "; every other tune attribute is as it was" if len(failed) < len(touched) else ""
    state = [{"device": change.device, "attribute": change.attribute, "was": change.old, "holds": now} for change, now in failed]
    return HardwareError(
        f"{error.message}; NOT restored: {holding}{rest}",
        hint="set it back by hand once the device answers: "
        + "; ".join(f"ptttool tune set {change.device} {change.attribute}={change.old}" for change, _ in failed),
        code="not-restored",
        **(error.details | {"cause": error.code, "restored": False, "state": state}),
    )


# The signals that came while they were held, one list for each block of :func:`held_signals` that holds them.
_held: list[list[int]] = []


@contextmanager
def held_signals() -> Iterator[Callable[[], str | None]]:
    """Hold the signals that would end the program; yield a function that returns the name of the first one that came.

    A signal that was ignored before (nohup) stays ignored. Only the main thread can hold signals; in others this does nothing. Inside of
    itself it goes on holding them: a signal is not lost where the inner block ends.
    """
    caught: list[int] = []
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        caught = _held[-1] if _held else caught
        for number in () if _held else HELD_SIGNALS:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, lambda number, _frame: caught.append(number))
    if before:
        _held.append(caught)
    try:
        yield lambda: signal.Signals(caught[0]).name if caught else None
    finally:
        if before:
            _held.pop()
        for number, handler in before.items():
            signal.signal(number, handler)
