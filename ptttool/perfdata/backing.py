"""Where the bytes of an AUX payload are: in memory, in a mapped file, or in a file that is read on request."""

from __future__ import annotations

from typing import Protocol

from ptttool.perfdata.mapped import MappedFile


class RandomAccess(Protocol):
    """A file that is read at any offset, such as one on remote storage."""

    @property
    def path(self) -> str:
        """Path or address by which another process can read the same file."""
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
            If the storage reports an error.
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
        """Whether the bytes are mapped or buffered, so that reading them copies nothing."""
        ...

    def read(self, offset: int, size: int) -> memoryview:
        """Return ``size`` bytes from ``offset`` of the piece."""
        ...

    def forget(self, upto: int) -> None:
        """Give the memory of the first ``upto`` bytes back; they can still be read."""
        ...


class Memory:
    """Bytes in a buffer, or in a part of a mapped file.

    Parameters
    ----------
    view : memoryview
        The bytes of the piece.
    file : MappedFile, optional
        The file that ``view`` shows a part of.
    file_offset : int, optional
        Offset of that part in the file.
    """

    in_memory = True

    def __init__(self, view: memoryview, file: MappedFile | None = None, file_offset: int = 0) -> None:
        self._view = view
        self._file = file
        self._file_offset = file_offset

    @property
    def path(self) -> str:
        """Path of the mapped file; empty for a buffer and for a file that was removed."""
        return "" if self._file is None else self._file.path

    def read(self, offset: int, size: int) -> memoryview:
        """Return a view: nothing is copied."""
        return self._view[offset : offset + size]

    def forget(self, upto: int) -> None:
        """Give pages of a mapped file back; a buffer stays."""
        if self._file is not None:
            self._file.forget(self._file_offset, self._file_offset + upto)


class OnRequest:
    """Bytes that are read from a file when they are asked for.

    Parameters
    ----------
    file : RandomAccess
        The file; it must stay open.
    file_offset : int
        Offset of the piece in the file.
    """

    in_memory = False

    def __init__(self, file: RandomAccess, file_offset: int) -> None:
        self._file = file
        self._file_offset = file_offset

    @property
    def path(self) -> str:
        """Path or address of the file."""
        return self._file.path

    def read(self, offset: int, size: int) -> memoryview:
        """Read the bytes.

        Raises
        ------
        InputError
            If the storage reports an error.
        """
        return memoryview(self._file.read(self._file_offset + offset, size))

    def forget(self, upto: int) -> None:
        """Do nothing: no bytes are kept."""
