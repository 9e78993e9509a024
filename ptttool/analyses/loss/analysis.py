"""The analysis ``loss``: it looks at the records of perf.data, and at what kinds of TLPs there are of which requesters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.loss import causes_of, signs_of_loss
from ptttool.analyses.loss.asked import signs_in_tlps
from ptttool.analyses.loss.counted import CountedTlps, compared, signs_in_counters
from ptttool.analyses.tally import Tally
from ptttool.diagnostics import Diagnostic
from ptttool.documents import document
from ptttool.perfdata.model import Contents
from ptttool.recording.identity import ptt_attribute, requester_filter
from ptttool.table.batch import Batch

if TYPE_CHECKING:
    from ptttool.analyses.shown import Names, Part


@document("loss")
class LossSigns(Shown, Struct, frozen=True):
    """Signs that trace data are missing, or not what was asked for.

    Parameters
    ----------
    signs : list of Diagnostic
        The signs, the worst first.
    counted : list of CountedTlps
        What counters beside the trace counted, and how many of it the recording has; empty where none did.
    """

    signs: list[Diagnostic]
    counted: list[CountedTlps] = []

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield the signs."""
        from ptttool.analyses.shown import Note

        if not self.signs:
            yield Note("no sign of loss" + ("" if self.counted else "; not every loss leaves a sign"))
        for sign in self.signs:
            yield Note(sign.text, sign.severity)
            yield from (Note(f"possible: {cause}") for cause in causes_of(sign))
        yield from (Note(f"{row.event}: {row.text}") for row in self.counted)


class Loss(Analysis[LossSigns]):
    """Looks for signs that trace data are missing, or are not what was asked for.

    Parameters
    ----------
    tally : Tally or None
        The recording's TLPs, where another analysis of the same pass has summed them up.
    """

    name = "loss"
    meaning = "signs that trace data are missing, or not what was asked for"

    def __init__(self, tally: Tally | None = None) -> None:
        self._tally = Tally() if tally is None else tally

    @classmethod
    def further_columns(cls, contents: Contents) -> tuple[str, ...]:
        """Return the columns of what the event of a PTT recording asks for."""
        if ptt_attribute(contents) is None:
            return ()
        return ("kind", "requester", "own_direction", *(() if requester_filter(contents) is None else ("completer",)))

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        if "kind" in batch.columns and "requester" in batch.columns:
            self._tally.add(batch)

    def merge(self, later: Loss) -> None:
        """Add the TLPs behind."""
        self._tally.merge(later._tally)

    def result(self, context: AnalysisContext) -> LossSigns:
        """Return the signs."""
        contents = context.contents
        rows = compared(context.counters, self._tally)
        signs = [
            *signs_in_tlps(contents, self._tally, context.machine),
            *signs_of_loss(contents, went_offline=context.went_offline),
            *signs_in_counters(context.counters, rows),
        ]
        return LossSigns(sorted(signs, key=lambda sign: sign.severity.rank), rows)


ANALYSES.add("loss", Loss)
