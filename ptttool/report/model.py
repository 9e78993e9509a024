"""What a report holds, for any medium."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import ClassVar

from msgspec import Struct

from ptttool.analyses.needs import Lack
from ptttool.analyses.shown import Part
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import ErrorBody, document


class Advice(Struct, frozen=True):
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
    evidence: Mapping[str, object] = {}

    def command_for(self, path: str) -> str | None:
        """Return the command for a recording, as a shell takes it."""
        return None if self.command is None else re.sub(r"\bFILE\b", lambda _: shlex.quote(path), self.command)


class Glance(Struct, frozen=True):
    """A number that a reader looks for first.

    Parameters
    ----------
    label : str
        What it is.
    value : str
        The number, with its unit.
    analysis : str
        The analysis that it comes from.
    amount : float
        The number itself, to sort by.
    detail : str
        What else belongs to it.
    severity : Severity or None
        How bad it is; None where it is neither good nor bad.
    """

    label: str
    value: str
    analysis: str
    amount: float
    detail: str = ""
    severity: Severity | None = None


def around(index: int) -> str:
    """Return the command that shows a TLP among its neighbours; FILE stands for the recording."""
    return f"ptttool decode FILE --at {index} --context 20"


class Chapter(Struct, frozen=True):
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
    lacks : sequence of Lack
        What cannot be seen in this recording.
    also : Mapping[str, int]
        How many facts and notes of other chapters hold here, too, by their analysis: they stand there.
    """

    analysis: str
    title: str
    question: str
    parts: Sequence[Part] = ()
    lacks: Sequence[Lack] = ()
    also: Mapping[str, int] = {}


class ReportedRecording(Struct, frozen=True):
    """What was found in one recording.

    Parameters
    ----------
    path : str
        The recording.
    protocol : str or None
        What it was decoded as; None if it could not be read.
    records : int
        Number of TLPs, or of elements of a packet trace.
    results : Mapping[str, object]
        The results by the name of the analysis; the document of that name says what is in each.
    lacks : Mapping[str, sequence of Lack]
        What each analysis cannot see in this recording.
    advice : sequence of Advice
        What to do next, the most important first.
    diagnostics : sequence of Diagnostic
        What is odd about the recording.
    error : ErrorBody or None
        What ended reading early; the results are those of the part before.
    noun : str
        What a row is.
    facts : sequence of (str, str)
        Where it comes from, each fact with its label.
    chapters : sequence of Chapter
        The results as people see them, in the order of a report.
    glances : sequence of Glance
        The numbers that a reader looks for first.
    devices : sequence of str
        The devices that move most, with their names where these are known: ``nvme0 (01:00.0)``.
    """

    json_name: ClassVar = "RecordingBody"
    json_omits_none: ClassVar = ("error",)
    json_hides: ClassVar = ("noun", "facts", "chapters", "glances", "devices")

    path: str
    protocol: str | None = None
    records: int = 0
    results: Mapping[str, object] = {}
    lacks: Mapping[str, Sequence[Lack]] = {}
    advice: Sequence[Advice] = ()
    diagnostics: Sequence[Diagnostic] = ()
    error: ErrorBody | None = None
    noun: str = "TLP"
    facts: Sequence[tuple[str, str]] = ()
    chapters: Sequence[Chapter] = ()
    glances: Sequence[Glance] = ()
    devices: Sequence[str] = ()


@document("report")
class ReportDocument(Struct, frozen=True):
    """What all analyses found in some recordings.

    Parameters
    ----------
    recordings : list of ReportedRecording
        The recordings, in the order given.
    """

    recordings: list[ReportedRecording]
