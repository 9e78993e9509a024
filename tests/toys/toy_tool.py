"""A tool in one file, whose metrics ``tune sweep`` knows by name: how often it rings."""

from __future__ import annotations

from typing import ClassVar

from ptttool.sweep.metrics.contract import TOOLS, Better, Known, MetricError, Output, Tool


class ToyTool(Tool):
    """A bell."""

    name: ClassVar[str] = "toy"
    metrics: ClassVar = {"rings": Known("rings", Better.LOWER, "how often it rings")}

    def read(self, output: Output, metric: str) -> float:
        """Count the rings."""
        if "ring" not in output.text:
            raise MetricError("no-metric", f"it does not ring: no {metric}")
        return output.text.count("ring")


TOOLS.add("toy", ToyTool())
