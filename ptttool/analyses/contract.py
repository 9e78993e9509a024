"""What an analysis is, and the registry of analyses.

An analysis is one new file in this package, or an entry point of the group ``ptttool.analyses`` in another package. It derives
:class:`Analysis` and registers the class with ``ANALYSES.add(NAME, ...)``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from ptttool.analyses.needs import Captured, Lack, LackCode, Need
from ptttool.registry import Registry

if TYPE_CHECKING:
    from ptttool.analyses.time.kept import TickFloor
    from ptttool.capture.perf.counters import LinkCounters
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
    went_offline : sequence of int
        CPUs that were online when the recording began and offline when it ended, where a sidecar says so.
    tick_floor : TickFloor or None
        How long a tick of the Time field is at least, where one of the analyses that run together knows it.
    counters : LinkCounters or None
        What counters beside the trace counted; None where none did, and where not all rows are seen.
    """

    path: str
    contents: Contents
    machine: Machine | None = None
    diagnostics: Sequence[Diagnostic] = field(default_factory=tuple)
    went_offline: Sequence[int] = ()
    tick_floor: TickFloor | None = None
    counters: LinkCounters | None = None


class Analysis(ABC, Generic[R]):
    """Adds rows up. Parts of a recording have an analysis each, in any process; they merge in the recording's order.

    Attributes
    ----------
    name : str
        Name on the command line.
    meaning : str
        One line of documentation.
    columns : tuple of str
        The columns that :meth:`update` needs. Empty, without further ones: the result follows from the context alone.
    whole_columns : tuple of str
        Those of them that it looks at in all rows, also in those that a condition leaves out: ``Batch.whole``.
    needs : tuple of Need
        What has to be traced, so that the result tells everything.
    one_need_is_enough : bool
        Whether what one of ``needs`` brings is enough for a result.
    sums_recordings : bool
        Whether recordings can be summed up: see :meth:`add_recording`.
    worker_bytes : int
        Bytes of trace above which one more process pays for its start-up.
    """

    name: ClassVar[str]
    meaning: ClassVar[str]
    columns: ClassVar[tuple[str, ...]] = ()
    whole_columns: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[Need, ...]] = ()
    one_need_is_enough: ClassVar[bool] = False
    sums_recordings: ClassVar[bool] = False
    worker_bytes: ClassVar[int] = 1 << 30

    @classmethod
    def lacks(cls, captured: Captured) -> list[Lack]:
        """Return what the analysis cannot see in a recording: by default, what is missing of :attr:`needs`.

        Parameters
        ----------
        captured : Captured
            What the recording can hold.
        """
        missing = [column for column in cls.columns if column not in captured.columns]
        if missing:
            return [Lack(LackCode.COLUMNS, f"the columns {', '.join(missing)}", "the rows of this protocol do not have them")]
        by_need = [list(need.lacks(captured)) for need in cls.needs]
        if cls.one_need_is_enough and not all(by_need):
            return min(by_need, key=len, default=[])
        return [lack for lacks in by_need for lack in lacks]

    @classmethod
    def further_columns(cls, contents: Contents) -> tuple[str, ...]:  # noqa: ARG003 - for those that derive it
        """Return columns that :meth:`update` looks at besides :attr:`columns`, where the rows have them.

        Parameters
        ----------
        contents : Contents
            What is known of the recording before its rows are read.
        """
        return ()

    def update(self, batch: Batch) -> None:
        """Add rows.

        Parameters
        ----------
        batch : Batch
            The next rows, with :attr:`columns` and those of :meth:`further_columns` that they have.
        """

    def merge(self, later: Self) -> None:
        """Add what another one has seen of the rows behind those of this one."""

    def add_recording(self, other: Self) -> None:
        """Add what another one has seen of another recording, where :attr:`sums_recordings` allows it.

        Recordings are independent: no transaction spans two, and times begin anew.
        """
        self.merge(other)

    def tick_floor(self, context: AnalysisContext) -> TickFloor | None:
        """Return how long a tick of the Time field is at least, for all analyses of the same pass; None where this one does not know it."""
        return None

    @abstractmethod
    def result(self, context: AnalysisContext) -> R:
        """Return the result, a dataclass."""


ANALYSES: Registry[type[Analysis[Any]]] = Registry("analysis", "ptttool.analyses", entry_points="ptttool.analyses")
