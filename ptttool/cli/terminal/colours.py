"""Colour on a terminal, as git and ip use it: errors red, warnings yellow, headings bold; nothing anywhere else.

``--color auto|always|never`` decides, then ``NO_COLOR`` (never), ``CLICOLOR_FORCE`` (always), then whether the stream is a terminal that
knows colour.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TextIO


class Style(StrEnum):
    """What text means; the value is the escape sequence that shows it."""

    ERROR = "\x1b[1;31m"
    WARNING = "\x1b[1;33m"
    HINT = "\x1b[36m"
    HEADING = "\x1b[1m"
    GOOD = "\x1b[32m"
    FAINT = "\x1b[2m"


class When(StrEnum):
    """When colour is used."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


_chosen = When.AUTO


def choose(when: When) -> None:
    """Take what ``--color`` says, for the rest of the process."""
    global _chosen
    _chosen = when


def has_colour(stream: TextIO) -> bool:
    """Return whether text on this stream is coloured."""
    if _chosen is not When.AUTO:
        return _chosen is When.ALWAYS
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return os.environ.get("CLICOLOR") != "0" and os.environ.get("TERM") != "dumb" and stream.isatty()


def painted(text: str, style: Style, stream: TextIO) -> str:
    """Return a text in a style, if the stream has colour."""
    return f"{style}{text}\x1b[0m" if text and has_colour(stream) else text
