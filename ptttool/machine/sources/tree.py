"""Machines in a folder: an sosreport, a fixture, the mounted root of another system."""

from __future__ import annotations

import os
import stat
import zlib
from contextlib import suppress
from pathlib import Path

from ptttool.errors import AccessError, InputError
from ptttool.machine.sources.contract import RUNNING, or_none
from ptttool.machine.sources.files import FolderFiles
from ptttool.machine.sources.recorded import RecordedSource
from ptttool.wording import as_root

# A sysfs has these folders.
SYSFS_FOLDERS = ("bus", "class", "devices")


class TreeSource(RecordedSource):
    """A machine in a folder.

    The udev database is read from ``udev.txt``, ``udev.txt.gz`` or an sosreport's ``udevadm info --export-db``, where there is one.

    Parameters
    ----------
    root : Path or str
        A folder that holds ``sys`` (a system's root, an sosreport, a fixture), or the sysfs itself.

    Raises
    ------
    InputError
        There is no such folder.
    AccessError
        The folder cannot be read.
    """

    def __init__(self, root: Path | str) -> None:
        folder = _below_top(os.path.realpath(root))
        names = _list(str(root), folder)
        if "sys" in names and _is_folder(f"{folder}/sys"):
            inside = _list(f"{root}/sys", f"{folder}/sys")
            sysfs_only = False
        else:
            inside = names
            sysfs_only = True
        if not set(SYSFS_FOLDERS) & set(inside):
            raise InputError(
                root,
                "not a recorded machine: there is neither sys/ nor any of the folders bus, class, devices of a sysfs",
                hint="give the folder that holds sys/, for example an unpacked sosreport",
                code="no-sysfs",
            )
        identity = _identity(folder if sysfs_only else f"{folder}/sys")
        super().__init__(FolderFiles(folder.rstrip("/"), sysfs_only=sysfs_only), str(root), identity)


def _below_top(folder: str) -> str:
    """Return the only folder that holds ``sys`` in a folder that holds none itself, such as the one an sosreport was unpacked in."""
    with suppress(OSError):
        inside = {entry.name: entry for entry in os.scandir(folder)}
        if not {"sys", *SYSFS_FOLDERS} & inside.keys():
            roots = [entry.path for entry in inside.values() if entry.is_dir(follow_symlinks=False) and _has_sysfs(entry.path)]
            return roots[0] if len(roots) == 1 else folder
    return folder


def _has_sysfs(folder: str) -> bool:
    return any(or_none(_is_folder, f"{folder}/sys/{name}") for name in SYSFS_FOLDERS)


def _identity(sysfs: str) -> str:
    """Return the name of the machine of a sysfs: that of the running machine if it is the running one's, mounted once more."""
    with suppress(OSError):
        if Path(sysfs).samefile("/sys"):
            return RUNNING
    about = Path(sysfs).stat()
    # Path and number of the folder: another machine may be unpacked later under the same name.
    return f"tree-{about.st_dev:x}-{about.st_ino:x}-{zlib.crc32(os.fsencode(sysfs)):08x}"


def _is_folder(path: str) -> bool:
    return stat.S_ISDIR(os.lstat(path).st_mode)


def _list(shown: str, folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208
    except FileNotFoundError:
        raise InputError(shown, "no such file or folder", code="no-such-folder") from None
    except NotADirectoryError:
        raise InputError(shown, "neither a folder nor a file", hint="give the folder that holds sys/", code="not-a-machine") from None
    except PermissionError as error:
        raise AccessError(f"{shown}: {error.strerror}", hint=f"{as_root()}, or change the folder's mode") from None
