"""Where the journal of a machine is, and whether it has a change that is not over: one look into a folder, quick to import."""

from __future__ import annotations

import os
from pathlib import Path

from ptttool.files.ownership import state_folder
from ptttool.machine.sources.contract import Source

OPEN = ".open"


def journal_folder(source: Source) -> Path | None:
    """Return the folder of a machine's journal; None for a machine in the memory of this process."""
    return None if source.identity is None else state_folder() / "journal" / source.identity


def journal_names(folder: Path) -> list[str]:
    """List the files of changes in a journal, the oldest first; none where there is no folder. Raises OSError."""
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except FileNotFoundError:
        return []
    return sorted(name for name in names if name[:8].isascii() and name[:8].isdigit() and name[8:9] == ".")


def has_open_changes(source: Source) -> bool:
    """Tell whether a machine's journal has a change that is not over; False where the journal may not be read."""
    folder = journal_folder(source)
    try:
        return folder is not None and any(name.endswith(OPEN) for name in journal_names(folder))
    except OSError:
        return False
