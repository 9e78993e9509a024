"""Metrics by the path of a number in a JSON document: of the workload (``jobs[0].read.iops``), or of an analysis of a trace."""

from __future__ import annotations

import re
from typing import Any

from ptttool.errors import UsageError
from ptttool.sweep.metrics.contract import Better, Metric, MetricError, Output

# A name, a number in brackets, or a quoted name in brackets.
_STEP = re.compile(r"""\.?(?P<name>[^\s.\[\]"']+)|\[(?P<index>-?\d{1,9})\]|\["(?P<double>[^"]*)"\]|\['(?P<single>[^']*)'\]""")

Path = tuple[str | int, ...]

# Analyses whose numbers are better lower; of the others the user says it.
LOWER = ("latency", "errors", "loss", "outstanding")


def parse_path(text: str) -> Path:
    """Read a path.

    Parameters
    ----------
    text : str
        Names with dots between them; ``[0]`` or ``.0`` is an element of a list, ``["a.b"]`` a name with a dot. It may begin with ``$``.

    Raises
    ------
    UsageError
        The text is not a path.
    """
    rest = text.removeprefix("$")
    steps: list[str | int] = []
    at = 0
    while at < len(rest):
        match = _STEP.match(rest, at)
        if match is None or (at and match["name"] is not None and rest[at] != "."):
            raise UsageError(
                f"{text!r} is not the path of a number in a JSON document",
                hint='names with dots between them: jobs[0].read.iops, clat_ns.percentile["99.000000"]',
                code="bad-metric",
            )
        steps.append(
            int(match["index"])
            if match["index"] is not None
            else next(one for one in match.group("name", "double", "single") if one is not None)
        )
        at = match.end()
    if not steps:
        raise UsageError(f"{text!r}: the path is empty", hint="such as jobs[0].read.iops", code="bad-metric")
    return tuple(steps)


def follow(document: Any, path: Path, what: str) -> Any:
    """Return what a path leads to in a document.

    Raises
    ------
    MetricError
        It leads nowhere; the message says where it ends.
    """
    here = document
    for at, step in enumerate(path):
        try:
            here = here[int(step)] if isinstance(here, list) else here[step]
        except (KeyError, IndexError, TypeError, ValueError):
            place = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path[:at]).lstrip(".") or "the document"
            raise MetricError("no-metric", f"{what}: {place} has no {step!r}{_keys(here)}") from None
    return here


def json_metric(name: str, text: str, better: Better) -> Metric:
    """Return the metric at a path of the JSON document on standard output."""
    path = parse_path(text)

    def find(output: Output) -> object:
        if output.json is None:
            raise MetricError("no-json", f"{name}: standard output is not a JSON document")
        return follow(output.json, path, name)

    return Metric(name, None, better, find)


def trace_metric(name: str, text: str, better: Better) -> Metric:
    """Return the metric ``ANALYSIS.PATH``: a number in the JSON document of an analysis of a trace that is recorded during each run."""
    analysis, _, rest = text.partition(".")
    path = parse_path(rest)

    def find(output: Output) -> object:
        documents = output.traced or {}
        if analysis not in documents:
            raise MetricError("no-metric", f"{name}: there is no trace of this run")
        return follow(documents[analysis], path, name)

    return Metric(name, None, Better.LOWER if analysis in LOWER else better, find, analysis)


def _keys(value: object) -> str:
    if isinstance(value, dict) and value:
        names = [str(key)[:30] for key in list(value)[:8]]
        return f"; there are {', '.join(names)}{', …' if len(value) > 8 else ''}"
    return f"; the list has {len(value)} elements" if isinstance(value, list) else ""
