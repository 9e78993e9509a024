"""A source that records what is read from another one, so that it can be read again elsewhere."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from ptttool.machine.details.memory_map import worth_a_name
from ptttool.machine.sources.contract import Source, or_none

# Properties of the udev database that anything here reads; others hold serial numbers and MAC addresses.
PROPERTIES: Final = frozenset("ID_VENDOR_FROM_DATABASE ID_MODEL_FROM_DATABASE PCI_ID PCI_CLASS DRIVER".split())
# Subsystems that are buses; all others are classes.
_BUSES: Final = frozenset({"event_source", "pci"})
_OF_PCI: Final = re.compile(r"/[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]/|/nvme-subsystem/")
_ABSENT: Final = (errno.ENOENT, errno.ENOTDIR, errno.ENODEV)
_HOST_NAME: Final = "/proc/sys/kernel/hostname"
# Network devices that are named by their MAC address.
_MAC: Final = re.compile(r"enx[0-9a-f]{12}")


def _memory(data: bytes) -> bytes:
    return worth_a_name(data.decode("utf-8", "replace")).encode()


def _module(data: bytes) -> bytes:
    return b"".join(line for line in data.splitlines(keepends=True) if b"hisi_" in line)


# What is kept of files that hold more than is needed, by the end of their path.
_KEPT: Final[Mapping[str, Callable[[bytes], bytes]]] = {"/proc/iomem": _memory, "/modules.dep": _module}


class RecorderSource:
    """Gives what another source gives, and keeps it.

    Parameters
    ----------
    source : Source
        The machine.
    hostname : bool
        Keep the machine's name, too.

    Attributes
    ----------
    files : dict of str to bytes
        Contents by path.
    links : dict of str to str
        Links that were followed, and where they lead.
    folders : set of str
        Folders; also what was only listed and not read.
    refused : dict of str to int
        What is there and could not be read, and the error number.
    properties_of : dict of str to dict
        Properties of devices in the udev database.
    """

    live = False
    identity = None

    def __init__(self, source: Source, *, hostname: bool = False) -> None:
        self._source = source
        self._hostname = hostname
        self._real: dict[str, str] = {}
        self.files: dict[str, bytes] = {}
        self.links: dict[str, str] = {}
        self.folders: set[str] = set()
        self.refused: dict[str, int] = {}
        self.properties_of: dict[str, dict[str, str]] = {}

    @property
    def origin(self) -> str:
        """In words: ``this machine``, or the folder."""
        return self._source.origin

    def devices(self, subsystem: str) -> list[str]:
        """List the devices of a subsystem, without those that have nothing to do with PCI functions."""
        paths = [path for path in self._source.devices(subsystem) if subsystem in _BUSES or _OF_PCI.search(path)]
        folder = f"/sys/bus/{subsystem}/devices" if subsystem in _BUSES else f"/sys/class/{subsystem}"
        self.folders.add(folder)
        for path in paths:
            self.links[f"{folder}/{path.rpartition('/')[2]}"] = path
            self.folders.add(path)
        return paths

    def properties(self, path: str) -> Mapping[str, str]:
        """Return a device's properties, those that are kept."""
        kept = {name: value for name, value in self._source.properties(path).items() if name in PROPERTIES}
        if kept:
            self.properties_of[path] = kept
        return kept

    def read(self, path: str) -> str:
        """Read a file's text."""
        with self._noting(path):
            text = self._source.read(path)
        self._keep(path, f"{text}\n".encode("utf-8", "surrogateescape"))
        return text

    def read_bytes(self, path: str, limit: int) -> bytes:
        """Read the start of a file."""
        with self._noting(path):
            data = self._source.read_bytes(path, limit)
        self._keep(path, data)
        return data

    def write(self, path: str, text: str) -> None:  # noqa: ARG002
        """Refuse to write: a machine is only looked at."""
        raise PermissionError(errno.EROFS, "a machine that is collected is not written to", path)

    def names(self, path: str) -> list[str]:
        """List the names in a folder."""
        with self._noting(path):
            names = self._source.names(path)
        real = self._follow(path)
        self.folders.add(real)
        self.folders.update(f"{real}/{name}" for name in names)
        return names

    def resolve(self, path: str) -> str:
        """Follow every link of a path."""
        target = self._source.resolve(path)
        self._follow(path)
        return target

    @contextmanager
    def _noting(self, path: str) -> Iterator[None]:
        """Keep why a path is refused."""
        try:
            yield
        except OSError as error:
            if error.errno is not None and error.errno not in _ABSENT:
                self.refused[self._follow(path)] = error.errno
            raise

    def _keep(self, path: str, data: bytes) -> None:
        if path == _HOST_NAME and not self._hostname:
            return
        for end, kept in _KEPT.items():
            if path.endswith(end):
                data = kept(data)
        real = self._follow(path)
        if len(data) >= len(self.files.get(real, b"")):
            self.files[real] = data

    def _follow(self, path: str) -> str:
        """Record the links on a path below /sys; return where it leads."""
        if not path.startswith("/sys/"):
            return path
        real = "/sys"
        for part in path.split("/")[2:]:
            step = f"{real}/{part}"
            if step not in self._real:
                self._real[step] = or_none(self._source.resolve, step) or step
                if self._real[step] != step:
                    self.links[step] = self._real[step]
            real = self._real[step]
        return real


def without_mac_addresses(paths: list[str]) -> Callable[[str], str]:
    """Return a function that replaces names of network devices that are their MAC addresses, each by the same other name."""
    interfaces = sorted({name for path in paths for name in _MAC.findall(path)})
    names = {name: f"enx-hidden{number}" for number, name in enumerate(interfaces)}
    return lambda path: _MAC.sub(lambda match: names.get(match[0], "enx-hidden"), path)
