"""Samples as lines of text, for ``ptttool top --batch`` and for pipes."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.api.sample import Sample
from ptttool.cli.views.top.columns import COLUMNS, SORTED_BY, fitting, ordered, summary


def sample_lines(sample: Sample, width: int) -> Iterator[str]:
    """Yield the lines of a sample: its summary, and a table that fits into so many cells.

    Parameters
    ----------
    sample : Sample
        The sample.
    width : int
        Cells of a line.
    """
    yield from summary(sample)
    shown = [COLUMNS[number] for number in fitting(width)]
    yield _line([column.title.rjust(column.width) if column.is_number else column.title.ljust(column.width) for column in shown])
    for row in ordered(sample.rows, SORTED_BY, backwards=False, wanted=""):
        texts = [(column, column.text(row)) for column in shown]
        yield _line([text.rjust(column.width) if column.is_number else text.ljust(column.width) for column, text in texts])


def _line(cells: list[str]) -> str:
    return "  ".join(cells).rstrip()
