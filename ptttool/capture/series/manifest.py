"""The file of a series: its runs, their recordings, how far each came."""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ptttool.capture.budget import MAX_SERIES_BYTES, MAX_SERIES_RUNS
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document, dumps
from ptttool.errors import AccessError, InputError
from ptttool.files.local import open_regular
from ptttool.files.remote import beside, is_remote, is_there, path_in, read_small
from ptttool.wording import clean, counted, in_words

SUFFIX: Final = ".series.json"
VERSION: Final = 1


class RunState(StrEnum):
    """How far a run of a series came."""

    PLANNED = "planned"
    """It has not begun."""
    RECORDING = "recording"
    """It has begun; where nothing records any more, it was cut off."""
    RECORDED = "recorded"
    """Its recording is complete."""
    FAILED = "failed"
    """It has no recording, or a part of one; ``reason`` says why."""


class SeriesRun(Struct, frozen=True):
    """One run of a series.

    Parameters
    ----------
    name : str
        What it traces, such as ``outbound-np``.
    file : str
        The name of its recording, in the folder of the series.
    event : str
        The event string.
    state : RunState
        How far it came.
    reason : str or None
        Why it has no recording.
    """

    name: str
    file: str
    event: str
    state: RunState = RunState.PLANNED
    reason: str | None = None


class Sought(Struct, frozen=True):
    """What a series of short windows looked for.

    Parameters
    ----------
    condition : str
        The condition on the columns of a TLP.
    window, index : int or None
        The window in which it was true, and the number of its first such TLP; null while none is found.
    """

    condition: str
    window: int | None = None
    index: int | None = None


@document("series")
class Series(Struct, frozen=True):
    """The file ``NAME.series.json`` beside the recordings of a series.

    Parameters
    ----------
    ptttool_series : int
        The version of this format, 1.
    purposes : tuple of str
        The analyses that it was planned for.
    runs : tuple of SeriesRun
        The runs, in order: they were recorded one after another.
    until : Sought or None
        What windows were recorded for (``trace --until``); no key where the runs are of no such search.
    """

    json_omits_none: ClassVar = ("until",)

    ptttool_series: int
    purposes: tuple[str, ...]
    runs: tuple[SeriesRun, ...]
    until: Sought | None = None

    @property
    def missing(self) -> tuple[SeriesRun, ...]:
        """The runs that have no complete recording."""
        return tuple(run for run in self.runs if run.state is not RunState.RECORDED)

    def with_run(self, number: int, state: RunState, reason: str | None = None) -> Series:
        """Return the series with another state of a run."""
        runs = list(self.runs)
        runs[number] = replace(runs[number], state=state, reason=reason)
        return replace(self, runs=tuple(runs))

    def missing_diagnostic(self, where: str) -> Diagnostic | None:
        """Return the warning about runs that are missing; None where all are there."""
        missing = self.missing
        if not missing:
            return None
        numbers = {run.name: number for number, run in enumerate(self.runs, 1)}
        words = in_words(f"{numbers[run.name]} ({clean(run.name)}{f': {clean(run.reason)}' if run.reason else ''})" for run in missing)
        which = f"run {words} is" if len(missing) == 1 else f"runs {words} are"
        message = f"of {counted(len(self.runs), 'run')}, {which} missing"
        return Diagnostic(Severity.WARNING, "runs-missing", message, where=where, details={"missing": [run.name for run in missing]})


def series_path(output: Path) -> Path:
    """Return the path of the file of a series: ``perf.data`` gives ``perf.series.json``."""
    return output.with_name(f"{_stem(output)}{SUFFIX}")


def run_path(output: Path, number: int, name: str) -> Path:
    """Return the path of the recording of a run: ``perf.data`` gives ``perf.2-outbound-np.data``."""
    return output.with_name(f"{_stem(output)}.{number}-{name}.data")


def _stem(output: Path) -> str:
    return output.name.removesuffix(".data") or output.name


