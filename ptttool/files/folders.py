"""Output folders that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from ptttool.errors import OutputError
from ptttool.files.failures import output_failure
from ptttool.files.leftovers import NEW, Workspace, sweep
from ptttool.files.locations import Location, located

# What rename(2) answers where something has the name.
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


class UnfinishedFolder(Struct, frozen=True):
    """A folder that is being written.

    Parameters
    ----------
    path : str
        Its path at present, or its address.
    shown : str
        The folder as the user named it, for messages.
    """

    path: str
    shown: str


@contextmanager
def output_folder(path: str) -> Iterator[UnfinishedFolder]:
    """Make a temporary folder to write to. It gets the name ``path`` if the block ends without an exception; otherwise it is removed.

    It takes the place of an empty folder, with the permission bits of that, and of nothing else.

    Parameters
    ----------
    path : str
        The folder.

    Yields
    ------
    UnfinishedFolder
        The folder to write to.

    Raises
    ------
    OutputError
        ``not-a-folder``; ``exists``: the folder is not empty, cannot be renamed over, or has appeared meanwhile; ``untrusted-link``,
        ``disk-full``, ``read-only``, ``cannot-write``.
    AccessError
        The folder may not be made.
    """
    with ExitStack() as stack:
        try:
            location = stack.enter_context(located(path, folder=True))
            if location.found is not None:
                _refuse_what_is_there(location, location.found)
            sweep(location.folder)
            workspace = stack.enter_context(_removed(Workspace.create(location.folder, location.name)))
            hidden = os.readlink(f"/proc/self/fd/{workspace.inside}")  # noqa: PTH115
        except OSError as error:
            raise output_failure(path, error, kind="folder") from None
        yield UnfinishedFolder(os.path.join(hidden, NEW), path)  # noqa: PTH118
        try:
            _publish(location, workspace)
        except OSError as error:
            raise output_failure(path, error, kind="folder") from None


@contextmanager
def _removed(workspace: Workspace) -> Iterator[Workspace]:
    try:
        yield workspace
    finally:
        with suppress(OSError):  # the next run tries again
            workspace.close()


def _refuse_what_is_there(location: Location, status: os.stat_result) -> None:
    path = location.path
    if not stat.S_ISDIR(status.st_mode):
        raise OutputError(f"{path}: this is a file, not a folder", code="not-a-folder")
    folder = os.open(location.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=location.folder)
    try:
        if os.listdir(folder):  # noqa: PTH208 - pathlib takes no descriptor
            raise OutputError(f"{path}: the folder is not empty", hint="name another folder, or remove this one first", code="exists")
    finally:
        os.close(folder)
    if status.st_dev != os.fstat(location.folder).st_dev or os.path.samestat(status, Path.cwd().stat()):
        message = f"{path}: a mount point, or the working directory: no other folder can take its place"
        raise OutputError(message, hint="name a folder in it", code="exists")


def _publish(location: Location, workspace: Workspace) -> None:
    """Give the new folder its name: rename(2) replaces a folder that is empty, and nothing else."""
    status = location.found
    if status is not None and status.st_uid == os.geteuid():
        os.chmod(NEW, stat.S_IMODE(status.st_mode) & ~stat.S_ISUID, dir_fd=workspace.inside)
    try:
        os.rename(NEW, location.name, src_dir_fd=workspace.inside, dst_dir_fd=location.folder)
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
        message = f"{location.path}: exists; it appeared or was filled meanwhile"
        raise OutputError(message, hint="name another folder", code="exists") from None
    with suppress(OSError):
        os.fsync(location.folder)
