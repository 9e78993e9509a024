"""The journal: one file for each change of tune attributes, complete on the disk before the first attribute is written.

A change that was cut off (SIGKILL, loss of power) is found by its file, with the old and the new value of every attribute.

Files are called ``NNNNNNNN.open`` while their change is unfinished, then ``NNNNNNNN.closed``; one that is damaged and was given up is
``NNNNNNNN.damaged``. Their content is described in :mod:`ptttool.tune.journal.records`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ptttool.errors import InputError
from ptttool.files.local import open_regular
from ptttool.files.locks import utc_now
from ptttool.files.ownership import open_own_folder
from ptttool.machine.sources.contract import Source
from ptttool.tune.attributes import AttributeChange
from ptttool.tune.budget import MAX_JOURNAL_BYTES
from ptttool.tune.journal.author import Author
from ptttool.tune.journal.folder import OPEN, journal_folder, journal_names
from ptttool.tune.journal.records import (
    ChangeRecord,
    Outcome,
    StepState,
    begin_record,
    end_record,
    journal_line,
    parse_change,
)

# Closed changes that are kept.
KEPT = 500
_LAST = 99_999_999
CLOSED, DAMAGED = ".closed", ".damaged"


class JournalWriter:
    """Takes down how far a change is.

    After the first line, what cannot be written does not end the change: the first line is all that recovery needs.

    Attributes
    ----------
    problem : OSError or None
        Why a line could not be written.
    """

    def __init__(self, journal: Journal, number: int, descriptor: int) -> None:
        self._journal = journal
        self.number = number
        self._descriptor = descriptor
        self.problem: OSError | None = None

    def step(self, number: int, state: StepState, **facts: object) -> None:
        """Note the state of an attribute; ``facts`` are further keys."""
        # Not synchronized: after a loss of power the hardware has its power-on values, so only the first line matters then.
        self._append({"record": state.value, "step": number, **facts})

    def end(self, outcome: Outcome) -> None:
        """Note that the change is over, and close the file."""
        self._append(end_record(outcome, None))
        self._close()
        # Not before the line is in the file. A file with this line and the old name counts as closed.
        if self.problem is None:
            with self._problem_kept():
                self._journal.rename(self.number, CLOSED)

    def fail(self) -> None:
        """Note that the change can be neither completed nor undone; the file stays open for recovery."""
        self._append({"record": "failed", "ended": utc_now()})
        self._close()

    def _append(self, record: dict[str, object]) -> None:
        if self.problem is None:
            with self._problem_kept():
                _write(self._descriptor, journal_line(record))

    def _close(self) -> None:
        try:
            if self.problem is None:
                with self._problem_kept():
                    os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)

    @contextmanager
    def _problem_kept(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.problem = error


class Journal:
    """The changes of one machine.

    Whoever changes anything in it holds the machine's lock (:func:`ptttool.tune.session.tuning`); reading needs none.

    Parameters
    ----------
    folder : Path
        Its folder; it is created by the first change.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(
        self, author: Author, steps: Sequence[AttributeChange], repairs: Sequence[int] = (), undoes: Sequence[int] = ()
    ) -> JournalWriter:
        """Write the first line of a new change and wait until it is on the disk.

        Parameters
        ----------
        author : Author
            Who makes the change.
        steps : Sequence[AttributeChange]
            What is to be written.
        repairs : Sequence[int]
            The changes that this one restores or completes.
        undoes : Sequence[int]
            The changes from before which this one writes the values.

        Raises
        ------
        AccessError
            The folder is not safe.
        OSError
            The file cannot be written; it is removed again.
        """
        folder = open_own_folder(self.folder)
        try:
            names = self._names()
            self._rotate(names)
            number = max((int(name[:8]) for name in names), default=0) + 1
            if number > _LAST:  # its file would not be found again
                raise OSError(errno.EOVERFLOW, "no number is left for a change", str(self.folder / f"{_LAST}{CLOSED}"))
            name = f"{number:08}{OPEN}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(name, flags, 0o600, dir_fd=folder)
            try:
                _write(descriptor, journal_line(begin_record(number, author, steps, repairs, undoes)))
                os.fsync(descriptor)
                os.fsync(folder)
            except BaseException:
                os.close(descriptor)
                with suppress(OSError):
                    os.unlink(name, dir_fd=folder)
                raise
            return JournalWriter(self, number, descriptor)
        finally:
            os.close(folder)

    def open_numbers(self) -> list[int]:
        """List the changes with open files. Raises OSError where the folder cannot be read."""
        return [int(name[:8]) for name in self._names() if name.endswith(OPEN)]

    def read(self, number: int) -> ChangeRecord | None:
        """Read an open change.

        Returns
        -------
        ChangeRecord or None
            None if the first line is cut off: nothing was written to the device.

        Raises
        ------
        InputError
            ``journal-damaged``, ``journal-version``: the file is not a change of this version.
        OSError
            The file cannot be read.
        """
        return self._read(self.path(number).name)

    def changes(self) -> Iterator[ChangeRecord]:
        """Read all changes, the oldest first; those that cannot be read are left out. Raises OSError where the folder cannot be read."""
        return (entry for _, entry in self.entries() if isinstance(entry, ChangeRecord))

    def entries(self, *, only_open: bool = False) -> Iterator[tuple[int, ChangeRecord | InputError | None]]:
        """Read the files of changes, the oldest first. Raises OSError where the folder cannot be read.

        Yields
        ------
        number : int
            The number of the change.
        change : ChangeRecord, InputError or None
            An error where the file cannot be read; None where the first line is cut off: nothing was written to the device.
        """
        for name in self._names():
            number = int(name[:8])
            try:
                if name.endswith(OPEN) or not only_open:
                    yield number, self._read(name)
            except InputError as error:
                yield number, error
            except FileNotFoundError:  # renamed, or removed, meanwhile
                continue
            except OSError as error:
                yield number, InputError(self.folder / name, error.strerror or str(error), code="journal-damaged", number=number)

    def append(self, number: int, record: dict[str, object]) -> None:
        """Add a line to an open change. Raises OSError where that is not possible."""
        folder = open_own_folder(self.folder, create=False)
        try:
            descriptor = os.open(self.path(number).name, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        try:
            # A line that was cut off stays a line of its own.
            last = b"\n"
            while data := os.read(descriptor, 1 << 16):
                last = data[-1:]
            _write(descriptor, (b"" if last == b"\n" else b"\n") + journal_line(record))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def close(self, number: int, outcome: Outcome, by: int | None = None) -> None:
        """Note that a change is over. Raises OSError where that is not possible."""
        self.append(number, end_record(outcome, by))
        self.rename(number, CLOSED)

    def supersede(self, by: int | None, written: Collection[tuple[str, str]], repairs: Collection[int] = ()) -> None:
        """Note what a change that is done means for the unfinished ones: attributes that it has set are no longer half done.

        Parameters
        ----------
        by : int or None
            The number of the change; None for one that had nothing to write.
        written : collection of (str, str)
            The devices and attributes that it has set.
        repairs : collection of int
            The changes that it has restored or completed.

        Raises
        ------
        OSError
            The journal cannot be written.
        """
        for number in self.open_numbers():
            try:
                change = None if number == by else self.read(number)
            except InputError:
                continue
            if change is None or change.outcome is not None:
                continue
            left = [at for at, step in enumerate(change.steps) if step.state is not StepState.SETTLED]
            settled = [at for at in left if change.steps[at].key in written]
            if number in repairs or set(change.repairs) & set(repairs):
                self.close(number, Outcome.RECOVERED, by)
            elif settled == left:
                self.close(number, Outcome.SUPERSEDED, by)
            else:
                for at in settled:
                    self.append(number, {"record": StepState.SETTLED.value, "step": at, "by": by})

    def discard(self, number: int) -> None:
        """Remove a change with a first line that is cut off. Raises OSError where that is not possible."""
        self.path(number).unlink()

    def rename(self, number: int, suffix: str) -> None:
        """Give an open change's file another suffix. Raises OSError where that is not possible."""
        self.path(number).rename(self.path(number).with_suffix(suffix))

    def path(self, number: int) -> Path:
        """Return the file of an open change."""
        return self.folder / f"{number:08}{OPEN}"

    def _names(self) -> list[str]:
        """List the files of changes, the oldest first."""
        return [name for name in journal_names(self.folder) if name[8:] in (OPEN, CLOSED, DAMAGED)]

    def _rotate(self, names: Sequence[str]) -> None:
        """Remove the oldest changes that are over."""
        over = [name for name in names if not name.endswith(OPEN)]
        for name in over[: max(len(over) - KEPT + 1, 0)]:
            with suppress(OSError):
                (self.folder / name).unlink()

    def _read(self, name: str) -> ChangeRecord | None:
        path = self.folder / name
        with os.fdopen(open_regular(path), "rb") as file:
            data = file.read(MAX_JOURNAL_BYTES + 1)
        return parse_change(data, int(name[:8]), str(path))


def journal_of(source: Source, journal: bool | str | os.PathLike[str] = True) -> Journal | None:
    """Return the journal of a machine.

    Parameters
    ----------
    source : Source
        The machine.
    journal : bool, str or path
        False: none. A path: its folder. Default: a folder of the machine in :func:`~ptttool.files.ownership.state_folder`.

    Returns
    -------
    Journal or None
        None for a machine in the memory of this process, and where none is wanted.
    """
    folder = journal_folder(source)
    if journal is False or folder is None:
        return None
    return Journal(folder if journal is True else Path(journal))


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
