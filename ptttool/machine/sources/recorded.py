"""Recorded machines: files in a folder or in memory, and the demo machine that comes with ptttool."""

from __future__ import annotations

import errno
import gzip
import io
import json
import posixpath
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ptttool.budget import over_budget
from ptttool.errors import InputError, UsageError
from ptttool.machine.budget import (
    EXPANDED_FREE,
    EXPANDED_RATIO,
    MAX_ATTRIBUTE_BYTES,
    MAX_DATABASE_BYTES,
    MAX_DATABASE_DEVICES,
    MAX_DATABASE_PROPERTIES,
    MAX_PATH,
)
from ptttool.machine.sources.contract import DEMO, or_none
from ptttool.machine.sources.files import DATABASES, Files, MemoryFiles, refusal
from ptttool.machine.sources.walk import walk_devices
from ptttool.wording import in_words, shortened

# As the kernel: more links than this on one path are a loop.
MAX_LINKS = 40
MANIFEST = "/ptttool-collect.json"
"""What 'ptttool collect' says of the machine that it has read, in a recorded machine."""
_LONGEST_MANIFEST = 1 << 20
# Read at a time from a packed database, and the most of a line that is kept.
_PIECE, _LONGEST_LINE = 1 << 16, 1 << 16
ARCHIVE = Path(__file__).parents[2] / "demo" / "machine.tar.gz"
DEMOS = ("kunpeng-6.12", "kunpeng-6.1", "openeuler-5.10")
"""Names of the demo machines: the one of the archive, and those that differ from it as ``demo/NAME.json`` says."""


class RecordedSource:
    """The :class:`~ptttool.machine.sources.contract.Source` of files: links are followed inside the root only, absolute ones too.

    Parameters
    ----------
    files : Files
        The files.
    origin : str
        Where they are, in words.
    identity : str or None
        Name of the machine, the same in every process that has these files; None for files in memory.
    """

    live = False

    def __init__(self, files: Files, origin: str, identity: str | None = None) -> None:
        self._files = files
        self.origin = origin
        self.identity = identity

    def devices(self, subsystem: str) -> list[str]:
        """List a subsystem's devices from its folder in sysfs and from the udev database: either can be incomplete."""
        devices = {path for path, own in self._database.items() if own.get("SUBSYSTEM") == subsystem and len(path) <= MAX_PATH}
        is_listed = False
        for folder in (f"/sys/bus/{subsystem}/devices", f"/sys/class/{subsystem}"):
            names = or_none(self.names, folder)
            is_listed = is_listed or names is not None
            # None: a loop of links, not a device.
            paths = (or_none(self.resolve, f"{folder}/{name}") for name in names or ())
            devices.update(path for path in paths if path is not None)
        if not devices and not is_listed:
            devices.update(self._walked.get(subsystem, ()))
        return sorted(devices, key=lambda path: (path.rsplit("/", 1)[1], path))

    @cached_property
    def _walked(self) -> dict[str, list[str]]:
        """The devices by subsystem as their folders below ``/sys/devices`` say it, for copies without the lists of subsystems."""
        return walk_devices(self._files)

    def properties(self, path: str) -> Mapping[str, str]:
        """Return a device's udev properties, as recorded."""
        return self._database.get(path, {})

    def read(self, path: str) -> str:
        """Read the first 64 KiB of a file without the final newline: no attribute is longer. Bytes that are not UTF-8 are surrogates."""
        return self._read(path, MAX_ATTRIBUTE_BYTES).decode("utf-8", "surrogateescape").removesuffix("\n")

    def read_bytes(self, path: str, limit: int) -> bytes:
        """Read the first `limit` bytes of a file."""
        return self._read(path, limit)

    def _read(self, path: str, limit: int) -> bytes:
        real = self._follow(path)
        try:
            return self._files.read(real, limit)
        except (FileNotFoundError, IsADirectoryError):
            if real not in self._refused:
                raise
        raise refusal(self._refused[real], real)

    @cached_property
    def _refused(self) -> dict[str, int]:
        """What the machine refused when it was collected, and the error number."""
        try:
            codes = json.loads(self._files.read(MANIFEST, _LONGEST_MANIFEST))["refused"]
            return {str(path): code for path, code in codes.items() if type(code) is int and code in errno.errorcode}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}

    def write(self, path: str, text: str) -> None:
        """Replace a recorded file's content."""
        self._files.write(self._follow(path), text.encode())

    def names(self, path: str) -> list[str]:
        """List the names in a folder, sorted."""
        real = self._follow(path)
        if real in self._refused:
            raise refusal(self._refused[real], real)
        return self._files.names(real)

    def resolve(self, path: str) -> str:
        """Follow every link of a path; the target of its last link need not be recorded."""
        head, _, tail = path.rstrip("/").rpartition("/")
        if not self._files.exists(f"{self._follow(head)}/{tail}".replace("//", "/")):
            raise refusal(errno.ENOENT, path)
        return self._follow(path)

    def _follow(self, path: str) -> str:
        """Follow a path inside the root, link by link; ``..`` at the root stays there."""
        left = path.split("/")[::-1]
        done: list[str] = []
        links = 0
        if len(path) > MAX_PATH:
            raise refusal(errno.ENAMETOOLONG, path[:80])
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
                    raise refusal(errno.ELOOP, path)
                if len(target) > MAX_PATH or len(done) + len(left) > MAX_PATH // 2:
                    raise refusal(errno.ENAMETOOLONG, path)
                if target.startswith("/"):
                    done.clear()
                left.extend(target.split("/")[::-1])
        return "/" + "/".join(done)

    @cached_property
    def _database(self) -> dict[str, dict[str, str]]:
        for path in DATABASES:
            shown = f"{self.origin}{path}"
            try:
                data = self._files.read(self._follow(path), MAX_DATABASE_BYTES + 1)
                if len(data) > MAX_DATABASE_BYTES:
                    raise _too_large(shown, "the udev database", MAX_DATABASE_BYTES, "bytes")
                return parse_database(_packed_lines(data, shown) if path.endswith(".gz") else io.BytesIO(data), shown)
            except (OSError, EOFError, zlib.error):
                continue
        return {}


