"""Gaps between TLPs: idle time of the link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ptttool.analyses.bandwidth.document import Idle

if TYPE_CHECKING:
    from ptttool.analyses.time.ticks import Seam, Ticks, Ticks64

# Gaps between two TLPs of this many ticks or more are idle time. With ticks of 4 ns, which no document confirms, a microsecond.
IDLE_TICKS: Final = 256


@dataclass
class Gaps:
    """Gaps between the rows of a part of a recording.

    Parameters
    ----------
    count, ticks : int
        Gaps of idle time, and their ticks.
    longest, index : int
        Ticks of the longest gap, and the number of the row behind it; of several the first one counts.
    first, first_index : int
        Ticks at the first row, and its number.
    last : int or None
        Ticks at the last row; None without rows.
    """

    count: int = 0
    ticks: int = 0
    longest: int = 0
    index: int = 0
    first: int = 0
    first_index: int = 0
    last: int | None = None

    def add(self, ticks: Ticks) -> None:
        """Add rows."""
        at = ticks.at
        if at is None or not len(at):
            return
        if self.last is None:
            self.last = self.first = int(at[0])
            self.first_index = int(ticks.numbers(np.array([0]))[0])
        steps = np.diff(at, prepend=self.last)
        self._add(steps, int(ticks.numbers(np.array([steps.argmax()]))[0]))
        self.last = int(at[-1])

    def merge(self, later: Gaps, seam: Seam) -> None:
        """Add the gaps of the part behind."""
        if later.last is None:
            return
        first, first_index = later.first + seam.ticks, later.first_index + seam.rows
        if self.last is None:
            self.first, self.first_index = first, first_index
        else:
            self._add(np.array([first - self.last]), first_index)
        self.last = later.last + seam.ticks
        self.count += later.count
        self.ticks += later.ticks
        self._see(later.longest, later.index + seam.rows)

    def idle(self, elapsed: int | None) -> Idle | None:
        """Return the idle time; None where no time is known to have elapsed."""
        return Idle(IDLE_TICKS, self.count, self.ticks, self.ticks / elapsed, self.longest, self.index) if elapsed else None

    def _add(self, steps: Ticks64, index: int) -> None:
        """Add ticks between neighbours; `index`: number of the row behind the most of them."""
        idle = steps[steps >= IDLE_TICKS]
        self.count += len(idle)
        self.ticks += int(idle.sum())
        self._see(int(steps.max()), index)

    def _see(self, gap: int, index: int) -> None:
        if gap > self.longest:
            self.longest, self.index = gap, index
