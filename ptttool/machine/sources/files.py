"""Files of a recorded machine: what they offer, and those in memory."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from typing import Protocol


class Files(Protocol):
    """Files below one root.

    Paths are absolute, without links, ``.`` or ``..``; nothing here follows a link. The methods raise OSError as the system does.
    """

    def link(self, path: str) -> str | None:
        """Return the target of a symbolic link; None for all else, a missing path included."""

    def exists(self, path: str) -> bool:
        """Tell whether there is a file, a folder or a link."""

    def is_folder(self, path: str) -> bool:
        """Tell whether there is a folder; False for a link."""

    def names(self, path: str) -> list[str]:
        """List the names in a folder, sorted."""

    def read(self, path: str, limit: int) -> bytes:
        """Read the first ``limit`` bytes of a regular file."""

    def write(self, path: str, data: bytes) -> None:
        """Replace the content of an existing regular file in place."""


class MemoryFiles:
    """The :class:`Files` of a dictionary.

    Parameters
    ----------
    files : dict of str to bytes
        Contents by path; folders follow from the paths.
    links : dict of str to str
        Targets of symbolic links by path.
    folders : iterable of str
        Folders that may have nothing in them.
    """

    def __init__(self, files: dict[str, bytes], links: dict[str, str], folders: Iterable[str] = ()) -> None:
        self._files = dict(files)
        self._links = dict(links)
        self._folders: dict[str, set[str]] = {"/": set()}
        for path in (*files, *links):
            self._add_folders(path)
        for path in folders:
            if path not in self._files and path not in self._links:
                self._folders.setdefault(path, set())
                self._add_folders(path)

    def _add_folders(self, path: str) -> None:
        while path != "/":
            head, _, tail = path.rpartition("/")
            head = head or "/"
            known = head in self._folders
            self._folders.setdefault(head, set()).add(tail)
            if known:
                return
            path = head

    def link(self, path: str) -> str | None:
        """Return the target of a symbolic link."""
        return self._links.get(path)

    def exists(self, path: str) -> bool:
        """Tell whether there is a file, a folder or a link."""
        return path in self._files or path in self._links or path in self._folders

    def is_folder(self, path: str) -> bool:
        """Tell whether there is a folder."""
        return path in self._folders

    def names(self, path: str) -> list[str]:
        """List the names in a folder."""
        if path in self._folders:
            return sorted(self._folders[path])
        code = errno.ENOTDIR if path in self._files else errno.ENOENT
        raise OSError(code, os.strerror(code), path)

    def read(self, path: str, limit: int) -> bytes:
        """Read the first ``limit`` bytes of a file."""
        self._check(path)
        return self._files[path][:limit]

    def write(self, path: str, data: bytes) -> None:
        """Replace the content of a file."""
        self._check(path)
        self._files[path] = data

    def _check(self, path: str) -> None:
        if path not in self._files:
            code = errno.EISDIR if path in self._folders else errno.ENOENT
            raise OSError(code, os.strerror(code), path)
