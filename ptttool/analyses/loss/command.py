"""The command of perf, as a recording's header keeps it."""

from __future__ import annotations

import re
from itertools import zip_longest

from ptttool.capture.perf.command import MINIMUM_AUX_SIZE
from ptttool.perfdata.model import Contents

_UNITS = {"B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def perf_arguments(contents: Contents) -> list[str] | None:
    """Return perf's own part of the recorded command line."""
    command = contents.features.get("cmdline")
    if not isinstance(command, list):
        return None
    arguments = [str(argument) for argument in command]
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def aux_size(arguments: list[str]) -> int | None:
    """Return the bytes of the AUX area that perf was asked for, or took by itself as root; None where it was asked for in pages."""
    for word, following in zip_longest(arguments, arguments[1:], fillvalue=""):
        if word in ("-m", "--mmap-pages"):
            value = following
        else:
            value = word.removeprefix("-m").removeprefix("--mmap-pages=") if word.startswith(("-m", "--mmap-pages=")) else ""
        if "," in value:
            match = re.fullmatch(r"(\d{1,12})([BKMG])", value.partition(",")[2], re.ASCII | re.IGNORECASE)
            return None if match is None else int(match[1]) * _UNITS[match[2].upper()]
    return MINIMUM_AUX_SIZE


def cpu_option(arguments: list[str]) -> str | None:
    """Return the value of ``-C``."""
    for word, following in zip_longest(arguments, arguments[1:], fillvalue=""):
        if word in ("-C", "--cpu"):
            return following or None
        if match := re.fullmatch(r"(?:-C|--cpu=)([\d,-]+)", word):
            return match[1]
    return None
