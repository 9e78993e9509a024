"""Which letters standard output and standard error can show: ASCII where the locale has no UTF-8, as on a serial console."""

from __future__ import annotations

import codecs
import os
from typing import TextIO

_INSTEAD = {
    "→": "->", "←": "<-", "…": "...", "×": "x", "±": "+/-", "µ": "u", "–": "-", "—": "-", "▲": "^", "▼": "v", "•": "*",
    "\N{THIN SPACE}": " ", "\N{NARROW NO-BREAK SPACE}": " ", "\N{NO-BREAK SPACE}": " ",
    **dict.fromkeys("─━═╌╴╶", "-"), **dict.fromkeys("│┃║╎", "|"), **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯┏┓┗┛┡┩╇", "+"),
    **dict.fromkeys("█▉▊▋▌▍▎▏▇▆▅▄", "#"), **dict.fromkeys("▃▂▁", "."),
}  # fmt: skip
"""What stands for letters that are not ASCII; others are escaped."""

HANDLER = "ptttool-ascii"


def _instead(error: UnicodeError) -> tuple[str, int]:
    """Replace what cannot be encoded: the handler of :data:`HANDLER`."""
    assert isinstance(error, UnicodeEncodeError)
    letter = error.object[error.start]
    escaped = codecs.backslashreplace_errors(UnicodeEncodeError(error.encoding, error.object, error.start, error.start + 1, error.reason))
    return _INSTEAD.get(letter, str(escaped[0])), error.start + 1


codecs.register_error(HANDLER, _instead)


def shown(text: str, stream: TextIO) -> str:
    """Return a text in the letters that a stream takes."""
    encoding = (stream.encoding or "utf-8").lower()
    return text if encoding.startswith("utf") else text.encode("ascii", HANDLER).decode("ascii")


def has_unicode_locale() -> bool:
    """Return whether the locale has UTF-8; where no variable names one, Python's own choice (UTF-8) counts.

    Python itself sets LC_CTYPE where the locale is C and LC_ALL does not say so: then LANG is what the user has set.
    """
    values, kind = os.environ, os.environ.get("LC_CTYPE")
    named = values.get("LC_ALL") or (None if kind in ("C.UTF-8", "C.utf8", "UTF-8") else kind) or values.get("LANG") or kind
    return not named or "utf8" in named.lower().replace("-", "")
