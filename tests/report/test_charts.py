"""Charts and their sentences: the same numbers, which are those of the recording."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.analyses.distribution import Distribution
from ptttool.analyses.drawing.bins import histogram_of_times
from ptttool.analyses.drawing.numbers import number_text, with_unit
from ptttool.analyses.drawing.pieces import range_text
from ptttool.analyses.latency.document import Latency, Spread
from ptttool.analyses.payload.document import Payload
from ptttool.analyses.shown import Histogram, Scale, Timeline, no_names
from ptttool.analyses.time.facts import TimeFacts
from ptttool.analyses.time.model import TimeModel
from ptttool.pipeline.scope import TimeOptions
from ptttool.report.page.charts import chart_data, chart_words
from tests.report.test_advice import reported
from tests.support import captures

FILES = (path for path in captures.FOLDER.rglob("*.data*") if ".kernel." not in path.name)
RECORDINGS = sorted({str(path.relative_to(captures.FOLDER)).partition(".data")[0] for path in FILES})


def check_bars(part: Histogram) -> None:
    """The bins do not overlap, look as wide as they are, and say what the sentence says."""
    data, words = chart_data(part), chart_words(part)
    assert all(low <= high for low, high in zip(part.lows, part.highs, strict=True))
    assert all(high < low for high, low in zip(part.highs, part.lows[1:], strict=False))
    if not any(data["counts"]):
        assert words == [f"No {part.what}."]
        return
    assert words[0].endswith(f"; {sum(data['counts']):,} {part.what}.")
    assert all(with_unit(end, part.unit) in words[0] for end in (part.lows[0], part.highs[-1]))
    assert (data["lows"][0], data["highs"][-1]) == pytest.approx((part.lows[0], part.highs[-1]), rel=1e-5)
    count = max(data["counts"])
    at = data["counts"].index(count)
    assert f" {range_text(part.lows[at], part.highs[at])} " in f"{words[1].replace(':', ' ')}"
    assert f": {count:,} {part.what}," in words[1]
    assert (data["lows"][at], data["highs"][at]) == pytest.approx((part.lows[at], part.highs[at]), rel=1e-5)
    widths = [behind - low for low, behind in zip(part.lows, part.lows[1:], strict=False)][1:]
    if part.scale is Scale.LINEAR:
        assert widths == pytest.approx([widths[0]] * len(widths)) if widths else True
    elif part.scale is Scale.LOGARITHMIC:
        lows = list(part.lows)[1:]
        assert all(1 < later / low < 1.6 for low, later in pairwise(lows) if low > 100)


def check_line(part: Timeline) -> None:
    data = chart_data(part)
    for series, drawn, words in zip(part.series, data["series"], chart_words(part), strict=True):
        values = [value for value in drawn["values"] if value is not None]
        if not values:
            assert words == f"{series.name}: no values."
            continue
        seen = [value for value in series.values if value is not None]
        assert (min(seen), max(seen)) == pytest.approx((min(values), max(values)), rel=1e-5)
        if part.axis:
            numbers = re.fullmatch(r".*: smallest (.*), largest (.*), at outstanding (.*)\.", words)
            assert numbers is not None
            limits = [f"{number_text(value)} {part.unit}" for value in (min(seen), max(seen))]
            assert [*numbers.groups()] == [*limits, number_text(part.times[list(series.values).index(max(seen))])]
            continue
        numbers = re.fullmatch(r".*: mean (.*), smallest (.*), largest (.*), in the interval from (.*) on(?: \(TLP (\d+)\))?\.", words)
        assert numbers is not None
        smallest, largest = (f"{number_text(value)} {part.unit}".rstrip() for value in (min(seen), max(seen)))
        assert (numbers[2], numbers[3]) == (smallest, largest)
        mean = float(numbers[1].removesuffix(part.unit).replace(",", ""))
        assert mean == pytest.approx(sum(values) / len(values), rel=1e-3)
        at = list(series.values).index(max(seen))
        assert data["times"][at] == pytest.approx(part.times[at], rel=1e-5)
        assert number_text(part.times[at], part.time_unit) in numbers[4]
        assert numbers[5] == (None if data["indexes"] is None else str(data["indexes"][at]))


def check_spread(part: Histogram, spread: Spread, scale: float) -> None:
    assert sum(part.counts) == spread.n
    assert (part.lows[0], part.highs[-1]) == (spread.min * scale, spread.max * scale)  # type: ignore[operator]


@pytest.mark.parametrize(("name", "tick_ns"), [*((name, None) for name in RECORDINGS), ("workloads/w-randread-4dw", 4.0)])
def test_charts_of_recordings(name: str, tick_ns: float | None, tmp_path: Path) -> None:
    with reported(name, tmp_path, TimeOptions(tick_ns=tick_ns)) as found:
        for part in (part for chapter in found.chapters for part in chapter.parts):
            if isinstance(part, Histogram):
                check_bars(part)
            elif isinstance(part, Timeline):
                check_line(part)
        latency, payload = found.results.get("latency"), found.results.get("payload")
    if isinstance(latency, Latency) and latency.ticks is not None and latency.ticks.n:
        drawn = [part for part in latency.shown(no_names) if isinstance(part, Histogram)]
        for part, spread in zip(drawn, (latency.ticks, latency.to_first), strict=True):
            assert spread is not None
            check_spread(part, spread, tick_ns or 1)
    if isinstance(payload, Payload) and tick_ns is None:
        check_sizes(payload, captures.path_of(name, tmp_path))


def check_sizes(payload: Payload, path: Path) -> None:
    """A bar is as high as its TLPs are many, those of sizes up to a limit are on its left; sizes are those of the rows."""
    with ptttool.open(str(path)) as recording:
        rows = recording.to_arrow(["kind", "length_dw"]).to_pylist()
    sizes: dict[str, Counter[int]] = {"write": Counter(), "read": Counter(), "completion": Counter()}
    for row in rows:
        kind, size = row["kind"], 4 * (row["length_dw"] or 0)
        of = (
            "write"
            if kind == "MWr" and size != 4
            else "read"
            if kind in ("MRd", "MRdLk")
            else "completion"
            if kind in ("CplD", "CplDLk")
            else ""
        )
        if of:
            sizes[of][size] += 1
    drawn = [part for part in payload.shown(no_names) if isinstance(part, Histogram)]
    for part, seen in zip(drawn, (found for found in sizes.values() if found), strict=True):
        assert (part.lows[0], part.highs[-1]) == (min(seen), max(seen))
        for low, high, count in zip(part.lows, part.highs, part.counts, strict=True):
            assert count == sum(number for size, number in seen.items() if low <= size <= high)
            assert not any(low <= limit < high for limit in part.marks.values())


TIMES = st.lists(st.one_of(st.integers(0, 300), st.integers(0, 1 << 40), st.integers(1000, 1 << 14)), min_size=1)


@given(TIMES, st.sampled_from([None, 4.0, 0.1]))
def test_bins_of_any_times(values: list[int], tick_ns: float | None) -> None:
    times = TimeFacts(TimeModel.COUNTER, True, None, 32, tick_ns, None, None, None, None, None, 0, 0, 0, [])
    found = Distribution()
    found.add(np.array(values, dtype=np.int64))
    marks = {"min": found.smallest, "p50": found.quantile(0.5), "max": found.largest}
    part = histogram_of_times("t", *found.bins(), times, "requests", marks)
    check_bars(part)
    assert len(part.counts) <= 200
    exact = [times.scaled(value) for value in values]
    assert (part.lows[0], part.highs[-1]) == (min(exact), max(exact))
    for low, high, count in zip(part.lows, part.highs, part.counts, strict=True):
        assert count == sum(low <= value <= high for value in exact)
    assert list(part.marks) == ["p50"] and part.lows[0] <= part.marks["p50"] <= part.highs[-1]
    said = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\.?\d*", chart_words(part)[0])]
    assert said[-1] == len(values)
