"""Recorded machines: files in a folder or in memory, and the demo machine that comes with ptttool."""

from __future__ import annotations

import errno
import gzip
import os
import zlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Protocol

from ptttool.errors import InputError
from ptttool.machine.sources.contract import DEMO

# As the kernel: more links than this on one path are a loop.
MAX_LINKS = 40
# Paths of a udev database: beside a plain tree, or in an sosreport.
DATABASES = ("/udev.txt", "/udev.txt.gz", "/sos_commands/devices/udevadm_info_--export-db")
MAX_DATABASE = 256 << 20
ARCHIVE = Path(__file__).parents[2] / "demo" / "machine.tar.gz"


class Files(Protocol):
    """Files below one root.

    Paths are absolute, without links, ``.`` or ``..``; nothing here follows a link. The methods raise OSError as the system does.
    """

    def link(self, path: str) -> str | None:
        """Return the target of a symbolic link; None for all else, a missing path included."""

    def exists(self, path: str) -> bool:
        """Tell whether there is a file, a folder or a link."""

    def names(self, path: str) -> list[str]:
        """List the names in a folder, sorted."""

    def read(self, path: str, limit: int) -> bytes:
        """Read the first ``limit`` bytes of a regular file."""

    def write(self, path: str, data: bytes) -> None:
        """Replace the content of an existing regular file in place."""


class RecordedSource:
    """The :class:`~ptttool.machine.sources.contract.Source` of files: links are followed inside the root only, absolute ones too."""

    live = False

    def __init__(self, files: Files, origin: str) -> None:
        self._files = files
        self._origin = origin

    @property
    def origin(self) -> str:
        """In words, where the files are."""
        return self._origin

    def devices(self, subsystem: str) -> list[str]:
        """List a subsystem's devices from its folder in sysfs and from the udev database: either can be incomplete."""
        found = {path for path, properties in self._database.items() if properties.get("SUBSYSTEM") == subsystem}
        for folder in (f"/sys/bus/{subsystem}/devices", f"/sys/class/{subsystem}"):
            try:
                names = self.names(folder)
            except OSError:
                continue
            for name in names:
                try:
                    found.add(self.resolve(f"{folder}/{name}"))
                except OSError:  # a loop of links: not a device
                    continue
        return sorted(found, key=lambda path: (path.rsplit("/", 1)[1], path))

    def properties(self, path: str) -> Mapping[str, str]:
        """Return a device's udev properties, as recorded."""
        return self._database.get(path, {})

    def read(self, path: str) -> str:
        """Read the first 64 KiB of a file without the final newline: no attribute is longer. Bytes that are not UTF-8 are surrogates."""
        return self._files.read(self._follow(path), 1 << 16).decode("utf-8", "surrogateescape").removesuffix("\n")

    def write(self, path: str, text: str) -> None:
        """Replace a recorded file's content."""
        self._files.write(self._follow(path), text.encode())

    def names(self, path: str) -> list[str]:
        """List the names in a folder, sorted."""
        return self._files.names(self._follow(path))

    def resolve(self, path: str) -> str:
        """Follow every link of a path; the target of its last link need not be recorded."""
        head, _, tail = path.rstrip("/").rpartition("/")
        if not self._files.exists(f"{self._follow(head)}/{tail}".replace("//", "/")):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self._follow(path)

    def _follow(self, path: str) -> str:
        """Follow a path inside the root, link by link; ``..`` at the root stays there."""
        left = path.split("/")[::-1]
        done: list[str] = []
        links = 0
        while left:
            part = left.pop()
            if part == "..":
                if done:
                    done.pop()
            elif part not in ("", "."):
                target = self._files.link("/" + "/".join([*done, part]))
                if target is None:
                    done.append(part)
                    continue
                links += 1
                if links > MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                if target.startswith("/"):
                    done.clear()
                left.extend(target.split("/")[::-1])
        return "/" + "/".join(done)

    @cached_property
    def _database(self) -> dict[str, dict[str, str]]:
        for path in DATABASES:
            try:
                data = self._files.read(self._follow(path), MAX_DATABASE)
                if path.endswith(".gz"):
                    data = gzip.decompress(data)
            except (OSError, EOFError, zlib.error):
                continue
            return parse_export_db(data.decode("utf-8", "replace"))
        return {}


class MemoryFiles:
    """The :class:`Files` of a dictionary.

    Parameters
    ----------
    files : dict of str to bytes
        Contents by path; folders follow from the paths.
    links : dict of str to str
        Targets of symbolic links by path.
    """

    def __init__(self, files: dict[str, bytes], links: dict[str, str]) -> None:
        self._files = dict(files)
        self._links = dict(links)
        self._folders: dict[str, set[str]] = {"/": set()}
        for path in (*files, *links):
            self._add_folders(path)

    def _add_folders(self, path: str) -> None:
        while path != "/":
            head, _, tail = path.rpartition("/")
            head = head or "/"
            known = head in self._folders
            self._folders.setdefault(head, set()).add(tail)
            if known:
                return
            path = head

    def link(self, path: str) -> str | None:
        """Return the target of a symbolic link."""
        return self._links.get(path)

    def exists(self, path: str) -> bool:
        """Tell whether there is a file, a folder or a link."""
        return path in self._files or path in self._links or path in self._folders

    def names(self, path: str) -> list[str]:
        """List the names in a folder."""
        if path in self._folders:
            return sorted(self._folders[path])
        code = errno.ENOTDIR if path in self._files else errno.ENOENT
        raise OSError(code, os.strerror(code), path)

    def read(self, path: str, limit: int) -> bytes:
        """Read the first ``limit`` bytes of a file."""
        self._check(path)
        return self._files[path][:limit]

    def write(self, path: str, data: bytes) -> None:
        """Replace the content of a file."""
        self._check(path)
        self._files[path] = data

    def _check(self, path: str) -> None:
        if path not in self._files:
            code = errno.EISDIR if path in self._folders else errno.ENOENT
            raise OSError(code, os.strerror(code), path)


class DemoSource(RecordedSource):
    """The demo machine: a server with three PTT devices, recorded under Linux 6.12.

    It is read from its archive into memory; what is written to it lasts as long as this object.
    """

    def __init__(self, archive: Path = ARCHIVE) -> None:
        import tarfile

        files: dict[str, bytes] = {}
        links: dict[str, str] = {}
        try:
            with tarfile.open(archive) as tar:
                for member in tar:
                    path = "/" + member.name.removeprefix("./")
                    content = tar.extractfile(member) if member.isfile() else None
                    if content is not None:
                        files[path] = content.read()
                    elif member.issym():
                        links[path] = member.linkname
        except (OSError, EOFError, tarfile.TarError) as error:
            raise InputError(archive, f"the demo machine cannot be read: {error}", hint="install ptttool again") from None
        super().__init__(MemoryFiles(files, links), DEMO)


def parse_export_db(text: str) -> dict[str, dict[str, str]]:
    """Read what ``udevadm info --export-db`` prints: the udev database of a whole machine.

    There is one block for each device and an empty line between blocks; the first letter of a line says what it is (udevadm(8)):
    ``P:`` the device's path below /sys, ``E:`` one property. Other lines (names, links, priorities) repeat what the properties say.

    Returns
    -------
    dict
        Sysfs path, with the leading /sys, to the device's properties.
    """
    devices: dict[str, dict[str, str]] = {}
    properties: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("P: /"):
            properties = devices.setdefault("/sys" + line[3:].rstrip(), {})
        elif line.startswith("E: "):
            name, equals, value = line[3:].partition("=")
            if equals:
                properties[name] = value
        elif not line.strip():
            properties = {}
    return devices
