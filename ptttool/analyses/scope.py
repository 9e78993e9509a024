"""What analyses of TLPs know of a recording before they see a row; it goes to every process that sums up, so it is small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from ptttool.analyses.contract import Analysis, AnalysisContext
from ptttool.analyses.time.kept import NOTHING_KEPT, KeptTime
from ptttool.analyses.time.model import FINEST, TimeEvidence, TimeModel

if TYPE_CHECKING:
    from ptttool.analyses.regions import Region
    from ptttool.analyses.time.clock import Clock
    from ptttool.analyses.time.facts import TimeFacts

R = TypeVar("R")


@dataclass(frozen=True)
class Scope:
    """What is known before the first row.

    Parameters
    ----------
    time_model : TimeModel
        How the Time field is read.
    time_bits : int
        How many bits it has: 11 in 4DW records, 32 in 8DW records.
    time_asked : bool
        Whether the user chose the model.
    evidence : TimeEvidence or None
        What the first records show of their Time field; None where they were not looked at.
    tick_ns : float or None
        Nanoseconds of a tick, where the user has said so.
    grain : int
        Size of the pieces of AUX data that a point of a time line stands for at least, as an exponent of two in bytes: it follows from the
        size of the recording, and is the same for all its parts.
    regions : tuple of Region
        Ranges of addresses that have a name, ascending.
    kept : KeptTime
        What is kept beside the recording of its time.
    """

    time_model: TimeModel = TimeModel.UNKNOWN
    time_bits: int = 32
    time_asked: bool = False
    evidence: TimeEvidence | None = None
    tick_ns: float | None = None
    grain: int = FINEST
    regions: tuple[Region, ...] = ()
    kept: KeptTime = NOTHING_KEPT

    @property
    def known_tick(self) -> tuple[float, str] | None:
        """Nanoseconds of a tick as far as they are known before the rows, and who says so: the user, or the clock that is kept."""
        if self.tick_ns is not None:
            return self.tick_ns, "as was said"
        measured = self.kept.clock
        return (measured.tick_ns, str(measured)) if measured is not None and self.kept.fits(self.time_model, self.time_bits) else None

    @property
    def clock(self) -> Clock:
        """A new clock that reads the Time field."""
        from ptttool.analyses.time.clock import Clock

        return Clock(self.time_model, self.time_bits)

    def time_facts(self, clock: Clock, context: AnalysisContext) -> TimeFacts:
        """Return what is known of time, by the clock of a whole recording that has been read to its end."""
        from ptttool.analyses.time.facts import time_facts

        events, floor = context.contents.aux_events, context.tick_floor
        return time_facts(clock, events, asked=self.time_asked, evidence=self.evidence, tick_ns=self.tick_ns, kept=self.kept, floor=floor)


class TlpAnalysis(Analysis[R], Generic[R]):
    """An analysis of TLPs; it gets the scope when it is made.

    Parameters
    ----------
    scope : Scope
        What is known of the recording.
    """

    def __init__(self, scope: Scope | None = None) -> None:
        self.scope = Scope() if scope is None else scope
