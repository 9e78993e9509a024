"""What starting up imports."""

from __future__ import annotations

import subprocess
import sys

# Start-up of every command imports these; none of them may cost more than the command line itself.
HEAVY = ("numpy", "polars", "pyudev", "rich.table", "rich.progress", "zstandard")


def test_start_up_is_light() -> None:
    """Loading every command imports nothing heavy."""
    code = (
        "import sys; from ptttool.cli.main import load_commands; load_commands();"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
