"""The command of perf, as a recording's header keeps it."""

from __future__ import annotations

import re
from itertools import zip_longest

from ptttool.perfdata.model import Contents


def perf_arguments(contents: Contents) -> list[str] | None:
    """Return perf's own part of the recorded command line."""
    command = contents.features.get("cmdline")
    if not isinstance(command, list):
        return None
    arguments = [str(argument) for argument in command]
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def cpu_option(arguments: list[str]) -> str | None:
    """Return the value of ``-C``."""
    for word, following in zip_longest(arguments, arguments[1:], fillvalue=""):
        if word in ("-C", "--cpu"):
            return following or None
        if match := re.fullmatch(r"(?:-C|--cpu=)([\d,-]+)", word):
            return match[1]
    return None
