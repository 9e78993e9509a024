"""The Python library: what the commands do, as functions. A text alone stands for a list of one."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from ptttool.errors import UsageError


def listed(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return the texts of a list, or the one text that stands for it."""
    return (names,) if isinstance(names, str) else tuple(names)


def command_words(command: Iterable[str]) -> tuple[str, ...]:
    """Return the words of a command. Raises UsageError for a text: a program can have blanks in its name."""
    if isinstance(command, str):
        raise UsageError(
            f"the command {command!r} is one text",
            hint=f"a list of its words: {shlex.split(command, posix=False)}",
            code="command-not-a-list",
        )
    return tuple(command)
