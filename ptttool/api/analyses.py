"""Several recordings for Python: ``ptttool.analyze(paths, names)``, ``ptttool.compare(first, second)``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptttool.analyses.budget import MAX_COMPARED
from ptttool.api import listed
from ptttool.api.reading import Reading
from ptttool.api.recording import request_of
from ptttool.errors import UsageError
from ptttool.pipeline.analyzing.ask import Ask
from ptttool.pipeline.analyzing.several import (
    Analyzed,
    AnalyzeDocument,
    AnalyzedRecordings,
    NotSummed,
    RecordingSums,
)
from ptttool.pipeline.scope import TimeOptions
from ptttool.pipeline.workers.pool import workers_for
from ptttool.recording.folders import with_folders

if TYPE_CHECKING:
    from ptttool.analyses.compare.comparison import Comparison

__all__ = [
    "AnalyzeDocument",
    "Analyzed",
    "AnalyzedRecordings",
    "NotSummed",
    "RecordingSums",
    "analyze",
    "compare",
    "sides_of",
    "with_folders",
]


def analyze(
    paths: str | Path | Sequence[str | Path],
    names: str | Sequence[str],
    *,
    where: str | None = None,
    protocol: str | None = None,
    parameters: Mapping[str, object] | None = None,
    time_model: str = "auto",
    tick_ns: float | None = None,
    jobs: int = 1,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> AnalyzedRecordings:
    """Run several analyses over several recordings, each of which is read once.

    Parameters
    ----------
    paths : str, Path, or sequence of them
        Recordings, or folders of recordings.
    names : str or sequence of str
        Names of analyses: some of ``ptttool.ANALYSES.names()``.
    where : str or None
        Only rows for which this SQL condition is true.
    protocol, parameters
        As :func:`ptttool.open` takes them.
    time_model : str
        How the Time field of TLPs is read: ``counter``, ``delta``, or ``auto`` to see from each recording.
    tick_ns : float or None
        Nanoseconds of a tick of Time.
    jobs : int
        Processes that decode.
    options : Mapping or None
        Options of the analyses, by name of the analysis.

    Returns
    -------
    AnalyzedRecordings
        The results of each recording, and where that is honest of all together.

    Raises
    ------
    UsageError
        An analysis is unknown, or needs columns that a recording does not have (code ``missing-columns``); the condition means nothing.
    InputError
        A recording is missing or is none; a folder holds no recording.
    AccessError
        A recording may not be read.

    Examples
    --------
    >>> found = ptttool.analyze(["fixtures/captures/6.12/m-8dw-port10-type7-dir2.data"], ["summary", "loss"])
    >>> found.recordings[0].results["summary"].records
    5569
    """
    files = _files(paths)
    analyses = listed(names)
    sums = RecordingSums(analyses)
    with workers_for(files, jobs) as workers:
        ask = Ask(workers, time=TimeOptions(time_model, tick_ns), options=options or {})
        read = Reading(request_of(protocol, parameters), ask, where)
        done, _ = read.each(files, lambda one: read.analyzed(one, analyses, sums))
    return sums.document(done)


def sides_of(first: str | Path | Sequence[str | Path], second: str | Path | Sequence[str | Path]) -> tuple[list[str], list[str]]:
    """Return the recordings of the two sides of a comparison.

    Parameters
    ----------
    first, second : str, Path, or sequence of them
        Recordings, or folders of recordings.

    Raises
    ------
    UsageError
        A side has none (code ``no-recordings``) or too many (``too-many-recordings``); with several of a side, a recording stands twice
        (``same-recording``), which would count as two.
    InputError
        A folder holds no recording.
    """
    sides = _files(first), _files(second)
    for name, side in zip("AB", sides, strict=True):
        if not side:
            raise UsageError(f"side {name} has no recording", code="no-recordings")
        if len(side) > MAX_COMPARED:
            hint = f"up to {MAX_COMPARED} are compared"
            raise UsageError(f"side {name} has {len(side):,} recordings", hint=hint, code="too-many-recordings")
    if len(sides[0]) + len(sides[1]) > 2:
        places: dict[object, str] = {}
        for path in (*sides[0], *sides[1]):
            earlier = places.setdefault(_place(path), path)
            if earlier is not path:
                also = "" if earlier == path else f" (also {earlier})"
                raise UsageError(
                    f"{path}{also} stands twice",
                    hint="each recording counts once: one more says something only if it was recorded by itself",
                    code="same-recording",
                    path=path,
                )
    return sides


def _files(paths: str | Path | Sequence[str | Path]) -> list[str]:
    return with_folders([str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)])


def _place(path: str) -> object:
    """Return what is the same for two names of one file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - an address is no path
    except (OSError, ValueError):
        return path
    return status.st_dev, status.st_ino


def compare(
    first: str | Path | Sequence[str | Path],
    second: str | Path | Sequence[str | Path],
    *,
    where: str | None = None,
    parts: int = 32,
    parameters: Mapping[str, object] | None = None,
    time_model: str = "auto",
    tick_ns: float | None = None,
    jobs: int = 1,
) -> Comparison:
    """Compare recordings of TLPs of two sides, such as before and after a change; the recording is the unit.

    Parameters
    ----------
    first, second : str, Path, or sequence of them
        The recordings of each side, or folders of them.
    where : str or None
        Only rows for which this SQL condition is true.
    parts : int
        Parts that each recording is cut into, at most, to describe one recording a side.
    parameters : Mapping or None
        As :func:`ptttool.open` takes them.
    time_model, tick_ns, jobs
        As for :func:`analyze`.

    Returns
    -------
    Comparison
        The recordings, warnings where they may not be comparable, totals, and measures; ``changes`` are those that differ. So few
        recordings that no difference could be found have no verdict.

    Raises
    ------
    UsageError
        A recording is not of TLPs (code ``no-tlps``), or stands twice (``same-recording``), or is one too many; the condition means
        nothing.
    InputError
        A recording is missing or is none.
    AccessError
        A recording may not be read.

    Examples
    --------
    >>> path = "fixtures/captures/6.12/m-8dw-port10-type7-dir2.data"
    >>> ptttool.compare(path, path).changes
    []
    """
    sides = sides_of(first, second)
    with workers_for([*sides[0], *sides[1]], jobs) as workers:
        read = Reading(request_of(None, parameters), Ask(workers, time=TimeOptions(time_model, tick_ns)), where)
        return read.comparison(*sides, parts)[0]
