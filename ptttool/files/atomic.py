"""Output files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ptttool.errors import AccessError, OutputError
from ptttool.files.failures import NO_ROOM, output_failure
from ptttool.files.leftovers import create_file, expect_file, settle_file, sweep, temporary_name
from ptttool.files.locations import Location, is_standard_output, located
from ptttool.files.renaming import rename_new
from ptttool.files.standard import UnreadError, whole_writer

_TRIES = 100
# Seconds between looks whether a pipe is read.
_LOOK = 0.02
# A pipe of another user is given up if nothing is read from it for so many seconds.
_PATIENCE = 10.0


@contextmanager
def output_file(path: str | Path, *, force: bool = False, mode: int | None = None) -> Iterator[IO[bytes]]:
    """Open a binary file to write; it gets its name when the block ends without an exception, and is removed otherwise.

    Standard output by any name, and what is not a regular file (``/dev/null``, a FIFO), is written in place. A FIFO of this user is waited
    for until it is read. A link is followed if no other
    user can change it (:mod:`ptttool.files.locations`). Another link is never followed; with ``force`` the file takes its place.
    What killed runs have left in the folder is removed.

    Parameters
    ----------
    path : str or Path
        The file.
    force : bool
        Replace an existing file. If that belongs to this user, the new one has its permission bits.
    mode : int or None
        Permission bits of the file, whatever the umask; None: as above, or what the umask leaves of 0666.

    Yields
    ------
    IO[bytes]
        The file.

    Raises
    ------
    OutputError
        ``exists``, also for a file that appeared while this one was written; ``untrusted-link``, ``is-a-folder``, ``disk-full``,
        ``file-too-large``, ``read-only``, ``no-reader`` (a FIFO of another user) or ``cannot-write``.
    AccessError
        ``output-not-permitted``: the folder may not be written. ``untrusted-pipe``: a pipe or device that another user made in a folder
        that everyone may write, or a pipe of another user where the mode is for this user alone.
    OSError
        Writing fails for another reason; it has the file's name.
    """
    try:
        with _located(path) as location, _opened(location, force, mode) as file:
            yield file
    except OSError as error:
        if error.filename is None:  # as from write(2) and fsync(2)
            error.filename = str(path)
        raise


@contextmanager
def _located(path: str | Path) -> Iterator[Location]:
    with contextlib.ExitStack() as stack:
        try:
            location = stack.enter_context(located(path))
        except OSError as error:
            raise output_failure(path, error) from None
        yield location


@contextmanager
def _opened(location: Location, force: bool, mode: int | None) -> Iterator[IO[bytes]]:
    status = location.found
    if status is not None:
        if stat.S_ISDIR(status.st_mode):
            raise OutputError(f"{location.path}: a folder", code="is-a-folder")
        if stat.S_ISLNK(status.st_mode):
            if not force:
                raise _untrusted_link(location)
        elif not stat.S_ISREG(status.st_mode) or is_standard_output(status):
            try:
                with _in_place(location, status, mode) as file:
                    yield file
            except UnreadError:
                raise _no_reader(location, f"did not read for {_PATIENCE:g} s") from None
            return
        elif not force:
            raise OutputError(f"{location.path}: exists already", hint="--force overwrites it", code="exists")
    sweep(location.folder)
    with _whole(location, force, _mode_like(status) if mode is None else mode) as file:
        yield file


@contextmanager
def _whole(location: Location, force: bool, mode: int) -> Iterator[IO[bytes]]:
    """Write a temporary file, and give it the name at the end."""
    folder = location.folder
    for _ in range(_TRIES):
        temporary = temporary_name(location.name)
        expect_file(temporary, folder)
        try:
            # Created inside the block: a signal may come as soon as the file exists.
            try:
                descriptor = create_file(temporary, folder)
            except FileExistsError:
                settle_file(temporary)
                continue
            except OSError as error:
                raise output_failure(location.path, error) from None
            with os.fdopen(descriptor, "wb") as file:
                yield file
                _finish(file, mode, temporary, location, force)
            settle_file(temporary)
            return
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            settle_file(temporary)
            if isinstance(error, OSError) and error.errno in NO_ROOM and error.filename is None:
                raise output_failure(location.path, error) from None
            raise
    raise OutputError(f"{location.path}: no temporary file can be made beside it", code="cannot-write")


def _finish(file: IO[bytes], mode: int, temporary: str, location: Location, force: bool) -> None:
    """Have the file on the disk, and give it its name."""
    folder = location.folder
    try:
        file.flush()
        os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())
        if force:
            os.rename(temporary, location.name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            rename_new(temporary, location.name, source=folder, target=folder)
    except FileExistsError:
        raise OutputError(f"{location.path}: exists; it appeared meanwhile", hint="--force overwrites it", code="exists") from None
    except IsADirectoryError:
        raise OutputError(f"{location.path}: a folder", code="is-a-folder") from None
    except OSError as error:
        raise output_failure(location.path, error) from None
    with contextlib.suppress(OSError):  # a folder that cannot be read, or a file system that cannot do it
        os.fsync(folder)


def _in_place(location: Location, status: os.stat_result, mode: int | None) -> IO[bytes]:
    """Open what is not replaced. Standard output is continued: if it is a file, a new descriptor of it would begin at its start."""
    if is_standard_output(status):
        return whole_writer(os.dup(1))
    about = os.fstat(location.folder)
    # As the kernel does with fs.protected_fifos: who plants a pipe for others to write to reads what they write.
    if about.st_mode & stat.S_ISVTX and about.st_mode & 0o022 and status.st_uid not in (0, os.geteuid(), about.st_uid):
        raise AccessError(
            f"{location.path}: a pipe or device of another user, in a folder that everyone may write",
            hint="name another file",
            code="untrusted-pipe",
        )
    if mode is not None and not mode & 0o077 and stat.S_ISFIFO(status.st_mode) and status.st_uid not in (0, os.geteuid()):
        raise AccessError(
            f"{location.path}: a pipe of another user, who would read what is meant for this user alone",
            hint="name another file",
            code="untrusted-pipe",
        )
    follow = 0 if location.follows else os.O_NOFOLLOW
    flags = os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC | os.O_NONBLOCK | follow
    while True:
        try:
            descriptor = os.open(location.name, flags, dir_fd=location.folder)
            break
        except OSError as error:
            if error.errno != errno.ENXIO or not stat.S_ISFIFO(status.st_mode):
                raise output_failure(location.path, error) from None
        # Nobody reads it. This user may begin to; another one does not make this process wait.
        if status.st_uid != os.geteuid():
            raise _no_reader(location, "does not read")
        time.sleep(_LOOK)
    if not os.path.samestat(os.fstat(descriptor), status):
        os.close(descriptor)
        raise OutputError(f"{location.path}: something else has got this name meanwhile", hint="try again", code="cannot-write")
    # Another user may read a part and stop: a descriptor that does not block ends the wait.
    is_foreign = stat.S_ISFIFO(status.st_mode) and status.st_uid != os.geteuid()
    os.set_blocking(descriptor, not is_foreign)
    return whole_writer(descriptor, patience=_PATIENCE if is_foreign else None)


def _no_reader(location: Location, what: str) -> OutputError:
    return OutputError(f"{location.path}: a pipe of another user, who {what}", hint="name a file", code="no-reader")


def _untrusted_link(location: Location) -> OutputError:
    return OutputError(
        f"{location.path}: a link, which another user can change: it is not followed",
        hint="name the file that it leads to, or replace the link with --force",
        code="untrusted-link",
    )


def _mode_like(status: os.stat_result | None) -> int:
    """Return the permission bits of a file that replaces another one. It never runs as another user."""
    if status is not None and stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
        return status.st_mode & 0o777
    return _new_file_mode()


def _new_file_mode() -> int:
    """Return the mode of new files: 0666 without the umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
