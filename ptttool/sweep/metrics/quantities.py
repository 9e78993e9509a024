"""Numbers with prefixes, as tools print them for people."""

from __future__ import annotations

import re

_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
_SECONDS = {"nsec": 1e-9, "usec": 1e-6, "msec": 1e-3, "sec": 1.0}
NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?"
_SCALED = re.compile(rf"({NUMBER})\s*([kKMGTP]i?|)")


def scaled(text: str) -> float:
    """Return ``12.3k`` or ``4Mi`` as a number; raise ValueError for another text."""
    found = _SCALED.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    return float(found[1]) * (_BINARY[found[2]] if found[2].endswith("i") else _DECIMAL[found[2]])


def nanoseconds(number: str, unit: str) -> float:
    """Return a time in nanoseconds; ``unit`` is ``nsec``, ``usec``, ``msec`` or ``sec``."""
    return float(number) * _SECONDS[unit] * 1e9
