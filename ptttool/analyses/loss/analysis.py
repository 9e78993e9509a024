"""The analysis ``loss``: it uses the records of perf.data, not the decoded rows."""

from __future__ import annotations

from dataclasses import dataclass

from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.analyses.loss import signs_of_loss
from ptttool.diagnostics import Diagnostic
from ptttool.documents import document


@document("loss")
@dataclass(frozen=True)
class LossSigns:
    """Signs that trace data are missing.

    Parameters
    ----------
    signs : list of Diagnostic
        The signs, the worst first.
    """

    signs: list[Diagnostic]


class Loss(Analysis[LossSigns]):
    """Looks for signs that trace data are missing."""

    name = "loss"
    meaning = "signs that trace data are missing"

    def result(self, context: AnalysisContext) -> LossSigns:
        """Return the signs."""
        return LossSigns(signs_of_loss(context.contents))


ANALYSES.add("loss", Loss)
