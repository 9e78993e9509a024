"""Draw a table: numbers to the right, and only columns that have room."""

from __future__ import annotations

from collections.abc import Sequence

from ptttool.analyses.drawing.numbers import cell_text, head_text, number_text
from ptttool.analyses.drawing.pieces import first_rows, without_empty_columns
from ptttool.analyses.shown import Column, Table
from ptttool.cli.terminal.talk import console, print_line
from ptttool.cli.views.shown.medium import Medium
from ptttool.wording import clean, in_words

# Blanks between two columns.
_GAP = 2
# A column of texts is as wide as its longest text, but not wider than this where there is no room for it.
_NARROWEST_TEXT = 12


def print_table(table: Table, medium: Medium, *, cut: bool = True) -> None:
    """Print a table, without its title.

    Parameters
    ----------
    table : Table
        The table.
    medium : Medium
        What standard output can show.
    cut : bool
        Whether rows above the medium's number are left out.
    """
    from rich.table import Table as RichTable

    table = without_empty_columns(first_rows(table, medium.most_rows) if cut else table)
    if not table.rows:
        print_line("none")
    else:
        rows = [[cell_text(cell, column) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows]
        total = [] if table.total is None else [[cell_text(cell, column) for cell, column in zip(table.total, table.columns, strict=True)]]
        chosen = fitting(table.columns, [*rows, *total], medium.width)
        drawn = RichTable(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
        for at in chosen:
            column = table.columns[at]
            drawn.add_column(head_text(column), justify="right" if column.is_number else "left", no_wrap=column.is_number, overflow="fold")
        for row in rows:
            drawn.add_row(*(row[at] for at in chosen))
        for row in total:
            drawn.add_row(*(row[at] for at in chosen), style="bold")
        console().print(drawn)
        left_out = [head_text(column) for at, column in enumerate(table.columns) if at not in chosen]
        if left_out:
            _print_wrapped(f"no room for: {in_words(left_out)}", medium)
    if table.more:
        print_line(f"and {number_text(table.more)} more")
    if table.note:
        _print_wrapped(table.note, medium)


def fitting(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> list[int]:
    """Return the positions of the columns that fit into a width: those of the largest weight are left out first.

    Parameters
    ----------
    columns : sequence of Column
        The columns.
    rows : sequence of sequence of str
        The cells.
    width : int or None
        Characters of a line; None: all columns fit.
    """
    from rich.cells import cell_len

    chosen = list(range(len(columns)))
    if width is None:
        return chosen
    needed = [max(map(cell_len, (head_text(column), *(row[at] for row in rows)))) for at, column in enumerate(columns)]
    # Texts that cannot be left out are wrapped.
    needed = [
        min(size, _NARROWEST_TEXT) if not column.is_number and not column.weight else size
        for size, column in zip(needed, columns, strict=True)
    ]
    while sum(needed[at] + _GAP for at in chosen) - _GAP > width:
        heaviest = max(chosen, key=lambda at: (columns[at].weight, at))
        if not columns[heaviest].weight:
            break
        chosen.remove(heaviest)
    return chosen


def _print_wrapped(text: str, medium: Medium) -> None:
    import textwrap

    line = clean(text)
    print_line(line if medium.width is None else textwrap.fill(line, medium.width, break_long_words=False, break_on_hyphens=False))
