"""Standard streams that the caller has closed, or that cannot take every letter, or a part of a write."""

from __future__ import annotations

import os
import sys

from ptttool.cli.terminal.letters import HANDLER, has_unicode_locale
from ptttool.errors import OutputError
from ptttool.files.standard import write_whole

CLOSED: set[str] = set()
"""Names of the standard streams that were closed when the command started (``>&-``)."""


def settle_streams() -> None:
    """Occupy the numbers of closed standard streams, so that no other file gets them; the others write all, in letters they take.

    Where the locale has no UTF-8, letters are replaced by ASCII. Reading a closed standard input, and writing to a closed standard
    output, still fails. Messages to a closed standard error are lost.
    """
    # Opened in this order, each gets the lowest number that is free: its own.
    ascii_only = not has_unicode_locale()
    for name, access in (("stdin", os.O_WRONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        stream = getattr(sys, name)
        if stream is None:
            CLOSED.add(name)
            descriptor = os.open(os.devnull, access)
            os.set_inheritable(descriptor, True)
            setattr(sys, name, open(descriptor, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False))  # noqa: SIM115
        elif name != "stdin":
            write_whole(name, **({"encoding": "ascii", "errors": HANDLER} if ascii_only else {"errors": "backslashreplace"}))


def no_standard_output() -> OutputError:
    """Make the error for output that has nowhere to go."""
    return OutputError("standard output is closed", hint="write to a file, or leave standard output open", code="no-output")


def drop_what_cannot_be_written() -> None:
    """Leave nothing for Python's own last flush: its failure would change the exit code, and has been reported by now."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
