"""Runs of reads of one register: reads of the same register with no other outbound read between, and without a hole.

A part of a recording keeps its longest runs, and the two runs at its ends, which the neighbouring parts may continue. So the result is the
same wherever the recording is cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_LISTED, MAX_TARGETS
from ptttool.analyses.ranges import RangeSums

Array = npt.NDArray[Any]

# A run: its register (space, target), number of reads, number of the first read in the recording, ticks of the first and of the last read,
# and the segment of time that it is in (between two segments it is not known how much time passed, and records may be missing).
RUN = np.dtype([("space", "u8"), ("target", "u8"), ("reads", "i8"), ("index", "u8"), ("first", "i8"), ("last", "i8"), ("segment", "i8")])
_NO_RUNS = np.empty(0, dtype=RUN)
SPACE_BITS = 2


class Polling:
    """Reads of the same register as the read before, and the longest runs of them, of a part of a recording.

    Attributes
    ----------
    repeats : RangeSums
        Reads of the register that was read last: by register and space. The "bytes" are ticks since that read.
    """

    def __init__(self) -> None:
        self.repeats = RangeSums(0, MAX_TARGETS, (1 << SPACE_BITS) - 1)
        # Runs that cannot become longer: the longest of them.
        self._ended: Array = _NO_RUNS
        # The first run of the part, and the last one if it is another one.
        self._edges: Array = _NO_RUNS

    def add(self, spaces: Array, targets: Array, indexes: Array, at: Array | None, segments: Array | int) -> None:
        """Add reads.

        Parameters
        ----------
        spaces, targets, indexes : ndarray, shape (n,)
            The register of each read, and its number in the recording, ascending.
        at : ndarray or None
            Ticks of each; None where the model of time is not known.
        segments : ndarray or int
            Segment of time of each, or of all.
        """
        count = len(targets)
        if not count:
            return
        rows = np.empty(count, dtype=RUN)
        rows["space"], rows["target"], rows["reads"], rows["index"] = spaces, targets, 1, indexes
        rows["first"] = 0 if at is None else at
        rows["segment"] = segments
        begins = np.ones(count, dtype=np.bool_)
        begins[1:] = rows["target"][1:] != rows["target"][:-1]
        for name in ("space", "segment"):
            begins[1:] |= rows[name][1:] != rows[name][:-1]
        again = np.flatnonzero(~begins)
        self._repeat(rows[again], rows["first"][again] - rows["first"][again - 1])
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], count)
        runs = rows[starts]
        runs["reads"] = ends - starts
        runs["last"] = rows["first"][ends - 1]
        self._append(runs)

    def _repeat(self, rows: Array, ticks: Array) -> None:
        self.repeats.add(rows["target"], rows["space"], ticks, rows["index"])

    def _append(self, runs: Array) -> None:
        """Add runs, of which only the first one may continue what was there."""
        last = self._edges[-1:].copy()
        if len(last) and all(last[0][each] == runs[0][each] for each in ("space", "target", "segment")):
            self._repeat(runs[:1], runs["first"][:1] - last["last"])
            last["reads"] += runs["reads"][0]
            last["last"] = runs["last"][0]
            self._edges, runs = np.concatenate((self._edges[:-1], last)), runs[1:]
        self._follow(runs)

    def _follow(self, runs: Array) -> None:
        """Add runs that continue nothing: but for the first and the last one, none can become longer."""
        runs = np.concatenate((self._edges, runs))
        self._edges = np.concatenate((runs[:1], runs[1:][-1:]))
        self._end(runs[1:-1])

    def merge(self, later: Polling, ticks: int, segments: int) -> None:
        """Add the part behind; `ticks` and `segments`: what is to be added to its own."""
        self.repeats.merge(later.repeats)
        edges, ended = (_shifted(runs, ticks, segments) for runs in (later._edges, later._ended))
        if len(edges):
            self._append(edges[:1])
            self._follow(edges[1:])
            self._end(ended)

    def _end(self, runs: Array) -> None:
        runs = runs[runs["reads"] > 1]
        if len(runs):
            self._ended = longest(np.concatenate((self._ended, runs)))

    def runs(self) -> Array:
        """Return the longest runs of two reads or more, the longest first."""
        runs = np.concatenate((self._ended, self._edges))
        return longest(runs[runs["reads"] > 1])


def longest(runs: Array) -> Array:
    """Return the longest runs, the longest first; of equal ones the first in the recording."""
    return runs[np.lexsort((runs["index"], -runs["reads"]))[:MAX_LISTED]]


def _shifted(runs: Array, ticks: int, segments: int) -> Array:
    runs = runs.copy()
    runs["first"] += ticks
    runs["last"] += ticks
    runs["segment"] += segments
    return runs
