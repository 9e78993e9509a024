"""Read recordings for a command: the machine of each, the condition, progress, and the errors of damaged ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ptttool.cli.options.origin import machine_of
from ptttool.cli.options.reading import failure_of, first_of
from ptttool.cli.terminal.talk import PrintedError
from ptttool.errors import AccessError, InputError, PtttoolError

if TYPE_CHECKING:
    from ptttool.machine.model import Machine
    from ptttool.pipeline.analyzing.ask import Ask
    from ptttool.pipeline.recording import OpenRecording, Request
    from ptttool.pipeline.scope import TimeOptions
    from ptttool.pipeline.walk import Walk
    from ptttool.pipeline.workers.pool import Workers

T = TypeVar("T")


@dataclass(frozen=True)
class Recordings:
    """How a command reads recordings.

    Parameters
    ----------
    request : Request
        As what they are read; its path counts where none is given.
    workers : Workers
        Who decodes.
    sysfs, demo
        The options that name a machine.
    where : str or None
        The condition.
    time : TimeOptions or None
        What the user says of time.
    details : bool
        Whether addresses and settings of a machine's functions are read, too.
    """

    request: Request
    workers: Workers
    sysfs: Path | None
    demo: bool
    where: str | None = None
    time: TimeOptions | None = None
    details: bool = False

    @contextmanager
    def opened(self, path: str | None = None) -> Iterator[Opened]:
        """Open a recording; errors are those of :class:`ptttool.pipeline.recording.OpenRecording`."""
        from ptttool.pipeline.recording import OpenRecording

        with OpenRecording(self.request if path is None else replace(self.request, path=path)) as recording:
            yield Opened(recording, self)

    def each(
        self,
        paths: Sequence[str],
        look: Callable[[Opened], tuple[T, PtttoolError | None]],
        unread: Callable[[str, PtttoolError], T] | None = None,
    ) -> tuple[list[T], list[PtttoolError]]:
        """Look at several recordings, one after the other.

        Parameters
        ----------
        paths : sequence of str
            The recordings.
        look : callable
            Returns what is found in a recording, and the error that it is if it is damaged.
        unread : callable or None
            Returns what stands for a recording that cannot be read; None: its error is raised.

        Returns
        -------
        found : list
            What was found in each.
        failures : list of PtttoolError
            The errors of those that could not be read, or not to the end.
        """
        found: list[T] = []
        failures: list[PtttoolError] = []
        for path in paths:
            try:
                with self.opened(path) as one:
                    what, failure = look(one)
            except (InputError, AccessError) as error:
                if unread is None:
                    raise
                what, failure = unread(path, error), error
            found.append(what)
            failures += [] if failure is None else [failure]
        return found, failures


@dataclass
class Opened:
    """An open recording, and what is known of it besides; each part is found when it is first asked for.

    Parameters
    ----------
    recording : OpenRecording
        The recording.
    read : Recordings
        How it is read.
    """

    recording: OpenRecording
    read: Recordings

    @cached_property
    def machine(self) -> Machine | None:
        """The machine that was recorded. What is not known is reported on standard error."""
        return machine_of(self.recording, self.read.sysfs, self.read.demo, details=self.read.details)

    @cached_property
    def ask(self) -> Ask:
        """What analyses are to know of it."""
        from ptttool.pipeline.analyzing.ask import ask_of

        return ask_of(self.recording, self.read.where, self.read.time, machine=self.machine)

    @cached_property
    def walk(self) -> Walk:
        """The pass through it."""
        return self.recording.walk(self.read.workers)

    def watched(self) -> AbstractContextManager[None]:
        """Show the progress of the pass."""
        from ptttool.cli.terminal.walking import shown_progress

        return shown_progress(self.walk.progress)

    def failure(self) -> InputError | None:
        """Return the error that a damaged recording is, although all that could be read was given; report its further problems."""
        return failure_of(self.recording)


def end_with(failures: Iterable[PtttoolError | None], *, is_printed: bool) -> None:
    """Raise the first of several errors, if there is one, and report the others; `is_printed`: JSON has them already."""
    found = [failure for failure in failures if failure is not None]
    if found:
        raise PrintedError(first_of(found)) if is_printed else first_of(found)
