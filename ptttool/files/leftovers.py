"""Temporary files and folders beside an output, and what remains of them when a run is killed.

A temporary file has a name such as ``.out.csv.0123456789abcdef.11112222.33334444.ptttool-tmp``: what it will become, a random number, and
hashes of the host and of its boot. So has a temporary folder. It holds a file ``lock`` and the folder ``new`` that is written.

The run that works on it holds a ``flock`` on the file, or on ``lock``. The kernel releases it when the run ends, however it ends. Each run
that writes an output first removes what is not locked any more in the same folder, if it belongs to the same user. Some file systems do not
show the locks of other machines. So the hashes say whether the lock means anything, and what another machine made is left alone for a week.
"""

from __future__ import annotations

import atexit
import errno
import fcntl
import functools
import os
import re
import shutil
import stat
import time
import zlib
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

SUFFIX = ".ptttool-tmp"
LOCK, NEW = "lock", "new"
"""Names in a temporary folder: the lock, and the folder that is written."""

_PATTERN = re.compile(r"\..*\.[0-9a-f]{16}\.([0-9a-f]{8})\.([0-9a-f]{8})" + re.escape(SUFFIX), re.DOTALL)
# Bytes of the output's name in the name of its temporary file.
_LONGEST = 60
# Names that are tried before giving up: another run removes a file only in the moment before it is locked.
_TRIES = 100
# Seconds without a change after which the leftover of another machine is removed.
WEEK = 7 * 24 * 3600.0


def temporary_name(name: str) -> str:
    """Return a new name for what will become ``name``."""
    while len(os.fsencode(name)) > _LONGEST:
        name = name[:-1]
    return ".".join(("", name, os.urandom(8).hex(), *_marks())) + SUFFIX


_expected: dict[str, tuple[int, int]] = {}  # temporary files of this process: its number, and a descriptor of the folder


def expect_file(name: str, folder: int) -> None:
    """Note a temporary file before it is made: it is removed when the process ends, unless :func:`settle_file` is called before.

    A signal may raise where no handler of exceptions of this file is: between a generator's ``yield`` and the block of its caller.
    """
    _expected[name] = os.getpid(), os.dup(folder)


def settle_file(name: str) -> None:
    """Forget a temporary file that has got its name, or is removed."""
    _, folder = _expected.pop(name, (0, None))
    if folder is not None:
        os.close(folder)


@atexit.register
def remove_expected() -> None:
    """Remove the temporary files that this process has made and not settled."""
    for name, (process, folder) in list(_expected.items()):
        if process == os.getpid():  # not in a child that was forked
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
            settle_file(name)


def create_file(name: str, folder: int) -> int:
    """Create a temporary file that only its owner may read, and lock it.

    Parameters
    ----------
    name : str
        Its name, from :func:`temporary_name`.
    folder : int
        Descriptor of its folder.

    Returns
    -------
    int
        A descriptor to write to. The lock is released when it is closed.

    Raises
    ------
    OSError
        The file cannot be created; FileExistsError if another run took it for a leftover: try another name.
    """
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        _claim(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


class Workspace(Struct):
    """A temporary folder of this process.

    Parameters
    ----------
    name : str
        Its name.
    folder : int
        Descriptor of the folder that it is in.
    inside : int
        Descriptor of itself.
    lock : int
        Descriptor of its lock.
    """

    name: str
    folder: int
    inside: int
    lock: int

    @classmethod
    def create(cls, folder: int, target: str) -> Workspace:
        """Create a temporary folder with an empty folder ``new``.

        Parameters
        ----------
        folder : int
            Descriptor of the folder to create it in.
        target : str
            What ``new`` will become, for the name.

        Raises
        ------
        OSError
            It cannot be created.
        """
        for _ in range(_TRIES):
            name = temporary_name(target)
            # Nobody else may write in it, whatever the umask.
            os.mkdir(name, 0o755, dir_fd=folder)
            try:
                return cls._opened(name, folder)
            except (FileExistsError, FileNotFoundError):  # another run took it for a leftover
                continue
            except BaseException:
                sweep_one(folder, name)
                raise
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

    @classmethod
    def _opened(cls, name: str, folder: int) -> Workspace:
        descriptors: list[int] = []
        try:
            inside = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            descriptors.append(inside)
            lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=inside)
            descriptors.append(lock)
            _claim(lock)
            if os.fstat(inside).st_uid != os.fstat(lock).st_uid:  # another user's folder has got the name
                raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
            os.mkdir(NEW, dir_fd=inside)
            return cls(name, folder, inside, lock)
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            raise

    def close(self) -> None:
        """Remove the temporary folder, with ``new`` if that is still in it.

        Raises
        ------
        OSError
            Something cannot be removed. The next run in the folder tries again.
        """
        try:
            _dispose(self.folder, self.name, self.inside)
        finally:
            os.close(self.lock)
            os.close(self.inside)


