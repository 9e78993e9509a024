"""Results that notebooks show by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptttool.analyses.shown import Names, Part


class Shown:
    """A result that people look at; notebooks show it as tables. Structs and dataclasses of results derive it."""

    __slots__ = ()

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield what is to be seen, the most important first.

        Parameters
        ----------
        names : callable
            Returns what an ID is called.
        """
        raise NotImplementedError

    def _repr_html_(self) -> str:
        # Commands that show nothing of a result do without these.
        from ptttool.analyses.drawing.notebook import notebook_html
        from ptttool.analyses.shown import no_names

        return notebook_html(self.shown(no_names))
