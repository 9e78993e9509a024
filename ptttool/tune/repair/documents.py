"""What ``tune recover`` and ``tune undo`` print with ``--json``."""

from __future__ import annotations

from msgspec import Struct

from ptttool.diagnostics import Diagnostic
from ptttool.documents import document
from ptttool.tune.driver import Change
from ptttool.tune.journal.records import ChangeRecord
from ptttool.tune.journal.unfinished import UnfinishedAttribute
from ptttool.tune.repair.recovery import RecoverAction, Recovery
from ptttool.tune.repair.undo import Undo


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

    @classmethod
    def of(cls, change: ChangeRecord) -> CutOffChangeDocument:
        """Make the document of a change."""
        author = change.author
        return cls(change.number, author.command, author.user, author.login, author.pid, author.started, change.failed)


@document("tune-recover")
class TuneRecoverDocument(Struct, frozen=True):
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
    """

    action: RecoverAction | None
    dry_run: bool
    settled: bool
    cut_off: tuple[CutOffChangeDocument, ...]
    attributes: tuple[UnfinishedAttribute, ...]
    before_boot: tuple[CutOffChangeDocument, ...]
    under_way: tuple[CutOffChangeDocument, ...]
    changes: tuple[Change, ...]
    left: tuple[UnfinishedAttribute, ...]
    diagnostics: tuple[Diagnostic, ...]

    @classmethod
    def of(cls, recovery: Recovery) -> TuneRecoverDocument:
        """Make the document of what recovering did."""
        found = recovery.unfinished
        return cls(
            recovery.action,
            not recovery.done,
            recovery.settled,
            tuple(CutOffChangeDocument.of(change) for change in found.changes),
            found.attributes,
            tuple(CutOffChangeDocument.of(change) for change in found.before_boot),
            tuple(CutOffChangeDocument.of(change) for change in found.under_way),
            recovery.changes,
            recovery.left,
            recovery.diagnostics,
        )


@document("tune-undo")
class TuneUndoDocument(Struct, frozen=True):
    """What undoing changed.

    Parameters
    ----------
    dry_run : bool
        True if nothing was written.
    undone : tuple of int
        The changes from before which the values are.
    changes : tuple of Change
        One for each tune attribute.
    diagnostics : tuple of Diagnostic
        What was odd.
    """

    dry_run: bool
    undone: tuple[int, ...]
    changes: tuple[Change, ...]
    diagnostics: tuple[Diagnostic, ...]

    @classmethod
    def of(cls, done: Undo) -> TuneUndoDocument:
        """Make the document of what was undone."""
        return cls(not done.done, tuple(change.number for change in done.undone), done.changes, done.diagnostics)
