"""What starting up imports, and how many files stand side by side."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ptttool

PACKAGE = Path(ptttool.__file__).parent

# Start-up of every command imports these; none of them may cost more than the command line itself.
HEAVY = ("numpy", "polars", "pyudev", "rich.table", "rich.progress", "zstandard")
MOST_IN_ROOT, MOST_IN_FOLDER = 11, 12


def test_start_up_is_light() -> None:
    """Loading every command imports nothing heavy."""
    code = (
        "import sys; from ptttool.cli.main import load_commands; load_commands();"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_root_is_small() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= MOST_IN_ROOT


def test_no_folder_is_crowded() -> None:
    """A folder holds at most a dozen modules, ``__init__`` apart; commands and analyses, one file each, may be more."""
    crowded = {}
    for folder in {path.parent for path in PACKAGE.rglob("*.py")} - {PACKAGE, PACKAGE / "cli" / "commands", PACKAGE / "analyses"}:
        modules = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
        if len(modules) > MOST_IN_FOLDER:
            crowded[str(folder.relative_to(PACKAGE))] = len(modules)
    assert not crowded
