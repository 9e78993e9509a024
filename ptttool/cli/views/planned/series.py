"""Show a series: its runs, and how far each came."""

from __future__ import annotations

from ptttool.capture.series.manifest import Series
from ptttool.cli.terminal.talk import console, print_labelled
from ptttool.wording import clean


def print_series(path: str, series: Series) -> None:
    """Print the runs of a series on standard output."""
    from rich.table import Table

    print_labelled("series", f"{path}: runs one after another; no transaction is matched across them")
    if series.purposes:
        print_labelled("for", ", ".join(series.purposes))
    out = console()
    out.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("Run", "Traces", "State", "Recording"):
        table.add_column(title, justify="right" if title == "Run" else "left", overflow="fold")
    for number, run in enumerate(series.runs, 1):
        table.add_row(str(number), *(clean(text) for text in (run.name, run.state, run.file)))
    out.print(table)
