"""What ``tune history`` prints with ``--json``."""

from __future__ import annotations

from msgspec import Struct

from ptttool.documents import document
from ptttool.tune.journal.history import History
from ptttool.tune.journal.records import ChangeRecord, Outcome, Step


class JournalChangeDocument(Struct, frozen=True):
    """A change in the journal.

    Parameters
    ----------
    number : int
        Its number.
    started : str
        Date and time in UTC, ISO 8601.
    ended : str or None
        When it ended.
    user : str
        Who made it.
    login : str or None
        Who had logged in, where that is somebody else.
    pid : int
        Its process.
    command : str
        The command.
    outcome : Outcome or None
        How it ended; null if it has not.
    this_boot : bool
        False if it was made before the machine was started: the hardware has forgotten it.
    undone_by : int or None
        The change that undid it.
    undoes, repairs : tuple of int
        The changes that it undid, and those that it restored or completed.
    steps : tuple of Step
        What it changed.
    """

    number: int
    started: str
    ended: str | None
    user: str
    login: str | None
    pid: int
    command: str
    outcome: Outcome | None
    this_boot: bool
    undone_by: int | None
    undoes: tuple[int, ...]
    repairs: tuple[int, ...]
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, change: ChangeRecord, history: History) -> JournalChangeDocument:
        """Make the document of a change."""
        author = change.author
        return cls(
            number=change.number,
            started=author.started,
            ended=change.ended,
            user=author.user,
            login=author.login,
            pid=author.pid,
            command=author.command,
            outcome=change.outcome,
            this_boot=author.boot_id == history.boot,
            undone_by=history.undone.get(change.number),
            undoes=change.undoes,
            repairs=change.repairs,
            steps=change.steps,
        )


@document("tune-history")
class TuneHistoryDocument(Struct, frozen=True):
    """The changes in the journal.

    Parameters
    ----------
    journal : str or None
        Its folder; null for a machine without one.
    total : int
        How many changes it has.
    changes : tuple of JournalChangeDocument
        The last ones, the last first.
    damaged : tuple of str
        What cannot be read.
    """

    journal: str | None
    total: int
    changes: tuple[JournalChangeDocument, ...]
    damaged: tuple[str, ...]

    @classmethod
    def of(cls, history: History, limit: int) -> TuneHistoryDocument:
        """Make the document of the last changes."""
        shown = tuple(JournalChangeDocument.of(change, history) for change in history.changes[::-1][:limit])
        folder = None if history.folder is None else str(history.folder)
        return cls(folder, len(history.changes), shown, tuple(problem.message for problem in history.damaged))
