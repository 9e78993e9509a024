"""Metrics of fio: from its JSON (``--output-format=json``), or rounded from its text.

Rates of several jobs are added up. Latencies of several jobs cannot be: with ``--group_reporting`` fio itself joins them.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from ptttool.sweep.metrics.contract import TOOLS, Better, Known, MetricError, Output, Tool
from ptttool.sweep.metrics.quantities import NUMBER, nanoseconds, scaled

DIRECTIONS = ("read", "write", "trim")
LATENCIES = {"slat": "submission latency", "clat": "completion latency", "lat": "total latency"}
PERCENTILES = {"p50": "50", "p90": "90", "p95": "95", "p99": "99", "p99.9": "99.9", "p99.99": "99.99"}


def _metrics() -> dict[str, Known]:
    metrics = {}
    for direction in DIRECTIONS:
        metrics[f"{direction}.iops"] = Known("1/s", Better.HIGHER, f"{direction}s per second")
        metrics[f"{direction}.bw"] = Known("B/s", Better.HIGHER, f"bytes per second of {direction}s")
        for kind, meaning in LATENCIES.items():
            metrics[f"{direction}.{kind}_mean"] = Known("ns", Better.LOWER, f"mean {meaning} of {direction}s")
        for percentile in PERCENTILES:
            metrics[f"{direction}.clat_{percentile}"] = Known("ns", Better.LOWER, f"{percentile} of the completion latency of {direction}s")
    return metrics


class Fio(Tool):
    """The flexible I/O tester."""

    name: ClassVar[str] = "fio"
    metrics: ClassVar = _metrics()

    def read(self, output: Output, metric: str) -> float:
        """Return a metric."""
        direction, _, name = metric.partition(".")
        if isinstance(output.json, dict) and "jobs" in output.json:
            return _from_json(output.json, direction, name)
        return _from_text(output.text, direction, name)


def _from_json(document: dict[str, Any], direction: str, name: str) -> float:
    try:
        jobs = [job[direction] for job in document["jobs"] if job[direction]["total_ios"]]
        if not jobs:
            raise _nothing(direction)
        if name in ("iops", "bw"):
            return float(sum(job["bw_bytes" if name == "bw" else name] for job in jobs))
        if len(jobs) > 1:
            raise _several(direction, name, len(jobs))
        kind, _, what = name.partition("_")
        if what == "mean":
            return float(jobs[0][f"{kind}_ns"]["mean"])
        percentiles = jobs[0][f"{kind}_ns"]["percentile"]
        return float(next(value for key, value in percentiles.items() if float(key) == float(PERCENTILES[what])))
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration):
        raise MetricError("no-metric", f"fio's JSON has no {direction}.{name}") from None


# The head of a job's direction, and what follows until the next head.
_BLOCK = rf"^ +{{}}: IOPS=(?P<iops>{NUMBER}[kKMG]?), BW=(?P<bw>{NUMBER}(?:[KMGT]i?)?)B/s.*\n(?P<body>(?:^(?:    | +\|).*\n?)*)"


def _from_text(text: str, direction: str, name: str) -> float:
    blocks = list(re.finditer(_BLOCK.format(direction), text, re.MULTILINE))
    if not blocks:
        if re.search(r"^fio-[0-9]", text, re.MULTILINE):
            raise _nothing(direction)
        raise MetricError("no-metric", "the output is not fio's: neither its JSON nor its text")
    if name in ("iops", "bw"):
        return sum(scaled(block[name]) for block in blocks)
    if len(blocks) > 1:
        raise _several(direction, name, len(blocks))
    kind, _, what = name.partition("_")
    body = blocks[0]["body"]
    if what == "mean":
        match = re.search(rf"^ +{kind} \((?P<unit>[num]?sec)\):.*\bavg= *(?P<value>{NUMBER}[kKMG]?)", body, re.MULTILINE)
        if match is not None:
            return nanoseconds(str(scaled(match["value"])), match["unit"])
    else:
        # The table of percentiles has a unit of its own, in its head.
        head = re.search(rf"{kind} percentiles \((?P<unit>[num]?sec)\):\n(?P<rows>(?: +\|.*\n?)*)", body)
        cell = head and re.search(rf"\b{float(PERCENTILES[what]):.2f}th=\[ *([0-9]+)\]", head["rows"])
        if head and cell:
            return nanoseconds(cell[1], head["unit"])
    raise MetricError("no-metric", f"fio's text has no {direction}.{name}")


def _nothing(direction: str) -> MetricError:
    return MetricError("no-metric", f"fio did no {direction}")


def _several(direction: str, name: str, count: int) -> MetricError:
    return MetricError("several-values", f"{count} jobs of fio have a {direction}.{name} each: add --group_reporting to fio's arguments")


TOOLS.add("fio", Fio())
