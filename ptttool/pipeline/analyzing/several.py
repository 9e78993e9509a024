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
from ptttool.analyses.loss.analysis import Loss
from ptttool.pipeline.analyzing.ask import Ask, captured_by, lacks_of, run
from ptttool.recording.identity import ptt_attribute

LOSS = Loss.name

if TYPE_CHECKING:
    from ptttool.analyses.needs import Captured, Lack
    from ptttool.diagnostics import Diagnostic
    from ptttool.machine.model import Machine
    from ptttool.perfdata.model import Contents
    from ptttool.pipeline.recording import Recording
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
    ask: Ask | None = None,
    walk: Walk | None = None,
    sums: Sums | None = None,
) -> Analyzed:
    """Return what several analyses find in a recording, which is read once.

    Parameters
    ----------
    recording, names, workers, ask, walk
        As :func:`ptttool.pipeline.analyzing.ask.run` takes them.
    sums : Sums or None
        What the recording is added to.

    Raises
    ------
    UsageError
        As :func:`ptttool.pipeline.analyzing.ask.run` does.
    """
    ask = Ask() if ask is None else ask
    # What a condition leaves says nothing of what the event asked for; nor do rows that are not a PTT recording's.
    checks = ask.query is None and LOSS not in names and ptt_attribute(recording.contents) is not None
    answer = run(recording, [*names, LOSS] if checks else names, workers, ask, walk)
    results = answer.results
    signs = results.pop(LOSS).signs if checks else signs_of_loss(recording.contents, went_offline=ask.went_offline)
    found = Analyzed(
        path=recording.path,
        protocol=recording.title,
        results=results,
        lacks={name: lacks_of(recording, name, ask.machine) for name in results},
        problems=tuple(recording.contents.problems),
        findings=tuple(answer.walk.findings.diagnostics()),
        loss=tuple(signs),
        machine=ask.machine,
    )
    if sums is not None:
        sums.add(recording, {name: answer.analyses[name] for name in results}, ask.machine)
    return found
