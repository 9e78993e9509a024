"""What the journal says about the changes that are over: who changed what and when, and what can be undone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from ptttool.errors import AccessError, InputError
from ptttool.machine.sources.contract import Source
from ptttool.tune.journal.author import boot_id
from ptttool.tune.journal.records import ChangeRecord, Outcome, Step
from ptttool.tune.journal.store import journal_of

NO_JOURNAL = "the demo machine and machines in archives have no journal: their changes are lost when the command ends"
REHEARSAL = "to rehearse on a machine that lasts: ptttool collect --demo -o demo.tar.gz; tar xf demo.tar.gz; then --sysfs machine"
# After a change that ended so, attributes had other values than before it.
EFFECTIVE = (Outcome.DONE, Outcome.COMPLETE, Outcome.SUPERSEDED, Outcome.KEPT)


class History(Struct, frozen=True):
    """The changes in the journal of a machine.

    Parameters
    ----------
    folder : Path or None
        Folder of the journal; None for a machine without one.
    changes : tuple of ChangeRecord
        The changes, the oldest first.
    damaged : tuple of InputError
        Files that cannot be read.
    boot : str or None
        The kernel's number of this boot; None for a machine in a folder.
    """

    folder: Path | None = None
    changes: tuple[ChangeRecord, ...] = ()
    damaged: tuple[InputError, ...] = ()
    boot: str | None = None

    @property
    def of_this_boot(self) -> tuple[ChangeRecord, ...]:
        """The changes since the machine was started: the hardware has forgotten earlier ones."""
        return tuple(change for change in self.changes if change.author.boot_id == self.boot)

    @property
    def undone(self) -> dict[int, int]:
        """The changes that were undone, each with the change that did it."""
        return {number: change.number for change in self.changes if change.outcome in EFFECTIVE for number in change.undoes}

    @property
    def reaches_back(self) -> bool:
        """False if the first changes since the machine was started may be missing: the oldest files are removed, others are damaged."""
        first = self.changes[0] if self.changes else None
        return not self.damaged and (first is None or first.number == 1 or first.author.boot_id != self.boot)

    def first_values(self) -> dict[str, dict[str, int]]:
        """Return the values from before the first change since the machine was started, by device and attribute."""
        values: dict[str, dict[str, int]] = {}
        for change in self.of_this_boot:
            for step in change.steps:
                values.setdefault(step.device, {}).setdefault(step.attribute, step.old)
        return values

    def last_values(self) -> dict[tuple[str, str], set[int]]:
        """Return the values that the changes since the machine was started can have left, by device and attribute."""
        values: dict[tuple[str, str], set[int]] = {}
        by_number = {change.number: change for change in self.of_this_boot}
        for change in self.of_this_boot:
            for step in change.steps:
                values[step.key] = _left_by(change, step)
            if change.outcome in EFFECTIVE:
                # Also what it did not have to write.
                for step in (step for number in sorted(by_number.keys() & change.undoes, reverse=True) for step in by_number[number].steps):
                    values[step.key] = {step.old}
        return values

    def to_undo(self) -> Iterator[tuple[ChangeRecord, ...]]:
        """Yield what can be undone, the last first: a change, and with one that repaired others also these."""
        by_number = {change.number: change for change in self.of_this_boot}
        undone = self.undone
        for change in reversed(self.of_this_boot):
            if change.outcome not in EFFECTIVE or change.undoes or change.number in undone:
                continue
            repaired = tuple(by_number[number] for number in change.repairs if number in by_number)
            if not _restores(change, repaired) and any(step.old != step.new for one in (*repaired, change) for step in one.steps):
                yield (*repaired, change)


def read_history(source: Source, journal: bool | str | os.PathLike[str] = True) -> History:
    """Read the journal of a machine.

    Parameters
    ----------
    source : Source
        The machine.
    journal : bool, str or path
        As :func:`~ptttool.tune.journal.store.journal_of` takes it.

    Raises
    ------
    AccessError, InputError
        ``journal-unreadable``: the folder cannot be read.
    """
    store = journal_of(source, journal)
    if store is None:
        return History()
    try:
        entries = [entry for _, entry in store.entries()]
    except PermissionError:
        raise AccessError(f"{store.folder}: the journal cannot be read", hint="become its owner", code="journal-unreadable") from None
    except OSError as error:
        raise InputError(store.folder, f"the journal cannot be read: {error.strerror or error}", code="journal-unreadable") from None
    changes = tuple(one for one in entries if isinstance(one, ChangeRecord))
    damaged = tuple(one for one in entries if isinstance(one, InputError))
    return History(store.folder, changes, damaged, boot_id(source))


def _restores(change: ChangeRecord, repaired: Sequence[ChangeRecord]) -> bool:
    """Tell whether a change wrote the values from before those that it repaired: together they changed nothing."""
    before = {step.key: step.old for one in reversed(repaired) for step in one.steps}
    return bool(repaired) and all(before.get(step.key) == step.new for step in change.steps)


def _left_by(change: ChangeRecord, step: Step) -> set[int]:
    """Return the values that an attribute can have after a change."""
    if change.outcome in (Outcome.DONE, Outcome.COMPLETE):
        return {step.new}
    if change.outcome in (Outcome.RESTORED, Outcome.UNTOUCHED):
        return {step.old}
    return {step.old, step.new, *step.between}
