"""Time lines are the same wherever a recording is cut, keep their sums, and are exact where a point is a record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.analyses.time.clock import Clock
from ptttool.analyses.time.line import Line
from ptttool.analyses.time.model import TimeModel
from ptttool.decoders.hisi_ptt.layout import Layout
from tests.analyses.time.test_clock import batch_of, cut, marks_of, traces
from tests.reference.time import moments

Part = tuple[Clock, Line]


def line_of(layout: Any, pieces: Any, limit: int, model: TimeModel, rows: int = 0) -> Part:
    """The line of a part, seen in two batches; its sums are the number of records, and three times that."""
    clock, line = Clock(model, 32 if layout.eight_dw else 11), Line(2, limit=limit)
    batch = batch_of(layout, pieces)
    for each in (batch.part(0, rows), batch.part(rows, batch.size)):
        ticks = clock.ticks(each)
        starts = line.starts(each)
        ones = np.diff(starts, append=each.size)
        line.add(each, ticks, starts, ones, 3 * ones)
    return clock, line


def joined(first: Part, later: Part) -> Part:
    first[1].merge(later[1], first[0].merge(later[0]))
    return first


@given(trace=traces(), limit=st.sampled_from((2, 3, 5, 100)), model=st.sampled_from(tuple(TimeModel)), data=st.data())
def test_any_cutting_gives_the_same_line(trace: Any, limit: int, model: TimeModel, data: st.DataObject) -> None:
    layout, pieces = trace
    whole = line_of(layout, pieces, limit, model)
    parts, rest = [], pieces
    for _ in range(data.draw(st.integers(1, 4), label="parts")):
        part, rest = cut(rest, data.draw(st.integers(0, 12), label="records"), layout.record_size)
        parts.append(line_of(layout, part, limit, model, data.draw(st.integers(0, 12), label="rows")))
    parts.append(line_of(layout, rest, limit, model))
    if data.draw(st.booleans(), label="from the end"):
        while len(parts) > 1:
            later = parts.pop()
            joined(parts[-1], later)
    else:
        while len(parts) > 1:
            joined(parts[0], parts.pop(1))
    if whole[1].shift < 60:
        assert parts[0][1].points.tolist() == whole[1].points.tolist()
    assert parts[0][1].sums.sum(axis=0).tolist() == [whole[0].rows, 3 * whole[0].rows]
    assert len(whole[1].points) <= limit


@given(trace=traces(), count=st.integers(1, 9), model=st.sampled_from((TimeModel.COUNTER, TimeModel.DELTA)))
def test_intervals_where_each_record_is_a_point(trace: Any, count: int, model: TimeModel) -> None:
    layout, pieces = trace
    _, line = line_of(layout, pieces, 1000, model)
    found = line.intervals(count)
    wanted = [each.ticks for each in moments(marks_of(layout, pieces), model.value)]
    places = [at // found.width for at in wanted]
    assert len(found.begins) <= count
    assert found.begins.tolist() == [number * found.width for number in range(len(found.begins))]
    assert found.sums.tolist() == [[places.count(number), 3 * places.count(number)] for number in range(len(found.begins))]
    rows = [min([row for row, at in enumerate(wanted) if at >= begin], default=None) for begin in found.begins.tolist()]
    assert found.rows.tolist() == rows


@pytest.mark.parametrize("limit", [2, 3, 7])
def test_intervals_keep_the_sums_where_points_are_joined(limit: int) -> None:
    pieces = [(0, 0, [(0x60000001 | time, 0, 0, 0) for time in (0, 3, 3, 90, 700, 701, 702, 2000, 2040, 7)])]
    _, line = line_of(Layout(False), pieces, limit, TimeModel.COUNTER)
    for count in range(1, 20):
        found = line.intervals(count)
        assert found.sums.sum(axis=0).tolist() == [10, 30]
        assert (np.diff(found.rows) >= 0).all()
        by_rows = line.intervals(count, by_rows=True)
        assert by_rows.sums.sum(axis=0).tolist() == [10, 30]
        assert by_rows.rows.tolist() == by_rows.begins.tolist()


def test_moments_of_the_ends_of_records() -> None:
    pieces = [(3, 64, [(0x60000000 | time, 0, 0, 0) for time in (10, 13, 50)]), (3, 1 << 20, [(0x60000000, 0, 0, 0)])]
    _, line = line_of(Layout(False), pieces, 100, TimeModel.COUNTER)
    ticks, segments = line.moments(3, np.array([64, 80, 96, 112, 1 << 20, (1 << 20) + 16, 1 << 21]))
    assert segments.tolist() == [-1, 0, 0, 0, -1, 1, -1]
    assert [int(tick) for tick, segment in zip(ticks, segments, strict=True) if segment >= 0] == [0, 3, 40, 40]
    assert line.moments(2, np.array([80]))[1].tolist() == [-1]
