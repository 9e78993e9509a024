"""A machine kept as files: what a recorded folder and the demo machine in memory have in common."""

from __future__ import annotations

import errno
import gzip
import os
import zlib
from collections.abc import Mapping
from functools import cached_property
from typing import Protocol

from ptttool.machine.sources.udev_db import parse_export_db

# As the kernel: more links than this on one path are a loop.
MAX_LINKS = 40
# Where a udev database may lie: beside a plain tree, or in an sosreport.
DATABASES = ("/udev.txt", "/udev.txt.gz", "/sos_commands/devices/udevadm_info_--export-db")
MAX_DATABASE = 256 << 20


class Files(Protocol):
    """Files below one root. Paths are absolute, without links, ``.`` or ``..``; nothing here follows a link. Raises OSError."""

    def link(self, path: str) -> str | None:
        """Where a symbolic link points; None for all else, a missing path too."""

    def exists(self, path: str) -> bool:
        """True for a file, a folder or a link."""

    def names(self, path: str) -> list[str]:
        """The names in a folder, sorted."""

    def read(self, path: str, limit: int) -> bytes:
        """The first ``limit`` bytes of a regular file."""

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
        """A subsystem's devices, from its folder in sysfs and from the udev database: either may lack some."""
        found = {path for path, properties in self._database.items() if properties.get("SUBSYSTEM") == subsystem}
        for folder in (f"/sys/bus/{subsystem}/devices", f"/sys/class/{subsystem}"):
            try:
                names = self.names(folder)
            except OSError:
                continue
            for name in names:
                try:
                    found.add(self.resolve(f"{folder}/{name}"))
                except OSError:  # a loop of links: no device
                    continue
        return sorted(found, key=lambda path: (path.rsplit("/", 1)[1], path))

    def properties(self, path: str) -> Mapping[str, str]:
        """A device's udev properties, as recorded."""
        return self._database.get(path, {})

    def read(self, path: str) -> str:
        """A file's text without the final newline, at most 64 KiB (no attribute holds more); bytes that are no UTF-8 as surrogates."""
        return self._files.read(self._follow(path), 1 << 16).decode("utf-8", "surrogateescape").removesuffix("\n")

    def write(self, path: str, text: str) -> None:
        """Replace a recorded file's content."""
        self._files.write(self._follow(path), text.encode())

    def names(self, path: str) -> list[str]:
        """The names in a folder, sorted."""
        return self._files.names(self._follow(path))

    def resolve(self, path: str) -> str:
        """The path with every link followed; its last link may lead to something that was not recorded."""
        head, _, tail = path.rstrip("/").rpartition("/")
        if not self._files.exists(f"{self._follow(head)}/{tail}".replace("//", "/")):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self._follow(path)

    def _follow(self, path: str) -> str:
        """Where a path leads inside the root, link by link; ``..`` at the root stays there."""
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
