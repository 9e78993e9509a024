"""Metrics of sockperf: its summaries of latency and of throughput."""

from __future__ import annotations

import re
from typing import ClassVar

from ptttool.sweep.metrics.contract import TOOLS, Better, Known, MetricError, Output, Tool
from ptttool.sweep.metrics.quantities import NUMBER

PERCENTILES = {f"latency.p{one}": one for one in ("25", "50", "75", "90", "99", "99.9", "99.99", "99.999")}
# Each metric, and what it is found by.
_METRICS = {
    "latency.mean": (Known("us", Better.LOWER, "mean latency"), rf"Summary: (?:Latency|Round trip) is ({NUMBER}) usec"),
    "latency.max": (Known("us", Better.LOWER, "largest latency"), rf"<MAX> observation = +({NUMBER})"),
    **{
        name: (Known("us", Better.LOWER, f"{one} % percentile of the latency"), rf"percentile {float(one):.3f} = +({NUMBER})")
        for name, one in PERCENTILES.items()
    },
    "rate": (Known("1/s", Better.HIGHER, "messages per second"), rf"Summary: Message Rate is ({NUMBER}) \[msg/sec\]"),
    "bandwidth": (Known("Mbit/s", Better.HIGHER, "bandwidth"), rf"Summary: BandWidth is {NUMBER} MBps \(({NUMBER}) Mbps\)"),
    "dropped": (Known("messages", Better.LOWER, "dropped messages"), r"# dropped messages = ([0-9]+)"),
}


class Sockperf(Tool):
    """sockperf, the client's output."""

    name: ClassVar[str] = "sockperf"
    metrics: ClassVar = {name: metric for name, (metric, _) in _METRICS.items()}

    def read(self, output: Output, metric: str) -> float:
        """Return a metric."""
        if "sockperf" not in output.text:
            raise MetricError("no-metric", "the output is not sockperf's")
        values = re.findall(_METRICS[metric][1], output.text)
        if not values:
            raise MetricError("no-metric", f"sockperf printed no {metric}")
        if len(values) > 1:
            raise MetricError("several-values", f"sockperf printed {metric} {len(values)} times: one for each server")
        return float(values[0])


TOOLS.add("sockperf", Sockperf())
