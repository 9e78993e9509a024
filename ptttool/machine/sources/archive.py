"""Machines in a tar archive: an sosreport as it comes, what ``ptttool collect`` writes, a packed copy of a sysfs."""

from __future__ import annotations

import lzma
import re
import tarfile
import zlib
from pathlib import Path
from typing import Final, cast

import zstandard

from ptttool.budget import over_budget
from ptttool.errors import AccessError, InputError
from ptttool.machine.budget import (
    MAX_ARCHIVE_KEPT,
    MAX_ARCHIVE_MEMBERS,
    MAX_ATTRIBUTE_BYTES,
    MAX_DATABASE_BYTES,
    MAX_MEMORY_BYTES,
    MAX_PATH,
)
from ptttool.machine.sources.expanded import PACK_LESS, Expanded
from ptttool.machine.sources.files import DATABASES, MemoryFiles
from ptttool.machine.sources.recorded import MANIFEST, RecordedSource
from ptttool.machine.sources.tree import SYSFS_FOLDERS

_PIECE: Final = 1 << 16
# How deep the root of a machine can be in an archive, and how many roots can be there.
_DEEPEST, _MOST_ROOTS = 4, 64
_ROOT_NAMES: Final = frozenset({"sys", "proc", "etc", "usr", "boot", "lib", "sos_commands", "udev.txt", "udev.txt.gz", MANIFEST[1:]})
# What of a root is read by anything here; the rest of an sosreport, and that is most, is not kept.
_WANTED: Final = re.compile(
    r"/sys/(bus|class|devices|module|kernel/iommu_groups)(/|$)|/proc/(iomem|cmdline|meminfo|version|version_signature|config\.gz)$"
    r"|/proc/sys/kernel/[a-z_]+$|/etc/os-release$|/usr/lib/os-release$|/boot/config-[^/]*$|/lib/modules/[^/]*/config$"
    r"|/lib/modules/[^/]*/(modules\.dep|build/\.config)$|/sos_commands/kernel/uname_-a$|" + re.escape(MANIFEST) + "$"
)
# What the libraries raise for damaged input.
_DAMAGE: Final = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, RecursionError, ValueError, OverflowError)
# The kernel says that its files have the size of a page; tar fills what is missing with zeros.
_PAGE: Final = 4096

# What an archive has of one machine: contents and targets of links by path, and folders.
_Root = tuple[dict[str, bytes], dict[str, str], set[str]]


class ArchiveSource(RecordedSource):
    """A machine in a tar archive: plain, or packed by gzip, xz, bzip2 or zstd.

    The archive is read once, forward, into memory; no file is unpacked, no link leads out of it, and devices and pipes in it are left out.
    What is written to it lasts as long as this object.

    Parameters
    ----------
    path : Path or str
        The archive. It holds ``sys``, at the top or in a folder, or the content of ``sys``.

    Raises
    ------
    InputError
        It is not such an archive, is damaged, or asks for more than the budgets allow.
    AccessError
        It cannot be read.
    """

    def __init__(self, path: Path | str) -> None:
        super().__init__(MemoryFiles(*_read(Path(path))), str(path))


def _read(path: Path) -> _Root:
    try:
        with Expanded(path) as expanded:
            try:
                return _only_machine(path, _roots(path, expanded))
            except _DAMAGE as error:
                if expanded.tell() <= tarfile.BLOCKSIZE and (isinstance(error, tarfile.TarError) or not expanded.is_packed):
                    raise _not_an_archive(path) from None
                raise InputError(path, f"the archive is damaged: {error}", offset=expanded.tell(), code="damaged-archive") from None
    except FileNotFoundError:
        raise InputError(path, "no such file", code="no-such-file") from None
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror}", hint="run as root, or change the file's mode") from None
    except OSError as error:  # also of gzip: not that format
        raise InputError(path, f"cannot be read: {error}", code="damaged-archive") from None


def _not_an_archive(path: Path) -> InputError:
    with path.open("rb") as file:
        if file.read(8) == b"PERFILE2":
            return InputError(path, "a recording, not a machine", hint="name it as FILE, without --sysfs", code="not-a-machine")
    return InputError(
        path,
        "neither a folder nor a tar archive of a machine",
        hint="give a folder that holds sys/, or a .tar, .tar.gz, .tar.xz of one: an sosreport, or what 'ptttool collect' writes",
        code="not-a-machine",
    )


