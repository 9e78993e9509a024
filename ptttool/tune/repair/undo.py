"""Undo changes of tune attributes: write the values from before them."""

from __future__ import annotations

import os
from itertools import islice
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document
from ptttool.errors import DeviceError, HardwareError, PtttoolError, UsageError
from ptttool.machine.discovery import list_devices
from ptttool.machine.sources.contract import Source
from ptttool.tune.driver import Change, OnChange, Setting, apply_changes, plan_changes
from ptttool.tune.journal.history import NO_JOURNAL, REHEARSAL, History, read_history
from ptttool.tune.journal.records import ChangeRecord
from ptttool.tune.journal.store import journal_of
from ptttool.tune.journal.unfinished import HALF_DONE, SHOWN, Unfinished, find_unfinished
from ptttool.tune.session import tuning
from ptttool.tune.values import attribute_names
from ptttool.wording import counted, first_of, in_words


@document("tune-undo")
class Undo(Struct, frozen=True, kw_only=True):
    """What undoing changed.

    Parameters
    ----------
    dry_run : bool
        True if nothing was written.
    numbers : tuple of int
        The changes from before which the values are.
    changes : tuple of Change
        One for each tune attribute.
    diagnostics : tuple of Diagnostic
        What was odd.
    undone : tuple of ChangeRecord
        The changes from before which the values are, the oldest first.
    """

    json_hides: ClassVar = ("undone",)

    dry_run: bool = True
    numbers: tuple[int, ...] = field(default=(), name="undone")
    changes: tuple[Change, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    undone: tuple[ChangeRecord, ...] = field(name="records")

    def __post_init__(self) -> None:
        """Take the numbers."""
        force_setattr(self, "numbers", tuple(change.number for change in self.undone))

    @property
    def done(self) -> bool:
        """False if nothing was written."""
        return not self.dry_run


def undo(
    source: Source,
    count: int = 1,
    *,
    force: bool = False,
    dry_run: bool = False,
    on_change: OnChange | None = None,
    journal: bool | str | os.PathLike[str] = True,
) -> Undo:
    """Write the values from before the last changes, all or nothing, as a change of its own.

    Changes that were undone already do not count: to undo once more goes further back.

    Parameters
    ----------
    source : Source
        The machine.
    count : int
        How many changes.
    force : bool
        Overwrite values that somebody else has set since; leave out what the machine does not have any more.
    dry_run : bool
        Say what would be written, write nothing.
    on_change : callable, optional
        As :func:`~ptttool.tune.driver.apply_changes` takes it.
    journal : bool, str or path
        As :func:`~ptttool.tune.session.tuning` takes it; it cannot be False.

    Raises
    ------
    UsageError
        ``nothing-to-undo``, ``too-many-changes``: the journal has fewer changes of this boot.
    HardwareError
        ``half-done``: a change was cut off, and is to be recovered first. ``changed-since``: somebody else has set an attribute.
    DeviceError
        ``attribute-gone``: the machine does not have an attribute any more.
    BusyError, AccessError, OutputError, InputError, InterruptedByUserError
        As :func:`~ptttool.tune.driver.apply_changes` and :func:`~ptttool.tune.journal.history.read_history`.
    """
    if count < 1:
        raise UsageError(f"{count} changes cannot be undone", hint="give 1 or more", code="bad-count")
    if dry_run:
        return _plan(source, find_unfinished(source, journal_of(source, journal)), count, force=force, journal=journal)
    with tuning(source, f"tune undo {count}" if count > 1 else "tune undo", journal=journal) as session:
        plan = _plan(source, session.unfinished, count, force=force, journal=journal)
        changes = apply_changes(plan.changes, on_change=on_change, session=session, undoes=plan.numbers)
        return replace(plan, dry_run=False, changes=changes, diagnostics=(*session.diagnostics, *plan.diagnostics))


def _plan(source: Source, unfinished: Unfinished, count: int, *, force: bool, journal: bool | str | os.PathLike[str]) -> Undo:
    if unfinished.changes:
        which = in_words(f"change {change.number}" for change in unfinished.changes)
        raise HardwareError(f"{which} left tune attributes half done", hint="first: ptttool tune recover", code=HALF_DONE)
    history = read_history(source, journal)
    undone = _chosen(history, count)
    targets: dict[tuple[str, str], int] = {}
    for change in undone:
        for step in change.steps:
            targets.setdefault(step.key, step.old)
    devices = {device.name: device for device in list_devices(source)}
    names = {name: attribute_names(device) for name, device in devices.items() if any(name == target for target, _ in targets)}
    gone = [key for key in targets if key[1] not in names.get(key[0], ())]
    if gone and not force:
        raise _gone(gone)
    diagnostics = [
        Diagnostic(Severity.WARNING, "attribute-gone", f"{device}/{attribute} is not on this machine now: left out", where=device)
        for device, attribute in gone
    ]
    settings = [Setting(devices[device], attribute, old) for (device, attribute), old in targets.items() if (device, attribute) not in gone]
    changes = plan_changes(settings)
    expected = history.last_values()
    foreign = [change for change in changes if change.differs and change.old not in expected[change.key]]
    if foreign and not force:
        raise _changed_since(foreign, expected)
    return Undo(undone=undone, changes=changes, diagnostics=tuple(diagnostics))


def _chosen(history: History, count: int) -> tuple[ChangeRecord, ...]:
    """Choose the changes to undo, the oldest first."""
    units = list(islice(history.to_undo(), count))
    if len(units) == count:
        return tuple(sorted((change for unit in units for change in unit), key=lambda change: change.number))
    if history.folder is None:
        raise UsageError(NO_JOURNAL, hint=REHEARSAL, code="nothing-to-undo", possible=0)
    where = f"the journal {history.folder} has"
    if units:
        message = f"{where} {counted(len(units), 'change')} that can be undone, not {count}"
        raise UsageError(message, hint="see 'ptttool tune history'", code="too-many-changes", possible=len(units))
    before = " since the machine was started" if history.boot is not None and history.changes else ""
    hint = "after a restart the hardware has its power-on values" if before else None
    raise UsageError(f"{where} no change to undo{before}", hint=hint, code="nothing-to-undo", possible=0)


def _gone(gone: list[tuple[str, str]]) -> PtttoolError:
    labels = [f"{device}/{attribute}" for device, attribute in gone]
    return DeviceError(
        f"{', '.join(first_of(labels, SHOWN))}: not on this machine now; nothing was written",
        hint="--force undoes the rest",
        code="attribute-gone",
        attributes=labels,
    )


def _changed_since(foreign: list[Change], expected: dict[tuple[str, str], set[int]]) -> PtttoolError:
    left = [in_words(sorted(expected[change.key]), "or") for change in foreign]
    labels = [f"{change.label} is {change.old} and was left as {values}" for change, values in zip(foreign, left, strict=True)]
    return HardwareError(
        f"{', '.join(first_of(labels, SHOWN))}: set by somebody else since; nothing was written",
        hint="--force writes the values from before all the same",
        code="changed-since",
        attributes=[change.label for change in foreign],
    )
