"""Files below a root folder, reached without following a link: the root can be that of another system, with links that lead anywhere."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from ptttool.errors import AccessError, OutputError
from ptttool.files.failures import output_failure
from ptttool.files.leftovers import create_file, sweep, temporary_name
from ptttool.files.renaming import rename_new

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Bytes that are read of a file that may be one of ours.
LARGEST = 1 << 20


class Rooted:
    """Reads, writes and removes small files below a folder.

    Parameters
    ----------
    root : Path
        The folder; a link to it is followed, as the user named it.

    Attributes
    ----------
    made : list of str
        Folders that were created, the outermost first.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.made: list[str] = []

    def shown(self, path: str) -> str:
        """Return a path below the root as it is outside of it."""
        return str(self.root / path.lstrip("/"))

    def read(self, path: str) -> tuple[bytes, bool] | None:
        """Return what is at a path, and whether it is a link; None if there is nothing.

        Raises
        ------
        AccessError
            ``link-in-path``, ``unsafe-folder``: a folder of the path is a link, or others can write in it.
        OutputError
            ``not-a-file``: something else is there.
        """
        try:
            with self._folder(path) as (folder, name):
                return self._read(folder, name, path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise output_failure(self.shown(path), error) from None

    def write(self, path: str, data: bytes, *, is_link: bool = False, replace: bool = False) -> None:
        """Write a file with mode 0644, or a link; it appears whole, on the disk, or not at all. Raises as :meth:`read`, and ``exists``."""
        try:
            with self._folder(path, create=True) as (folder, name):
                sweep(folder)
                temporary = temporary_name(name)
                try:
                    if is_link:
                        os.symlink(data, temporary, dir_fd=folder)
                    else:
                        self._write(folder, temporary, data)
                    if replace:
                        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                    else:
                        rename_new(temporary, name, source=folder, target=folder)
                except BaseException:
                    with suppress(OSError):
                        os.unlink(temporary, dir_fd=folder)
                    raise
                os.fsync(folder)
        except FileExistsError:
            raise OutputError(f"{self.shown(path)}: exists; it appeared meanwhile", code="exists") from None
        except OSError as error:
            raise output_failure(self.shown(path), error) from None

    def remove(self, path: str) -> None:
        """Remove a file or a link; one that is not there is no error."""
        try:
            with self._folder(path) as (folder, name):
                os.unlink(name, dir_fd=folder)
                os.fsync(folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise output_failure(self.shown(path), error) from None

    def remove_folder(self, path: str) -> None:
        """Remove a folder if it is empty."""
        with suppress(OSError, AccessError), self._folder(path) as (folder, name):
            os.rmdir(name, dir_fd=folder)

    def _write(self, folder: int, temporary: str, data: bytes) -> None:
        with os.fdopen(create_file(temporary, folder), "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())

    def _read(self, folder: int, name: str, path: str) -> tuple[bytes, bool] | None:
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(about.st_mode):
            return os.fsencode(os.readlink(name, dir_fd=folder)), True
        if not stat.S_ISREG(about.st_mode):
            raise OutputError(f"{self.shown(path)}: not a regular file", hint="move it away", code="not-a-file")
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(LARGEST + 1), False

    @contextmanager
    def _folder(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder of a path, one component after the other."""
        *folders, name = PurePosixPath("/", path).parts[1:]
        descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._require_safe(descriptor, str(self.root))
            for depth, part in enumerate(folders, 1):
                below = self._open(descriptor, part, "/" + "/".join(folders[:depth]), create)
                os.close(descriptor)
                descriptor = below
            yield descriptor, name
        finally:
            os.close(descriptor)

    def _open(self, folder: int, part: str, path: str, create: bool) -> int:
        try:
            descriptor = os.open(part, _FOLDER, dir_fd=folder)
        except FileNotFoundError:
            if not create:
                raise
            os.mkdir(part, 0o755, dir_fd=folder)
            os.fsync(folder)
            self.made.append(path)
            descriptor = os.open(part, _FOLDER, dir_fd=folder)
        except OSError as error:
            is_link = error.errno in (errno.ELOOP, errno.ENOTDIR) and stat.S_ISLNK(os.lstat(part, dir_fd=folder).st_mode)
            if not is_link:
                raise
            message = f"{self.shown(path)}: a link: it is not followed"
            raise AccessError(message, hint="name the real root by --root", code="link-in-path", path=self.shown(path)) from None
        try:
            self._require_safe(descriptor, self.shown(path))
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _require_safe(self, descriptor: int, shown: str) -> None:
        about = os.fstat(descriptor)
        others = about.st_mode & stat.S_IWOTH or (about.st_mode & stat.S_IWGRP and about.st_gid not in (0, os.getegid()))
        if about.st_uid not in (0, os.geteuid()) or others:
            raise AccessError(
                f"{shown}: others can change what is in this folder",
                hint="let root own it, and let nobody else write in it",
                code="unsafe-folder",
                path=shown,
            )
