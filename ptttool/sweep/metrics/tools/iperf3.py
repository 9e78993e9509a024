"""Metrics of iperf3: from its JSON (``-J``), or rounded from its text."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from ptttool.sweep.metrics.contract import TOOLS, Better, Known, MetricError, Output, Tool
from ptttool.sweep.metrics.quantities import NUMBER, scaled

# Names in its JSON: of the groups, and of what has another name there.
_GROUPS = {"sent": "sum_sent", "received": "sum_received", "cpu": "cpu_utilization_percent"}
_KEYS = {"host_percent": "host_total", "remote_percent": "remote_total"}


class Iperf3(Tool):
    """iperf3, the client's output."""

    name: ClassVar[str] = "iperf3"
    metrics: ClassVar = {
        "sent.bits_per_second": Known("bit/s", Better.HIGHER, "what the sender sent"),
        "sent.retransmits": Known("segments", Better.LOWER, "TCP segments that were sent again"),
        "received.bits_per_second": Known("bit/s", Better.HIGHER, "what the receiver got"),
        "received.jitter_ms": Known("ms", Better.LOWER, "jitter of UDP"),
        "received.lost_percent": Known("%", Better.LOWER, "datagrams of UDP that were lost"),
        "cpu.host_percent": Known("%", Better.LOWER, "CPU time of the client"),
        "cpu.remote_percent": Known("%", Better.LOWER, "CPU time of the server"),
    }

    def read(self, output: Output, metric: str) -> float:
        """Return a metric."""
        if isinstance(output.json, dict) and "end" in output.json:
            return _from_json(output.json, metric)
        return _from_text(output.text, metric)


def _from_json(document: dict[str, Any], metric: str) -> float:
    if isinstance(document.get("error"), str):
        raise MetricError("no-metric", f"iperf3 says: {document['error'][:200]}")
    group, _, key = metric.partition(".")
    try:
        return float(document["end"][_GROUPS[group]][_KEYS.get(key, key)])
    except (KeyError, TypeError, ValueError):
        raise MetricError("no-metric", f"iperf3's JSON has no {metric}") from None


# The last lines: of each stream and, of several streams, their sum.
_LINE = re.compile(
    rf"^\[(?P<id>[ 0-9]+|SUM)\] +{NUMBER}-{NUMBER} +sec +{NUMBER} [KMGT]?Bytes +(?P<rate>{NUMBER}) (?P<unit>[KMGT]?)bits/sec"
    rf"(?P<rest>.*?) +(?P<side>sender|receiver)\s*$",
    re.MULTILINE,
)
_DATAGRAMS = re.compile(rf"^ +(?P<jitter>{NUMBER}) ms +[0-9]+/[0-9]+ \((?P<lost>{NUMBER})%\)")


def _from_text(text: str, metric: str) -> float:
    lines = list(_LINE.finditer(text))
    if not lines:
        raise MetricError("no-metric", "the output is not iperf3's: neither its JSON nor its text")
    side, _, name = metric.partition(".")
    ours = [line for line in lines if line["side"] == {"sent": "sender", "received": "receiver"}.get(side)]
    chosen = next((line for line in reversed(ours) if line["id"] == "SUM"), ours[-1] if ours else None)
    if chosen is not None:
        if name == "bits_per_second":
            return scaled(f"{chosen['rate']}{chosen['unit']}")
        datagrams = _DATAGRAMS.match(chosen["rest"])
        if datagrams is not None and name in ("jitter_ms", "lost_percent"):
            return float(datagrams["jitter" if name == "jitter_ms" else "lost"])
        retransmits = re.fullmatch(r" +([0-9]+) *", chosen["rest"]) if name == "retransmits" else None
        if retransmits is not None:
            return float(retransmits[1])
    raise MetricError("no-metric", f"iperf3's text has no {metric}" + ("; iperf3 -J may have it" if side == "cpu" else ""))


TOOLS.add("iperf3", Iperf3())
