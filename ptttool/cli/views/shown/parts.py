"""Draw shown parts, one below the other."""

from __future__ import annotations

from collections.abc import Iterable

from ptttool.analyses.drawing.pieces import table_of, timeline_title, with_common_unit
from ptttool.analyses.shown import Facts, Histogram, Note, Part, Table, Timeline
from ptttool.cli.terminal.talk import console, print_labelled, print_line
from ptttool.cli.views.shown.medium import Medium
from ptttool.cli.views.shown.pictures import histogram_lines, timeline_lines
from ptttool.cli.views.shown.table import print_table
from ptttool.diagnostics import Severity
from ptttool.wording import clean

# Widest label of a fact that the texts begin behind.
_WIDEST_LABEL = 28


def print_parts(parts: Iterable[Part], medium: Medium) -> None:
    """Print parts on standard output, with an empty line between them.

    Parameters
    ----------
    parts : iterable of Part
        What is to be seen.
    medium : Medium
        What standard output can show.
    """
    last: Part | None = None
    for part in parts:
        if last is not None and not (isinstance(part, Note) and isinstance(last, Note)):
            print_line("")
        _print(part, medium)
        last = part


def print_title(title: str, medium: Medium) -> None:
    """Print a title: bold where there is bold."""
    if medium.is_terminal:
        from rich.text import Text

        console().print(Text(clean(title), style="bold"))
    else:
        print_line(clean(title))


def _print(part: Part, medium: Medium) -> None:
    if isinstance(part, Note):
        label = "note" if part.severity is Severity.INFO else part.severity.value
        print_labelled(f"{label} ", part.text)
        return
    if isinstance(part, Table):
        part = with_common_unit(part)
    if part.title:
        print_title(timeline_title(part) if isinstance(part, Timeline) else part.title, medium)
    if isinstance(part, Facts):
        at = min(max((len(clean(label)) for label, _ in part.rows), default=0), _WIDEST_LABEL) + 2
        for label, text in part.rows:
            print_labelled(f"{clean(label)} ", text, at)
    elif isinstance(part, Table):
        print_table(part, medium)
    elif not medium.is_terminal:
        # Pictures are for people: programs read numbers.
        print_table(table_of(part), medium, cut=False)
    else:
        for line in histogram_lines(part, medium) if isinstance(part, Histogram) else timeline_lines(part, medium):
            print_line(line)
