"""What is known of every run: how long it took."""

from __future__ import annotations

from typing import ClassVar

from ptttool.sweep.metrics.contract import TOOLS, Better, Known, Output, Tool


class Run(Tool):
    """The run itself: for workloads that do a fixed amount of work."""

    name: ClassVar[str] = "run"
    metrics: ClassVar = {"seconds": Known("s", Better.LOWER, "how long the workload ran")}

    def read(self, output: Output, metric: str) -> float:  # noqa: ARG002
        """Return the seconds."""
        return output.seconds


TOOLS.add("run", Run())
