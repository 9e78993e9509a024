"""All entries of the queues of drives, in their order: for those who join them with what the kernel says."""

from __future__ import annotations

from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.io.commands.follow import Entries, Followed
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.analyses.time.clock import CLOCK_COLUMNS
from ptttool.table.batch import Batch


class CommandEntries(TlpAnalysis[list[Entries]]):
    """The entries of each queue: they hold memory in proportion to the commands."""

    name = "entries"
    meaning = "entries of the queues of drives"
    columns = ("index", "kind", "requester", "address", "length_dw", "byte_count", "lower_address", *CLOCK_COLUMNS)

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self._clock = self.scope.clock
        self._followed = Followed(self.scope.regions, keeps=True)

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        self._followed.add(batch, self._clock.ticks(batch))

    def merge(self, later: CommandEntries) -> None:
        """Add the TLPs behind."""
        self._followed.merge(later._followed, self._clock.merge(later._clock))

    def result(self, context: AnalysisContext) -> list[Entries]:
        """Return the entries: of each requester that walked through rings of commands, queue by queue."""
        self._followed.close()
        return list(self._followed.entries())
