"""Who may write where: folders of ptttool's own are their user's alone, and code that root runs must be root's alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ptttool.errors import AccessError

# Groups below are made by the system; Debian lets its group staff write /usr/local/lib.
_FIRST_USER_GROUP = 1000

RUNTIME_VARIABLE = "PTTTOOL_RUNTIME_DIR"
STATE_VARIABLE = "PTTTOOL_STATE_DIR"


def lock_folder() -> Path:
    """Return the folder of this user's locks; it is empty after a reboot.

    It is ``$PTTTOOL_RUNTIME_DIR`` where that is set, ``/run/ptttool`` for root, ``$XDG_RUNTIME_DIR/ptttool`` for others, and a folder of
    the user in ``/tmp`` where there is no such variable.
    """
    if chosen := os.environ.get(RUNTIME_VARIABLE):
        return Path(chosen)
    if os.geteuid() == 0:
        return Path("/run/ptttool")
    session = os.environ.get("XDG_RUNTIME_DIR", "")
    return Path(session) / "ptttool" if session.startswith("/") else _temporary_folder()


def state_folder() -> Path:
    """Return the folder of what this user's ptttool keeps between runs.

    It is ``$PTTTOOL_STATE_DIR`` where that is set, ``/var/lib/ptttool`` for root, ``$XDG_STATE_HOME/ptttool`` or
    ``~/.local/state/ptttool`` for others; in ``/tmp`` for a user without a home.
    """
    if chosen := os.environ.get(STATE_VARIABLE):
        return Path(chosen)
    if os.geteuid() == 0:
        return Path("/var/lib/ptttool")
    base = os.environ.get("XDG_STATE_HOME", "")
    if base.startswith("/"):  # others are to be ignored, by the specification of these variables
        return Path(base) / "ptttool"
    home = os.path.expanduser("~")  # noqa: PTH111 - a user without a home is no error
    return Path(home) / ".local" / "state" / "ptttool" if home.rstrip("/").startswith("/") else _temporary_folder() / "state"


def _temporary_folder() -> Path:
    return Path(f"/tmp/ptttool-{os.geteuid()}")


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty folder in the system's folder for temporary files (``$TMPDIR``), which is removed at the end.

    Raises
    ------
    OutputError, AccessError
        It cannot be created.
    """
    import tempfile

    from ptttool.files.failures import output_failure
    from ptttool.files.leftovers import NEW, Workspace, sweep

    above = tempfile.gettempdir()
    descriptor = os.open(above, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sweep(descriptor)
        try:
            workspace = Workspace.create(descriptor, "folder")
        except OSError as error:
            raise output_failure(Path(above), error) from None
        try:
            os.chmod(NEW, 0o700, dir_fd=workspace.inside)
            yield Path(above, workspace.name, NEW)
        finally:
            workspace.close()
    finally:
        os.close(descriptor)


def open_own_folder(folder: Path, *, create: bool = True, mode: int = 0o700) -> int:
    """Open a folder in which only this user can write.

    Parameters
    ----------
    folder : Path
        The folder. Its last component must not be a link.
    create : bool
        Create it, and those above it, if it does not exist. The new folders survive a loss of power.
    mode : int
        Permission bits of the folder where it is created; never that others may write in it.

    Returns
    -------
    int
        A descriptor of the folder.

    Raises
    ------
    AccessError
        ``unsafe-folder``: the folder belongs to another user, or others may write in it.
    OSError
        It cannot be created or opened.
    """
    if create:
        _create(folder, mode)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    about = os.fstat(descriptor)
    if about.st_uid != os.geteuid() or about.st_mode & 0o022:
        os.close(descriptor)
        owner = "belongs to another user" if about.st_uid != os.geteuid() else "can be written by other users"
        raise AccessError(
            f"{folder}: the folder {owner}",
            hint=f"remove it, or make it yours alone: chmod 700 {folder}",
            code="unsafe-folder",
            path=str(folder),
        )
    return descriptor


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _create(folder: Path, mode: int) -> None:
    if os.path.lexists(folder):
        return
    _create(folder.parent, 0o755)
    while True:
        try:
            folder.mkdir(mode)
        except InterruptedError:  # a network file system; Python repeats reads and writes by itself, and not this
            continue
        except FileExistsError:
            return
        break
    sync_folder(folder.parent)


# No Struct: msgspec may lie where others can write, and is imported once root's path has been looked at.
class Weakness(NamedTuple):
    """A folder or file on the way to a path that others than root can change.

    Parameters
    ----------
    path : str
        The folder or file.
    user : int or None
        Its owner, if that is not root.
    group : int or None
        Its group, if that can write; None also for a group of the system.
    everyone : bool
        Whether every user can write.
    """

    path: str
    user: int | None
    group: int | None
    everyone: bool

    def __str__(self) -> str:
        if self.everyone:
            return f"every user can write {self.path}"
        return f"{self.path} belongs to user {self.user}" if self.user is not None else f"group {self.group} can write {self.path}"


def weakness_of(path: str, *, trusted: frozenset[int] = frozenset()) -> Weakness | None:
    """Return the first thing on the way to a path that others than root can change.

    Parameters
    ----------
    path : str
        The path; links are followed, and the folders that hold them count, too. What does not exist could be created.
    trusted : frozenset of int
        Further users and groups that count as root.

    Returns
    -------
    Weakness or None
        None if root alone decides what lies there. That everyone can write is reported before that one user can.
    """
    first = None
    for way in dict.fromkeys((os.path.abspath(path), os.path.realpath(path))):
        for weakness in _on(way, trusted):
            if weakness.everyone:
                return weakness
            first = first or weakness
    return first


def _on(path: str, trusted: frozenset[int]) -> list[Weakness]:
    """Return the weak folders of a path without links, the outermost first."""
    weaknesses = []
    at_end = True
    while True:
        try:
            about = os.stat(path)  # noqa: PTH116 - start-up
        except OSError:
            about = None
        if about is not None:
            weakness = _weakness(path, about, trusted, at_end)
            if weakness is not None:
                weaknesses.append(weakness)
            at_end = False
        above = os.path.dirname(path)  # noqa: PTH120
        if above == path:
            return weaknesses[::-1]
        path = above


def _weakness(path: str, about: os.stat_result, trusted: frozenset[int], at_end: bool) -> Weakness | None:
    # In a sticky folder, what is there already is safe from others; new files are not.
    writable = about.st_mode if at_end or not about.st_mode & stat.S_ISVTX else 0
    user = about.st_uid if about.st_uid and about.st_uid not in trusted else None
    group = about.st_gid if writable & stat.S_IWGRP and about.st_gid >= _FIRST_USER_GROUP and about.st_gid not in trusted else None
    everyone = bool(writable & stat.S_IWOTH)
    return Weakness(path, user, group, everyone) if everyone or user is not None or group is not None else None
