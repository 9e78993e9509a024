"""Sums up how many requests are outstanding, by direction and by requester."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ptttool.analyses.contract import ANALYSES, AnalysisContext
from ptttool.analyses.link import rate_of_ports
from ptttool.analyses.matching.analysis import MatchingAnalysis
from ptttool.analyses.matching.part import Part, part_of
from ptttool.analyses.matching.traced import untraced_answers
from ptttool.analyses.needs import Need
from ptttool.analyses.outstanding.document import Outstanding, document_of
from ptttool.analyses.outstanding.levels import DIRECTION_SERIES, Levels, levels_of, places
from ptttool.analyses.scope import Scope
from ptttool.analyses.sums import SumTable
from ptttool.analyses.time.line import Line
from ptttool.analyses.time.ticks import Ticks
from ptttool.kernel.matching import KEY, REQUEST
from ptttool.recording.traced_buses import ports_of
from ptttool.table.batch import Batch
from ptttool.tlp.columns import DIRECTIONS
from ptttool.tlp.transactions import TAG_BITS, Ending, Transactions

Array = npt.NDArray[Any]


class OutstandingAnalysis(MatchingAnalysis[Outstanding]):
    """Sums up how many requests are outstanding.

    Parameters
    ----------
    scope : Scope
        What is known of the recording.
    """

    name = "outstanding"
    meaning = "requests outstanding at the same time, by direction and requester: mean, peak, over time, against the number of tags"
    needs = (
        Need(
            "reads of devices and their completions", "--format 4dw --direction both --type np,cpl", inbound=("NP",), outbound=("CPL",),
            unfiltered=True,
        ),
    )  # fmt: skip
    # Levels over time, and requests under way at the ends: times of different recordings do not join.
    sums_recordings = False

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self._ticks = self.scope.clock
        self._levels: Levels | None = None
        # Ticks from the first row of the part to the first and the last of those with levels.
        self._begin, self._end = 0, 0
        self._line = Line(len(DIRECTIONS), self.scope.grain)
        # Requests that were seen whole, by series: how many, of how many the time is known; and of these the ticks from request to end, the
        # bytes that came, and the completions that brought them.
        self._whole = SumTable(*(np.add,) * 5)
        self._ended: list[Transactions] = []

    def add(self, ended: Transactions) -> None:
        """Keep requests that were seen whole until their rows, or the part behind, are added."""
        is_whole = ended.has_end & (ended.ending < Ending.INSIDE)
        whole = ended if is_whole.all() else ended.take(is_whole)
        if len(whole):
            self._ended.append(whole)
            timed = whole.to_last >= 0
            sums = timed.astype(np.int64), whole.to_last * timed, whole.received * timed, whole.completions * timed
            for series in _series_of(whole):
                self._whole.add(series, np.ones_like(series), *sums)

    def add_rows(self, batch: Batch, shift: int) -> None:
        """Add the levels of a batch, and what is certain now of the rows before it."""
        mask = None
        if batch.whole is not None:  # requests that a condition takes are outstanding over all rows
            batch, mask = batch.whole
        ticks = self._ticks.ticks(batch)
        index: Any = batch.values("index").array
        first, last = int(index[0]), int(index[-1])
        begin, end = (0, 0) if ticks.at is None else (int(ticks.at[0]), int(ticks.at[-1]))
        times = np.zeros(batch.size, dtype=np.int64) if ticks.at is None else ticks.at - begin

        def rows_of(numbers: Array) -> Array:
            """Return the rows of the batch by their numbers in the recording."""
            positions: Array = (
                numbers.view(np.int64) - first if isinstance(index, range) else np.searchsorted(index, numbers.view(np.uint64))
            )
            return positions

        ended, self._ended = self._ended, []
        here = [each for each in ended if each.request[0] >= np.uint64(first)]
        earlier = [each for each in ended if each.request[0] < np.uint64(first)]
        part = part_of(batch, self.scope, mask)
        levels = levels_of(first, last, *_crossing(here), self._borders(part), lambda rows: times[rows_of(rows)])
        self._add_line(batch, ticks, here, times, rows_of)
        self._take_in(levels, begin, end, earlier)

    def merge(self, later: OutstandingAnalysis) -> None:
        """Add what another one has seen of the rows behind."""
        seam = self._ticks.merge(later._ticks)
        self._line.merge(later._line, seam)
        super().merge(later)
        if later._levels is not None:
            ended, self._ended = self._ended, []
            self._take_in(later._levels, seam.ticks + later._begin, seam.ticks + later._end, ended)
        self._settle()

    def merge_sums(self, later: OutstandingAnalysis) -> None:
        """Add the sums of requests of the part behind; :meth:`merge` adds all that goes by rows."""
        self._whole.merge(later._whole)

    def finish(self, context: AnalysisContext) -> Outstanding:
        """Return the result."""
        levels = self._levels
        if levels is not None:
            levels.finish()
        time = self.scope.time_facts(self._ticks, context)
        untraced = untraced_answers(context, self.totals)
        ports = ports_of(context.contents, context.machine)
        link = None if ports is None else rate_of_ports(ports)
        return document_of(levels, self._whole, self._line, self.totals, untraced, time, context.machine, link)

    def _take_in(self, later: Levels, begin: int, end: int, crossing: Sequence[Transactions]) -> None:
        """Take in the levels of rows behind, and requests that were under way before them and have ended.

        Parameters
        ----------
        later : Levels
            The levels.
        begin, end : int
            Ticks from the start of the part to the first and to the last of these rows.
        crossing : sequence of Transactions
            The requests.
        """
        assert self._part is not None
        self._spread(crossing)
        if self._levels is None:
            self._levels, self._begin = later, begin
        else:
            self._levels.join(later, begin - self._end, *_crossing(crossing), self._borders(self._part))
        self._end = end

    def _settle(self) -> None:
        """Add the requests that have ended without a row behind them: a hole ended them."""
        ended, self._ended = self._ended, []
        if ended and self._levels is not None and self._part is not None:
            self._spread(ended)
            self._levels.settle(*_crossing(ended), self._borders(self._part))

    def _spread(self, crossing: Sequence[Transactions]) -> None:
        """Add requests to the time line that were under way between rows that were added at different times."""
        for each in crossing:
            timed = each.to_last >= 0
            directions = each.directions
            for code in np.flatnonzero(np.bincount(directions[timed])).tolist():
                rows = np.flatnonzero(timed & (directions == code))
                begins = each.at.take(rows)
                self._line.spread(code, begins, begins + each.to_last.take(rows))

    def _add_line(self, batch: Batch, ticks: Ticks, here: Sequence[Transactions], times: Array, rows_of: Any) -> None:
        """Add how long how many requests were outstanding, row by row, of those of which it is known how long they took."""
        starts = self._line.starts(batch)
        sums = np.zeros((len(starts), len(DIRECTIONS)), dtype=np.int64)
        durations = np.diff(times, append=times[-1:])
        for each in here:
            timed = np.flatnonzero(each.to_last >= 0)
            directions = each.directions.take(timed)
            begins, ends = rows_of(each.request.take(timed)), rows_of(each.last.take(timed))
            for code in np.flatnonzero(np.bincount(directions)).tolist():
                rows = np.flatnonzero(directions == code)
                changes = np.bincount(begins.take(rows), minlength=batch.size)
                changes -= np.bincount(ends.take(rows), minlength=batch.size)
                np.cumsum(changes, out=changes)
                changes *= durations
                sums[:, code] += np.add.reduceat(changes, starts)
        self._line.add(batch, ticks, starts, sums)

    def _borders(self, part: Part) -> Array:
        """Return where requests may begin or end that are under way at the ends of a part: in the series of requester and directions."""
        keys, rows = np.concatenate((part.state.answers[:, :2], part.state.opened[:, [KEY, REQUEST]])).T
        series = np.stack((keys >> TAG_BITS & 0xFFFF, *(np.full(len(keys), each) for each in DIRECTION_SERIES)))
        return places(series, rows).reshape(-1)


def _crossing(ended: Sequence[Transactions]) -> tuple[Array, Array]:
    """Return where requests begin and end, each in the series of its requester and of its direction."""
    begins, ends = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for one in ended:
        for series in _series_of(one):
            begins.append(places(series, one.request.view(np.int64)))
            ends.append(places(series, one.last.view(np.int64)))
    return np.concatenate(begins), np.concatenate(ends)


def _series_of(requests: Transactions) -> tuple[Array, Array]:
    """Return the series of the requester of each, and of its direction."""
    return requests.requester.astype(np.int64), DIRECTION_SERIES[0] + requests.directions


ANALYSES.add("outstanding", OutstandingAnalysis)
