"""Tune alone: one process at a time changes the tune attributes of a machine, and notes each change in the machine's journal."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec import Struct, field

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import AccessError, OutputError, PtttoolError
from ptttool.files.locks import hold
from ptttool.machine.model import PttDevice
from ptttool.machine.sources.contract import RUNNING, Source
from ptttool.tune.attributes import AttributeChange
from ptttool.tune.journal.author import Author
from ptttool.tune.journal.records import Outcome
from ptttool.tune.journal.store import CLOSED, DAMAGED, Journal, JournalWriter, journal_of
from ptttool.tune.journal.unfinished import Unfinished, find_unfinished

# Seconds to wait for another process that changes tune attributes: a change of all attributes of a machine takes less.
WAIT = 5.0
# Machines in folders that have a journal; the oldest ones go.
KEPT_TREES = 32


class Session(Struct):
    """The right to change the tune attributes of a machine, until :func:`tuning` ends.

    Parameters
    ----------
    source : Source
        The machine.
    command : str
        What is done, for the journal and for those who wait.
    journal : Journal or None
        Where changes are noted; None for a machine in the memory of this process, and where no journal is wanted.
    unfinished : Unfinished
        Earlier changes that were cut off.
    diagnostics : list of Diagnostic
        What was odd.
    """

    source: Source
    command: str
    journal: Journal | None = None
    unfinished: Unfinished = Unfinished()
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def begin(
        self, steps: Sequence[AttributeChange], devices: Sequence[PttDevice], repairs: Sequence[int] = (), undoes: Sequence[int] = ()
    ) -> JournalWriter | None:
        """Note a change in the journal before its first write; None where there is nothing to note.

        Parameters
        ----------
        steps : Sequence[AttributeChange]
            What is to be written.
        devices : Sequence[PttDevice]
            The devices of the steps.
        repairs : Sequence[int]
            The changes that this one restores or completes.
        undoes : Sequence[int]
            The changes from before which this one writes the values. Such a change is noted also without a step.

        Raises
        ------
        AccessError, OutputError
            ``no-journal``: the journal cannot be written. Nothing was changed.
        """
        if self.journal is None or not (steps or undoes):
            return None
        try:
            writer = self.journal.begin(Author.of_this_process(self.source, self.command, devices), steps, repairs, undoes)
        except (OSError, AccessError) as error:
            raise no_journal(self.journal.folder, error) from None
        _remove_old_trees(self.journal.folder)
        return writer

    def end(
        self,
        writer: JournalWriter | None,
        outcome: Outcome,
        attributes: Sequence[tuple[str, str]] = (),
        repairs: Sequence[int] = (),
    ) -> None:
        """Note that a change is over, and what that means for those that were cut off.

        Parameters
        ----------
        writer : JournalWriter or None
            From :meth:`begin`.
        outcome : Outcome
            How it ended.
        attributes : Sequence of (str, str)
            The devices and attributes that hold what was asked for.
        repairs : Sequence[int]
            The changes that were restored or completed.
        """
        if writer is not None:
            writer.end(outcome)
        problem: OSError | AccessError | None = None if writer is None else writer.problem
        if self.journal is not None and outcome is Outcome.DONE:
            try:
                self.journal.supersede(None if writer is None else writer.number, attributes, repairs)
            except (OSError, AccessError) as error:
                problem = error
        self._report(problem)

    def fail(self, writer: JournalWriter | None) -> None:
        """Note that a change could not be undone."""
        if writer is not None:
            writer.fail()
            self._report(writer.problem)

    def settle(self) -> None:
        """Find the changes that were cut off, and close those that left nothing half done."""
        # Also where this change is not noted: what was cut off is of interest.
        journal = journal_of(self.source) if self.journal is None else self.journal
        unfinished = self.unfinished = find_unfinished(self.source, journal, alone=True)
        self.diagnostics += unfinished.diagnostics
        if self.journal is None:
            return
        try:
            for number in unfinished.not_begun:
                self.journal.discard(number)
            for number in unfinished.ended:
                with suppress(OSError):  # it counts as closed with its old name, too
                    self.journal.rename(number, CLOSED)
            for change in unfinished.before_boot:
                self.journal.close(change.number, Outcome.REBOOT)
            for number, outcome in unfinished.whole.items():
                self.journal.close(number, outcome)
        except (OSError, AccessError) as error:
            self._report(error)

    def _report(self, problem: OSError | AccessError | None) -> None:
        if problem is not None and self.journal is not None:
            reason = problem.message if isinstance(problem, AccessError) else problem.strerror or str(problem)
            message = f"{self.journal.folder}: the journal is not complete: {reason}"
            self.diagnostics.append(Diagnostic(Severity.WARNING, "journal-incomplete", message, where=str(self.journal.folder)))


@contextmanager
def tuning(
    source: Source, command: str, *, journal: bool | str | os.PathLike[str] = True, wait: float = WAIT, reads: bool = False
) -> Iterator[Session]:
    """Change the tune attributes of a machine alone: other processes that ask for the same wait, or are refused.

    Old values that are read inside stay true until they are used. A machine in the memory of this process needs neither lock nor journal.

    Parameters
    ----------
    source : Source
        The machine.
    command : str
        What is done, for the journal and for those who wait: ``tune apply p.toml``.
    journal : bool, str or path
        As :func:`~ptttool.tune.journal.store.journal_of` takes it.
    wait : float
        Seconds to wait for another process.
    reads : bool
        Attributes are only read: go on, with a warning, where no lock can be created (a file system that is mounted read-only).

    Yields
    ------
    Session
        What :func:`~ptttool.tune.driver.apply_changes` takes.

    Raises
    ------
    BusyError
        ``locked``: another process changes tune attributes of this machine.
    AccessError
        ``no-lock``, ``unsafe-folder``: see :func:`~ptttool.files.locks.hold`.
    """
    if source.identity is None:
        yield Session(source, command)
        return
    subject = f"the tune attributes of {source.origin}"
    with ExitStack() as stack:
        session = Session(source, command, journal_of(source, journal))
        try:
            stack.enter_context(
                hold(f"tune-{source.identity}", purpose=command, subject=subject, wait=wait, keep=source.identity == RUNNING)
            )
        except AccessError as error:
            if not reads:
                raise
            message = f"{error.message}; another process can change values while they are read"
            session.diagnostics.append(Diagnostic(Severity.WARNING, "not-locked", message, hint=error.hint))
        else:
            session.settle()
        yield session


def no_journal(folder: Path, error: OSError | AccessError) -> PtttoolError:
    """Make the error of a journal that cannot be written."""
    reason = error.message if isinstance(error, AccessError) else f"{folder}: {error.strerror or error}"
    kind = AccessError if isinstance(error, AccessError | PermissionError) else OutputError
    return kind(
        f"the journal of tune attributes cannot be written, and nothing was changed: {reason}",
        hint="--no-journal changes them without a journal; a change that is cut off cannot be recovered then",
        code="no-journal",
        path=str(folder),
    )


def _remove_old_trees(folder: Path) -> None:
    """Keep few journals of machines in folders: such folders come and go. One with an unfinished change stays."""
    if not folder.name.startswith("tree-"):
        return
    with suppress(OSError):
        trees = sorted((path for path in folder.parent.glob("tree-*") if path != folder), key=lambda path: path.stat().st_mtime)
        for tree in trees[: max(len(trees) - KEPT_TREES + 1, 0)]:
            files = list(tree.iterdir())
            if all(file.suffix in (CLOSED, DAMAGED) for file in files):
                for file in files:
                    file.unlink()
                tree.rmdir()
