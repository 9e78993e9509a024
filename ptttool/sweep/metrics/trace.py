"""A metric of a trace that is recorded during each run, such as ``trace:latency.ticks.p99``."""

from __future__ import annotations

from typing import ClassVar

from ptttool.sweep.metrics.contract import Better, Metric, MetricError, Output, number
from ptttool.sweep.metrics.json_path import follow, parse_path

# Analyses whose numbers are better lower; of the others the user says it.
LOWER = ("latency", "errors", "loss", "outstanding")


class TraceMetric(Metric):
    """A number in the result of an analysis.

    Parameters
    ----------
    name : str
        ``trace:ANALYSIS.PATH``.
    analysis : str
        Name of the analysis.
    path : str
        Where the number is in its JSON document.
    better : Better
        Which values are better.
    """

    traced: ClassVar[bool] = True

    def __init__(self, name: str, analysis: str, path: str, better: Better) -> None:
        super().__init__(name, better)
        self.analysis = analysis
        self.path = parse_path(path)

    def read(self, output: Output) -> float:
        """Return the number."""
        documents = output.traced or {}
        if self.analysis not in documents:
            raise MetricError("no-metric", f"{self.name}: there is no trace of this run")
        return number(follow(documents[self.analysis], self.path, self.name), self.name)
