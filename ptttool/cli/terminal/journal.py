"""Messages for the journal of systemd, where standard error is connected to it: with priorities, and with fields for programs.

Sources: systemd.exec(5) on ``$JOURNAL_STREAM``, sd-daemon(3) on the prefixes of lines, and the page on the journal's native protocol.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from enum import IntEnum
from typing import TextIO

SOCKET = "/run/systemd/journal/socket"
"""Where the journal takes messages with fields."""


class Priority(IntEnum):
    """How much a message matters: the levels of syslog(3) that are used here."""

    ERROR = 3
    WARNING = 4
    NOTICE = 5
    INFO = 6


def takes(stream: TextIO) -> bool:
    """Return whether a stream is connected to the journal: systemd gives device and inode of its own in ``$JOURNAL_STREAM``."""
    journal = os.environ.get("JOURNAL_STREAM")
    if not journal:
        return False
    try:
        about = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    # Programs inherit the variable also where they get another standard error.
    return journal == f"{about.st_dev}:{about.st_ino}"


def send(line: str, priority: Priority, fields: Mapping[str, object]) -> str | None:
    """Send a message with fields.

    Parameters
    ----------
    line : str
        The message, on one line.
    priority : Priority
        How much it matters.
    fields : Mapping[str, object]
        Further facts; None is left out. ``code`` becomes the field ``PTTTOOL_CODE``.

    Returns
    -------
    str or None
        None if the journal has it. Else the line that standard error is to get, with its priority in front.
    """
    entries = {"MESSAGE": line, "PRIORITY": int(priority), "SYSLOG_IDENTIFIER": "ptttool"}
    entries |= {f"PTTTOOL_{name.upper()}": value for name, value in fields.items() if value is not None}
    # A value on one line needs no length before it.
    message = "".join(f"{name}={' '.join(str(value).splitlines())}\n" for name, value in entries.items())
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as journal:
        # A journal that does not keep up must not stop the work.
        journal.settimeout(1.0)
        journal.sendto(message.encode("utf-8", "backslashreplace"), SOCKET)
        return None
    return f"<{int(priority)}>{line}"
