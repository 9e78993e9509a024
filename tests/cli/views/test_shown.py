"""Shown parts on a terminal of any width, and in a pipe."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

import pytest
from rich.cells import cell_len

from ptttool.analyses.shown import Column, Facts, Histogram, Note, Part, Series, Table, Timeline, Unit, text_column
from ptttool.cli.views.shown.medium import Medium, standard_output
from ptttool.cli.views.shown.parts import print_parts
from ptttool.cli.views.shown.pictures import bar_text, histogram_lines, timeline_lines
from ptttool.cli.views.shown.table import fitting
from ptttool.diagnostics import Severity

COLUMNS = (text_column("Requester"), text_column("Name", 3), Column("TLPs"), Column("P", weight=2), Column("Bytes"))
ROWS = [("01:00.0", "nvme0, nvme0n1", 123456, 12, 1 << 30), ("02:00.0", None, 7, 1, 0)]
HISTOGRAM = Histogram(
    "Latency", "Time", [2**power for power in range(19)], [2**power - 1 for power in range(1, 20)], range(1, 20), Unit.TICKS,
    marks={"p50": 5000.0, "p99": 500_000.0},
)  # fmt: skip
POINTS = [None if number == 5 else float(number % 100) for number in range(1000)]
TIMELINE = Timeline("Rate", range(1000), Unit.TICKS, (Series("in", POINTS),), "bytes", indexes=range(1000), limits={"link": 120.0})
TWO = Timeline("Rates", range(1000), Unit.TICKS, (Series("in", POINTS), Series("out", [0.0] * 1000)), "bytes")


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("is_unicode", [True, False])
def test_pictures_fit(width: int, is_unicode: bool) -> None:
    medium = Medium(True, width, is_unicode)
    lines = [
        line
        for picture in (histogram_lines(HISTOGRAM, medium), timeline_lines(TIMELINE, medium), timeline_lines(TWO, medium))
        for line in picture
    ]
    assert max(map(cell_len, lines)) <= width
    assert is_unicode or all(line.isascii() for line in lines)
    assert any("99" in line for line in lines)  # the index of the largest


def test_what_is_not_nothing_is_seen() -> None:
    assert bar_text(0, 10, is_unicode=True) == "" == bar_text(0, 10, is_unicode=False)
    assert bar_text(1e-9, 10, is_unicode=True) == "▏" and bar_text(1e-9, 10, is_unicode=False) == "#"
    assert bar_text(1, 10, is_unicode=True) == "█" * 10


def test_the_heaviest_columns_go_first() -> None:
    rows = [[str(cell or "") for cell in row] for row in ROWS]
    assert fitting(COLUMNS, rows, None) == fitting(COLUMNS, rows, 80) == ([[0, 1, 2, 3, 4]], [])
    assert fitting(COLUMNS, rows, 40) == ([[0, 2, 3, 4]], [1])
    assert fitting(COLUMNS, rows, 32) == ([[0, 2, 4]], [1, 3])
    # The others are never left out: the table goes on below, with its first column.
    assert fitting(COLUMNS, rows, 21) == ([[0, 2], [0, 4]], [1, 3])
    assert fitting(COLUMNS, rows, 5) == ([[0, 2], [0, 4]], [1, 3])


class Terminal(io.StringIO):
    """A standard output that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def printed(parts: Sequence[Part], monkeypatch: pytest.MonkeyPatch, *, columns: int | None) -> str:
    """What is printed: on a terminal of that width, or into a pipe."""
    stream = io.StringIO() if columns is None else Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("NO_COLOR", "1")
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(columns))
    print_parts(parts, standard_output(1))
    return stream.getvalue()


PARTS: list[Part] = [
    Note("odd\x1b[31m", Severity.WARNING),
    Facts([("a", "1"), ("longer", "2")]),
    Table("T\x1b]0;x", COLUMNS, ROWS, total=("all", None, 123463, 13, 1 << 30), note="a note"),
    HISTOGRAM,
    TIMELINE,
]


@pytest.mark.parametrize("columns", [None, 60, 80, 200])
def test_nothing_of_a_file_reaches_the_terminal(columns: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(PARTS, monkeypatch, columns=columns)
    assert "\x1b]" not in text and "\x1b[31m" not in text
    assert "and 1 more" in text and "1,073,741,824" in text
    assert columns is None or max(cell_len(line) for line in text.splitlines() if "\x1b" not in line) <= columns


def test_no_picture_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(PARTS, monkeypatch, columns=None)
    assert "█" not in text and "▁" not in text
    # All numbers are there, however few rows of a table are wanted.
    times = [line.split()[0].replace(",", "") for line in text.splitlines()[-1001:-1]]
    assert times == [str(number) for number in range(1000)]
    pictured = printed(PARTS, monkeypatch, columns=80)
    assert "█" in pictured


@pytest.mark.parametrize(("columns", "width"), [(None, None), ("100", 100), ("9", 40)])
def test_a_pipe_has_a_width_where_columns_says_it(columns: str | None, width: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert (standard_output().is_terminal, standard_output().width) == (False, width)
