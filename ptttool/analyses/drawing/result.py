"""Results that notebooks show by themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptttool.analyses.shown import Names, Part


class Shown(ABC):
    """A result that people look at; notebooks show it as tables. Dataclasses of results derive it."""

    @abstractmethod
    def shown(self, names: Names) -> Iterator[Part]:
        """Yield what is to be seen, the most important first.

        Parameters
        ----------
        names : callable
            Returns what an ID is called.
        """

    def _repr_html_(self) -> str:
        # Commands that show nothing of a result do without these.
        from ptttool.analyses.drawing.notebook import notebook_html
        from ptttool.analyses.shown import no_names

        return notebook_html(self.shown(no_names))
