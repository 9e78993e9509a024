"""Show results of analyses on standard output, as text or as Markdown."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ptttool.analyses.drawing.names import names_of
from ptttool.analyses.drawing.pieces import way_to
from ptttool.analyses.drawing.plain import parts_of
from ptttool.analyses.shown import Note, Part
from ptttool.cli.terminal.talk import print_line
from ptttool.cli.views.shown.medium import standard_output
from ptttool.cli.views.shown.parts import print_parts, print_title
from ptttool.diagnostics import Severity

if TYPE_CHECKING:
    from ptttool.analyses.needs import Lack
    from ptttool.diagnostics import Diagnostic
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

    def signs(self, signs: Iterable[Diagnostic]) -> None:
        """Print the signs of loss in a recording."""
        notes: list[Part] = [Note(sign.message, sign.severity) for sign in signs if sign.severity is not Severity.INFO]
        if notes:
            self._print(notes)

    def show(self, result: object, lacks: Iterable[Lack], machine: Machine | None, path: str | None = None) -> None:
        """Print a result, and before it what could not be seen.

        Parameters
        ----------
        result : object
            The result, a dataclass.
        lacks : iterable of Lack
            What the analysis cannot see in the recording.
        machine : Machine or None
            Where names of devices come from.
        path : str or None
            The recording, for the command that shows a TLP of it.
        """
        parts: list[Part] = [Note(lack.message, lack.severity) for lack in lacks]
        parts += parts_of(result, names_of(machine))
        way = None if path is None else way_to(parts, path)
        self._print(parts if way is None else [*parts, Note(f"to see that TLP with its transaction: {way}")])

    def _print(self, parts: list[Part]) -> None:
        if self.is_markdown:
            from ptttool.analyses.drawing.markdown import markdown

            sys.stdout.write(markdown(parts, most_rows=self._most_rows) + "\n")
            return
        self._gap()
        self._has_shown = True
        print_parts(parts, standard_output(self._most_rows))

    def _gap(self) -> None:
        if self._has_shown and not self.is_markdown:
            print_line("")
