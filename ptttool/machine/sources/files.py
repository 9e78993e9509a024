"""Files of a recorded machine: those in a folder, and those in memory.

Paths are absolute, without links, ``.`` or ``..``; nothing here follows a link. The methods raise OSError as the system does.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from ptttool.machine.sources.contract import or_none

# Paths of a udev database: beside a plain tree, or in an sosreport.
DATABASES = ("/udev.txt", "/udev.txt.gz", "/sos_commands/devices/udevadm_info_--export-db")


def refusal(number: int, path: str) -> OSError:
    """Return the error with which the system refuses a path."""
    return OSError(number, os.strerror(number), path)


class FolderFiles:
    """The files of a folder.

    Parameters
    ----------
    folder : str
        The folder, without links.
    sysfs_only : bool
        Whether the folder is the sysfs itself, so that only ``/sys/…`` and the udev database exist.
    """

    def __init__(self, folder: str, *, sysfs_only: bool) -> None:
        self._folder = folder
        self._sysfs_only = sysfs_only

    def _real(self, path: str) -> str:
        if not self._sysfs_only:
            return self._folder + path
        if path == "/sys" or path.startswith("/sys/"):
            return self._folder + path[4:]
        if path in DATABASES:
            return str(Path(self._folder).parent) + path
        raise refusal(errno.ENOENT, path)

    def link(self, path: str) -> str | None:
        """Return the target of a symbolic link."""
        return or_none(lambda: os.readlink(self._real(path)))  # noqa: PTH115 - text in, text out

    def exists(self, path: str) -> bool:
        """Tell whether there is a file, a folder or a link."""
        return self._mode(path) is not None

    def is_folder(self, path: str) -> bool:
        """Tell whether there is a folder; False for a link."""
        return stat.S_ISDIR(self._mode(path) or 0)

    def _mode(self, path: str) -> int | None:
        about = or_none(lambda: os.lstat(self._real(path)))
        return None if about is None else about.st_mode

    def names(self, path: str) -> list[str]:
        """List the names in a folder."""
        return sorted(os.listdir(self._real(path)))  # noqa: PTH208

    def read(self, path: str, limit: int) -> bytes:
        """Read the first ``limit`` bytes of a regular file."""
        with os.fdopen(self._open(path, os.O_RDONLY), "rb") as file:
            return file.read(limit)

    def write(self, path: str, data: bytes) -> None:
        """Replace the content of a regular file."""
        descriptor = self._open(path, os.O_WRONLY)
        try:
            # Not emptied before: if this process is killed, the old or the new value is there. A sysfs ignores the new size.
            os.write(descriptor, data)
            os.ftruncate(descriptor, len(data))
        finally:
            os.close(descriptor)

    def _require_path(self, descriptor: int, path: str) -> None:
        """Raise OSError if an open file has another path: a folder on the way became a link after the path was resolved."""
        opened = or_none(os.readlink, f"/proc/self/fd/{descriptor}")
        if opened not in (None, self._real(path)):  # None: without procfs
            raise OSError(errno.ELOOP, "a link on the path appeared meanwhile", self._real(path))

    def _open(self, path: str, flags: int) -> int:
        """Open a regular file, and nothing else: a foreign tree can hold pipes and device nodes."""
        real = self._real(path)
        # O_NONBLOCK: opening a named pipe would wait for its other end; on regular files the flag does nothing.
        descriptor = os.open(real, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise refusal(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, real)
            self._require_path(descriptor, path)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor


class MemoryFiles:
    """The files of a dictionary.

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
            is_there = head in self._folders
            self._folders.setdefault(head, set()).add(tail)
            if is_there:
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
        raise refusal(errno.ENOTDIR if path in self._files else errno.ENOENT, path)

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
            raise refusal(errno.EISDIR if path in self._folders else errno.ENOENT, path)


Files = FolderFiles | MemoryFiles
