"""Shown parts, made ready to be drawn as text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ptttool.analyses.drawing.numbers import head_text, number_text
from ptttool.analyses.drawing.pieces import (
    bars,
    first_rows,
    histogram_table,
    timeline_table,
    together,
    with_common_unit,
    without_empty_columns,
)
from ptttool.analyses.shown import Column, Histogram, Series, Table, Timeline, Unit, text_column


def test_numbers() -> None:
    assert [number_text(value) for value in (0, 1234567, 12.5, 1234.56, 0.00012345)] == ["0", "1,234,567", "12.5", "1,235", "0.0001234"]
    assert number_text(1234567, Unit.INDEX) == "1234567"
    assert number_text(12.34, Unit.PERCENT) == "12.3 %"


def test_rows_that_are_left_out_are_counted() -> None:
    table = Table("t", (text_column("a"), Column("b")), [("x", 1), ("y", None), ("z", None)], more=4)
    assert (first_rows(table, 1).rows, first_rows(table, 1).more) == ([("x", 1)], 6)
    assert first_rows(table, None) is table and first_rows(table, 3) is table


def test_empty_columns_go() -> None:
    table = Table("t", (text_column("a"), Column("b"), Column("c")), [("x", None, 0), ("y", None, 1)], total=("all", None, 1))
    assert [column.title for column in without_empty_columns(table).columns] == ["a", "c"]
    assert without_empty_columns(table).total == ["all", 1]


def test_a_unit_that_columns_share_stands_in_the_title() -> None:
    columns = (text_column("a"), Column("p50", Unit.TICKS), Column("p99", Unit.TICKS))
    table = with_common_unit(Table("t", columns, [("x", 1, 2)]))
    assert table.title == "t (times in ticks)" and [head_text(column) for column in table.columns] == ["a", "p50", "p99"]
    alone = Table("t", columns[:2], [("x", 1)])
    assert with_common_unit(alone) is alone and head_text(alone.columns[1]) == "p50 [ticks]"
    mixed = Table("t", (*columns, Column("s", Unit.NANOSECONDS)), [("x", 1, 2, 3)])
    assert with_common_unit(mixed) is mixed


def test_bars() -> None:
    histogram = Histogram("h", "Time", (1, 2, 4), (1, 3, 7), (3, 0, 1), Unit.TICKS, marks={"p50": 1, "max": 7})
    found = bars(histogram)
    assert [(bar.label, bar.count, bar.share, bar.marks) for bar in found] == [
        ("1", 3, 75.0, ("p50",)),
        ("2 to 3", 0, 0.0, ()),
        ("4 to 7", 1, 25.0, ("max",)),
    ]
    assert bars(Histogram("h", "Time", (0,), (1,), (0,), Unit.NONE)) == []
    assert [row[1] for row in histogram_table(histogram).rows] == [3, 0, 1]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=200), st.integers(1, 40))
def test_no_count_is_lost(counts: list[int], most: int) -> None:
    found = bars(Histogram("h", "Level", range(len(counts)), range(len(counts)), counts, Unit.NONE), most)
    assert sum(bar.count for bar in found) == sum(counts)
    assert len(found) <= most


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e9)), min_size=1, max_size=300), st.integers(1, 80))
def test_points_keep_their_largest(values: list[float | None], most: int) -> None:
    points, count = together(values, most)
    seen = [value for value in values if value is not None]
    assert len(points) <= most and (len(points) - 1) * count < len(values) <= len(points) * count
    assert max((point for point in points if point is not None), default=None) == max(seen, default=None)


def test_a_time_line_in_numbers() -> None:
    timeline = Timeline("t", (0, 10), Unit.TICKS, (Series("a", (1.0, None)), Series("b", (2.0, 3.0))), "TLPs", indexes=(7, 9))
    table = timeline_table(timeline)
    assert list(table.rows) == [[0, 1.0, 2.0, 7], [10, None, 3.0, 9]]
