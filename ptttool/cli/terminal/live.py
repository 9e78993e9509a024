"""A line of progress that leaves the terminal usable, however the command ends."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.live import Live


class _WithCursor(Console):
    """A console with its cursor: SIGKILL or SIGQUIT would leave it hidden."""

    def show_cursor(self, show: bool = True) -> bool:  # noqa: ARG002
        """Do nothing; it is shown."""
        return False


def live_line() -> Live:
    """Return a line of standard error, which is a terminal; it is removed at its end."""
    console = _WithCursor(file=sys.stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)
    return Live(console=console, auto_refresh=False, transient=True)
