"""What commands say of changes of tune attributes that were cut off."""

from __future__ import annotations

from ptttool.cli.terminal.talk import print_diagnostics
from ptttool.machine.sources.contract import Source
from ptttool.tune.journal.folder import has_open_changes


def print_unfinished(source: Source) -> None:
    """Print the changes that were cut off, on standard error. Nothing heavy is imported where there are none."""
    if has_open_changes(source):
        from ptttool.tune.journal.unfinished import find_unfinished

        print_diagnostics(find_unfinished(source).diagnostics)
