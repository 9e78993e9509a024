"""Restore or complete the changes of tune attributes that were cut off."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import force_setattr

from ptttool.diagnostics import Diagnostic
from ptttool.documents import document
from ptttool.files.locks import utc_now
from ptttool.machine.discovery import list_devices
from ptttool.machine.sources.contract import Source
from ptttool.tune.driver import Change, OnChange, Setting, apply_changes, plan_changes
from ptttool.tune.journal.records import ChangeRecord, Outcome
from ptttool.tune.journal.store import DAMAGED, journal_of
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


class CutOffChangeDocument(Struct, frozen=True):
    """A change of tune attributes, as the journal has it.

    Parameters
    ----------
    number : int
        Its number.
    command : str
        The command that made it.
    user : str
        Who made it.
    login : str or None
        Who had logged in, where that is somebody else.
    pid : int
        Its process.
    started : str
        Date and time in UTC, ISO 8601.
    undoing_failed : bool
        True if the command itself could not restore the old values.
    """

    number: int
    command: str
    user: str
    login: str | None
    pid: int
    started: str
    undoing_failed: bool


@document("tune-recover")
class Recovery(Struct, frozen=True, kw_only=True):
    """Changes of tune attributes that were cut off, and what was done about them.

    Parameters
    ----------
    action : RecoverAction or None
        What was done; null if it was only looked at.
    dry_run : bool
        True if nothing was written.
    settled : bool
        True if nothing is left to decide on.
    cut_off : tuple of CutOffChangeDocument
        Changes that left attributes half done.
    attributes : tuple of UnfinishedAttribute
        Their attributes, as they were found.
    before_boot : tuple of CutOffChangeDocument
        Changes that were cut off before the machine was started again: the attributes have their power-on values.
    under_way : tuple of CutOffChangeDocument
        Changes that other processes are making now.
    changes : tuple of Change
        What was written, or would be.
    left : tuple of UnfinishedAttribute
        Attributes that are still to be decided on.
    diagnostics : tuple of Diagnostic
        What was odd.
    unfinished : Unfinished
        The changes that were cut off, as they were found.
    """

    json_hides: ClassVar = ("unfinished",)

    action: RecoverAction | None = None
    dry_run: bool = True
    settled: bool = True
    cut_off: tuple[CutOffChangeDocument, ...] = ()
    attributes: tuple[UnfinishedAttribute, ...] = ()
    before_boot: tuple[CutOffChangeDocument, ...] = ()
    under_way: tuple[CutOffChangeDocument, ...] = ()
    changes: tuple[Change, ...] = ()
    left: tuple[UnfinishedAttribute, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    unfinished: Unfinished

    def __post_init__(self) -> None:
        """Take what the journal has."""
        unfinished = self.unfinished
        decided = not self.left and not unfinished.damaged and (self.done or not unfinished.changes)
        force_setattr(self, "settled", self.done if self.action is RecoverAction.KEEP else decided)
        force_setattr(self, "cut_off", _documents(unfinished.changes))
        force_setattr(self, "attributes", unfinished.attributes)
        force_setattr(self, "before_boot", _documents(unfinished.before_boot))
        force_setattr(self, "under_way", _documents(unfinished.under_way))

    @property
    def done(self) -> bool:
        """False if nothing was written."""
        return not self.dry_run


def _documents(changes: Sequence[ChangeRecord]) -> tuple[CutOffChangeDocument, ...]:
    pairs = ((change, change.author) for change in changes)
    return tuple(CutOffChangeDocument(one.number, by.command, by.user, by.login, by.pid, by.started, one.failed) for one, by in pairs)


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
        unfinished = find_unfinished(source, journal_of(source, journal))
        changes, left = ((), unfinished.attributes) if action is None else _plan(source, unfinished, action, force=force)
        return Recovery(action=action, changes=changes, left=left, diagnostics=unfinished.diagnostics, unfinished=unfinished)
    with tuning(source, f"tune recover --{action}", journal=journal) as session:
        unfinished = session.unfinished
        changes, left = _plan(source, unfinished, action, force=force)
        held_back = {number for one in left for number in one.changes}
        _note(session, action, held_back)
        if action is not RecoverAction.KEEP:
            repaired = [change for change in unfinished.changes if change.number not in held_back]
            # To complete what was to undo a change is to undo that change.
            undoes = [number for change in repaired for number in change.undoes] if action is RecoverAction.COMPLETE else ()
            repairs = [change.number for change in repaired]
            changes = apply_changes(changes, on_change=on_change, session=session, repairs=repairs, undoes=undoes)
        return Recovery(
            action=action, dry_run=False, changes=changes, left=left, diagnostics=tuple(session.diagnostics), unfinished=unfinished
        )


def _plan(
    source: Source, unfinished: Unfinished, action: RecoverAction, *, force: bool
) -> tuple[tuple[Change, ...], tuple[UnfinishedAttribute, ...]]:
    """Plan what is written; return also what is left."""
    if action is RecoverAction.KEEP:
        return (), ()
    left = tuple(one for one in unfinished.attributes if one.state in LEFT or (one.state is ValueState.OTHER and not force))
    devices = {device.name: device for device in list_devices(source)} if unfinished.attributes else {}
    settings = [
        Setting(devices[one.device], one.attribute, one.old if action is RecoverAction.RESTORE else one.new)
        for one in unfinished.attributes
        if one not in left
    ]
    return plan_changes(settings), left


def _note(session: Session, action: RecoverAction, held_back: Collection[int]) -> None:
    """Close every change of which the values are kept, and put aside what cannot be read; note which changes are recovered in part.

    Once the others are restored, what is left of such a change must not pass for a change that is complete.
    """
    if session.journal is None:
        return
    try:
        if action is RecoverAction.KEEP:
            for change in session.unfinished.changes:
                session.journal.close(change.number, Outcome.KEPT)
            for error in session.unfinished.damaged:
                session.journal.rename(error.details["number"], DAMAGED)
        for number in sorted(held_back):
            session.journal.append(number, {"record": "failed", "ended": utc_now()})
    except OSError as error:
        raise no_journal(session.journal.folder, error) from None
