"""Folders of recordings: the files in a folder that are recordings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ptttool.budget import over_budget
from ptttool.capture.series.manifest import is_series, problems_of, recordings_of
from ptttool.diagnostics import Diagnostic
from ptttool.errors import AccessError, InputError
from ptttool.files.packed.look import first_bytes
from ptttool.files.remote import is_remote
from ptttool.perfdata.layout import MAGIC
from ptttool.recording.budget import MAX_RECORDINGS

# The file of a folder that perf itself wrote: such a folder is one recording.
_MAIN_FILE = "data"


def with_folders(paths: Sequence[str], report: Callable[[Diagnostic], None] | None = None) -> list[str]:
    """Return paths of recordings, where a folder of recordings stands for those in it.

    A folder that ``perf record`` wrote is one recording. Of any other one, all files count that begin as a perf.data does, sorted by name;
    its subfolders are not looked at. The file of a series (``NAME.series.json``) stands for the recordings of its runs.

    Parameters
    ----------
    paths : sequence of str
        Files, folders, addresses, and ``-``.
    report : Callable or None
        Called with what is missing of a series.

    Raises
    ------
    InputError
        A folder holds no recording (code ``no-recording``), or too many (``over-budget``).
    AccessError
        A folder may not be read.
    """
    return [recording for path in paths for recording in _expanded(path, report)]


def _expanded(path: str, report: Callable[[Diagnostic], None] | None) -> Iterable[str]:
    if _is_folder_of_recordings(path):
        return _in_folder(path)
    if not is_series(path):
        return [path]
    if report is not None:
        for problem in problems_of(path):
            report(problem)
    return recordings_of(path)


def _is_folder_of_recordings(path: str) -> bool:
    return path != "-" and not is_remote(path) and os.path.isdir(path) and not os.path.exists(os.path.join(path, _MAIN_FILE))  # noqa: PTH110, PTH112, PTH118 - False where it may not be looked at


def _in_folder(path: str) -> list[str]:
    try:
        names = sorted(entry.name for entry in os.scandir(path) if entry.is_file())
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror}", code="input-not-permitted") from None
    except OSError as error:
        raise InputError(path, error.strerror or "cannot be read", code="cannot-read") from None
    recordings: list[str] = []
    for recording in _recordings(Path(path), names):
        recordings.append(recording)
        if len(recordings) > MAX_RECORDINGS:
            raise over_budget(path, "the folder's recordings", MAX_RECORDINGS, "recordings", hint="name some of them")
    if not recordings:
        raise InputError(path, "a folder that holds no recording", hint="name the recordings, or their folder", code="no-recording")
    return recordings


def _recordings(folder: Path, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        with suppress(OSError), (folder / name).open("rb") as file:  # one that cannot be read is no recording as far as can be seen
            if first_bytes(file, len(MAGIC)) == MAGIC:
                yield str(folder / name)