class DemoSource(RecordedSource):
    """The demo machine: a server with three PTT devices, recorded under Linux 6.12; or the same as another kernel shows it.

    It is read from its archive into memory; what is written to it lasts as long as this object.

    Parameters
    ----------
    name : str or None
        One of :data:`DEMOS`; None for the first.
    archive : Path
        The archive.

    Raises
    ------
    UsageError
        There is no such demo machine.
    """

    def __init__(self, name: str | None = None, archive: Path = ARCHIVE) -> None:
        import tarfile

        if name is not None and name not in DEMOS:
            raise UsageError(
                f"there is no demo machine {shortened(repr(name))}", hint=f"one of {in_words(DEMOS, 'or')}", code="unknown-demo"
            )
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
            if name is not None and name != DEMOS[0]:
                files, links = _changed(files, links, json.loads(archive.with_name(f"{name}.json").read_bytes()))
        except (OSError, EOFError, ValueError, tarfile.TarError) as error:
            raise InputError(archive, f"the demo machine cannot be read: {error}", hint="install ptttool again") from None
        super().__init__(MemoryFiles(files, links), DEMO if name is None else f"{DEMO} {name}")


def _changed(files: dict[str, bytes], links: dict[str, str], change: Mapping[str, Any]) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the files and links of the demo machine with a change: folders that are elsewhere, or not there, and other contents."""
    moved: Mapping[str, str] = change["moved"]

    def place(path: str) -> str:
        return next((new + path.removeprefix(old) for old, new in moved.items() if f"{path}/".startswith(f"{old}/")), path)

    gone = tuple(f"{folder}/" for folder in change["removed"])
    targets = {path: posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) for path, target in links.items()}
    files = {place(path): content for path, content in files.items() if not place(path).startswith(gone)}
    for database in DATABASES:
        for old, new in moved.items():
            if database in files:
                files[database] = files[database].replace(old.removeprefix("/sys").encode(), new.removeprefix("/sys").encode())
    files |= {path: text.encode() for path, text in change["files"].items()}
    return files, {place(path): place(target) for path, target in targets.items()}


def parse_database(lines: Iterable[bytes], path: str) -> dict[str, dict[str, str]]:
    """Read what ``udevadm info --export-db`` prints: the udev database of a whole machine.

    There is one block for each device and an empty line between blocks; the first letter of a line says what it is (udevadm(8)):
    ``P:`` the device's path below /sys, ``E:`` one property. Other lines (names, links, priorities) repeat what the properties say.

    Parameters
    ----------
    lines : iterable of bytes
        The lines, with their ends.
    path : str
        Where they are, for messages.

    Returns
    -------
    dict
        Sysfs path, with the leading /sys, to the device's properties.
    """
    devices: dict[str, dict[str, str]] = {}
    properties: dict[str, str] = {}
    names: dict[str, str] = {}  # names of properties: most devices have the same
    count = 0
    for line in lines:
        if line.startswith(b"P: /"):
            properties = devices.setdefault("/sys" + _text(line).rstrip(), {})
            if len(devices) > MAX_DATABASE_DEVICES:
                raise _too_large(path, "the udev database", MAX_DATABASE_DEVICES, "devices")
        elif line.startswith(b"E: "):
            name, equals, value = _text(line).partition("=")
            if equals:
                properties[names.setdefault(name, name)] = value
                count += 1
                if count > MAX_DATABASE_PROPERTIES:
                    raise _too_large(path, "the udev database", MAX_DATABASE_PROPERTIES, "properties")
        elif not line.strip():
            properties = {}
    return devices


def _text(line: bytes) -> str:
    return line[3:].rstrip(b"\r\n").decode("utf-8", "replace")


def _packed_lines(data: bytes, path: str) -> Iterator[bytes]:
    """Expand a packed database line by line. Of a line longer than any in a real one only the start is kept."""
    expanded, rest = 0, b""
    most = min(MAX_DATABASE_BYTES, EXPANDED_FREE + EXPANDED_RATIO * len(data))
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while piece := file.read(_PIECE):
            expanded += len(piece)
            if expanded > most:
                raise _too_large(path, f"{len(data):,} packed bytes of a udev database", most, "bytes when expanded")
            *lines, last = piece.split(b"\n")
            if lines:
                yield rest + lines[0]
                yield from lines[1:]
                rest = b""
            rest = (rest + last)[:_LONGEST_LINE]
    yield rest


def _too_large(path: str, what: str, limit: int, unit: str) -> InputError:
    return over_budget(path, what, limit, unit, hint="remove it from the copy of the machine: the sysfs alone is enough")
