"""A command in one file: the number of rows of a recording."""

from __future__ import annotations

import ptttool
from ptttool.cli.app import app
from ptttool.cli.terminal.talk import print_line


@app.command("toy")
def toy(file: str, protocol: str | None = None) -> None:
    """Count the rows of a recording."""
    parameters = {"longest": 9} if protocol == "toy" else None
    with ptttool.open(file, protocol, parameters=parameters) as recording:
        print_line(str(sum(batch.size for batch in recording.batches(["index"]))))
