"""Temporary files and folders beside an output, and what remains of them when a run is killed.

A temporary file has a name such as ``.out.csv.0123456789abcdef.11112222.33334444.ptttool-tmp``: what it will become, a random number, and
two marks of where it was made. A temporary folder has such a name, too. It holds a file ``lock`` and the folders that are worked on:

- ``new`` is the folder that is written;
- ``old``, or ``new`` after an exchange of names, is the folder that was replaced.

The run that works on it holds a ``flock`` on the file, or on ``lock``. The kernel releases it when the run ends, however it ends. Each run
that writes an output first removes what is not locked any more in the same folder, if it belongs to the same user. Some file systems do not
show the locks of other machines. So the marks say whether the lock means anything, and what another machine made is left alone for a week.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import json
import os
import re
import shutil
import stat
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ptttool.files.renaming import rename_new

SUFFIX = ".ptttool-tmp"
LOCK, NEW, OLD, REPLACED = "lock", "new", "old", "replaced"
"""Names in a temporary folder: the lock, the folder that is written, the one that was replaced, and the list of what was in that one."""

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


@dataclass
class Workspace:
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
    def create(cls, folder: int, target: str | None) -> Workspace:
        """Create a temporary folder with an empty folder ``new``.

        Parameters
        ----------
        folder : int
            Descriptor of the folder to create it in.
        target : str or None
            The name that ``new`` will get in that folder; None: what is in ``new`` will be moved to that folder.

        Raises
        ------
        OSError
            It cannot be created.
        """
        for _ in range(_TRIES):
            name = temporary_name(target or "folder")
            # Nobody else may write in it, whatever the umask.
            os.mkdir(name, 0o755, dir_fd=folder)
            try:
                return cls._opened(name, folder, target)
            except (FileExistsError, FileNotFoundError):  # another run took it for a leftover
                continue
            except BaseException:
                sweep_one(folder, name)
                raise
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

    @classmethod
    def _opened(cls, name: str, folder: int, target: str | None) -> Workspace:
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
            made = os.stat(NEW, dir_fd=inside, follow_symlinks=False).st_ino
            _write_state(lock, {"made": made, "target": target})
            return cls(name, folder, inside, lock)
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            raise

    def note_replaced(self, listing: Mapping[str, tuple[int, ...]]) -> None:
        """Write down what is in the folder that is about to be replaced: no other thing in it may be removed."""
        descriptor = os.open(REPLACED, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=self.inside)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump(listing, file, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())

    def note_complete(self) -> None:
        """Write down that ``new`` is complete, before its files are moved one by one."""
        _write_state(self.lock, _read_state(self.lock) | {"complete": True})

    def has_name(self, name: str) -> bool:
        """Return whether the new folder has this name beside the temporary one."""
        return _inode(name, self.folder) == _read_state(self.lock).get("made")

    def keep(self, name: str, folder: int) -> str:
        """Give the new folder a name that can be seen: this one, or with a number. Return it; raise OSError if it is not here any more."""
        if _inode(NEW, self.inside) != _read_state(self.lock).get("made"):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), NEW)
        return give_free_name(NEW, name, source=self.inside, target=folder)

    def close(self) -> str | None:
        """Remove the temporary folder.

        After :meth:`note_complete`, what is in ``new`` is moved before. After an exchange of names, the folder that was replaced is
        removed.

        Returns
        -------
        str or None
            The new name of a folder that was replaced, or is to be moved, where something else has appeared.

        Raises
        ------
        OSError
            Something cannot be moved or removed. The next run in the folder tries again.
        """
        try:
            return _dispose(self.folder, self.name, self.inside, self.lock)
        finally:
            os.close(self.lock)
            os.close(self.inside)


def _write_state(lock: int, state: Mapping[str, object]) -> None:
    """Write what :func:`_read_state` reads, all of it: the kernel may write less than it is given."""
    data = json.dumps(state).encode()
    done = 0
    while done < len(data):
        done += os.pwrite(lock, data[done:], done)


def listing(folder: int) -> dict[str, tuple[int, ...]]:
    """List a folder and all folders in it.

    Parameters
    ----------
    folder : int
        Descriptor of the folder.

    Returns
    -------
    dict of str to tuple of int
        Relative paths, each folder before what is in it. A folder has its kind and inode number, all else also size and time of the last
        change of its content, in nanoseconds: so what was replaced or written to since then is different.

    Raises
    ------
    OSError
        A folder cannot be read.
    """
    found: dict[str, tuple[int, ...]] = {}
    for path, folders, files, descriptor in os.fwalk(".", dir_fd=folder, onerror=_raise):
        for name in (*folders, *files):
            found[os.path.normpath(f"{path}/{name}")] = _facts(os.stat(name, dir_fd=descriptor, follow_symlinks=False))
    return found


def _facts(about: os.stat_result) -> tuple[int, ...]:
    kind = stat.S_IFMT(about.st_mode)
    return (kind, about.st_ino) if kind == stat.S_IFDIR else (kind, about.st_ino, about.st_size, about.st_mtime_ns)


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
                _dispose(folder, name, inside, lock)
        finally:
            os.close(lock)
    finally:
        os.close(inside)


def _is_left(descriptor: int, name: str) -> bool:
    """Lock a file of a leftover; return whether its run has ended. The lock stays until the descriptor is closed."""
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or not _lock(descriptor):
        return False
    found = _PATTERN.fullmatch(name)
    here = found is not None and any(one == other for one, other in zip(found.groups(), _marks(), strict=True))
    return here or time.time() - about.st_mtime > WEEK


def _dispose(folder: int, name: str, inside: int, lock: int) -> str | None:
    """Remove a temporary folder that no process works on. Return the new name of a replaced folder in which something else has appeared."""
    state = _read_state(lock)
    target, made = state.get("target"), state.get("made")
    kept = None
    for child in (OLD, NEW):
        try:
            descriptor = os.open(child, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=inside)
        except FileNotFoundError:
            continue
        try:
            if made is None:  # the state was not written yet: the folder is empty
                os.rmdir(child, dir_fd=inside)
            elif os.fstat(descriptor).st_ino != made:
                kept = _dispose_old(descriptor, child, inside, folder, str(target), made) or kept
            elif state.get("complete") and not _is_moved(descriptor, folder):
                kept = give_free_name(NEW, "ptttool.new", source=inside, target=folder)
            else:
                shutil.rmtree(child, dir_fd=inside)
        finally:
            os.close(descriptor)
    for file in (REPLACED, LOCK):
        with suppress(FileNotFoundError):
            os.unlink(file, dir_fd=inside)
    os.rmdir(name, dir_fd=folder)
    return kept


def _inode(name: str, folder: int) -> int | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino
    except FileNotFoundError:
        return None


def _is_moved(new: int, folder: int) -> bool:
    try:
        for name in os.listdir(new):
            rename_new(name, name, source=new, target=folder)
    except FileExistsError:
        return False
    return True


def _dispose_old(descriptor: int, child: str, inside: int, folder: int, target: str, made: int) -> str | None:
    """Remove a folder that was replaced, if nothing else is in it. One that was only moved away gets its name back if nothing has it."""
    if _inode(target, folder) == made:
        known = _read_listing(inside)
        remove_listed(descriptor, known)
        if all(facts == known.get(path) for path, facts in listing(descriptor).items()):
            os.rmdir(child, dir_fd=inside)
            return None
    else:
        with suppress(FileExistsError):
            rename_new(child, target, source=inside, target=folder)
            return None
    return give_free_name(child, f"{target}.old", source=inside, target=folder)


def remove_listed(folder: int, known: Mapping[str, tuple[int, ...]]) -> None:
    """Remove from a folder what is in a listing and has not changed since. Folders are removed when they are empty.

    Parameters
    ----------
    folder : int
        Descriptor of the folder.
    known : mapping of str to tuple of int
        From :func:`listing`.
    """
    for path, folders, files, descriptor in os.fwalk(".", topdown=False, dir_fd=folder):
        for name in (*files, *folders):
            with suppress(OSError):
                facts = _facts(os.stat(name, dir_fd=descriptor, follow_symlinks=False))
                if known.get(os.path.normpath(f"{path}/{name}")) == facts:
                    (os.rmdir if facts[0] == stat.S_IFDIR else os.unlink)(name, dir_fd=descriptor)


def give_free_name(name: str, wanted: str, *, source: int, target: int) -> str:
    """Rename to a name that is free: the wanted one, or that with a number. Return it."""
    for number in range(1, _TRIES):
        free = wanted if number == 1 else f"{wanted}-{number}"
        with suppress(FileExistsError):
            rename_new(name, free, source=source, target=target)
            return free
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), wanted)


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


def _read_state(lock: int) -> dict[str, Any]:
    try:
        found = json.loads(os.pread(lock, 1 << 16, 0))
    except ValueError:  # killed before it was written: nothing is in the folder
        return {}
    return found if isinstance(found, dict) else {}


def _read_listing(inside: int) -> dict[str, tuple[int, ...]]:
    try:
        descriptor = os.open(REPLACED, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=inside)
        with os.fdopen(descriptor, encoding="utf-8", errors="surrogateescape") as file:
            return {path: tuple(facts) for path, facts in json.load(file).items()}
    except (FileNotFoundError, ValueError, AttributeError, TypeError):
        return {}


def _raise(error: OSError) -> None:
    raise error
