"""Build the page: everything of it is in the one file, and it may load nothing."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from ptttool.analyses.drawing.numbers import cell_text, head_text, number_text
from ptttool.analyses.drawing.pieces import way_to, without_empty_columns
from ptttool.analyses.shown import Cell, Column, Facts, Histogram, Part, Table, Timeline, Unit
from ptttool.diagnostics import Severity
from ptttool.report.chapters import FIRST, heading
from ptttool.report.model import Advice, Chapter, ReportedRecording
from ptttool.report.page.assets import FOLDER, scripts, source_hash, styles
from ptttool.report.page.charts import chart_data, chart_words
from ptttool.report.page.limits import MAX_PAGE_BYTES, Limits, estimated, limited, text_of
from ptttool.wording import counted

if TYPE_CHECKING:
    from jinja2 import Environment

# Recordings that have chapters; of further ones a line each is enough.
_MOST_SECTIONS = 50
# Columns of the table of all recordings.
_MOST_LABELS = 10
_WORDS = {Severity.ERROR: "Error", Severity.WARNING: "Warning", Severity.INFO: "Note"}


def page_of(recordings: Sequence[ReportedRecording], *, version: str) -> bytes:
    """Return the HTML page of a report, below :data:`~ptttool.report.page.limits.MAX_PAGE_BYTES` wherever a page can be.

    Parameters
    ----------
    recordings : sequence of ReportedRecording
        What was found.
    version : str
        Version of ptttool.
    """
    parts = [part for each in recordings for chapter in each.chapters for part in chapter.parts]
    limits = Limits()
    while sum(estimated(part, limits) for part in parts) > MAX_PAGE_BYTES and (less := limits.halved()) is not None:
        limits = less
    while len(page := _page(recordings, version, limits)) >= MAX_PAGE_BYTES and (less := limits.halved()) is not None:
        limits = less
    return page


def _page(recordings: Sequence[ReportedRecording], version: str, limits: Limits) -> bytes:
    sections = [_Section(number, each, limits) for number, each in enumerate(recordings[:_MOST_SECTIONS], 1)]
    style, (library, script) = styles(), scripts()
    policy = (
        "default-src 'none'; "
        f"script-src {source_hash(library)} {source_hash(script)}; style-src {source_hash(style)}; base-uri 'none'; form-action 'none'"
    )
    charts = [chart for section in sections for chart in section.charts]
    text = _templates().get_template("page.html").render(
        policy=policy,
        style=_verbatim(style),
        scripts=[_verbatim(library), _verbatim(script)],
        data=_verbatim(json_in_html({"charts": charts, "files": [section.file for section in sections]})),
        sections=sections,
        overview=_overview(recordings) if len(recordings) > 1 else None,
        version=version,
        limits=limits,
    )  # fmt: skip
    return text.encode("utf-8", "backslashreplace")


def json_in_html(value: object) -> str:
    """Return JSON that can stand inside a ``script`` element: no character of it ends the element or begins a comment."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _verbatim(text: str) -> Any:
    """Mark our own styles, scripts and escaped JSON as they are: the one way around escaping."""
    from markupsafe import Markup

    if re.search(r"</(script|style)|<!--", text, re.IGNORECASE):
        raise ValueError("the text would end its element")
    return Markup(text)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(FOLDER / "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _verdict(reported: ReportedRecording) -> tuple[str, str]:
    signs = getattr(reported.results.get("loss"), "signs", None)
    if reported.error is not None:
        return "error", "not read" if reported.protocol is None else "damaged"
    if signs is None:
        return "info", "not checked"
    bad = [sign for sign in signs if sign.severity is not Severity.INFO]
    if not bad:
        return "good", "none"
    return bad[0].severity.value, counted(len(bad), "sign")


@dataclass(frozen=True)
class _Row:
    id: str
    path: str
    records: str
    verdict: str
    values: Sequence[tuple[str, object]]
    hints: int


@dataclass(frozen=True)
class _Overview:
    """Several recordings side by side."""

    labels: Sequence[str]
    rows: Sequence[_Row]
    more: int


def _overview(recordings: Sequence[ReportedRecording]) -> _Overview:
    labels = list(dict.fromkeys(glance.label for each in recordings for glance in each.glances))[:_MOST_LABELS]
    rows = []
    for number, each in enumerate(recordings, 1):
        known = {glance.label: (glance.value, glance.amount) for glance in each.glances}
        values = [known.get(label, ("", "")) for label in labels]
        anchor = f"r{number}" if number <= _MOST_SECTIONS else ""
        rows.append(_Row(anchor, text_of(each.path), number_text(each.records), _verdict(each)[1], values, len(each.advice)))
    return _Overview(labels, rows, max(len(recordings) - _MOST_SECTIONS, 0))


@dataclass
class _Section:
    """One recording on the page; its chapters, charts and commands."""

    number: int
    reported: ReportedRecording
    limits: Limits
    charts: list[Mapping[str, Any]] = field(default_factory=list)
    chapters: list[_ShownChapter] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chapters = [self._chapter(chapter) for chapter in self.reported.chapters]

    @property
    def id(self) -> str:
        """Anchor of the recording."""
        return f"r{self.number}"

    @property
    def file(self) -> str:
        """The recording as a shell takes it."""
        return shlex.quote(text_of(self.reported.path))

    @property
    def path(self) -> str:
        """The recording as people read it."""
        return text_of(self.reported.path)

    @property
    def facts(self) -> Sequence[tuple[str, str]]:
        """Where it comes from."""
        return [(label, text_of(text)) for label, text in self.reported.facts]

    @property
    def title(self) -> str:
        """The recording and the devices that it is of."""
        return ", ".join([*map(text_of, self.reported.devices), self.path])

    @property
    def first(self) -> Sequence[_ShownChapter]:
        """The chapters in front of the advice: whether the numbers can be trusted."""
        return [each for each in self.chapters if each.chapter.analysis in FIRST]

    @property
    def others(self) -> Sequence[_ShownChapter]:
        """The chapters behind the advice."""
        return [each for each in self.chapters if each.chapter.analysis not in FIRST]

    @property
    def verdict(self) -> tuple[str, str]:
        """Whether something was lost: how bad, and in words."""
        return _verdict(self.reported)

    @property
    def advised(self) -> str:
        """How much advice there is."""
        return counted(len(self.reported.advice), "hint") if self.reported.advice else "nothing"

    @property
    def advice(self) -> Iterator[tuple[Advice, str, str, str | None, list[tuple[str, str]]]]:
        """What to do next: the advice, how much it matters in words, its text, its command, its numbers."""
        for each in self.reported.advice:
            evidence = [(name.replace("_", " "), _evidence(name, value)) for name, value in each.evidence.items()]
            yield each, _WORDS[each.severity], text_of(each.message, 2000), each.command_for(text_of(self.reported.path)), evidence

    @property
    def diagnostics(self) -> Iterator[tuple[str, str, str]]:
        """What is odd: how bad, that in words, and the text."""
        shown = self.reported.diagnostics[: self.limits.rows]
        for each in shown:
            yield each.severity.value, _WORDS[each.severity], text_of(each.text, 2000)
        if len(self.reported.diagnostics) > len(shown):
            yield "info", "Note", f"and {len(self.reported.diagnostics) - len(shown)} more"

    def _chapter(self, chapter: Chapter) -> _ShownChapter:
        parts = [self._part(part) for part in chapter.parts[: self.limits.parts]]
        more = max(len(chapter.parts) - self.limits.parts, 0)
        return _ShownChapter(f"{self.id}-{chapter.analysis}", chapter, parts, more, way_to(chapter.parts, text_of(self.reported.path)))

    def _part(self, part: Part) -> Mapping[str, Any]:
        whole, part = part, limited(part, self.limits)
        if isinstance(part, Facts):
            return {"kind": "facts", "part": part}
        if isinstance(part, Table):
            part = without_empty_columns(part)
            heads = [(column.is_number, head_text(column)) for column in part.columns]
            return {"kind": "table", "part": part, "heads": heads, "rows": _rows(part), "total": _total(part)}
        if isinstance(part, Histogram | Timeline):
            name = f"chart{self.number}-{len(self.charts)}"
            self.charts.append({"id": name, "file": self.number - 1, **chart_data(part)})
            words = [text_of(sentence, 2000) for sentence in chart_words(whole)]  # type: ignore[arg-type]
            return {"kind": "chart", "part": part, "id": name, "words": words}
        return {"kind": "note", "part": part, "word": _WORDS[part.severity]}


@dataclass(frozen=True)
class _ShownChapter:
    id: str
    chapter: Chapter
    parts: Sequence[Mapping[str, Any]]
    more: int
    way: str | None

    @property
    def also(self) -> Iterator[tuple[str, str, int]]:
        """Chapters of which facts and notes hold here, too: analysis, heading, number of them."""
        return ((name, heading(name)[0], count) for name, count in self.chapter.also.items())


def _evidence(name: str, value: object) -> str:
    if isinstance(value, int | float):
        return number_text(value, Unit.INDEX if name.endswith("index") else Unit.NONE)
    return text_of(str(value))


def _rows(table: Table) -> Iterator[list[tuple[str, str]]]:
    return (_line(row, table.columns) for row in table.rows)


def _total(table: Table) -> list[tuple[str, str]] | None:
    return None if table.total is None else _line(table.total, table.columns)


def _line(row: Sequence[Cell], columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Return the cells of a row: their classes and their texts."""
    return [(_class(column), cell_text(cell, column)) for cell, column in zip(row, columns, strict=True)]


def _class(column: Column) -> str:
    if column.unit is Unit.INDEX:
        return "n i"
    return "n" if column.is_number else ""
