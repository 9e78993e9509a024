"""``python -m ptttool`` and the ``ptttool`` script."""

import io
import sys


def run() -> None:
    """Run the command line and leave with its exit code."""
    from ptttool.cli.main import main

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that is not UTF-8 shows what it has no letter for as an escape; nothing fails after its work is done.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())


if __name__ == "__main__":
    run()
