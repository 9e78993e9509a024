"""Folders of ptttool's own: locks, and what it keeps between runs. Only their user can write in them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ptttool.errors import AccessError

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


def open_own_folder(folder: Path, *, create: bool = True) -> int:
    """Open a folder in which only this user can write.

    Parameters
    ----------
    folder : Path
        The folder. Its last component must not be a link.
    create : bool
        Create it, and those above it, if it does not exist. The new folders survive a loss of power.

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
        _create(folder, 0o700)
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