def is_series(path: str | Path) -> bool:
    """Return whether a path has the name of the file of a series."""
    return path_in(str(path)).endswith(SUFFIX)


def save(path: Path, series: Series) -> None:
    """Write the file of a series, whole or not at all.

    Raises
    ------
    OutputError, OSError
        It cannot be written.
    """
    from ptttool.files.atomic import output_file

    with output_file(path, force=True) as file:
        file.write(f"{dumps(series, indent=1)}\n".encode("utf-8", "backslashreplace"))


def load(path: str | Path) -> Series:
    """Read the file of a series.

    Raises
    ------
    InputError
        It is missing, too large or not the file of a series; or it names a file that is not beside it.
    AccessError
        It may not be read.
    """
    text = read_small(str(path), MAX_SERIES_BYTES + 1) if is_remote(str(path)) else _local_text(path)
    if len(text) > MAX_SERIES_BYTES:
        raise InputError(path, f"more than {MAX_SERIES_BYTES:,} bytes: not the file of a series", code="bad-series")
    try:
        series = msgspec.json.decode(text, type=Series)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(path, f"not the file of a series: {clean(str(error))}", code="bad-series") from None
    if series.ptttool_series != VERSION:
        raise InputError(path, f"the file of a series in version {series.ptttool_series}: this ptttool reads {VERSION}", code="bad-series")
    if not 0 < len(series.runs) <= MAX_SERIES_RUNS:
        raise InputError(path, f"a series of {len(series.runs):,} runs: 1 to {MAX_SERIES_RUNS} are read", code="bad-series")
    for run in series.runs:
        if run.file in ("", ".", "..") or "/" in run.file or "\0" in run.file:
            raise InputError(path, f"it names {run.file!r}, which is not a file beside it", code="bad-series")
    return series


def _local_text(path: str | Path) -> bytes:
    try:
        with os.fdopen(open_regular(path, follow=True), "rb") as file:
            return file.read(MAX_SERIES_BYTES + 1)
    except FileNotFoundError:
        raise InputError(path, "no such file", code="no-such-file") from None
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror}", code="input-not-permitted") from None
    except OSError as error:
        raise InputError(path, error.strerror or "cannot be read", code="cannot-read") from None


def _beside(path: str | Path, file: str) -> str:
    """Return the path, or address, of a recording of a series."""
    if is_remote(str(path)):
        return beside(str(path), lambda whole: f"{whole.rpartition('/')[0]}/{file}")
    return str(Path(path).with_name(file))


def _is_there(recording: str) -> bool:
    if is_remote(recording):
        return is_there(recording)
    # A regular file, or a folder of perf: opening a pipe would wait for its other end.
    return Path(recording).is_file() or Path(recording, "data").is_file()


def recordings_of(path: str | Path) -> Iterator[str]:
    """Yield the paths of the recordings of a series that are complete and there.

    Raises
    ------
    InputError
        As :func:`load`; or no recording is there (``no-recording``).
    AccessError
        As :func:`load`.
    """
    series = load(path)
    recordings = [_beside(path, run.file) for run in series.runs if run.state is RunState.RECORDED]
    there = [recording for recording in recordings if _is_there(recording)]
    if not there:
        raise InputError(path, "a series without a recording beside it", hint="its runs were not recorded, or moved", code="no-recording")
    yield from there


def problems_of(path: str | Path) -> list[Diagnostic]:
    """Return what is missing of a series: runs that were not recorded, and recordings that are no longer beside it."""
    series = load(path)
    missing = series.missing_diagnostic(str(path))
    problems = [] if missing is None else [missing]
    for run in series.runs:
        if run.state is RunState.RECORDED and not _is_there(_beside(path, run.file)):
            message = f"{clean(run.file)}, the recording of {clean(run.name)}, is not beside {clean(str(path))}"
            problems.append(Diagnostic(Severity.WARNING, "recording-missing", message, where=str(path)))
    return problems
