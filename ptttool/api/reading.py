"""Recordings one after the other: each is opened, asked, and closed, and what is wrong with one does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from ptttool.api.recording import Recording
from ptttool.errors import AccessError, InputError, PtttoolError
from ptttool.pipeline.analyzing.ask import Ask, ask_of

if TYPE_CHECKING:
    from ptttool.analyses.compare.comparison import Comparison
    from ptttool.analyses.follow import Follow
    from ptttool.machine.model import Machine
    from ptttool.pipeline.analyzing.several import Analyzed, RecordingSums
    from ptttool.pipeline.recording import Request
    from ptttool.pipeline.summary import RecordingSummary

T = TypeVar("T")


class Reading:
    """How recordings are read, and what analyses of them are to know.

    Parameters
    ----------
    request : Request
        As what they are read; its path counts where none is given.
    ask : Ask
        How they are analyzed, as far as that does not depend on the recording.
    where : str or None
        The condition.
    """

    def __init__(self, request: Request, ask: Ask, where: str | None = None) -> None:
        self.request = request
        self.workers = ask.workers
        self._ask = ask
        self._where = where

    def opened(self, path: str | None = None) -> Recording:
        """Open a recording; errors are those of :func:`ptttool.open`."""
        return Recording(self.request if path is None else replace(self.request, path=path))

    def machine(self, recording: Recording) -> Machine | None:
        """Return the machine that was recorded."""
        return recording.machine

    def failure(self, recording: Recording) -> InputError | None:
        """Return the error that a damaged recording is, although all that could be read was given."""
        return next(iter(recording.damage), None)

    def ask(self, recording: Recording) -> Ask:
        """Return how a recording is analyzed."""
        return ask_of(recording, self._ask, self._where, self.machine(recording))

    def found(self, recording: Recording, look: Callable[[Recording, Ask], T]) -> tuple[T, InputError | None]:
        """Return what is found in a recording, and the error that it is if it is damaged."""
        return look(recording, self.ask(recording)), self.failure(recording)

    def summary(self, recording: Recording) -> tuple[RecordingSummary, InputError | None]:
        """Return what a recording holds, summed up."""
        from ptttool.pipeline.summary import summarize

        return self.found(recording, partial(summarize, sidecar=recording.sidecar))

    def analyzed(self, recording: Recording, names: Sequence[str], sums: RecordingSums | None = None) -> tuple[Analyzed, InputError | None]:
        """Return what several analyses find in a recording, and add it to the sums of several recordings."""
        from ptttool.pipeline.analyzing.ask import checked
        from ptttool.pipeline.analyzing.several import analyze_recording

        for name in names:
            checked(recording, name)
        return self.found(recording, partial(analyze_recording, names=names, sums=sums))

    def followed(self, recording: Recording, index: int) -> tuple[Follow, InputError | None]:
        """Return the transaction of a TLP."""
        from ptttool.pipeline.analyzing.follow import follow

        return self.found(recording, partial(follow, index=index))

    def comparison(self, first: Sequence[str], second: Sequence[str], parts: int) -> tuple[Comparison, list[PtttoolError]]:
        """Return in what the recordings of two sides differ, and the errors of damaged ones."""
        from ptttool.analyses.compare.comparison import compare
        from ptttool.pipeline.analyzing.compare import measure

        found, failures = self.each([*first, *second], lambda one: self.found(one, measure))
        return compare(found[: len(first)], found[len(first) :], parts), failures

    def each(
        self,
        paths: Sequence[str],
        look: Callable[[Recording], tuple[T, PtttoolError | None]],
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
        results: list[T] = []
        failures: list[PtttoolError] = []
        for path in paths:
            try:
                with self.opened(path) as recording:
                    what, failure = look(recording)
            except (InputError, AccessError) as error:
                if unread is None:
                    raise
                what, failure = unread(path, error), error
            results.append(what)
            failures += [] if failure is None else [failure]
        return results, failures
