"""A metric of a trace that is recorded during each run, such as ``trace:latency.ticks.p99``."""

from __future__ import annotations

from typing import ClassVar

from ptttool.sweep.metrics.contract import Better, Metric, MetricError, Output, number
from ptttool.sweep.metrics.json_path import parse_path

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
        value = (output.traced or {}).get(self.name)
        if value is None:
            raise MetricError("no-metric", f"{self.name}: the trace of this run does not hold it")
        return number(value, self.name)
