"""Durations and sizes as people type them."""

from __future__ import annotations

import re
from datetime import timedelta

from ptttool.errors import UsageError

_NUMBER = r"(?P<number>\d{1,30}(?:\.\d{1,30})?|\.\d{1,30})"
_DURATION = re.compile(_NUMBER + r"\s*(?P<unit>[a-z]*)", re.ASCII | re.IGNORECASE)
_SIZE = re.compile(_NUMBER + r"\s*(?P<unit>[kmg]?)(?:i?b)?", re.IGNORECASE | re.ASCII)
_UNITS = {
    0.001: ("ms", "msec", "msecs", "millisecond", "milliseconds"),
    1.0: ("", "s", "sec", "secs", "second", "seconds"),
    60.0: ("m", "min", "mins", "minute", "minutes"),
    3600.0: ("h", "hr", "hrs", "hour", "hours"),
}
_SECONDS = {unit: seconds for seconds, units in _UNITS.items() for unit in units}
_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_LONGEST = timedelta(days=365).total_seconds()


def parse_duration(text: str, option: str = "--duration") -> float:
    """Read a duration.

    Parameters
    ----------
    text : str
        ``10``, ``1.5s``, ``500ms``, ``2m``, ``10min``, ``1h``; a number alone is seconds.
    option : str
        The option that it is from, for the message.

    Returns
    -------
    float
        Seconds, from 1 ms to 365 days.

    Raises
    ------
    UsageError
        The text is not a duration, or too short or too long.
    """
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match["number"]) * _SECONDS.get(match["unit"].lower(), 0.0) if match else 0.0
    if not 0.001 <= seconds <= _LONGEST:
        raise UsageError(f"{option}: {text!r} is not a duration", hint="such as 10, 1.5s, 500ms, 2m or 1h", code="bad-duration")
    return seconds


def parse_size(text: str, option: str) -> int:
    """Read a size.

    Parameters
    ----------
    text : str
        ``67108864``, ``64M``, ``0.5G``; K, M and G are powers of 1024.
    option : str
        The option that it is from, for the message.

    Returns
    -------
    int
        Bytes, at least 1.

    Raises
    ------
    UsageError
        The text is not a size.
    """
    match = _SIZE.fullmatch(text.strip())
    size = float(match["number"]) * _BYTES[match["unit"].lower()] if match else 0.0
    if size < 1 or size != int(size) or size > 1 << 62:
        raise UsageError(f"{option}: {text!r} is not a size", hint="such as 64M or 1G", code="bad-size")
    return int(size)
