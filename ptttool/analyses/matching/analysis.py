"""Analyses of transactions: they are given the requests that have ended, in bulk."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from msgspec.structs import replace

from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.matching.part import Border, Part, part_of
from ptttool.analyses.matching.steps import STEP_COLUMNS
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.analyses.sums import SumTable, counted
from ptttool.analyses.time.clock import CLOCK_COLUMNS, Clock
from ptttool.kernel.loops import ENDED
from ptttool.kernel.matching import Found
from ptttool.table.batch import Batch
from ptttool.table.values import ABSENT, Values
from ptttool.tlp.columns import TLP_SCHEMA
from ptttool.tlp.transactions import ENDING_BITS, ENDING_MASK, Ending, Orphans, behind, joined, taken
from ptttool.tlp.transactions import Transactions as Transactions

R = TypeVar("R")

# Stands for a column: whether a condition takes the request.
_WANTED = ""
_ROW = ENDED.index("row")
MATCHING_COLUMNS = tuple(dict.fromkeys((*STEP_COLUMNS, *CLOCK_COLUMNS)))
"""The columns that matching reads."""


@dataclass
class Totals:
    """How many requests ended how.

    Attributes
    ----------
    counts : SumTable
        Numbers of requests, by what :meth:`~Transactions.keys` returns, and in the lowest :data:`ENDING_BITS` the :class:`Ending`.
    early, early_ends : int
        Completions whose request stands in front of the recording or of a hole, and how many such requests they ended.
    orphans : int
        Completions without a request behind a request with their key.
    left_out : int
        Open requests that were not followed any further, because there were too many.
    """

    counts: SumTable = field(default_factory=lambda: SumTable(np.add))
    early: int = 0
    early_ends: int = 0
    orphans: int = 0
    left_out: int = 0

    @property
    def endings(self) -> Any:
        """Number of requests by :class:`Ending`: ndarray of int64, shape (5,)."""
        keys, counts = self.counts.rows()
        return np.bincount(keys & ENDING_MASK, counts, len(Ending)).astype(np.int64)

    @property
    def requests(self) -> int:
        """Requests that are answered, seen in the recording."""
        return int(self.endings.sum())

    @property
    def matched(self) -> int:
        """Requests with at least one completion."""
        return int(self.endings[: Ending.INSIDE].sum())

    @property
    def inside(self) -> int:
        """Requests without a completion inside of the recording."""
        return int(self.endings[Ending.INSIDE])

    @property
    def open_at_end(self) -> int:
        """Requests without a completion at the end of the recording, or of one of its AUX streams."""
        return int(self.endings[Ending.END])

    def add(self, matches: Found, ended: Transactions) -> None:
        """Add what was found; `ended` are those of its requests that count."""
        if len(ended):
            self.counts.add(*counted(ended.keys() << ENDING_BITS | ended.ending))
        self.early += matches.early
        self.early_ends += matches.early_ends
        self.orphans += int(matches.orphans[:, -1].sum())
        self.left_out += matches.left_out

    def merge(self, other: Totals) -> None:
        """Add those of another part."""
        self.counts.merge(other.counts)
        self.early += other.early
        self.early_ends += other.early_ends
        self.orphans += other.orphans
        self.left_out += other.left_out


class MatchingAnalysis(TlpAnalysis[R]):
    """An analysis of transactions. Those that see the same batches share their matching.

    All TLPs are matched. A condition says which requests count, and which completions without a request.

    Parameters
    ----------
    scope : Scope
        What is known of the recording.

    Attributes
    ----------
    carried : tuple of str
        Columns of requests that come with the transactions; the direction is among them.
    totals : Totals
        How many requests ended how; complete in :meth:`finish`.
    clock : Clock
        The clock of the part.
    is_over : bool
        In :meth:`add`: whether these are the requests that are open at the end of the recording.
    before : Orphans
        In :meth:`finish`: completions in front of the first request with their key, where the recording begins.
    shift : int
        In :meth:`merge_sums`: what is added to the ticks of the later part, so that they count from the start of this one.
    lowest : int
        In :meth:`finish`: the lowest level of the recording: :data:`ptttool.kernel.loops.FLOWS`.
    border : Border or None
        In :meth:`merge_sums`: what stands in front of the later part; None where nothing does.
    """

    worker_bytes = 128 << 20
    carried: ClassVar[tuple[str, ...]] = ()
    columns: ClassVar[tuple[str, ...]] = MATCHING_COLUMNS

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.carried = tuple(dict.fromkeys(("direction", *cls.carried)))
        cls.whole_columns = (*MATCHING_COLUMNS, *(name for name in cls.carried if name in TLP_SCHEMA))
        cls.columns = tuple(dict.fromkeys((*cls.whole_columns, *cls.columns)))

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self.totals = Totals()
        self.shift = 0
        self.lowest = 0
        self.border: Border | None = None
        self.is_over = False
        self.before = Orphans.of(np.empty((0, 3), dtype=np.int64))
        self.clock: Clock = self.scope.clock
        self._part: Part | None = None
        self._extra: dict[str, Values] = {}
        self._followed: tuple[str, ...] = self.carried

    @abstractmethod
    def add(self, ended: Transactions) -> None:
        """Add requests that have ended; :attr:`Transactions.at` counts from the start of this part."""

    def add_rows(self, batch: Batch, shift: int) -> None:
        """Look at the rows themselves; `shift`: ticks from the start of this part to the first row."""

    def add_orphans(self, orphans: Orphans) -> None:
        """Add completions without a request that stand behind a request with their key."""

    @abstractmethod
    def merge_sums(self, later: Self) -> None:
        """Add the sums of the part behind; :attr:`shift` is what is to be added to its ticks."""

    @abstractmethod
    def finish(self, context: AnalysisContext) -> R:
        """Return the result: all requests have been added."""

    def update(self, batch: Batch) -> None:
        """Add rows."""
        every, mask = (batch, None) if batch.whole is None else batch.whole
        if not every.size:
            return
        part = part_of(every, self.scope, mask)
        assert part.found is not None
        values = {name: _values(every, name) for name in self.carried}
        if mask is not None:
            values[_WANTED] = Values(mask)
        self._followed = tuple(values)
        extra = {name: taken(each, part.slots) for name, each in values.items()}
        ticks, border = 0, None
        if self._part is None:
            self._part, self._extra = part, extra
        else:
            ticks = self._join(part, extra)
            border = self._part.border
        self.clock = self._part.clock
        self._count(part.found, values, ticks, border)
        self.add_rows(batch, ticks)

    def merge(self, later: Self) -> None:
        """Add what another one has seen of the rows behind."""
        self.shift, self.border = 0, None
        if later._part is not None:
            self._followed = later._followed
            if self._part is None:
                self._part, self._extra = later._part, later._extra
            else:
                self.shift = self._join(later._part, later._extra)
                self.border = self._part.border
            self.clock = self._part.clock
        self.totals.merge(later.totals)
        self.merge_sums(later)

    def result(self, context: AnalysisContext) -> R:
        """Return the result; requests that are open end here."""
        if self._part is not None:
            self.is_over = True
            self.lowest = self._part.state.flows.lowest
            self.before = Orphans.of(self._part.state.before())
            self._count(self._part.state.rest(), self._extra)
            self._part, self._extra = None, {}
        return self.finish(context)

    def _join(self, later: Part, extra: Mapping[str, Values]) -> int:
        """Take in the part behind; return what is added to its ticks."""
        assert self._part is not None
        counts = len(self._part.state.opened), len(later.state.opened)
        self._part = self._part.joined(later)
        assert self._part.found is not None
        both = {name: joined(self._extra.get(name, ABSENT), counts[0], extra[name], counts[1]) for name in self._followed}
        self._extra = {name: taken(values, self._part.slots) for name, values in both.items()}
        self._count(self._part.found, both)
        return self._part.ticks

    def _count(self, matches: Found, values: Mapping[str, Values], ticks: int = 0, border: Border | None = None) -> None:
        """Add what was found; `values` are those of further columns, by row or slot; `border`: what stands in front of it."""
        ended = Transactions.of(matches, {name: taken(each, matches.ended[_ROW]) for name, each in values.items()}).later_by(ticks)
        if border is not None and len(ended):
            ended = replace(ended, waits=behind(ended.waits, border.flows, is_hole=border.is_hole))
        mask = ended.extra.get(_WANTED)
        if mask is not None:
            ended = ended.take(np.asarray(mask.array))
        self.totals.add(matches, ended)
        if len(ended):
            self.add(ended)
        if len(matches.orphans):
            self.add_orphans(Orphans.of(matches.orphans))


def _values(batch: Batch, name: str) -> Values:
    return batch.values(name) if name in batch.columns else ABSENT
