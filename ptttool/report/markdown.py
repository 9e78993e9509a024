"""The report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ptttool.analyses.shown import Facts, Histogram, Part, Table, Timeline
from ptttool.report.model import Chapter, ReportedRecording
from ptttool.report.numbers import cell_text, quantity
from ptttool.report.page.charts import chart_words
from ptttool.report.page.limits import Limits, limited, text_of

_MEANINGFUL = re.compile(r"([\\`*_{}\[\]<>|#~&])")
# Bins of a histogram that are listed.
_LIMITS = Limits(rows=200, points=24)


def markdown_of(recordings: Sequence[ReportedRecording]) -> str:
    """Return a report as Markdown: tables and sentences, charts in words.

    Parameters
    ----------
    recordings : sequence of ReportedRecording
        What was found.
    """
    return "\n".join(line for each in _blocks(recordings) for line in (each, "")).rstrip() + "\n"


def escaped(text: str) -> str:
    """Return a text of a file so that Markdown takes none of it for markup."""
    return _MEANINGFUL.sub(r"\\\1", text_of(text, 2000))


def _blocks(recordings: Sequence[ReportedRecording]) -> Iterator[str]:
    yield "# PCIe trace report"
    for each in recordings:
        yield f"## {escaped(each.path)}"
        if each.error is not None:
            yield f"**Error:** {escaped(each.error.message)}"
        yield "\n".join(f"- {label}: {escaped(text)}" for label, text in each.facts)
        for chapter in each.chapters:
            yield from _chapter(chapter)
        yield "### What to do next"
        advice = [
            f"{number}. **{one.severity.value}:** {escaped(one.message)}" + ("" if one.command is None else f" {_code(one.command)}")
            for number, one in enumerate(each.advice, 1)
        ]
        yield "\n".join(advice) or "No number of this recording asks for anything."


def _code(command: str) -> str:
    return f"`` {command} ``"


def _chapter(chapter: Chapter) -> Iterator[str]:
    yield f"### {escaped(chapter.title)}"
    if chapter.lack is not None:
        yield f"No data: {escaped(chapter.lack.message)}" + ("" if chapter.lack.hint is None else f". {escaped(chapter.lack.hint)}")
    elif chapter.analysis == "loss" and not chapter.parts:
        yield "There is no sign that trace data are missing. Not every loss leaves a sign."
    for part in chapter.parts:
        yield from _part(limited(part, _LIMITS))


def _part(part: Part) -> Iterator[str]:
    if isinstance(part, Facts):
        if part.title:
            yield f"#### {escaped(part.title)}"
        yield "\n".join(f"- {escaped(label)}: {escaped(text)}" for label, text in part.rows)
    elif isinstance(part, Table):
        yield from _table(part)
    elif isinstance(part, Histogram | Timeline):
        yield f"#### {escaped(part.title)}"
        yield "\n".join(f"- {escaped(sentence)}" for sentence in chart_words(part))
        if isinstance(part, Histogram):
            yield _bins(part)
    else:
        yield f"**{part.severity.value}:** {escaped(part.text)}"


def _table(part: Table) -> Iterator[str]:
    yield f"#### {escaped(part.title)}"
    lines = [_line([column.title for column in part.columns])]
    lines.append("|" + "|".join(" ---: " if column.is_number else " --- " for column in part.columns) + "|")
    rows = (*part.rows, *(() if part.total is None else (part.total,)))
    lines += [_line([cell_text(cell, column.unit) for cell, column in zip(row, part.columns, strict=True)]) for row in rows]
    yield "\n".join(lines)
    if part.more:
        yield f"… and {part.more:,} more"
    if part.note:
        yield escaped(part.note)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escaped(cell) for cell in cells) + " |"


def _bins(part: Histogram) -> str:
    lines = ["| from | to below | " + escaped(part.what) + " |", "| ---: | ---: | ---: |"]
    for at, count in enumerate(part.counts):
        if count:
            lines.append(f"| {quantity(part.edges[at], part.unit)} | {quantity(part.edges[at + 1], part.unit)} | {count:,} |")
    return "\n".join(lines)