def sweep(folder: int) -> None:
    """Remove the leftovers of killed runs from a folder. What is not this user's, or of a run that goes on, stays. Never raises OSError.

    Parameters
    ----------
    folder : int
        Descriptor of the folder.
    """
    try:
        names = os.listdir(folder)
    except OSError:  # not readable
        return
    for name in names:
        if name.endswith(SUFFIX) and _PATTERN.fullmatch(name):
            sweep_one(folder, name)


def sweep_one(folder: int, name: str) -> None:
    """Remove one leftover, under the conditions of :func:`sweep`."""
    with suppress(OSError):
        about = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if about.st_uid != os.geteuid():
            return
        if stat.S_ISREG(about.st_mode):
            _sweep_file(folder, name)
        elif stat.S_ISDIR(about.st_mode):
            _sweep_folder(folder, name)


def _sweep_file(folder: int, name: str) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        if _is_left(descriptor, name) and os.path.samestat(os.fstat(descriptor), os.stat(name, dir_fd=folder, follow_symlinks=False)):
            os.unlink(name, dir_fd=folder)
    finally:
        os.close(descriptor)


def _sweep_folder(folder: int, name: str) -> None:
    inside = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        about = os.fstat(inside)
        if about.st_uid != os.geteuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return
        try:
            lock = os.open(LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=inside)
        except FileNotFoundError:
            # Killed before it had a lock, or after it had removed it: the folder is empty. If its run goes on, it makes another one.
            os.rmdir(name, dir_fd=folder)
            return
        try:
            if _is_left(lock, name):
                _dispose(folder, name, inside)
        finally:
            os.close(lock)
    finally:
        os.close(inside)


def _is_left(descriptor: int, name: str) -> bool:
    """Lock a file of a leftover; return whether its run has ended. The lock stays until the descriptor is closed."""
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or not _lock(descriptor):
        return False
    match = _PATTERN.fullmatch(name)
    here = match is not None and any(one == other for one, other in zip(match.groups(), _marks(), strict=True))
    return here or time.time() - about.st_mtime > WEEK


def _dispose(folder: int, name: str, inside: int) -> None:
    """Remove a temporary folder that no process works on."""
    with suppress(FileNotFoundError):
        shutil.rmtree(NEW, dir_fd=inside)
    with suppress(FileNotFoundError):
        os.unlink(LOCK, dir_fd=inside)
    os.rmdir(name, dir_fd=folder)


def _claim(descriptor: int) -> None:
    """Lock a file that was just created. Raises FileExistsError where another run took it for a leftover before."""
    try:
        locked = _lock(descriptor)
    except OSError:  # a file system without locks: no run can lock it, so none removes it
        return
    if not locked or not os.fstat(descriptor).st_nlink:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def _lock(descriptor: int) -> bool:
    """Lock an open file; return False if it is locked already."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@functools.cache
def _marks() -> tuple[str, str]:
    """Return marks of this machine and of this boot of its kernel. Processes that share one of them see each other's locks."""
    host = os.uname().nodename.encode()
    with suppress(OSError):
        host += Path("/etc/machine-id").read_bytes()
    boot = os.urandom(8)
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    return f"{zlib.crc32(host):08x}", f"{zlib.crc32(boot):08x}"
