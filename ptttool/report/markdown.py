"""The report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ptttool.analyses.drawing.markdown import escaped, markdown
from ptttool.analyses.drawing.pieces import way_to
from ptttool.report.chapters import FIRST, heading
from ptttool.report.model import Chapter, Glance, ReportedRecording
from ptttool.wording import clean, counted

# Rows of a table; JSON has all.
_MOST_ROWS = 50


def markdown_of(recordings: Sequence[ReportedRecording]) -> str:
    """Return a report as Markdown: tables and sentences, charts in words.

    Parameters
    ----------
    recordings : sequence of ReportedRecording
        What was found.
    """
    return "\n".join(line for each in _blocks(recordings) for line in (each, "")).rstrip() + "\n"


def _blocks(recordings: Sequence[ReportedRecording]) -> Iterator[str]:
    yield "# PCIe trace report"
    for each in recordings:
        yield f"## {escaped(each.path)}"
        if each.devices:
            yield escaped(", ".join(each.devices))
        if each.error is not None:
            yield f"**Error:** {escaped(each.error.message)}"
        yield "\n".join(f"- {label}: {escaped(text)}" for label, text in each.facts)
        yield "\n".join(f"- {_glance(glance)}" for glance in each.glances)
        for chapter in each.chapters:
            if chapter.analysis in FIRST:
                yield from _chapter(chapter, each.path)
        yield "### What to do next"
        advice = [
            f"{number}. **{one.severity.value}:** {escaped(one.message)}" + _command(one.command_for(each.path))
            for number, one in enumerate(each.advice, 1)
        ]
        yield "\n".join(advice) or "No number of this recording asks for anything."
        for chapter in each.chapters:
            if chapter.analysis not in FIRST:
                yield from _chapter(chapter, each.path)


def _glance(glance: Glance) -> str:
    return f"**{escaped(glance.label)}**: {escaped(glance.value)}" + (f" ({escaped(glance.detail)})" if glance.detail else "")


def _command(command: str | None) -> str:
    if command is None:
        return ""
    # What is code to one reader of Markdown may be markup to another.
    return f" {escaped(command)}" if set(command) & set("`<&") else f" `{clean(command)}`"


def _chapter(chapter: Chapter, path: str) -> Iterator[str]:
    yield f"### {escaped(chapter.title)}"
    yield from (f"> **{lack.severity.value}**: {escaped(lack.message)}" for lack in chapter.lacks)
    for name, count in chapter.also.items():
        yield f"{counted(count, 'remark')} above, on {heading(name)[0].lower()}, {'holds' if count == 1 else 'hold'} here, too."
    yield re.sub("(?m)^###", "####", markdown(chapter.parts, most_rows=_MOST_ROWS)).strip()
    way = way_to(chapter.parts, path)
    if way is not None:
        yield f"To see that TLP with its transaction:{_command(way)}"
