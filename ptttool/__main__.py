"""``python -m ptttool`` and the ``ptttool`` script."""

import sys


def run() -> None:
    """Run the command line and leave with its exit code."""
    from ptttool.cli.main import main

    sys.exit(main())


if __name__ == "__main__":
    run()
