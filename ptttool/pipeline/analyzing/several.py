"""Several analyses of several recordings: the results of each recording, and where that is honest their sums.

Times of different recordings do not join, and what happened between two recordings is not known. So only analyses that say so
(``Analysis.sums_recordings``) are summed up, and only over recordings that were asked for the same TLPs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.analyses.loss import signs_of_loss
from ptttool.pipeline.report import captured_by, lacks_of, result_of, run_all

if TYPE_CHECKING:
    from ptttool.analyses.needs import Captured, Lack
    from ptttool.diagnostics import Diagnostic
    from ptttool.machine.model import Machine
    from ptttool.perfdata.model import Contents
    from ptttool.pipeline.query import Query
    from ptttool.pipeline.recording import Recording
    from ptttool.pipeline.scope import TimeOptions
    from ptttool.pipeline.walk import Walk
    from ptttool.pipeline.workers.pool import Workers


class NotSummed(StrEnum):
    """Why an analysis has no sum over several recordings."""

    EACH = "each-recording"
    """Its result is of one recording: times do not join, or it looks at the recording itself."""
    OTHER_EVENT = "other-event"
    """The recordings were asked for other TLPs, in another format, or are of other protocols."""
    FEW = "one-recording"
    """Fewer than two recordings could be read."""


@dataclass(frozen=True)
class Analyzed:
    """The results of one recording.

    Parameters
    ----------
    path : str
        The recording.
    protocol : str
        What it was decoded as.
    results : Mapping[str, object]
        The results, by name of the analysis.
    lacks : Mapping[str, list of Lack]
        What each analysis cannot see.
    problems, findings : tuple of Diagnostic
        What is damaged in the recording, and what decoding found odd.
    loss : tuple of Diagnostic
        Signs that trace data are missing, the worst first.
    machine : Machine or None
        The machine that was recorded.
    """

    path: str
    protocol: str
    results: Mapping[str, Any]
    lacks: Mapping[str, list[Lack]]
    problems: tuple[Diagnostic, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    loss: tuple[Diagnostic, ...] = ()
    machine: Machine | None = None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything that is odd about the recording."""
        return (*self.problems, *self.findings)


@dataclass
class Sums:
    """Results of several recordings together: analyses are added as the recordings are read.

    Parameters
    ----------
    names : tuple of str
        Names of the analyses.
    machine : Machine or None
        The machine that all of the recordings are of, where it is known.
    """

    names: tuple[str, ...]
    machine: Machine | None = None
    _parts: dict[str, Analysis[Any]] = field(default_factory=dict)
    _contents: Contents | None = None
    _about: tuple[str, Captured] | None = None
    _is_alike: bool = True
    _count: int = 0

    def add(self, recording: Recording, parts: Mapping[str, Analysis[Any]], machine: Machine | None) -> None:
        """Add a recording; its analyses are not to be used afterwards."""
        about = (recording.title, captured_by(recording, machine))
        self._count += 1
        if self._about is None or self._contents is None:
            self._about, self._contents, self.machine = about, recording.contents, machine
            self._parts = {name: part for name, part in parts.items() if part.sums_recordings}
            return
        self._is_alike = self._is_alike and about == self._about
        self.machine = self.machine if self.machine == machine else None
        if self._is_alike:
            for name, part in self._parts.items():
                part.add_recording(parts[name])

    def results(self) -> dict[str, Any]:
        """Return the results of the recordings together, by name of the analysis."""
        if self._count < 2 or not self._is_alike or self._contents is None:
            return {}
        context = AnalysisContext("", self._contents, self.machine)
        return {name: part.result(context) for name, part in self._parts.items()}

    def reasons(self) -> dict[str, NotSummed]:
        """Return why the other analyses have none."""
        summed = self.results()
        left = [name for name in self.names if name not in summed]
        return {
            name: NotSummed.EACH if not ANALYSES.get(name).sums_recordings else NotSummed.FEW if self._count < 2 else NotSummed.OTHER_EVENT
            for name in left
        }


def analyze_recording(
    recording: Recording,
    names: Sequence[str],
    workers: Workers,
    *,
    walk: Walk | None = None,
    machine: Machine | None = None,
    query: Query | None = None,
    went_offline: Sequence[int] = (),
    time: TimeOptions | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    sums: Sums | None = None,
) -> Analyzed:
    """Return what several analyses find in a recording, which is read once.

    Parameters
    ----------
    recording, names, workers, walk, machine, query, went_offline, time, options
        As :func:`ptttool.pipeline.report.analyze_all` takes them.
    sums : Sums or None
        What the recording is added to.

    Raises
    ------
    UsageError
        As :func:`ptttool.pipeline.report.analyze_all` does.
    """
    walk = recording.walk(workers) if walk is None else walk
    parts = run_all(recording, names, workers, walk, machine=machine, query=query, time=time, options=options)
    found = Analyzed(
        path=recording.path,
        protocol=recording.title,
        results={name: result_of(part, recording, walk, machine, went_offline) for name, part in parts.items()},
        lacks={name: lacks_of(recording, name, machine) for name in parts},
        problems=tuple(recording.contents.problems),
        findings=tuple(walk.findings.diagnostics()),
        loss=tuple(signs_of_loss(recording.contents, went_offline=went_offline)),
        machine=machine,
    )
    if sums is not None:
        sums.add(recording, parts, machine)
    return found
