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
    match = _SCALED.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    return float(match[1]) * (_BINARY[match[2]] if match[2].endswith("i") else _DECIMAL[match[2]])


def nanoseconds(number: str, unit: str) -> float:
    """Return a time in nanoseconds; ``unit`` is ``nsec``, ``usec``, ``msec`` or ``sec``."""
    return float(number) * _SECONDS[unit] * 1e9
