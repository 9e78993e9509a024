"""Metrics as people write them."""

from __future__ import annotations

from collections.abc import Sequence

from ptttool.errors import UsageError
from ptttool.sweep.metrics.contract import TOOLS, Better, Metric, tool_metric
from ptttool.sweep.metrics.json_path import json_metric, trace_metric
from ptttool.sweep.metrics.pattern import pattern_metric

MOST = 16
FORMS = "fio:read.iops, run:seconds, trace:latency.ticks.p99, json:jobs[0].read.iops, 'regex:rate=([0-9.]+)'"
_KINDS = {"regex": pattern_metric, "json": json_metric, "trace": trace_metric}


def parse_metrics(texts: Sequence[str], *, minimize: bool = False) -> tuple[Metric, ...]:
    """Read metrics.

    Parameters
    ----------
    texts : Sequence of str
        ``TOOL:NAME``, ``trace:ANALYSIS.PATH``, ``json:PATH``, ``regex:EXPRESSION``. Without one of these words, a text with a group is a
        regular expression, and one that begins with ``$`` a path in a JSON document.
    minimize : bool
        Lower is better, where that is not known.

    Raises
    ------
    UsageError
        A text is not a metric, or is given twice; or ``minimize`` contradicts what is known of all of them.
    """
    if not texts:
        raise UsageError("--metric is missing: it says what to measure", hint=f"such as {FORMS}", code="no-metric")
    if len(texts) > MOST:
        raise UsageError(f"{len(texts)} metrics: at most {MOST}", hint="each metric asks for more rounds", code="too-many-metrics")
    twice = {text for text in texts if texts.count(text) > 1}
    if twice:
        raise UsageError(f"metric {min(twice)!r} is given twice", code="bad-metric")
    metrics = tuple(parse_metric(text, Better.LOWER if minimize else Better.HIGHER) for text in texts)
    if minimize and all(metric.better is Better.HIGHER for metric in metrics):
        raise UsageError(f"--minimize: of {', '.join(texts)} higher values are better", hint="leave --minimize out", code="contradiction")
    return metrics


def parse_metric(text: str, better: Better = Better.HIGHER) -> Metric:
    """Read one metric; ``better`` holds where it is not known."""
    kind, colon, rest = text.partition(":")
    if colon and kind in TOOLS.names():
        return tool_metric(text, TOOLS.get(kind), rest)
    if colon and rest and kind in _KINDS:
        return _KINDS[kind](text, rest, better)
    if text.startswith("$"):
        return json_metric(text, text, better)
    if "(" in text:
        return pattern_metric(text, text, better)
    if colon and kind.isidentifier():
        TOOLS.get(kind)
    raise UsageError(f"{text!r} is not a metric", hint=f"such as {FORMS}", code="bad-metric")
