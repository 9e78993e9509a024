"""``python -m ptttool`` and the ``ptttool`` script."""

import io
import os
import sys
from pathlib import Path


def run() -> None:
    """Run the command line and leave with its exit code."""
    try:
        from ptttool.cli.main import main

        settle_streams()
        code = main()
    except KeyboardInterrupt:  # before or after the command line's own boundary
        code = 130
    drop_what_cannot_be_written()
    sys.exit(code)


def drop_what_cannot_be_written() -> None:
    """Leave nothing for Python's own last flush, whose failure would change the exit code: the failure has been told by now."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def settle_streams() -> None:
    """Nothing that is printed makes a command fail whose work is done.

    A terminal that is not UTF-8 shows what it has no letter for as an escape; a stream that the caller closed (``>&-``) goes nowhere,
    and its number is taken so that no output file gets it.
    """
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115 - open to the end
        elif isinstance(stream, io.TextIOWrapper) and name != "stdin":
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    run()
