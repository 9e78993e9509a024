"""Samples as lines of text, for ``ptttool top --batch`` and for pipes."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.api.live import Sample
from ptttool.cli.views.top.columns import SORTED_BY, columns_of, fitting, ordered, summary, texts


def sample_lines(sample: Sample, width: int) -> Iterator[str]:
    """Yield the lines of a sample: its summary, and a table that fits into so many cells.

    Parameters
    ----------
    sample : Sample
        The sample.
    width : int
        Cells of a line.
    """
    yield from summary(sample, width)
    columns = columns_of(sample)
    numbers = fitting(width, columns=columns)
    shown = [columns[number] for number in numbers]
    yield _line([column.title.rjust(column.width) if column.is_number else column.title.ljust(column.width) for column in shown])
    for row in ordered(sample.rows, SORTED_BY, backwards=False, wanted="", columns=columns):
        cells = zip(shown, texts(row, numbers, columns), strict=True)
        yield _line([text.rjust(column.width) if column.is_number else text.ljust(column.width) for column, text in cells])


def _line(cells: list[str]) -> str:
    return "  ".join(cells).rstrip()
