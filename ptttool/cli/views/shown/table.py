"""Draw a table: numbers to the right, and only columns that have room."""

from __future__ import annotations

from collections.abc import Sequence

from ptttool.analyses.drawing.numbers import head_text, number_text
from ptttool.analyses.drawing.pieces import cell_rows, first_rows, without_empty_columns
from ptttool.analyses.shown import Column, Table
from ptttool.cli.terminal.talk import console, folded, plain_table, print_line
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
    table = without_empty_columns(first_rows(table, medium.most_rows) if cut else table)
    if table.rows:
        rows = cell_rows(table)
        blocks, left_out = fitting(table.columns, rows, medium.width)
        for number, chosen in enumerate(blocks):
            if number:
                print_line("")
            _print_block(table, rows, chosen)
        if left_out:
            _print_wrapped(f"no room for: {in_words([head_text(table.columns[at]) for at in left_out])}", medium)
    else:
        print_line("none")
    if table.more:
        print_line(f"and {number_text(table.more)} more")
    if table.note:
        _print_wrapped(table.note, medium)


def _print_block(table: Table, rows: Sequence[Sequence[str]], chosen: Sequence[int]) -> None:
    drawn = plain_table()
    for column in (table.columns[at] for at in chosen):
        drawn.add_column(head_text(column), justify="right" if column.is_number else "left", no_wrap=column.is_number, overflow="fold")
    for number, row in enumerate(rows):
        drawn.add_row(*(row[at] for at in chosen), style="bold" if number == len(table.rows) else None)
    console().print(drawn)


def fitting(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> tuple[list[list[int]], list[int]]:
    """Return which columns are drawn: those of the largest weight are left out first, until the others fit into a width.

    Where those that are never left out do not fit, the table is drawn in several blocks, each with the first column.

    Parameters
    ----------
    columns : sequence of Column
        The columns.
    rows : sequence of sequence of str
        The cells.
    width : int or None
        Characters of a line; None: all columns fit.

    Returns
    -------
    blocks : list of list of int
        Positions of the columns, block by block.
    left_out : list of int
        Positions of the columns that have no room.
    """
    from rich.cells import cell_len

    chosen = list(range(len(columns)))
    if width is None:
        return [chosen], []
    needed = [max(map(cell_len, (head_text(column), *(row[at] for row in rows)))) for at, column in enumerate(columns)]
    # Texts that cannot be left out are wrapped.
    needed = [
        min(size, max(_NARROWEST_TEXT, cell_len(head_text(column)))) if not column.is_number and not column.weight else size
        for size, column in zip(needed, columns, strict=True)
    ]
    while sum(needed[at] + _GAP for at in chosen) - _GAP > width:
        heaviest = max(chosen, key=lambda at: (columns[at].weight, at))
        if not columns[heaviest].weight:
            break
        chosen.remove(heaviest)
    blocks = [chosen[:1]]
    for at in chosen[1:]:
        if len(blocks[-1]) > 1 and sum(needed[each] + _GAP for each in (*blocks[-1], at)) - _GAP > width:
            blocks.append(chosen[:1])
        blocks[-1].append(at)
    return blocks, [at for at in range(len(columns)) if at not in chosen]


def _print_wrapped(text: str, medium: Medium) -> None:
    line = clean(text)
    print_line(line if medium.width is None else "\n".join(folded(line, medium.width, "")))
