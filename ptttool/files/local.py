"""Regular files of this machine, read at any offset. They are not mapped: a file that becomes shorter is an error, not a SIGBUS."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from ptttool.errors import InputError


class Closing:
    """What is open until the end of a ``with`` block."""

    def close(self) -> None:
        """Close it."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def shortened(path: str | Path, offset: int) -> InputError:
    """Return the error for a file that ends at an offset, and did not when it was opened."""
    return InputError(
        path,
        "the file became shorter while it was read",
        offset=offset,
        hint="read it again when nothing writes to it, or read a copy",
        code="truncated",
    )


def replaced(path: str | Path) -> InputError:
    """Return the error for a path that is another file than when it was opened."""
    return InputError(
        path, "the file was replaced by another one while it was read", hint="read it again, or the file that it was", code="replaced"
    )


def identity_of(about: os.stat_result) -> tuple[int, int]:
    """Return the device and the inode of a file."""
    return about.st_dev, about.st_ino


def open_regular(path: str | Path, *, folder: int | None = None, follow: bool = False) -> int:
    """Open a regular file to read; without waiting, since what has the name may be a FIFO.

    Parameters
    ----------
    path : str or Path
        The file.
    folder : int or None
        Descriptor of the folder that the path begins at.
    follow : bool
        Follow a link that has the name.

    Raises
    ------
    OSError
        It cannot be opened; EINVAL: it is something else.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return descriptor


class LocalFile:
    """A regular file; its size is the one at the time of opening.

    Parameters
    ----------
    descriptor : int
        The open file; this object closes it.
    path : str
        Its path.

    Attributes
    ----------
    path : str
        Path by which other processes can open the same file; empty where there is none, as for a file that was removed.
    size : int
        Size in bytes.
    identity : tuple of int
        Device and inode, by which another process of this machine sees that it has the same file.
    """

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor = descriptor
        self._name = path
        about = os.fstat(descriptor)
        self.identity = identity_of(about)
        self.path = _reachable(path, about)
        self.size = about.st_size

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes at an offset, fewer only at the end of the file.

        Raises
        ------
        InputError
            The file became shorter, or was replaced while it was closed, or the system reports an error.
        """
        if self._descriptor < 0:
            with self._opened():
                return self.read(offset, size)
        size = max(0, min(size, self.size - offset))
        try:
            data = os.pread(self._descriptor, size, offset)
        except OSError as error:
            raise self._error(error, offset) from None
        if len(data) == size:
            return data
        whole = bytearray(size)  # the call ended early: a limit of the system, or the end of a file that became shorter
        whole[: len(data)] = data
        self.read_into(offset + len(data), memoryview(whole)[len(data) :])
        return bytes(whole)

    def read_into(self, offset: int, into: memoryview) -> None:
        """Fill memory from an offset on. Raises as :meth:`read` does, also at the end of the file."""
        with self._opened():
            try:
                done = fill(self._descriptor, offset, into)
            except OSError as error:
                raise self._error(error, offset) from None
        if done < len(into):
            raise shortened(self._name, offset + done)

    def open(self) -> None:
        """Open the file again after :meth:`close`.

        Raises
        ------
        InputError
            It cannot be opened, or is not the same file any more (code ``replaced``).
        """
        if self._descriptor >= 0:
            return
        try:
            descriptor = os.open(self.path or self._name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            about = os.fstat(descriptor)
        except OSError as error:
            raise self._error(error, None) from None
        if identity_of(about) != self.identity:
            os.close(descriptor)
            raise replaced(self._name)
        self._descriptor = descriptor

    def close(self) -> None:
        """Close the file; what is read afterwards opens it for itself."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    @contextmanager
    def _opened(self) -> Iterator[None]:
        """Open the file for the body, where it is closed."""
        was_open = self._descriptor >= 0
        self.open()
        try:
            yield
        finally:
            if not was_open:
                self.close()

    def _error(self, error: OSError, offset: int | None) -> InputError:
        return InputError(self._name, error.strerror or str(error), offset=offset)


def fill(descriptor: int, offset: int, into: memoryview) -> int:
    """Fill memory from a file, from an offset on; return the number of bytes, fewer than there is room for only at the file's end."""
    done = 0
    while done < len(into) and (count := os.preadv(descriptor, [into[done:]], offset + done)):
        done += count
    return done


def _reachable(path: str, about: os.stat_result) -> str:
    """Return a path by which other processes find the same file; empty where there is none."""
    real = os.path.realpath(path)
    try:
        return real if os.path.samestat(os.stat(real), about) else ""  # noqa: PTH116
    except OSError:
        return ""
