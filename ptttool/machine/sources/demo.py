"""The recorded machine that comes with ptttool: read from its archive into memory, changed there, forgotten afterwards."""

from __future__ import annotations

import errno
import os
import tarfile
from pathlib import Path

from ptttool.errors import InputError
from ptttool.machine.model import DEMO
from ptttool.machine.sources.recorded import RecordedSource

ARCHIVE = Path(__file__).parents[2] / "demo" / "machine.tar.gz"


class MemoryFiles:
    """Files in memory. ``files``: path to content; ``links``: path to target; folders follow from the paths."""

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
        return self._links.get(path)

    def exists(self, path: str) -> bool:
        return path in self._files or path in self._links or path in self._folders

    def names(self, path: str) -> list[str]:
        if path in self._folders:
            return sorted(self._folders[path])
        code = errno.ENOTDIR if path in self._files else errno.ENOENT
        raise OSError(code, os.strerror(code), path)

    def read(self, path: str, limit: int) -> bytes:
        self._check(path)
        return self._files[path][:limit]

    def write(self, path: str, data: bytes) -> None:
        self._check(path)
        self._files[path] = data

    def _check(self, path: str) -> None:
        if path not in self._files:
            code = errno.EISDIR if path in self._folders else errno.ENOENT
            raise OSError(code, os.strerror(code), path)


class DemoSource(RecordedSource):
    """The demo machine: a server with three PTT devices, recorded under Linux 6.12. What is written to it lasts as long as this object."""

    def __init__(self, archive: Path = ARCHIVE) -> None:
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
