"""A file on remote storage, read at any offset through fsspec."""

from __future__ import annotations

import threading
from typing import Any

from ptttool.errors import InputError
from ptttool.files.remote import open_remote, storage_answers


class RemoteFile:
    """A file that fsspec reaches; satisfies :class:`ptttool.perfdata.model.RandomAccess`. Threads may share it.

    Parameters
    ----------
    path : str
        An address such as ``s3://bucket/perf.data``.

    Attributes
    ----------
    path : str
        The address.
    size : int
        Size in bytes.

    Raises
    ------
    InputError
        If there is no such file, or its size is unknown.
    AccessError
        If it may not be read.
    UsageError
        If fsspec does not know the scheme.
    MissingPackageError
        If fsspec, or the package for the scheme, is not installed.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: Any = open_remote(path)
        self._lock = threading.Lock()
        size = getattr(self._file, "size", None)
        if size is None:
            self.close()
            raise InputError(path, "the storage does not report the size of the file", code="size-unknown", hint="copy it to a local file")
        self.size = int(size)

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes at an offset, fewer only at the end of the file."""
        parts: list[bytes] = []
        try:
            with self._lock, storage_answers():
                self._file.seek(offset)
                while size > 0 and (part := self._file.read(size)):
                    parts.append(part)
                    size -= len(part)
        except OSError as error:
            raise InputError(self.path, error.strerror or str(error), offset=offset) from None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
