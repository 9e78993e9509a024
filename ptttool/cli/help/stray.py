"""What words look like that stand where they have no place: the rest of a condition without quotes, a device without its option."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from ptttool.errors import UsageError
from ptttool.wording import clean

_OPERATORS = frozenset("= == != <> <= >= < > ~ && || ! AND OR NOT IN IS LIKE ILIKE BETWEEN".split())


def check_quotes(where: str | None, words: Sequence[str]) -> None:
    """Raise a UsageError where words behind a condition are the rest of it.

    Parameters
    ----------
    where : str or None
        The condition.
    words : sequence of str
        What stands where recordings are named, or further arguments.
    """
    at = next((number for number, word in enumerate(words) if word.upper() in _OPERATORS and not os.path.lexists(word)), None)
    if where is None or at is None:
        return
    end = next((number for number in range(at, len(words)) if os.path.lexists(words[number])), len(words))
    meant = [where, *words[at:end]]
    for number in range(1, len(meant)):
        if meant[number - 1] in ("=", "==", "!=", "<>") and not re.fullmatch(r"'.*'|\d\w*", meant[number]):
            meant[number] = f"'{meant[number]}'"
    condition = clean(" ".join(meant))
    raise UsageError(
        f"the shell has cut the condition of --where into {end - at + 1} words",
        hint=f'put the whole condition in quotes: --where "{condition}"',
        code="condition-quotes",
        suggestions=[condition],
    )


def looks_like_a_device(word: str) -> bool:
    """Return whether a word is written as a PCI address, or as the kernel names drives and network interfaces."""
    return re.fullmatch(r"([0-9a-f]{4}:)?([0-9a-f]{2}:)?[0-9a-f]{2}\.[0-7]|(nvme|en[ops]|eth|sd|hisi_ptt)\w+", word) is not None
