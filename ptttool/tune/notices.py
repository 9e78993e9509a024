"""What every command says of changes of tune attributes that were cut off; it costs one look into a folder where there are none."""

from __future__ import annotations

import os
from pathlib import Path

from ptttool.diagnostics import Diagnostic
from ptttool.files.own_folders import state_folder
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


def unfinished_notices(source: Source) -> tuple[Diagnostic, ...]:
    """Return what a command says of a machine's changes that were cut off; nothing where the journal may not be read."""
    folder = journal_folder(source)
    try:
        if folder is None or not any(name.endswith(OPEN) for name in journal_names(folder)):
            return ()
    except OSError:
        return ()
    from ptttool.tune.unfinished import find_unfinished

    return find_unfinished(source).diagnostics
