"""Shown parts as HTML for notebooks: tables only, everything escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable

from ptttool.analyses.drawing.numbers import head_text
from ptttool.analyses.drawing.pieces import cell_rows, first_rows, table_of, with_common_unit, without_empty_columns
from ptttool.analyses.shown import Facts, Note, Part
from ptttool.wording import html_table

# Rows of a table that a notebook shows.
_MOST_ROWS = 40


def notebook_html(parts: Iterable[Part]) -> str:
    """Return parts as HTML."""
    return "".join(map(_part, parts))


def _part(part: Part) -> str:
    if isinstance(part, Note):
        return f"<p><b>{part.severity.value}</b>: {html.escape(part.text)}</p>"
    if isinstance(part, Facts):
        return html_table(("", ""), part.rows, caption=part.title or None)
    table = with_common_unit(without_empty_columns(first_rows(table_of(part), _MOST_ROWS)))
    below = "".join(f"<p>{html.escape(text)}</p>" for text in (f"and {table.more:,} more" if table.more else "", table.note) if text)
    return html_table([head_text(column) for column in table.columns], cell_rows(table), caption=table.title) + below
