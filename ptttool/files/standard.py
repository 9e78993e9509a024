"""Standard input as a file to read, and streams that write all or raise: to a disk with little room, to a pipe that does not wait."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import select
import sys
from typing import Any, BinaryIO, cast

from ptttool.errors import InputError

_SIZE = 1 << 16


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


class UnreadError(TimeoutError):
    """A pipe was not read in the time that its reader has."""


class WholeWriter(io.FileIO):
    """A descriptor. The operating system may take less than it is given; then the rest follows, or the reason why not is raised.

    Attributes
    ----------
    outlives_reader : bool
        Whether what is written goes nowhere once the reader of a pipe has ended, instead of an error.
    patience : float or None
        Seconds that a reader may take for each piece; None for any.
    """

    outlives_reader = False
    patience: float | None = None

    def write(self, data: Any) -> int:
        """Write all of it."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            try:
                taken: int | None = super().write(rest)
            except BrokenPipeError:
                if not self.outlives_reader:
                    raise
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
                break
            if taken is None:  # O_NONBLOCK, which a parent may have set for the pipe that it shares with us
                poll = select.poll()
                poll.register(self, select.POLLOUT)
                if not poll.poll(None if self.patience is None else 1e3 * self.patience):
                    self.patience = 0.0  # closing writes what is left, and does not wait again
                    raise UnreadError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            else:
                rest = rest[taken:]
        return size


def whole_writer(descriptor: int, *, closefd: bool = True, patience: float | None = None) -> io.BufferedWriter:
    """Return a buffered stream of bytes for a descriptor; `patience`: seconds that a reader may take for each piece, None for any."""
    raw = WholeWriter(descriptor, "wb", closefd=closefd)
    raw.patience = patience
    return io.BufferedWriter(raw, _SIZE)


def write_whole(name: str, **how: Any) -> None:
    """Have ``sys.stdout`` or ``sys.stderr`` write all of it, whatever PYTHONUNBUFFERED and ``python -u`` make of it.

    Python's own stream without a buffer drops what a write did not take, without an error. The new one has a buffer, which is written
    after each line where the old one had none.

    Parameters
    ----------
    name : str
        ``stdout`` or ``stderr``.
    **how
        ``encoding`` and ``errors``, where others than those of the stream are wanted.
    """
    stream = getattr(sys, name)
    if not isinstance(stream, io.TextIOWrapper):
        return
    stream.flush()
    how = {"encoding": stream.encoding, "errors": stream.errors} | how
    direct = stream.line_buffering or stream.write_through
    setattr(sys, name, io.TextIOWrapper(whole_writer(stream.fileno(), closefd=False), line_buffering=direct, **how))
