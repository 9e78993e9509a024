"""Read recordings for a command: the machine of each, what is not known of it, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from ptttool.api.reading import Reading
from ptttool.api.recording import Ask, OpenRecording, Recording, Request, TimeOptions
from ptttool.capture.names import sidecar_path
from ptttool.cli.terminal.talk import PrintedError, note, warn
from ptttool.cli.terminal.walking import shown_progress
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import InputError, PtttoolError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.cli.options.reading import Origin
    from ptttool.machine.model import Machine
    from ptttool.pipeline.workers.pool import Workers

E = TypeVar("E", bound=PtttoolError)

# Recordings of which it was said already what is not known.
_SAID: WeakSet[OpenRecording] = WeakSet()


class Recordings(Reading):
    """Recordings as a command reads them: with the machine that the user names, and with messages on standard error.

    Parameters
    ----------
    request : Request
        As what they are read; its path counts where none is given.
    workers : Workers
        Who decodes.
    origin : Origin
        The options that name a machine.
    where : str or None
        The condition.
    time : TimeOptions or None
        What the user says of time.
    options : Mapping or None
        Options of analyses, by name of the analysis.
    details : bool
        Whether addresses and settings of the functions of that machine are read, too; a sidecar has them already.
    """

    def __init__(
        self,
        request: Request,
        workers: Workers,
        origin: Origin,
        where: str | None = None,
        time: TimeOptions | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        details: bool = False,
    ) -> None:
        super().__init__(request, Ask(workers, time=time or TimeOptions(), options=options or {}, watch=shown_progress), where)
        self._origin = origin
        self._details = details

    def machine(self, recording: Recording) -> Machine | None:
        """Return the machine that was recorded: the user's, by which directions of TLPs are then found, else that of the sidecar.

        What is not known for want of a sidecar is reported on standard error.
        """
        if self._origin.is_named and recording.topology is None:
            recording.topology = recording.part_of(self._origin.machine(details=self._details))
        say_what_is_lacking(recording, is_named=self._origin.is_named)
        return recording.machine

    def failure(self, recording: Recording) -> InputError | None:
        """Return the error that a damaged recording is, although all that could be read was given; report its further problems."""
        return first_of(recording.damage)


def first_of(failures: Sequence[E]) -> E | None:
    """Return the first of several errors, if there is one; report the others."""
    for failure in failures[1:]:
        warn(clean(str(failure)))
    return failures[0] if failures else None


def end_with(failures: Iterable[PtttoolError | None], *, is_printed: bool) -> None:
    """Raise the first of several errors, if there is one, and report the others; `is_printed`: JSON has them already."""
    failure = first_of([each for each in failures if each is not None])
    if failure is not None:
        raise PrintedError(failure) if is_printed else failure


def say_what_is_lacking(recording: OpenRecording, path: str | None = None, *, is_named: bool = False) -> None:
    """Report once that names of devices, or directions of TLPs, are not known, and the sidecar that would tell them.

    Parameters
    ----------
    recording : OpenRecording
        The recording; its topology is the machine's that is known.
    path : str or None
        Its name, where there are several.
    is_named : bool
        Whether the user has named a machine.
    """
    if recording in _SAID or not recording.is_ptt:
        return
    _SAID.add(recording)
    sidecar, problem = (None, None) if is_named else recording.beside
    lacks_buses = recording.lacks_buses
    if problem is None and not lacks_buses:
        return
    reason = None if problem is None else problem.message
    if sidecar is None and problem is None and not is_named and recording.path != "-":
        reason = f"there is no {sidecar_path(recording.path)}"
    lacking = ["no names of devices"] if sidecar is None and not is_named else []
    lacking += ["the direction of TLPs is not known, which --downstream BUSES would tell"] if lacks_buses else []
    text = ": ".join(part for part in (path, reason, " and ".join(lacking)) if part)
    (warn if lacks_buses or (problem is not None and problem.severity is Severity.WARNING) else note)(clean(text))


def report_loss(recording: OpenRecording, path: str | None) -> None:
    """Report the signs of loss in a recording that was read to its end, on standard error."""
    from ptttool.analyses.loss import signs_of_loss

    for sign in signs_of_loss(recording.contents):
        if sign.severity is not Severity.INFO:
            show_diagnostic(sign, path)


def report_end(recording: OpenRecording, records: int, path: str | None = None) -> None:
    """Report the signs of loss in a PTT recording that was read to its end, or that it is empty."""
    if recording.is_ptt and records:
        report_loss(recording, path)
    elif recording.is_ptt and not recording.contents.problems:
        warn_of_no_tlp(path)


def warn_of_no_tlp(path: str | None = None) -> None:
    """Report that a PTT recording is empty."""
    name = "" if path is None else f"{path}: "
    warn(clean(f"{name}the recording holds no TLP; 'ptttool info' lists possible causes"))


def show_diagnostic(diagnostic: Diagnostic, path: str | None = None) -> None:
    """Report a diagnostic on standard error, after the name of the recording where there are several."""
    text = clean(diagnostic.message if path is None else f"{path}: {diagnostic.message}")
    (note if diagnostic.severity is Severity.INFO else warn)(text)
