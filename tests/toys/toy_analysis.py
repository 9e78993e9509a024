"""An analysis in one file: how many rows there are, and the sums of their numbers by remainder."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ptttool import ANALYSES, Analysis, AnalysisContext, Batch
from ptttool.documents import document


@document("toy")
@dataclass(frozen=True)
class ToySums:
    """Rows, sums of their numbers by remainder, and the recording."""

    rows: int
    sums: dict[str, int]
    path: str


class ToyAnalysis(Analysis[ToySums]):
    """Sums numbers of rows; ``divisor`` is an option."""

    name = "toy"
    meaning = "an analysis of the tests"
    columns = ("index",)

    def __init__(self, divisor: int = 2) -> None:
        self._divisor = divisor
        self._rows = 0
        self._sums = [0] * divisor

    def update(self, batch: Batch) -> None:
        numbers = batch.to_polars()["index"].to_numpy()
        self._rows += len(numbers)
        for remainder in range(self._divisor):
            self._sums[remainder] += int(numbers[numbers % self._divisor == remainder].sum(dtype=np.uint64))

    def merge(self, later: ToyAnalysis) -> None:
        self._rows += later._rows
        self._sums = [mine + theirs for mine, theirs in zip(self._sums, later._sums, strict=True)]

    def result(self, context: AnalysisContext) -> ToySums:
        return ToySums(self._rows, {str(remainder): total for remainder, total in enumerate(self._sums)}, context.path)


ANALYSES.add("toy", ToyAnalysis)
