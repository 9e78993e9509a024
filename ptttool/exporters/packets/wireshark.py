"""ptttool's dissector for Wireshark: where it is, and how it gets into the folder that Wireshark loads Lua plug-ins from."""

from __future__ import annotations

import os
import stat
import subprocess
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from ptttool.documents import document
from ptttool.errors import AccessError, InputError, OutputError

NAME = "ptttool.lua"
DISSECTOR = Path(__file__).parents[2] / "share" / "wireshark" / NAME
# What each version of the dissector begins with.
_MARK = b"-- ptttool:"
_FOLDER_LINE = "Personal Lua Plugins:"
# Seconds that tshark may take to name its folders.
_PATIENCE = 20
# Most bytes of a file that is compared with the dissector.
_MOST = 1 << 20


class Change(StrEnum):
    """What became of the installed dissector."""

    INSTALLED = "installed"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    ABSENT = "absent"


@document("wireshark")
class WiresharkResult(Struct, frozen=True):
    """What was done with the dissector.

    Parameters
    ----------
    path : str
        Where it is, or was.
    change : Change
        What was done.
    by_tshark : bool
        Whether tshark named the folder; otherwise it is the one that Wireshark's manual names.
    """

    path: str
    change: Change
    by_tshark: bool


def plugin_folder() -> tuple[Path, bool]:
    """Return the folder of this user's Lua plug-ins, and whether tshark named it.

    Without tshark it is ``~/.local/lib/wireshark/plugins``.

    Raises
    ------
    InputError
        There is no tshark, and this user has no home (code ``no-home``).
    """
    with suppress(OSError, subprocess.SubprocessError):
        shown = subprocess.run(
            ["tshark", "-G", "folders"], capture_output=True, timeout=_PATIENCE, stdin=subprocess.DEVNULL, check=True
        ).stdout.decode("utf-8", "surrogateescape")
        for line in shown.splitlines():
            name, _, folder = line.partition("\t")
            if name.strip() == _FOLDER_LINE and folder.strip().startswith("/"):
                return Path(folder.strip()), True
    home = os.path.expanduser("~")  # noqa: PTH111 - a user without a home is no error
    if not home.startswith("/"):
        raise InputError("~", "this user has no home", hint="name a folder with --folder", code="no-home")
    return Path(home) / ".local" / "lib" / "wireshark" / "plugins", False


def install(folder: Path, *, by_tshark: bool = False, force: bool = False) -> WiresharkResult:
    """Write the dissector to a folder of Lua plug-ins; a version of it that is there is replaced.

    Parameters
    ----------
    folder : Path
        The folder; it is created if it does not exist.
    by_tshark : bool
        Whether tshark named it.
    force : bool
        Replace a file of that name that is not ptttool's.

    Raises
    ------
    AccessError
        This is root, and other users can change what lies in the folder (code ``unsafe-folder``).
    OutputError
        Another file has the name (code ``exists``), or the file cannot be written.
    """
    from ptttool.files.atomic import output_file

    path = folder / NAME
    _check_folder(folder)
    content = DISSECTOR.read_bytes()
    existing = _read(path)
    if existing == content:
        return WiresharkResult(str(path), Change.UNCHANGED, by_tshark)
    if existing is not None and not existing.startswith(_MARK) and not force:
        raise OutputError(f"{path}: another file, not of ptttool", hint="--force replaces it", code="exists")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        from ptttool.files.failures import output_failure

        raise output_failure(folder, error) from None
    if path.is_symlink():  # with force: the file takes the place of the link
        path.unlink()
    with output_file(path, force=existing is not None, mode=0o644) as file:
        file.write(content)
    return WiresharkResult(str(path), Change.INSTALLED if existing is None else Change.UPDATED, by_tshark)


def uninstall(folder: Path, *, by_tshark: bool = False, force: bool = False) -> WiresharkResult:
    """Remove the dissector from a folder; parameters and errors are those of :func:`install`."""
    path = folder / NAME
    _check_folder(folder)
    existing = _read(path)
    if existing is None:
        return WiresharkResult(str(path), Change.ABSENT, by_tshark)
    if not existing.startswith(_MARK) and not force:
        raise OutputError(f"{path}: another file, not of ptttool", hint="--force removes it", code="exists")
    try:
        path.unlink()
    except OSError as error:
        from ptttool.files.failures import output_failure

        raise output_failure(path, error) from None
    return WiresharkResult(str(path), Change.REMOVED, by_tshark)


def _check_folder(folder: Path) -> None:
    """Root writes nothing where others can make links."""
    from ptttool.files.ownership import weakness_of

    weakness = weakness_of(str(folder)) if os.geteuid() == 0 else None
    if weakness is not None:
        raise AccessError(f"{folder}: {weakness}, and this is root", hint="run it as the user who runs Wireshark", code="unsafe-folder")


def _read(path: Path) -> bytes | None:
    """Return what has the name: the start of a file, nothing for what is not a plain file, None if the name is free."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:  # a link, or a file that may not be read
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_MOST) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
