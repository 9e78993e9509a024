"""Build the page: everything of it is in the one file, and it may load nothing."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ptttool.analyses.drawing.numbers import head_text, number_text
from ptttool.analyses.drawing.pieces import cell_rows, way_to, without_empty_columns
from ptttool.analyses.shown import Facts, Histogram, Part, Table, Timeline, Unit
from ptttool.diagnostics import Diagnostic, Severity
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
    sections = [_section(number, each, limits) for number, each in enumerate(recordings[:_MOST_SECTIONS], 1)]
    style, (library, script) = styles(), scripts()
    policy = (
        "default-src 'none'; "
        f"script-src {source_hash(library)} {source_hash(script)}; style-src {source_hash(style)}; base-uri 'none'; form-action 'none'"
    )
    charts = [chart for section in sections for chart in section["charts"]]
    text = _templates().get_template("page.html").render(
        policy=policy,
        style=_verbatim(style),
        scripts=[_verbatim(library), _verbatim(script)],
        data=_verbatim(json_in_html({"charts": charts, "files": [section["file"] for section in sections]})),
        sections=sections,
        overview=_overview(recordings) if len(recordings) > 1 else None,
        version=version,
        limits=limits,
    )  # fmt: skip
    return text.encode("utf-8", "backslashreplace")


def json_in_html(value: object) -> str:
    """Return JSON that can stand inside a ``script`` element: no character of it ends the element or begins a comment."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", text)


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


def _overview(recordings: Sequence[ReportedRecording]) -> dict[str, Any]:
    """Return several recordings side by side: a row for each, with the numbers that a reader looks for first."""
    labels = list(dict.fromkeys(glance.label for each in recordings for glance in each.glances))[:_MOST_LABELS]
    rows = []
    for number, each in enumerate(recordings, 1):
        values = {glance.label: (glance.value, glance.amount) for glance in each.glances}
        numbers = [values.get(label, ("", "")) for label in labels]
        anchor = f"r{number}" if number <= _MOST_SECTIONS else ""
        rows.append((anchor, text_of(each.path), number_text(each.records), _verdict(each)[1], numbers, len(each.advice)))
    return {"labels": labels, "rows": rows, "more": max(len(recordings) - _MOST_SECTIONS, 0)}


def _section(number: int, reported: ReportedRecording, limits: Limits) -> dict[str, Any]:
    """Return one recording as the template shows it: its texts, its chapters, and the charts in them."""
    path, charts = text_of(reported.path), list[Mapping[str, Any]]()
    chapters = [_chapter(chapter, number, path, limits, charts) for chapter in reported.chapters]
    return {
        "id": f"r{number}",
        "reported": reported,
        "path": path,
        "file": shlex.quote(path),
        "title": ", ".join([*map(text_of, reported.devices), path]),
        "facts": [(label, text_of(text)) for label, text in reported.facts],
        # Whether the numbers can be trusted stands in front of the advice.
        "first": [each for each in chapters if each["chapter"].analysis in FIRST],
        "others": [each for each in chapters if each["chapter"].analysis not in FIRST],
        "charts": charts,
        "verdict": _verdict(reported),
        "advised": counted(len(reported.advice), "hint") if reported.advice else "nothing",
        "advice": [_advice(each, path) for each in reported.advice],
        "diagnostics": list(_diagnostics(reported.diagnostics, limits.rows)),
    }


def _chapter(chapter: Chapter, number: int, path: str, limits: Limits, charts: list[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"r{number}-{chapter.analysis}",
        "chapter": chapter,
        "parts": [_part(part, number, limits, charts) for part in chapter.parts[: limits.parts]],
        "more": max(len(chapter.parts) - limits.parts, 0),
        "way": way_to(chapter.parts, path),
        # Chapters of which facts and notes hold here, too.
        "also": [(name, heading(name)[0], count) for name, count in chapter.also.items()],
    }


def _part(whole: Part, number: int, limits: Limits, charts: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a part as the template shows it; a chart goes to the others of its recording."""
    part = limited(whole, limits)
    if isinstance(part, Facts):
        return {"kind": "facts", "part": part}
    if isinstance(part, Table):
        part = without_empty_columns(part)
        heads = [(column.is_number, head_text(column)) for column in part.columns]
        classes = ["n i" if column.unit is Unit.INDEX else "n" if column.is_number else "" for column in part.columns]
        rows = [list(zip(classes, row, strict=True)) for row in cell_rows(part)]
        total = None if part.total is None else rows.pop()
        return {"kind": "table", "part": part, "heads": heads, "rows": rows, "total": total}
    if isinstance(part, Histogram | Timeline):
        name = f"chart{number}-{len(charts)}"
        charts.append({"id": name, "file": number - 1, **chart_data(part)})
        words = [text_of(sentence, 2000) for sentence in chart_words(whole)]  # type: ignore[arg-type]
        return {"kind": "chart", "part": part, "id": name, "words": words}
    return {"kind": "note", "part": part, "word": _WORDS[part.severity]}


def _advice(advice: Advice, path: str) -> tuple[Advice, str, str, str | None, list[tuple[str, str]]]:
    """Return what to do next: the advice, how much it matters in words, its text, its command, the numbers that it follows from."""
    evidence = [(name.replace("_", " "), _evidence(name, value)) for name, value in advice.evidence.items()]
    return advice, _WORDS[advice.severity], text_of(advice.message, 2000), advice.command_for(path), evidence


def _diagnostics(diagnostics: Sequence[Diagnostic], most: int) -> Iterator[tuple[str, str, str]]:
    """Yield what is odd: how bad, that in words, and the text."""
    for each in diagnostics[:most]:
        yield each.severity.value, _WORDS[each.severity], text_of(each.text, 2000)
    if len(diagnostics) > most:
        yield "info", "Note", f"and {len(diagnostics) - most} more"


def _evidence(name: str, value: object) -> str:
    if isinstance(value, int | float):
        return number_text(value, Unit.INDEX if name.endswith("index") else Unit.NONE)
    return text_of(str(value))
