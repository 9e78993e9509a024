"""Restore or complete the changes of tune attributes that were cut off."""

from __future__ import annotations

import os
from collections.abc import Collection
from enum import StrEnum

from msgspec import Struct

from ptttool.diagnostics import Diagnostic
from ptttool.files.locks import utc_now
from ptttool.machine.discovery import list_devices
from ptttool.machine.sources.contract import Source
from ptttool.tune.driver import Change, OnChange, Setting, apply_changes, plan_changes
from ptttool.tune.journal.records import Outcome
from ptttool.tune.journal.store import journal_of
from ptttool.tune.journal.unfinished import Unfinished, UnfinishedAttribute, ValueState, find_unfinished
from ptttool.tune.session import Session, no_journal, tuning

LEFT = (ValueState.UNREADABLE, ValueState.GONE)


class RecoverAction(StrEnum):
    """What is done about changes that were cut off."""

    RESTORE = "restore"
    """Write the old values."""
    COMPLETE = "complete"
    """Write the new values."""
    KEEP = "keep"
    """Leave the values as they are, and take them as good."""


class Recovery(Struct, frozen=True):
    """What recovering did, or what there is to recover.

    Parameters
    ----------
    unfinished : Unfinished
        The changes that were cut off, as they were found.
    action : RecoverAction or None
        What was done; None if it was only looked at.
    changes : tuple of Change
        What was written, or would be.
    left : tuple of UnfinishedAttribute
        Attributes that are still to be decided on.
    diagnostics : tuple of Diagnostic
        What was odd.
    done : bool
        False if nothing was written.
    """

    unfinished: Unfinished
    action: RecoverAction | None = None
    changes: tuple[Change, ...] = ()
    left: tuple[UnfinishedAttribute, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    done: bool = False

    @property
    def settled(self) -> bool:
        """True if nothing is left to decide on."""
        if self.action is RecoverAction.KEEP:
            return self.done
        return not self.left and not self.unfinished.damaged and (self.done or not self.unfinished.changes)


def recover(
    source: Source,
    action: RecoverAction | None = None,
    *,
    force: bool = False,
    dry_run: bool = False,
    on_change: OnChange | None = None,
    journal: bool | str | os.PathLike[str] = True,
) -> Recovery:
    """Restore or complete what was cut off, all or nothing, as a change of its own.

    An attribute with a third value was set by somebody else since: it is left alone without ``force``, and so is one that cannot be read.
    A change of which an attribute is left stays unfinished.

    Parameters
    ----------
    source : Source
        The machine.
    action : RecoverAction, optional
        What is done. Without it, nothing: what was cut off is returned.
    force : bool
        Overwrite values that somebody else has set since.
    dry_run : bool
        Say what would be written, write nothing.
    on_change : callable, optional
        As :func:`~ptttool.tune.driver.apply_changes` takes it.
    journal : bool, str or path
        As :func:`~ptttool.tune.session.tuning` takes it.

    Raises
    ------
    BusyError
        Another process changes attributes of the machine.
    AccessError, HardwareError, DeviceError, OutputError, InterruptedByUserError
        See :func:`~ptttool.tune.driver.apply_changes`.
    """
    if action is None or dry_run:
        found = find_unfinished(source, journal_of(source, journal))
        changes, left = ((), found.attributes) if action is None else _plan(source, found, action, force=force)
        return Recovery(found, action, changes, left, found.diagnostics)
    with tuning(source, f"tune recover --{action}", journal=journal) as session:
        return _carry_out(session, action, force=force, on_change=on_change)


def _carry_out(session: Session, action: RecoverAction, *, force: bool, on_change: OnChange | None) -> Recovery:
    found = session.unfinished
    if action is RecoverAction.KEEP:
        _keep(session)
        return Recovery(found, action, diagnostics=tuple(session.diagnostics), done=True)
    changes, left = _plan(session.source, found, action, force=force)
    held_back = {number for one in left for number in one.changes}
    repairs = [change.number for change in found.changes if change.number not in held_back]
    _note_partly(session, held_back)
    # To complete what was to undo a change is to undo that change.
    undoes = [number for change in found.changes if change.number in repairs for number in change.undoes]
    completed = undoes if action is RecoverAction.COMPLETE else ()
    changes = apply_changes(changes, on_change=on_change, session=session, repairs=repairs, undoes=completed)
    return Recovery(found, action, changes, left, tuple(session.diagnostics), done=True)


def _plan(
    source: Source, found: Unfinished, action: RecoverAction, *, force: bool
) -> tuple[tuple[Change, ...], tuple[UnfinishedAttribute, ...]]:
    """Plan what is written; return also what is left."""
    if action is RecoverAction.KEEP:
        return (), ()
    left = tuple(one for one in found.attributes if one.state in LEFT or (one.state is ValueState.OTHER and not force))
    devices = {device.name: device for device in list_devices(source)} if found.attributes else {}
    settings = [
        Setting(devices[one.device], one.attribute, one.old if action is RecoverAction.RESTORE else one.new)
        for one in found.attributes
        if one not in left
    ]
    return plan_changes(settings), left


def _note_partly(session: Session, numbers: Collection[int]) -> None:
    """Note that changes are recovered in part: once the others are restored, what is left must not pass for a change that is complete."""
    if session.journal is None:
        return
    try:
        for number in sorted(numbers):
            session.journal.append(number, {"record": "failed", "ended": utc_now()})
    except OSError as error:
        raise no_journal(session.journal.folder, error) from None


def _keep(session: Session) -> None:
    """Close every change that was cut off, and put aside what cannot be read."""
    if session.journal is None:
        return
    try:
        for change in session.unfinished.changes:
            session.journal.close(change.number, Outcome.KEPT)
        for error in session.unfinished.damaged:
            session.journal.put_aside(error.details["number"])
    except OSError as error:
        raise no_journal(session.journal.folder, error) from None
