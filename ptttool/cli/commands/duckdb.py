"""``ptttool duckdb``: the macros for DuckDB."""

from __future__ import annotations

from ptttool.cli.app import app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.terminal.talk import print_line

EXAMPLES = (Example("ptttool duckdb", "In duckdb: .read \"the path\", then bdf('01:00.0') and bdf_text(256) are there."),)


@app.command("duckdb", stage=Stage.MORE, rank=30, examples=EXAMPLES)
def duckdb() -> None:
    """Print the path of SQL macros for DuckDB, such as bdf('01:00.0').

    They are for Parquet files that 'ptttool decode' writes: duckdb -init "$(ptttool duckdb)".
    """
    from ptttool.exporters.parquet import DUCKDB_MACROS

    print_line(str(DUCKDB_MACROS))
