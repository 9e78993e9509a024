"""A picture of a sweep: every run as a point, by setting, in the order of the rounds; SVG, or a page that loads nothing.

It can be read without colour: medians are bars, the baseline's median is a dashed line across, and words say what was found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from ptttool.errors import UsageError
from ptttool.files.atomic import output_file
from ptttool.sweep.log import RunRecord
from ptttool.sweep.plan import SweepPlan
from ptttool.sweep.statistics import Comparison, MetricResult, Verdict
from ptttool.wording import clean

_STYLE = """
svg { background: #fff; font: 12px system-ui, sans-serif; fill: #111; }
.axis { stroke: #666; stroke-width: 1; } .grid { stroke: #ddd; stroke-width: 1; } .band { fill: #f3f3f3; }
.run { fill: #2b6cb0; fill-opacity: .55; stroke: #1a4a7a; stroke-width: 1; } .base .run { fill: #fff; fill-opacity: 1; }
.median { stroke: #111; stroke-width: 3; } .baseline { stroke: #111; stroke-width: 1; stroke-dasharray: 5 4; }
.title { font-size: 15px; font-weight: 600; } .verdict { font-weight: 600; } .small { fill: #444; }
"""
_PAGE_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #111; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { padding: .25rem .75rem; border-bottom: 1px solid #ccc; text-align: right; }
th:first-child, td:first-child { text-align: left; } figure { margin: 1rem 0; overflow-x: auto; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_LEFT, _RIGHT, _TOP, _HEIGHT = 90, 20, 48, 260
_WORDS = {
    Verdict.BETTER: "better",
    Verdict.WORSE: "worse",
    Verdict.NO_DIFFERENCE: "no difference found",
    Verdict.TOO_FEW_ROUNDS: "too few rounds",
    Verdict.NO_DATA: "no data",
}


def require_picture(path: str | Path) -> None:
    """Raise UsageError for the name of a file that is not a picture's."""
    if Path(path).suffix.lower() not in (".svg", ".html"):
        raise UsageError(f"--picture: {path}: a name that ends in .svg or .html says what it is to be", code="bad-picture")


def write_picture(
    path: str | Path, plan: SweepPlan, runs: Sequence[RunRecord], results: Sequence[MetricResult], *, force: bool = False
) -> None:
    """Draw a sweep. The file appears complete or not at all.

    Parameters
    ----------
    path : str or Path
        The file: ``.svg`` or ``.html``.
    plan : SweepPlan
        The sweep.
    runs : Sequence of RunRecord
        Its runs.
    results : Sequence of MetricResult
        What they say.
    force : bool
        Replace an existing file.
    """
    require_picture(path)
    page = Path(path).suffix.lower() == ".html"
    text = html_page(plan, runs, results) if page else svg(plan, runs, results)
    with output_file(path, force=force) as file:
        file.write(text.encode("utf-8"))


def svg(plan: SweepPlan, runs: Sequence[RunRecord], results: Sequence[MetricResult]) -> str:
    """Return the picture as SVG."""
    root = _drawing(plan, runs, results)
    root.set("xmlns", "http://www.w3.org/2000/svg")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def html_page(plan: SweepPlan, runs: Sequence[RunRecord], results: Sequence[MetricResult]) -> str:
    """Return a page with the picture and a table of each metric."""
    root = ElementTree.Element("html", lang="en")
    head = _add(root, "head")
    _add(head, "meta", charset="utf-8")
    _add(head, "meta", http_equiv="Content-Security-Policy", content=_POLICY)
    _add(head, "title", _title(plan))
    _add(head, "style").text = _PAGE_STYLE
    body = _add(root, "body")
    _add(body, "h1", _title(plan))
    baseline = plan.design.label(plan.design.baseline)
    _add(body, "p", f"{len(runs)} runs in {plan.rounds} rounds, order by chance (seed {plan.seed}); original values: {baseline}")
    for result in results:
        _add(body, "h2", _metric_title(result))
        _add(body, "figure").append(_drawing(plan, runs, [result]))
        _table(body, result)
    return "<!doctype html>\n" + ElementTree.tostring(root, encoding="unicode", method="html") + "\n"


def _table(body: ElementTree.Element, result: MetricResult) -> None:
    table = _add(body, "table")
    heads = ("setting", "runs", "median", "quartiles", "difference", "interval", "p corrected", "result")
    row = _add(_add(table, "thead"), "tr")
    for head in heads:
        _add(row, "th", head)
    lines = _add(table, "tbody")
    compared = {one.subject: one for one in result.comparisons}
    spreads = {one.setting: one for one in result.settings}
    for subject in dict.fromkeys((*spreads, *compared)):
        row = _add(lines, "tr")
        spread, one = spreads.get(subject), compared.get(subject)
        cells = [f"{subject}, mean of all", "", "", ""]
        if spread is not None:
            cells = [subject, str(spread.runs), figure(spread.median), f"{figure(spread.q1)} to {figure(spread.q3)}"]
        rest = ["", "", "", "original values"]
        if one is not None:
            p = "" if one.p_corrected is None else f"{one.p_corrected:.3f}"
            rest = [figure(one.shift), f"{figure(one.low)} to {figure(one.high)}", p, verdict_words(one)]
        for cell in (*cells, *rest):
            _add(row, "td", cell)
    confidence = min((one.confidence for one in result.comparisons if one.confidence is not None), default=None)
    if confidence is not None:
        words = "Differences and intervals are from the original values; the intervals have a confidence of"
        _add(body, "p", f"{words} {100 * min(confidence, 0.95):.3g} %.")


def _drawing(plan: SweepPlan, runs: Sequence[RunRecord], results: Sequence[MetricResult]) -> ElementTree.Element:
    settings = plan.design.settings
    band = max(100.0, min(180.0, 900 / len(settings)))
    below = 22 + 15 * (len(plan.design.attributes) + 3)
    panel = _TOP + _HEIGHT + below
    width, height = _LEFT + band * len(settings) + _RIGHT, panel * len(results)
    root = ElementTree.Element(
        "svg", {"viewBox": f"0 0 {width:.0f} {height:.0f}", "width": f"{width:.0f}", "height": f"{height:.0f}", "role": "img"}
    )
    _add(root, "title", _title(plan))
    _add(root, "style").text = _STYLE
    for at, result in enumerate(results):
        group = _add(root, "g", transform=f"translate(0 {at * panel})")
        _panel(group, plan, runs, result, band)
    return root


def _panel(group: ElementTree.Element, plan: SweepPlan, runs: Sequence[RunRecord], result: MetricResult, band: float) -> None:
    settings = plan.design.settings
    values = [value for run in runs if (value := run.metrics.get(result.metric)) is not None]
    right = _LEFT + band * len(settings)
    _add(group, "text", _metric_title(result), class_="title", x=str(_LEFT), y="22")
    if not values:
        _add(group, "text", "no run has a value", x=str(_LEFT), y="60")
        return
    ticks = _ticks(min(values), max(values))
    low, high = ticks[0], ticks[-1]

    def y(value: float) -> float:
        return _TOP + _HEIGHT * (1 - (value - low) / (high - low))

    for at in range(0, len(settings), 2):
        _add(group, "rect", class_="band", x=_LEFT + at * band, y=_TOP, width=band, height=_HEIGHT)
    for tick in ticks:
        _add(group, "line", class_="grid", x1=_LEFT, y1=y(tick), x2=right, y2=y(tick))
        _add(group, "text", figure(tick), x=_LEFT - 8, y=y(tick) + 4, text_anchor="end", class_="small")
    compared = {one.subject: one for one in result.comparisons if not one.effect}
    base = result.settings[0].median
    for at, (setting, spread) in enumerate(zip(settings, result.settings, strict=True)):
        left = _LEFT + at * band
        one = _add(group, "g", class_="base" if not at else "setting")
        for run in runs:
            value = run.metrics.get(result.metric)
            if run.setting == setting and value is not None:
                x = left + band * (0.12 + 0.76 * (run.round - 0.5) / plan.rounds)
                dot = _add(one, "circle", class_="run", cx=x, cy=y(value), r="4")
                _add(dot, "title", f"{spread.setting}, round {run.round}: {figure(value)}")
        if spread.median is not None:
            middle = y(spread.median)
            _add(one, "line", class_="median", x1=left + band * 0.12, y1=middle, x2=left + band * 0.88, y2=middle)
        words = [
            *(f"{name}={value}" for name, value in zip(plan.design.attributes, setting, strict=True)),
            f"median {figure(spread.median)}",
            *_found(compared.get(spread.setting)),
        ]
        for line, word in enumerate(words):
            kind = "verdict" if line > len(plan.design.attributes) else ""
            _add(one, "text", word, x=left + band / 2, y=_TOP + _HEIGHT + 20 + 15 * line, text_anchor="middle", class_=kind)
    if base is not None:
        _add(group, "line", class_="baseline", x1=_LEFT, y1=y(base), x2=right, y2=y(base))
    _add(group, "line", class_="axis", x1=_LEFT, y1=_TOP, x2=_LEFT, y2=_TOP + _HEIGHT)


def _found(comparison: Comparison | None) -> list[str]:
    if comparison is None:
        return ["original", "values"]
    if comparison.verdict in (Verdict.BETTER, Verdict.WORSE):
        return [_WORDS[comparison.verdict], difference(comparison)]
    # On two lines: the columns are narrow.
    return _WORDS[comparison.verdict].rsplit(" ", 1)


def verdict_words(comparison: Comparison) -> str:
    """Say what a comparison found: ``better, +6.0 %``."""
    words = _WORDS[comparison.verdict]
    if comparison.verdict in (Verdict.BETTER, Verdict.WORSE):
        return f"{words}, {difference(comparison)}"
    return words


def difference(comparison: Comparison) -> str:
    """Return the difference with its sign, in percent where that is known."""
    if comparison.shift is None:
        return ""
    return (
        f"{comparison.shift_percent:+.1f} %"
        if comparison.shift_percent is not None
        else f"{'+' if comparison.shift > 0 else ''}{figure(comparison.shift)}"
    )


def figure(value: float | None) -> str:
    """Return a number for people: four digits that count, with k, M or G."""
    if value is None:
        return ""
    size = abs(value)
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= limit:
            scaled = value / (1e3 if suffix == "k" else limit)
            return f"{scaled:.4g}{suffix}"
    return f"{value:.4g}" if size >= 1e-3 or not size else f"{value:.3e}"


def _ticks(low: float, high: float) -> list[float]:
    """Return four to eight round numbers that hold all values."""
    if high <= low:
        margin = abs(low) * 0.05 or 1.0
        low, high = low - margin, high + margin
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    step *= next((factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 6), 10)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, last + 1)]


def _title(plan: SweepPlan) -> str:
    return f"{plan.device.name}: {', '.join(plan.design.attributes)}"


def _metric_title(result: MetricResult) -> str:
    unit = f" [{result.unit}]" if result.unit else ""
    return f"{result.metric}{unit}, {result.better} is better"


def _add(parent: ElementTree.Element, tag: str, text: str | None = None, **attributes: str | float) -> ElementTree.Element:
    """Add an element. Of its attributes, ``class_`` is ``class``, ``_`` in a name is ``-``, and numbers have one decimal."""
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    texts = {name: value if isinstance(value, str) else f"{value:.1f}" for name, value in named.items()}
    element = ElementTree.SubElement(parent, tag, texts)
    element.text = None if text is None else clean(text)
    return element
