"""Shown parts as Markdown: what forges and wikis show as headings, tables and lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ptttool.analyses.drawing.numbers import head_text, number_text
from ptttool.analyses.drawing.pieces import (
    cell_rows,
    first_rows,
    limits_text,
    table_of,
    timeline_title,
    with_common_unit,
    without_empty_columns,
)
from ptttool.analyses.shown import Facts, Note, Part, Table, Timeline
from ptttool.wording import clean

# Characters that mean something in a line of Markdown.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$&])")
# Letters that can stand in code whoever reads it, and what makes an address of them: https://, www., a name in a domain, e-mail.
_RUN = re.compile(r"[^\s\\`<>|~$&]+|[\\`<>|~$&]+")
_ADDRESS = re.compile(r"//|@|\.[^\W\d_]|mailto:|xmpp:", re.IGNORECASE)
# Points of a time line that are listed; a longer one is summed up.
_MOST_POINTS = 24


def markdown(parts: Iterable[Part], *, most_rows: int | None = None) -> str:
    """Return parts as Markdown; nothing in a text of a file acts as markup.

    Parameters
    ----------
    parts : iterable of Part
        What is to be seen.
    most_rows : int or None
        Largest number of rows of a table; None for all.
    """
    return "\n".join(line for part in parts for line in (*_part(part, most_rows), ""))


def escaped(text: str) -> str:
    """Return a text of a file on one line, with everything escaped that Markdown would obey.

    What readers of Markdown take for an address becomes code: they make links of addresses whose letters are escaped, too.
    """
    return _RUN.sub(lambda run: f"`{run[0]}`" if _ADDRESS.search(run[0]) else _MARKUP.sub(r"\\\1", run[0]), clean(text))


def _part(part: Part, most_rows: int | None) -> Iterator[str]:
    if isinstance(part, Note):
        yield f"> **{part.severity.value}**: {escaped(part.text)}"
    elif isinstance(part, Facts):
        yield from _title(part.title)
        yield from (f"- {escaped(label)}: {escaped(text)}" for label, text in part.rows)
    elif isinstance(part, Timeline) and len(part.times) > _MOST_POINTS:
        yield from _long_timeline(part)
    else:
        yield from _table(first_rows(part, most_rows) if isinstance(part, Table) else table_of(part))


def _title(title: str) -> Iterator[str]:
    if title:
        yield f"### {escaped(title)}"
        yield ""


def _table(table: Table) -> Iterator[str]:
    table = with_common_unit(without_empty_columns(table))
    yield from _title(table.title)
    if table.rows:
        yield _row([head_text(column) for column in table.columns])
        yield "| " + " | ".join("---:" if column.is_number else "---" for column in table.columns) + " |"
        yield from map(_row, cell_rows(table))
    else:
        yield "none"
    if table.more:
        yield ""
        yield f"and {number_text(table.more)} more"
    if table.note:
        yield ""
        yield escaped(table.note)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(escaped, cells)) + " |"


def _long_timeline(timeline: Timeline) -> Iterator[str]:
    yield from _title(timeline_title(timeline))
    yield _row(["Line", "Smallest", "Mean", "Largest", "Points"])
    yield "| --- | ---: | ---: | ---: | ---: |"
    for series in timeline.series:
        values = [value for value in series.values if value is not None]
        numbers = [number_text(value) for value in (min(values), sum(values) / len(values), max(values))] if values else ["", "", ""]
        yield _row([series.name, *numbers, number_text(len(values))])
    if timeline.limits:
        yield ""
        yield escaped(limits_text(timeline))
