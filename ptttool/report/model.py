"""What a report holds, for any medium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ptttool.analyses.shown import Part
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import OMIT_NONE, ErrorBody, document


@dataclass(frozen=True)
class Advice:
    """What to do next, and the number that it follows from.

    Parameters
    ----------
    severity : Severity
        How much it matters.
    code : str
        A stable word in kebab case.
    analysis : str
        The analysis whose result it follows from.
    message : str
        What was found, with its number, and what it means.
    command : str or None
        The command to run next; FILE stands for the recording.
    evidence : Mapping[str, object]
        The numbers that it follows from, by name.
    """

    severity: Severity
    code: str
    analysis: str
    message: str
    command: str | None = None
    evidence: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Lack:
    """An analysis that could not answer.

    Parameters
    ----------
    message : str
        What the recording lacks.
    hint : str or None
        What brings it.
    code : str
        A stable word in kebab case.
    """

    message: str
    hint: str | None
    code: str


@dataclass(frozen=True)
class Chapter:
    """One analysis of a recording, as people see it.

    Parameters
    ----------
    analysis : str
        Name of the analysis.
    title : str
        Its heading.
    question : str
        What it answers.
    parts : sequence of Part
        What there is to see.
    lack : Lack or None
        Why there is nothing to see.
    """

    analysis: str
    title: str
    question: str
    parts: Sequence[Part] = ()
    lack: Lack | None = None


@dataclass(frozen=True)
class ReportedRecording:
    """What was found in one recording.

    Parameters
    ----------
    path : str
        The recording.
    protocol : str
        What it was decoded as.
    records : int
        Number of rows.
    noun : str
        What a row is.
    facts : sequence of (str, str)
        Where it comes from, each fact with its label.
    results : Mapping[str, object]
        The results by the name of the analysis.
    lacks : Mapping[str, Lack]
        Why analyses have no result, by their name.
    chapters : sequence of Chapter
        The same as people see it, in the order of a report.
    advice : sequence of Advice
        What to do next, the most important first.
    diagnostics : sequence of Diagnostic
        What is odd about the recording.
    error : ErrorBody or None
        What ended reading early; the results are those of the part before.
    """

    path: str
    protocol: str
    records: int
    noun: str
    facts: Sequence[tuple[str, str]]
    results: Mapping[str, object]
    lacks: Mapping[str, Lack]
    chapters: Sequence[Chapter]
    advice: Sequence[Advice]
    diagnostics: Sequence[Diagnostic] = ()
    error: ErrorBody | None = None


@dataclass(frozen=True)
class RecordingBody:
    """What was found in one recording.

    Parameters
    ----------
    path : str
        The recording.
    protocol : str
        What it was decoded as.
    records : int
        Number of TLPs, or of elements of a packet trace.
    results : Mapping[str, object]
        The results by the name of the analysis; the document of that name says what is in each.
    lacks : Mapping[str, Lack]
        Why the other analyses have no result, by their name.
    advice : list of Advice
        What to do next, the most important first.
    diagnostics : list of Diagnostic
        What is odd about the recording.
    error : ErrorBody or None
        What ended reading early; the results are those of the part before.
    """

    path: str
    protocol: str
    records: int
    results: dict[str, object]
    lacks: dict[str, Lack]
    advice: list[Advice]
    diagnostics: list[Diagnostic]
    error: ErrorBody | None = field(default=None, metadata=OMIT_NONE)

    @classmethod
    def of(cls, reported: ReportedRecording) -> RecordingBody:
        """Return the part of a document that stands for a recording."""
        return cls(
            reported.path, reported.protocol, reported.records, dict(reported.results), dict(reported.lacks), list(reported.advice),
            list(reported.diagnostics), reported.error,
        )  # fmt: skip


@document("report")
@dataclass(frozen=True)
class ReportDocument:
    """What all analyses found in some recordings.

    Parameters
    ----------
    recordings : list of RecordingBody
        The recordings, in the order given.
    """

    recordings: list[RecordingBody]
