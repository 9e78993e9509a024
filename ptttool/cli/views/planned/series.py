"""Show a series: its runs, and how far each came."""

from __future__ import annotations

from ptttool.capture.series.manifest import Series
from ptttool.cli.terminal.talk import console, plain_table, print_labelled
from ptttool.wording import clean


def print_series(path: str, series: Series) -> None:
    """Print the runs of a series on standard output."""
    print_labelled("series", f"{path}: runs one after another; no transaction is matched across them")
    if series.purposes:
        print_labelled("for", ", ".join(series.purposes))
    out = console()
    out.print()
    table = plain_table(("Run", "Traces", "State", "Recording"), right=("Run",))
    for number, run in enumerate(series.runs, 1):
        table.add_row(str(number), *(clean(text) for text in (run.name, run.state, run.file)))
    out.print(table)
