"""TLP headers as logs show them: lines of dmesg (``TLP Header: …``) and lspci (``HeaderLog: …``), or DWs that were typed."""

from __future__ import annotations

import re
from typing import NamedTuple

from ptttool.budget import over_budget_text
from ptttool.errors import UsageError
from ptttool.tlp.budget import MAX_LOG

# What stands before the DWs in dmesg ("TLP Header: ") and lspci ("HeaderLog: "); the DWs go on to the end of the line.
_LABEL = re.compile(r".*(?:TLP Header|HeaderLog|Header Log)[^:]*:", re.IGNORECASE | re.DOTALL)
_PREFIXES = "E-E Prefixes:"
_DW = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,8})")


class LoggedHeader(NamedTuple):
    """The DWs of a header, and those of the prefixes that the log shows with it."""

    words: list[int]
    prefixes: list[int]


def parse_log(text: str) -> LoggedHeader:
    """Read a header from a line of a log, or from DWs alone.

    Parameters
    ----------
    text : str
        DWs in hexadecimal, with or without ``0x``, separated by blanks or commas; a label may stand before them, ``E-E Prefixes: …``
        after them.

    Raises
    ------
    UsageError
        There are no DWs or something else, ``code`` is ``bad-header``; or the header is one of flit mode, ``flit-header``.
    """
    if len(text) > MAX_LOG:
        raise over_budget_text("the header", MAX_LOG, "characters", hint="give one line of the log")
    header, _, prefixes = text.partition(_PREFIXES)
    return LoggedHeader(parse_dws(header), parse_dws(prefixes) if prefixes.strip() else [])


def parse_dws(text: str) -> list[int]:
    """Read DWs in hexadecimal; see :func:`parse_log`, of which this leaves prefixes out."""
    if re.search(r"\(Flit\)", text, re.IGNORECASE):
        raise UsageError("this header is in flit mode: ptttool does not know its layout", code="flit-header")
    label = _LABEL.match(text)
    words = []
    for word in re.split(r"[\s,]+", (text if label is None else text[label.end() :]).strip()):
        match = _DW.fullmatch(word)
        if match is None:
            raise UsageError(
                f"{word!r} is not a 32-bit DW in hexadecimal" if word else "there are no DWs",
                hint="give 3 or 4 DWs, such as: 60000001 01001e0f 00000004 02810040",
                code="bad-header",
            )
        words.append(int(match[1], 16))
    return words
