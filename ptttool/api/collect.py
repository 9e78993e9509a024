"""Collect what support needs to know of a machine, as an archive that ``--sysfs`` reads."""

from __future__ import annotations

import os
import platform
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from msgspec import Struct

from ptttool._version import __version__
from ptttool.doctor.facts import look
from ptttool.documents import document
from ptttool.errors import PtttoolError
from ptttool.machine.collect.archive import Contents, part_of
from ptttool.machine.collect.recorder import RecorderSource
from ptttool.machine.details.read import with_details
from ptttool.machine.discovery import open_source, read_machine
from ptttool.machine.sources.contract import Source

__all__ = ["CollectedFile", "CollectedPart", "Collection", "RefusedFile", "collect_machine"]

LEFT_OUT = (
    "serial numbers",
    "MAC addresses (network devices that are named by theirs get another name)",
    "users, processes, files and disks",
    "the kernel's command line",
    "all of /proc/iomem but memory, PCI windows and interrupt doorbells",
)
HOST_NAME = "the host name"

_FILES = (
    "/proc/version",
    "/proc/version_signature",
    "/proc/sys/kernel/perf_event_paranoid",
    "/proc/sys/kernel/perf_event_mlock_kb",
    "/proc/sys/kernel/kptr_restrict",
    "/sys/module/hisi_ptt/version",
    "/sys/module/hisi_ptt/srcversion",
    "/sys/module/hisi_ptt/taint",
    "/sys/devices/soc0/soc_id",
    "/sys/devices/soc0/machine",
    "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
    "/sys/devices/system/cpu/possible",
    "/sys/devices/system/cpu/present",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/node/online",
)
_FOLDERS = ("/sys/module/hisi_ptt/parameters", "/sys/kernel/iommu_groups")


class CollectedPart(Struct, frozen=True):
    """Files about one thing.

    Parameters
    ----------
    name : str
        What they are about.
    files : int
        Their number.
    bytes : int
        Their size.
    """

    name: str
    files: int
    bytes: int


class CollectedFile(Struct, frozen=True):
    """A file that was collected.

    Parameters
    ----------
    path : str
        Its path on the machine.
    bytes : int
        Its size.
    """

    path: str
    bytes: int


class RefusedFile(Struct, frozen=True):
    """A file that is there and could not be read.

    Parameters
    ----------
    path : str
        Its path on the machine.
    reason : str
        Why it could not be read.
    """

    path: str
    reason: str


@document("collect")
class Collection(Struct, frozen=True):
    """What was collected of a machine.

    Parameters
    ----------
    origin : str
        The machine.
    file : str or None
        The archive; null if none was written.
    bytes : int or None
        Its size; null if none was written.
    parts : list of CollectedPart
        What it is about.
    files : list of CollectedFile
        All files in it.
    refused : list of RefusedFile
        What could not be read; most of it needs root.
    left_out : list of str
        What is not collected.
    """

    origin: str
    file: str | None
    bytes: int | None
    parts: list[CollectedPart]
    files: list[CollectedFile]
    refused: list[RefusedFile]
    left_out: list[str] = []


class Collected:
    """A machine that was read, and is not written yet.

    Parameters
    ----------
    source : Source
        The machine.
    hostname : bool
        Keep the host name, too.
    """

    def __init__(self, source: Source, *, hostname: bool = False) -> None:
        recorder = RecorderSource(source, hostname=hostname)
        machine = read_machine(recorder)
        with_details(recorder, machine)
        with suppress(PtttoolError):  # the doctor wants to know more
            look(recorder)
            _ask_doctor(recorder)
        for path in _FILES:
            with suppress(OSError):
                recorder.read(path)
        for folder in _FOLDERS:
            with suppress(OSError):
                for name in recorder.names(folder):
                    if folder.endswith("parameters"):
                        with suppress(OSError):
                            recorder.read(f"{folder}/{name}")
        self.left_out = [*LEFT_OUT, *([] if hostname else [HOST_NAME])]
        self._origin = source.origin
        self._contents = Contents(recorder, _about(source, self.left_out))

    def add(self, path: str, content: bytes) -> None:
        """Add a file that is none of the machine's."""
        self._contents.files[path] = content

    def write(self, path: str | Path, *, force: bool = False) -> Collection:
        """Write the archive, with mode 0600, whole or not at all; return what is in it."""
        self._contents.write(path, force=force)
        size = None
        with suppress(OSError):
            size = Path(path).stat().st_size
        return self.described(str(path), size)

    def write_to(self, file: IO[bytes]) -> None:
        """Write the archive to a file that is open."""
        self._contents.write_to(file)

    def described(self, file: str | None = None, size: int | None = None) -> Collection:
        """Return what is in the archive, or would be."""
        parts: dict[str, list[int]] = {}
        sizes = {path: len(data) for path, data in sorted(self._contents.files.items())}
        for path, length in sizes.items():
            parts.setdefault(part_of(path), []).append(length)
        return Collection(
            self._origin,
            file,
            size,
            [CollectedPart(name, len(sizes), sum(sizes)) for name, sizes in parts.items()],
            [CollectedFile(path, length) for path, length in sizes.items()],
            [RefusedFile(path, os.strerror(number)) for path, number in self._contents.refused.items()],
            self.left_out,
        )


def collect_machine(
    path: str | Path, sysfs: str | Path | None = None, *, demo: bool = False, hostname: bool = False, force: bool = False
) -> Collection:
    """Write an archive of what is known of a machine, which ``sysfs=`` reads as it reads the machine.

    Serial numbers, MAC addresses and the host name are not in it.

    Parameters
    ----------
    path : str or Path
        The archive, a ``.tar.gz``; its owner alone can read it.
    sysfs, demo
        As in :func:`~ptttool.api.machine.find_machine`.
    hostname : bool
        Keep the host name, too.
    force : bool
        Overwrite an existing file.

    Returns
    -------
    Collection
        What was collected, and what could not be read.

    Raises
    ------
    OutputError
        The archive exists, or cannot be written.
    InputError, AccessError, MissingPackageError
        As in :func:`~ptttool.api.machine.find_machine`.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "machine.tar.gz"
    >>> collect_machine(path, demo=True).refused
    []
    >>> from ptttool.api.machine import find_devices
    >>> find_devices(path) == find_devices(demo=True)
    True
    """
    return Collected(open_source(sysfs, demo), hostname=hostname).write(path, force=force)


def _ask_doctor(source: Source) -> None:
    from ptttool.doctor.examine import examine

    examine(source)


def _about(source: Source, left_out: list[str]) -> dict[str, object]:
    """Return facts that no file of the machine has."""
    facts: dict[str, object] = {
        "ptttool": __version__,
        "collected": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "of": source.origin if source.live or source.identity is None else "a copy of a machine",
        "left_out": left_out,
    }
    if source.live:
        from ptttool.capture.perf.tool import find_perf

        facts |= {"python": platform.python_version(), "architecture": platform.machine(), "root": os.geteuid() == 0}
        try:
            perf = find_perf()
            facts["perf"] = perf.version
        except PtttoolError as error:
            facts["perf"] = None
            facts["perf_problem"] = error.message
    return facts
