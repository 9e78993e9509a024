"""Where the bytes of an AUX payload are: in memory, or in a file that is read on request."""

from __future__ import annotations

from typing import Protocol

from ptttool.files.local import LocalFile


class RandomAccess(Protocol):
    """A file that is read at any offset: on this machine, or on remote storage."""

    @property
    def path(self) -> str:
        """Path or address by which another process can read the same file; empty where there is none."""
        ...

    @property
    def size(self) -> int:
        """Size in bytes."""
        ...

    def read(self, offset: int, size: int) -> bytes:
        """Return the bytes at an offset, fewer only at the end of the file.

        Raises
        ------
        InputError
            If the file became shorter, or the storage reports an error.
        """
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class Backing(Protocol):
    """The bytes of one piece of an AUX payload."""

    @property
    def path(self) -> str:
        """Path or address where another process can read the file; empty for bytes that only this process has."""
        ...

    @property
    def in_memory(self) -> bool:
        """Whether the bytes are buffered, so that reading them copies nothing."""
        ...

    @property
    def file(self) -> LocalFile | None:
        """The file on this machine that this process has open; None where there is none."""
        ...

    def read(self, offset: int, size: int) -> memoryview:
        """Return ``size`` bytes from ``offset`` of the piece."""
        ...


class Memory:
    """Bytes in a buffer.

    Parameters
    ----------
    view : memoryview
        The bytes of the piece.
    """

    in_memory = True
    path = ""
    file = None

    def __init__(self, view: memoryview) -> None:
        self._view = view

    def read(self, offset: int, size: int) -> memoryview:
        """Return a view: nothing is copied."""
        return self._view[offset : offset + size]


class OnRequest:
    """Bytes that are read from a file when they are asked for.

    Parameters
    ----------
    access : RandomAccess
        The file.
    file_offset : int
        Offset of the piece in the file.
    """

    in_memory = False

    def __init__(self, access: RandomAccess, file_offset: int) -> None:
        self._access = access
        self._file_offset = file_offset

    @property
    def path(self) -> str:
        """Path or address of the file."""
        return self._access.path

    @property
    def file(self) -> LocalFile | None:
        """The file, where it is on this machine."""
        return self._access if isinstance(self._access, LocalFile) else None

    def read(self, offset: int, size: int) -> memoryview:
        """Read the bytes.

        Raises
        ------
        InputError
            If the file became shorter, or the storage reports an error.
        """
        return memoryview(self._access.read(self._file_offset + offset, size))
