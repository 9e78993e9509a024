"""Analyses of transactions: they are given the requests that have ended, in bulk."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.matching.borders import Early, early_of_keys
from ptttool.analyses.matching.part import Found, Part, part_of
from ptttool.analyses.matching.steps import STEP_COLUMNS
from ptttool.analyses.matching.transactions import Ending, Orphans, joined, taken
from ptttool.analyses.matching.transactions import Transactions as Transactions
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.analyses.time.clock import CLOCK_COLUMNS, Clock
from ptttool.table.batch import Batch
from ptttool.table.values import ABSENT, Values
from ptttool.tlp.columns import TLP_SCHEMA

R = TypeVar("R")

MATCHING_COLUMNS = tuple(dict.fromkeys((*STEP_COLUMNS, *CLOCK_COLUMNS)))
"""The columns that matching reads."""


@dataclass
class Totals:
    """How many requests ended how.

    Attributes
    ----------
    endings : ndarray of int64, shape (5,)
        Number of requests by :class:`Ending`.
    early : Early
        Completions whose request stands in front of the recording or of a hole.
    orphans : int
        Completions without a request behind a request with their key.
    left_out : int
        Open requests that were not followed any further, because there were too many.
    """

    endings: Any = field(default_factory=lambda: np.zeros(len(Ending), dtype=np.int64))
    early: Early = field(default_factory=Early)
    orphans: int = 0
    left_out: int = 0

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

    def add(self, found: Found) -> None:
        """Add what was found."""
        self.endings += np.bincount(found.ended.ending, minlength=len(Ending))
        self.early.add(found.early)
        self.orphans += int(found.orphans.count.sum())
        self.left_out += found.left_out

    def merge(self, other: Totals) -> None:
        """Add those of another part."""
        self.endings += other.endings
        self.early.add(other.early)
        self.orphans += other.orphans
        self.left_out += other.left_out


class MatchingAnalysis(TlpAnalysis[R]):
    """An analysis of transactions. Those that see the same batches share their matching.

    Parameters
    ----------
    scope : Scope
        What is known of the recording.

    Attributes
    ----------
    carried : tuple of str
        Further columns of requests that come with the transactions.
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
    """

    worker_bytes = 128 << 20
    carried: ClassVar[tuple[str, ...]] = ()
    columns: ClassVar[tuple[str, ...]] = MATCHING_COLUMNS

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        carried = (name for name in cls.carried if name in TLP_SCHEMA)
        cls.columns = tuple(dict.fromkeys((*MATCHING_COLUMNS, *cls.columns, *carried)))

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self.totals = Totals()
        self.shift = 0
        self.is_over = False
        self.before = Orphans.none()
        self.clock: Clock = self.scope.clock
        self._part: Part | None = None
        self._extra: dict[str, Values] = {}

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
        if not (batch.size if batch.whole is None else batch.whole.batch.size):
            return
        self.clock.ticks(batch)
        part = part_of(batch, self.scope)
        assert part.found is not None
        found = part.found
        extra = {name: taken(_values(batch, name), part.slots) for name in self.carried}
        ended = found.ended.with_extra({name: taken(_values(batch, name), found.rows) for name in self.carried})
        ticks = 0
        if self._part is None:
            self._part, self._extra = part, extra
        else:
            ticks = self._join(part, extra)
        self._count(found, ended.later_by(ticks))
        self.add_rows(batch, ticks)

    def merge(self, later: Self) -> None:
        """Add what another one has seen of the rows behind."""
        self.shift = 0
        if later._part is not None:
            if self._part is None:
                self._part, self._extra = later._part, later._extra
            else:
                self.shift = self._join(later._part, later._extra)
        self.clock.merge(later.clock)
        self.totals.merge(later.totals)
        self.merge_sums(later)

    def result(self, context: AnalysisContext) -> R:
        """Return the result; requests that are open end here."""
        if self._part is not None:
            self.is_over = True
            self.before = early_of_keys(self._part.head.rows)
            found = self._part.rest()
            self._count(found, found.ended.with_extra(_chosen(self._extra, found.rows)))
            self._part, self._extra = None, {}
        return self.finish(context)

    def _join(self, later: Part, extra: Mapping[str, Values]) -> int:
        """Take in the part behind; return what is added to its ticks."""
        assert self._part is not None
        joining = self._part.joined(later)
        found = joining.found
        ended = found.ended.with_extra(_chosen(self._extra, found.rows))
        kept, taken_over = len(joining.kept), len(joining.taken)
        mine, theirs = _chosen(self._extra, joining.kept), _chosen(extra, joining.taken)
        self._extra = {name: joined(mine[name], kept, theirs[name], taken_over) for name in self.carried}
        self._part = joining.part
        self._count(found, ended)
        return joining.ticks

    def _count(self, found: Found, ended: Transactions) -> None:
        self.totals.add(found)
        if len(ended):
            self.add(ended)
        if len(found.orphans):
            self.add_orphans(found.orphans)


def _values(batch: Batch, name: str) -> Values:
    return batch.values(name) if name in batch.columns else ABSENT


def _chosen(extra: Mapping[str, Values], slots: Any) -> dict[str, Values]:
    return {name: taken(values, slots) for name, values in extra.items()}
