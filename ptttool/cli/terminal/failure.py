"""How a command reports that it failed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ptttool.cli.terminal.journal import Priority
from ptttool.cli.terminal.talk import json_text, say
from ptttool.documents import ErrorDocument
from ptttool.errors import PtttoolError
from ptttool.wording import clean

# Largest number of characters of an error message that are shown; a quoted part of it may have any length.
LONGEST = 2000


def report_error(error: PtttoolError, arguments: Sequence[str] = ()) -> int:
    """Write the error and its hint to standard error, with ``--json`` also as a document to standard output; return the exit code."""
    if _wants_json(arguments):
        _write_json_error(error)
    message = clean(error.message)
    text = message if len(message) <= LONGEST else message[:LONGEST] + "…"
    hint = clean(error.hint) if error.hint else None
    say(f"ptttool: error: {text}", Priority.ERROR, code=error.code, hint=hint, exit_code=int(error.exit_code))
    if hint:
        say(f"ptttool: hint: {hint}")
    return error.exit_code


def _wants_json(arguments: Sequence[str]) -> bool:
    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in ours


def _write_json_error(error: PtttoolError) -> None:
    try:
        sys.stdout.write(json_text(ErrorDocument.of(error)))
        sys.stdout.flush()
    except OSError:  # a closed or full standard output must not hide the error
        return
