"""Gaps between TLPs: idle time of the link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ptttool.analyses.bandwidth.document import Idle

if TYPE_CHECKING:
    from ptttool.analyses.time.ticks import Seam, Ticks

# Gaps between two TLPs of this many ticks or more are idle time. With ticks of 4 ns, which no document confirms, a microsecond.
IDLE_TICKS: Final = 256


@dataclass
class Gaps:
    """Gaps between the rows of a part of a recording.

    Parameters
    ----------
    count, ticks : int
        Gaps of idle time, and their ticks.
    longest : (int, int)
        Ticks of the longest gap, and the number of the row behind it; of several the first one counts.
    ends : ((int, int), (int, int)) or None
        Ticks and number of the first row and of the last one.
    """

    count: int = 0
    ticks: int = 0
    longest: tuple[int, int] = (0, 0)
    ends: tuple[tuple[int, int], tuple[int, int]] | None = None

    def add(self, ticks: Ticks) -> None:
        """Add rows."""
        if ticks.at is None or not len(ticks.at):
            return
        first, last = ((int(ticks.at[row]), int(ticks.numbers(np.array([row]))[0])) for row in (0, len(ticks.at) - 1))
        self._add_ends(first, last)  # before the gaps behind: of several longest ones, the first one counts
        steps = np.diff(ticks.at)
        long = steps >= IDLE_TICKS
        self.count += int(np.count_nonzero(long))
        self.ticks += int(steps[long].sum())
        if len(steps):
            row = int(steps.argmax())
            self._see(int(steps[row]), int(ticks.numbers(np.array([row + 1]))[0]))

    def merge(self, later: Gaps, seam: Seam) -> None:
        """Add the gaps of the part behind."""
        if later.ends is not None:
            first, last = ((ticks + seam.ticks, row + seam.rows) for ticks, row in later.ends)
            self._add_ends(first, last)
        self.count += later.count
        self.ticks += later.ticks
        self._see(later.longest[0], later.longest[1] + seam.rows)

    def idle(self, elapsed: int | None) -> Idle | None:
        """Return the idle time; None where no time is known to have elapsed."""
        return Idle(IDLE_TICKS, self.count, self.ticks, self.ticks / elapsed, *self.longest) if elapsed else None

    def _add_ends(self, first: tuple[int, int], last: tuple[int, int]) -> None:
        """Add the gap between the rows that were seen and those behind them."""
        if self.ends is None:
            self.ends = first, last
            return
        gap = first[0] - self.ends[1][0]
        if gap >= IDLE_TICKS:
            self.count += 1
            self.ticks += gap
        self._see(gap, first[1])
        self.ends = self.ends[0], last

    def _see(self, gap: int, row: int) -> None:
        if gap > self.longest[0]:
            self.longest = (gap, row)
