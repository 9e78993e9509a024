"""Show results of analyses on standard output, as text or as Markdown."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ptttool.analyses.drawing.names import names_of
from ptttool.analyses.shown import Note, Part, Showable
from ptttool.cli.terminal.talk import print_line
from ptttool.cli.views.result import print_result
from ptttool.cli.views.shown.medium import standard_output
from ptttool.cli.views.shown.parts import print_parts, print_title
from ptttool.documents import dumps

if TYPE_CHECKING:
    from ptttool.analyses.needs import Lack
    from ptttool.machine.model import Machine


@dataclass
class ResultView:
    """Shows results, one below the other.

    Parameters
    ----------
    is_markdown : bool
        Whether they are written as Markdown.
    top : int or None
        Largest number of rows of a table, where the user says so.
    page : int
        The same on a terminal, where the user does not.
    """

    is_markdown: bool
    top: int | None
    page: int
    _has_shown: bool = field(default=False, init=False)

    @property
    def _most_rows(self) -> int | None:
        if self.top is not None or self.is_markdown or not sys.stdout.isatty():
            return self.top
        return self.page

    def heading(self, text: str, level: int) -> None:
        """Print a heading: of a recording (level 1), or of an analysis (2)."""
        self._gap()
        if self.is_markdown:
            from ptttool.analyses.drawing.markdown import escaped

            print_line(f"{'#' * level} {escaped(text)}\n")
            return
        print_title(text if level == 1 else f"-- {text} --", standard_output())
        self._has_shown = level == 2

    def show(self, result: object, lacks: Iterable[Lack], machine: Machine | None) -> None:
        """Print a result, and before it what could not be seen.

        Parameters
        ----------
        result : object
            The result, a dataclass.
        lacks : iterable of Lack
            What the analysis cannot see in the recording.
        machine : Machine or None
            Where names of devices come from.
        """
        notes: list[Part] = [Note(lack.message, lack.severity) for lack in lacks]
        if self.is_markdown:
            sys.stdout.write(_markdown(result, notes, machine, self._most_rows))
            return
        self._gap()
        self._has_shown = True
        medium = standard_output(self._most_rows)
        if isinstance(result, Showable):
            print_parts([*notes, *result.shown(names_of(machine))], medium)
            return
        print_parts(notes, medium)
        print_result(result)

    def _gap(self) -> None:
        if self._has_shown and not self.is_markdown:
            print_line("")


def _markdown(result: object, notes: Sequence[Part], machine: Machine | None, most_rows: int | None) -> str:
    from ptttool.analyses.drawing.markdown import markdown

    if isinstance(result, Showable):
        return markdown([*notes, *result.shown(names_of(machine))], most_rows=most_rows) + "\n"
    return f"{markdown(notes)}```json\n{dumps(result)}\n```\n"
