"""Give unfinished recordings their names."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ptttool.capture.names import sidecar_path, unfinished_in, wanted_name
from ptttool.capture.sidecar import save
from ptttool.capture.unfinished.file import UnfinishedFile
from ptttool.capture.unfinished.leftovers import Leftover, look_at, tidy_sidecars
from ptttool.documents import document
from ptttool.errors import InputError, OutputError, PtttoolError
from ptttool.files.leftovers import sweep

# Names that are tried: FILE, FILE.1, FILE.2, …
_MOST_NAMES = 10_000


class RecoveredRecording(Struct, frozen=True):
    """An unfinished recording that was found, and what became of it.

    Parameters
    ----------
    unfinished : str
        The path of the unfinished file.
    state : str
        ``complete``; ``cut-short``: perf did not finish it; ``empty``: it holds no byte of trace; ``unreadable``: no trace can be read in
        it; ``still-recording``: a process still writes it.
    started : str
        When it was started, or without a sidecar when the file was last changed: wall time, ISO 8601.
    size : int
        Bytes of the file.
    aux_bytes : int
        Bytes of AUX data that can be read.
    tlps : int or None
        Number of TLPs in them; null where the format is not known.
    recording : str or None
        Its path now; null where it was not given a name.
    old : str or None
        The new path of the recording that had the name before.
    sidecar : str or None
        The path of the file beside it.
    """

    unfinished: str
    state: str
    started: str
    size: int
    aux_bytes: int
    tlps: int | None
    recording: str | None = None
    old: str | None = None
    sidecar: str | None = None

    @classmethod
    def of(cls, one: Leftover, recording: Path | None = None, old: Path | None = None) -> RecoveredRecording:
        """Describe an unfinished recording, and what became of it."""
        beside = sidecar_path(one.path if recording is None else recording)
        return RecoveredRecording(
            unfinished=str(one.path),
            state=one.state,
            started=one.started,
            size=one.held.size,
            aux_bytes=one.held.aux_bytes,
            tlps=one.held.tlps,
            recording=None if recording is None else str(recording),
            old=None if old is None else str(old),
            sidecar=str(beside) if beside.is_file() else None,
        )


@document("recover")
class RecoverDocument(Struct, frozen=True):
    """What ``recover --json`` prints.

    Parameters
    ----------
    recordings : tuple of RecoveredRecording
        The unfinished recordings, the oldest first.
    """

    recordings: tuple[RecoveredRecording, ...]


def find_unfinished(path: str | Path) -> list[Leftover]:
    """Find recordings that :func:`ptttool.record` could not finish, because a process was killed or the machine lost power.

    Parameters
    ----------
    path : str or Path
        A folder; the name that a recording was to get; or an unfinished file.

    Returns
    -------
    list of Leftover
        The oldest first; none if there is none.

    Raises
    ------
    InputError, AccessError
        The folder or file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     find_unfinished(folder)
    []
    """
    target = Path(path)
    if wanted_name(target.name) is not None and not target.is_dir():
        return [look_at(target)]
    folder, name = (target, None) if target.is_dir() else (target.parent, target.name)
    try:
        paths = unfinished_in(folder, name)
    except OSError as error:
        raise InputError(folder, error.strerror or str(error)) from None
    leftovers = []
    for unfinished in paths:
        try:
            leftovers.append(look_at(unfinished))
        except InputError as error:
            if error.code != "no-such-file":  # it has just got its name
                raise
    return leftovers


def tidy(target: Path) -> None:
    """Finish what killed runs began: sidecars get the names of their recordings, and temporary files are removed.

    Parameters
    ----------
    target : Path
        As for :func:`find_unfinished`.
    """
    path = target if target.is_dir() else target.absolute().parent
    with suppress(OSError):
        tidy_sidecars(path)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            sweep(folder)
        finally:
            os.close(folder)


def recover_recording(leftover: Leftover, *, force: bool = False) -> RecoveredRecording:
    """Give an unfinished recording its name.

    Parameters
    ----------
    leftover : Leftover
        The recording, from :func:`find_unfinished`.
    force : bool
        Take the wanted name in any case: a recording that has it becomes ``NAME.old``. Without: the first free one of ``NAME``,
        ``NAME.1``, ``NAME.2``, …

    Returns
    -------
    RecoveredRecording
        Without ``recording`` where the file holds no byte of trace; it then stays as it is.

    Raises
    ------
    InputError
        ``still-recording``: a process still writes it.
    OutputError
        The file system refuses.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [recover_recording(one).recording for one in find_unfinished(f"{folder}/perf.data")]
    []
    """
    if leftover.being_written:
        raise InputError(
            leftover.path, "still being recorded", hint="wait until that has ended, or end it with Ctrl-C", code="still-recording"
        )
    if leftover.held.holds_none:
        return RecoveredRecording.of(leftover)
    with UnfinishedFile(leftover.wanted, leftover.path.name) as file:
        try:
            recording, old = _named(file, force)
        except OSError as error:
            raise OutputError(f"{leftover.path}: it cannot be given a name: {error.strerror}") from None
        if leftover.sidecar is not None:
            with suppress(OSError, PtttoolError):  # the one of before the recording is there
                save(recording, leftover.sidecar, file=file.through_proc)
    return RecoveredRecording.of(leftover, recording, old)


def _named(file: UnfinishedFile, force: bool) -> tuple[Path, Path | None]:
    output = file.wanted
    if force:
        old = file.take_name(output.name)
        return output, None if old is None else output.with_name(old)
    for number in range(_MOST_NAMES):
        name = f"{output.name}.{number}" if number else output.name
        with suppress(FileExistsError):
            file.take_name(name, keep_old=False)
            return output.with_name(name), None
    raise OSError(0, f"{output.name} and all names like {output.name}.1 are taken")
