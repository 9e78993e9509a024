"""The matching of a part of a recording, made once for all analyses of a pass."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_BORDER_KEYS, MAX_BORDER_ROWS
from ptttool.analyses.matching.steps import ROLES, rows_of
from ptttool.analyses.scope import Scope
from ptttool.analyses.time.clock import Clock
from ptttool.kernel.loops import UNSEEN
from ptttool.kernel.matching import Flows, Found, Limits, State, join, match
from ptttool.table.batch import Batch
from ptttool.table.values import Mask
from ptttool.tlp.transactions import Ending

Array = npt.NDArray[Any]


class Border(NamedTuple):
    """What stands in front of a part.

    Parameters
    ----------
    flows : Flows
        What went over the link, up to where the part begins.
    is_hole : bool
        Whether records are missing between both.
    """

    flows: Flows
    is_hole: bool


@dataclass
class Part:
    """The matching of a part of a recording.

    Parameters
    ----------
    clock : Clock
        Its time.
    state : State
        What is kept for its neighbours.
    found : Found or None
        What was found in it, or where its parts join; None where it comes from another process, which has added it up.
    slots : ndarray of int64
        Of the open requests, by slot: their rows in the batch; where parts join, their former slots, those of the later part behind.
    ticks : int
        Where parts join: what is added to the ticks of the later one.
    border : Border or None
        Where parts join: what stands in front of the later one.
    """

    clock: Clock
    state: State
    found: Found | None
    slots: Array
    ticks: int = 0
    border: Border | None = None
    _joined: tuple[Part, Part] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, object]:
        """Leave out what has been added up."""
        return self.__dict__ | {"found": None, "border": None, "_joined": None, "slots": self.slots[:0]}

    def joined(self, later: Part) -> Part:
        """Return what becomes of this part and the one behind it; made once for all analyses that share both parts."""
        if self._joined is None or self._joined[0] is not later:
            self._joined = later, _join(self, later)
        return self._joined[1]


_latest: tuple[ref[Any], object, Mask | None, Part] | None = None


def part_of(batch: Batch, scope: Scope, mask: Mask | None = None) -> Part:
    """Return the matching of a batch, made once for all analyses that ask for it one after the other.

    Parameters
    ----------
    batch : Batch
        Rows with the columns of :data:`ptttool.analyses.matching.steps.STEP_COLUMNS` and those of the clock.
    scope : Scope
        How the Time field is read.
    mask : ndarray of bool, or None
        Which rows a condition takes; None for all.
    """
    global _latest
    array: Any = batch.values("kind").array
    latest = _latest
    how = (scope.time_model, scope.time_bits)
    if latest is not None and array is not None and latest[0]() is array and latest[1] == how and latest[2] is mask:
        return latest[3]
    clock = Clock(scope.time_model, scope.time_bits)
    ticks = clock.ticks(batch)
    part = Part(clock, *match(ROLES, rows_of(batch, ticks, mask), _limits()))
    if isinstance(array, np.ndarray):
        _latest = (ref(array), how, mask, part)
    return part


def _join(first: Part, later: Part) -> Part:
    clock = copy(first.clock)
    seam = clock.merge(later.clock)
    gap = None if not seam.is_hole else Ending.END if seam.is_other_cpu else Ending.INSIDE
    front = first.state.until(UNSEEN if seam.is_break else seam.ticks - first.clock.elapsed)
    joined = join(front, later.state, seam.ticks, seam.segments, gap, _limits())
    return Part(clock, *joined, seam.ticks, Border(front.flows, gap is not None))


def _limits() -> Limits:
    return Limits(MAX_BORDER_ROWS, MAX_BORDER_KEYS)
