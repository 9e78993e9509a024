"""Standard input as a file to read."""

from __future__ import annotations

import fcntl
import io
import os
import sys
from typing import Any, BinaryIO, cast

from ptttool.errors import InputError


def standard_input() -> BinaryIO:
    """Return standard input.

    Raises
    ------
    InputError
        It is closed, or open for writing only: ``code`` is ``closed``.
    """
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", cast("Any", sys.stdin))
    if stream is None or stream.closed or not _is_readable(stream):
        raise InputError("standard input", "closed", hint="give a file, or a pipe to read from", code="closed")
    return stream


def _is_readable(stream: BinaryIO) -> bool:
    try:
        return fcntl.fcntl(stream.fileno(), fcntl.F_GETFL) & os.O_ACCMODE != os.O_WRONLY
    except io.UnsupportedOperation:  # not a file
        return True
    except OSError:
        return False
