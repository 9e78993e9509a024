"""Lists and counts in English sentences."""

from __future__ import annotations

from collections.abc import Iterable


def in_words(things: Iterable[object], conjunction: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``; nothing for none."""
    names = [str(thing) for thing in things]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {conjunction} {names[-1]}"


def counted(number: int, noun: str) -> str:
    """``1 byte``, ``2 bytes``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
