"""Several analyses of several recordings: the results of each recording, and where that is honest their sums.

Times of different recordings do not join, and what happened between two recordings is not known. So only analyses that say so
(``Analysis.sums_recordings``) are summed up, and only over recordings that were asked for the same TLPs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.analyses.loss import signs_of_loss
from ptttool.analyses.loss.analysis import Loss
from ptttool.analyses.needs import Lack
from ptttool.diagnostics import Diagnostic
from ptttool.documents import ErrorBody, document
from ptttool.machine.model import Machine
from ptttool.pipeline.analyzing.ask import Ask, captured_by, lacks_of, run
from ptttool.recording.identity import ptt_attribute

LOSS = Loss.name

if TYPE_CHECKING:
    from ptttool.analyses.needs import Captured
    from ptttool.perfdata.model import Contents
    from ptttool.pipeline.recording import OpenRecording


class NotSummed(StrEnum):
    """Why an analysis has no sum over several recordings."""

    EACH = "each-recording"
    """Its result is of one recording: times do not join, or it looks at the recording itself."""
    OTHER_EVENT = "other-event"
    """The recordings were asked for other TLPs, in another format, or are of other protocols."""
    FEW = "one-recording"
    """Fewer than two recordings could be read."""


class Analyzed(Struct, frozen=True):
    """What several analyses found in one of several recordings.

    Parameters
    ----------
    path : str
        The recording.
    protocol : str or None
        What it was decoded as; null if it could not be read.
    results : Mapping[str, object]
        The result of each analysis, by its name; empty if the recording could not be read.
    lacks : Mapping[str, list of Lack]
        What each analysis cannot see in this recording.
    diagnostics : tuple of Diagnostic
        What is odd about the recording.
    loss : tuple of Diagnostic
        Signs that trace data are missing from it, the worst first.
    error : ErrorBody or None
        Why it could not be read, or not to its end.
    findings : tuple of Diagnostic
        The diagnostics that decoding gave; the others are of what is damaged.
    machine : Machine or None
        The machine that was recorded.
    """

    json_name: ClassVar = "RecordingResults"
    json_hides: ClassVar = ("findings", "machine")
    json_types: ClassVar = {"results": Mapping[str, object]}

    path: str
    protocol: str | None = None
    results: Mapping[str, Any] = {}
    lacks: Mapping[str, list[Lack]] = {}
    diagnostics: tuple[Diagnostic, ...] = ()
    loss: tuple[Diagnostic, ...] = ()
    error: ErrorBody | None = None
    findings: tuple[Diagnostic, ...] = ()
    machine: Machine | None = None


@document("analyze")
class AnalyzeDocument(Struct, frozen=True):
    """What an analysis found in a recording: the keys of its result, and those of the recording.

    Parameters
    ----------
    result : object
        The result's keys are keys of this object; the document of the analysis says what they are.
    path : str
        The recording.
    protocol : str
        What it was decoded as.
    analysis : str
        Name of the analysis.
    lacks : list of Lack
        What the analysis cannot see in this recording.
    diagnostics : tuple of Diagnostic
        What is odd about the recording.
    loss : tuple of Diagnostic
        Signs that trace data are missing from the recording, the worst first.
    error : ErrorBody or None
        With what the command ends; the result is that of the part before.
    """

    json_omits_none: ClassVar = ("error",)
    json_merges: ClassVar = ("result",)

    result: object
    path: str
    protocol: str
    analysis: str
    lacks: list[Lack]
    diagnostics: tuple[Diagnostic, ...]
    loss: tuple[Diagnostic, ...]
    error: ErrorBody | None = None


@document("analyze-several")
class AnalyzedRecordings(Struct, frozen=True):
    """What several analyses found, or analyses of several recordings.

    Parameters
    ----------
    recordings : tuple of Analyzed
        The recordings, in order.
    sums : Mapping[str, object]
        Results of all recordings together, by name of the analysis, where recordings can be summed up.
    not_summed : Mapping[str, str]
        Why the other analyses have no sum: ``each-recording`` (times of different recordings do not join), ``other-event`` (they were
        asked for other TLPs), ``one-recording``.
    """

    json_types: ClassVar = {"sums": Mapping[str, object]}

    recordings: tuple[Analyzed, ...]
    sums: Mapping[str, Any] = {}
    not_summed: Mapping[str, str] = {}


class RecordingSums(Struct):
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
    _parts: dict[str, Analysis[Any]] = {}
    _contents: Contents | None = None
    _about: tuple[str, Captured] | None = None
    _is_alike: bool = True
    _count: int = 0

    def add(self, recording: OpenRecording, parts: Mapping[str, Analysis[Any]], machine: Machine | None) -> None:
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

    @property
    def _summed(self) -> dict[str, Analysis[Any]]:
        return self._parts if self._count > 1 and self._is_alike else {}

    def results(self) -> dict[str, Any]:
        """Return the results of the recordings together, by name of the analysis."""
        if self._contents is None:
            return {}
        context = AnalysisContext("", self._contents, self.machine)
        return {name: part.result(context) for name, part in self._summed.items()}

    def document(self, done: Sequence[Analyzed]) -> AnalyzedRecordings:
        """Return what was found in each recording, and in all of them together."""
        return AnalyzedRecordings(tuple(done), self.results(), {name: str(reason) for name, reason in self.reasons().items()})

    def reasons(self) -> dict[str, NotSummed]:
        """Return why the other analyses have none."""
        left = [name for name in self.names if name not in self._summed]
        return {
            name: NotSummed.EACH if not ANALYSES.get(name).sums_recordings else NotSummed.FEW if self._count < 2 else NotSummed.OTHER_EVENT
            for name in left
        }


def analyze_recording(
    recording: OpenRecording,
    ask: Ask,
    names: Sequence[str],
    sums: RecordingSums | None = None,
) -> Analyzed:
    """Return what several analyses find in a recording, which is read once.

    Parameters
    ----------
    recording, ask
        As :func:`ptttool.pipeline.analyzing.ask.run` takes them.
    names : sequence of str
        Names of the analyses.
    sums : RecordingSums or None
        What the recording is added to.

    Raises
    ------
    UsageError
        As :func:`ptttool.pipeline.analyzing.ask.run` does.
    """
    # What a condition leaves says nothing of what the event asked for; nor do rows that are not a PTT recording's.
    checks = ask.query is None and LOSS not in names and ptt_attribute(recording.contents) is not None
    answer = run(recording, ask, [*names, LOSS] if checks else names)
    results = answer.results
    signs = results.pop(LOSS).signs if checks else signs_of_loss(recording.contents, went_offline=ask.went_offline)
    findings = tuple(recording.findings.diagnostics())
    outcome = Analyzed(
        path=recording.path,
        protocol=recording.title,
        results=results,
        lacks={name: lacks_of(recording, name, ask.machine) for name in results},
        diagnostics=(*recording.contents.problems, *findings),
        loss=tuple(signs),
        findings=findings,
        machine=ask.machine,
    )
    if sums is not None:
        sums.add(recording, {name: answer.analyses[name] for name in results}, ask.machine)
    return outcome
