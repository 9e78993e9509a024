"""What an analysis is, and the registry of analyses.

An analysis is one new file in this package, or an entry point of the group ``ptttool.analyses`` in another package. It derives
:class:`Analysis` and registers the class with ``ANALYSES.add(NAME, ...)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from ptttool.registry import Registry

if TYPE_CHECKING:
    from ptttool.diagnostics import Diagnostic
    from ptttool.machine.model import Machine
    from ptttool.perfdata.model import Contents
    from ptttool.table.batch import Batch

R = TypeVar("R")


@dataclass(frozen=True)
class AnalysisContext:
    """What is known about a recording besides its rows, once it has been read to the end.

    Parameters
    ----------
    path : str
        The recording.
    contents : Contents
        Everything of it but the AUX data.
    machine : Machine or None
        The machine that was recorded, for names; None where it is not known.
    diagnostics : sequence of Diagnostic
        What was odd while it was decoded.
    """

    path: str
    contents: Contents
    machine: Machine | None = None
    diagnostics: Sequence[Diagnostic] = field(default_factory=tuple)


class Analysis(ABC, Generic[R]):
    """Adds rows up. Parts of a recording have an analysis each, in any process; they merge in the recording's order.

    Attributes
    ----------
    name : str
        Name on the command line.
    meaning : str
        One line of documentation.
    columns : tuple of str
        The columns that :meth:`update` looks at. Empty: the result follows from the context alone.
    """

    name: ClassVar[str]
    meaning: ClassVar[str]
    columns: ClassVar[tuple[str, ...]] = ()

    def update(self, batch: Batch) -> None:
        """Add rows.

        Parameters
        ----------
        batch : Batch
            The next rows, with :attr:`columns`.
        """

    def merge(self, later: Self) -> None:
        """Add what another one has seen of the rows behind those of this one."""

    @abstractmethod
    def result(self, context: AnalysisContext) -> R:
        """Return the result, a dataclass."""


ANALYSES: Registry[type[Analysis[Any]]] = Registry("analysis", "ptttool.analyses", entry_points="ptttool.analyses")
