"""``ptttool duckdb``: the macros for DuckDB."""

from __future__ import annotations

from ptttool.cli.app import app
from ptttool.cli.terminal.talk import print_line


@app.command("duckdb")
def duckdb() -> None:
    """Print the path of a file of SQL macros for DuckDB, such as bdf('01:00.0') and bdf_text(256).

    They are for Parquet files that 'ptttool decode' writes: duckdb -init "$(ptttool duckdb)".
    """
    from ptttool.exporters.parquet import DUCKDB_MACROS

    print_line(str(DUCKDB_MACROS))