def _roots(path: Path, expanded: Expanded) -> dict[str, _Root]:
    """Read what is wanted of each machine in an archive, by the folder that it is in."""
    roots: dict[str, _Root] = {}
    members = kept = 0
    with tarfile.open(fileobj=cast("tarfile._Fileobj", expanded), mode="r:") as tar:
        while (member := tar.next()) is not None:
            tar.members.clear()  # type: ignore[attr-defined] # tarfile keeps them all otherwise
            members += 1
            if members > MAX_ARCHIVE_MEMBERS:
                raise over_budget(path, "the archive", MAX_ARCHIVE_MEMBERS, "files", hint=PACK_LESS)
            place = _place(member.name)
            if place is None:
                continue
            folder, inside = place
            if folder not in roots and len(roots) >= _MOST_ROOTS:
                raise over_budget(path, "the archive", _MOST_ROOTS, "folders that look like a machine's root")
            files, links, folders = roots.setdefault(folder, ({}, {}, set()))
            kept += len(inside) + len(member.linkname)
            if member.isdir():
                folders.add(inside)
            elif member.issym():
                links[inside] = member.linkname
            elif member.islnk():
                target = _place(member.linkname)
                if target is not None and target[0] == folder and target[1] in files:
                    files[inside] = files[target[1]]
            elif member.isreg() and not member.issparse():
                files[inside] = content = _content(tar, member, inside)
                kept += len(content)
            if kept > MAX_ARCHIVE_KEPT:
                raise over_budget(path, "what the archive has of a machine", MAX_ARCHIVE_KEPT, "bytes")
        if expanded.tell() <= tar.offset:
            raise EOFError("it has no end mark")
        if expanded.last.strip(b"\0"):  # tarfile takes it for the end
            raise ValueError("a header is not one of a tar archive")
    while expanded.read(_PIECE):  # the checksum of packed data is behind all of it
        pass
    return roots


def _place(name: str) -> tuple[str, str] | None:
    """Split a member's name into the folder of its machine and the path below; None for one that is not wanted."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or len(name) > MAX_PATH:
        return None
    for at, part in enumerate(parts[:_DEEPEST]):
        if part in _ROOT_NAMES:
            inside = "/" + "/".join(parts[at:])
            return ("/".join(parts[:at]), inside) if _WANTED.match(inside) or inside in DATABASES else None
    for at, part in enumerate(parts[:2]):
        if part in SYSFS_FOLDERS:  # the content of sys itself
            return "/".join(parts[:at]), "/sys/" + "/".join(parts[at:])
    return None


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> bytes:
    limit = (
        MAX_DATABASE_BYTES + 1 if path in DATABASES else MAX_MEMORY_BYTES if path.startswith(("/proc/", "/boot/")) else MAX_ATTRIBUTE_BYTES
    )
    file = tar.extractfile(member)
    assert file is not None  # it is a regular file
    content = bytearray()
    while len(content) < limit and (piece := file.read(min(_PIECE, limit - len(content)))):
        content += piece
    if len(content) < min(member.size, limit):
        raise EOFError("it ends within a file")
    return bytes(content).rstrip(b"\0") if member.size == _PAGE and not path.endswith("/config") else bytes(content)


def _only_machine(path: Path, roots: dict[str, _Root]) -> _Root:
    machines = {folder: root for folder, root in roots.items() if any(_is_in_sysfs(path) for paths in root for path in paths)}
    if not machines:
        raise InputError(
            path,
            "not a recorded machine: the archive has no sys/ with any of the folders bus, class, devices",
            hint="it must hold sys/, at the top or in a folder: an sosreport, or what 'ptttool collect' writes",
            code="no-sysfs",
        )
    if len(machines) > 1:
        names = ", ".join(f"{folder}/" for folder in sorted(machines)[:8])
        raise InputError(
            path, f"the archive holds several machines: {names}", hint="unpack it, and name one of them", code="several-machines"
        )
    return next(iter(machines.values()))


def _is_in_sysfs(path: str) -> bool:
    return bool(set(path.split("/", 3)[2:3]) & set(SYSFS_FOLDERS))
