"""What ``tune history`` prints with ``--json``."""

from __future__ import annotations

from dataclasses import dataclass

from ptttool.documents import document
from ptttool.tune.journal.history import History
from ptttool.tune.journal.records import ChangeRecord, Outcome, StepState


@dataclass(frozen=True)
class JournalStepDocument:
    """One tune attribute of a change in the journal.

    Parameters
    ----------
    device, attribute : str
        Its names.
    old, new : int
        Its values before the change, and those to be written.
    between : list of int
        Values that it had for a time.
    state : StepState
        How far it is.
    """

    device: str
    attribute: str
    old: int
    new: int
    between: list[int]
    state: StepState


@dataclass(frozen=True)
class JournalChangeDocument:
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
    undoes, repairs : list of int
        The changes that it undid, and those that it restored or completed.
    steps : list of JournalStepDocument
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
    undoes: list[int]
    repairs: list[int]
    steps: list[JournalStepDocument]

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
            undoes=list(change.undoes),
            repairs=list(change.repairs),
            steps=[JournalStepDocument(s.device, s.attribute, s.old, s.new, list(s.between), s.state) for s in change.steps],
        )


@document("tune-history")
@dataclass(frozen=True)
class TuneHistoryDocument:
    """The changes in the journal.

    Parameters
    ----------
    journal : str or None
        Its folder; null for a machine without one.
    total : int
        How many changes it has.
    changes : list of JournalChangeDocument
        The last ones, the last first.
    damaged : list of str
        What cannot be read.
    """

    journal: str | None
    total: int
    changes: list[JournalChangeDocument]
    damaged: list[str]

    @classmethod
    def of(cls, history: History, limit: int) -> TuneHistoryDocument:
        """Make the document of the last changes."""
        shown = [JournalChangeDocument.of(change, history) for change in history.changes[::-1][:limit]]
        folder = None if history.folder is None else str(history.folder)
        return cls(folder, len(history.changes), shown, [problem.message for problem in history.damaged])
