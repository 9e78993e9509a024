"""What a whole recording holds of one requester, as the devices' analyses read it."""

from __future__ import annotations

from dataclasses import dataclass

from ptttool.analyses.io.counts import Counts, Sum
from ptttool.analyses.io.edges import Edge
from ptttool.analyses.io.tables import Numbers, Small


@dataclass(frozen=True)
class TracedKinds:
    """Which TLPs of devices were traced.

    Parameters
    ----------
    writes, reads, answers : bool
        Their writes, their reads, and the completions for these.
    """

    writes: bool
    reads: bool
    answers: bool


@dataclass(frozen=True)
class RecordingTime:
    """Time of a recording.

    Parameters
    ----------
    elapsed : int or None
        Ticks from the first to the last record; None where time is not known throughout.
    tick_ns : float or None
        Nanoseconds of a tick.
    has_holes : bool
        Whether records may be missing inside.
    may_be_short : bool
        Whether the Time field has so few bits that ticks may be missing in long gaps.
    """

    elapsed: int | None
    tick_ns: float | None
    has_holes: bool = False
    may_be_short: bool = False


@dataclass(frozen=True)
class RequesterTrace:
    """One requester.

    Parameters
    ----------
    requester : int
        Requester ID.
    counts : Counts
        The sums of the recording.
    visible : TracedKinds
        What was traced.
    ticker : RecordingTime
        Its time.
    """

    requester: int
    counts: Counts
    visible: TracedKinds
    ticker: RecordingTime

    def sum(self, column: Sum) -> int:
        """Return a sum of the requester."""
        return int(self.counts.sums.of_number(self.requester)[column])

    @property
    def edge(self) -> Edge:
        """Both ends of the recording."""
        return self.counts.edges.get(self.requester) or Edge()

    def interrupts(self, *, beside: set[int]) -> int | None:
        """Return the number of interrupts: small writes that always go to the same address of a page.

        Parameters
        ----------
        beside : set of int
            Pages in which small writes are something else: rings of descriptors, whose states are written.

        Returns
        -------
        int or None
            Their number; None where writes were not traced.
        """
        if not self.visible.writes:
            return None
        keys, rows = self.counts.small_writes.of(self.requester)
        read_keys, read_rows = self.counts.small_reads.of(self.requester)
        doorbell_reads = list(
            zip(read_rows[:, Small.LOWEST].tolist(), read_rows[:, Small.HIGHEST].tolist(), read_keys.tolist(), strict=True)
        )
        return sum(
            int(row[Small.ACCESSES])
            for key, row in zip(keys.tolist(), rows.tolist(), strict=True)
            if key not in beside and row[Small.LOWEST] == row[Small.HIGHEST] and not _is_event_index(key, row, doorbell_reads)
        )

    @property
    def small_writes(self) -> Numbers:
        """The requester's rows of small writes."""
        return self.counts.small_writes.of(self.requester)[1]


def _is_event_index(key: int, row: list[int], doorbell_reads: list[tuple[int, int, int]]) -> bool:
    """Return whether a page is that of event indexes: the doorbells that a drive reads have the same offsets in the page beside it."""
    return any(lowest <= row[Small.LOWEST] <= highest and abs(key - other) == 1 for lowest, highest, other in doorbell_reads)
