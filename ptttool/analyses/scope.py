"""What analyses of TLPs know of a recording before they see a row; it goes to every process that sums up, so it is small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from ptttool.analyses.contract import Analysis
from ptttool.analyses.time.model import TimeModel

if TYPE_CHECKING:
    from ptttool.analyses.regions import Region

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
    tick_ns : float or None
        Nanoseconds of a tick, where the user has said so.
    regions : tuple of Region
        Ranges of addresses that have a name, ascending.
    """

    time_model: TimeModel = TimeModel.UNKNOWN
    time_bits: int = 32
    tick_ns: float | None = None
    regions: tuple[Region, ...] = ()


class TlpAnalysis(Analysis[R], Generic[R]):
    """An analysis of TLPs; it is told the scope when it is made.

    Parameters
    ----------
    scope : Scope
        What is known of the recording.
    """

    def __init__(self, scope: Scope | None = None) -> None:
        self.scope = Scope() if scope is None else scope
