"""Write what was taken down of a machine as a tar archive that :mod:`ptttool.machine.sources.archive` reads."""

from __future__ import annotations

import gzip
import io
import tarfile
import time
from collections.abc import Mapping
from pathlib import Path
from posixpath import relpath
from typing import IO, Any, Final

from ptttool.documents import dumps
from ptttool.files.atomic import output_file
from ptttool.machine.collect.recorder import RecorderSource, without_mac_addresses
from ptttool.machine.sources.recorded import MANIFEST

TOP: Final = "machine"
"""Folder of the machine in an archive."""
MODE: Final = 0o600

# What the paths of a machine are about, the first that fits.
_PARTS: Final = (
    ("self-test", "/selftest/"),
    ("PTT devices", "/hisi_ptt"),
    ("memory map", "/proc/iomem"),
    ("PCI functions", "/sys/devices/pci"),
    ("PCI functions", "/pci0"),
    ("CPUs and NUMA nodes", "/sys/devices/system/"),
    ("kernel and driver", "/"),
)


class Contents:
    """What an archive of a machine will hold.

    Parameters
    ----------
    recorder : RecorderSource
        What was taken down.
    facts : Mapping[str, object]
        Further facts, for people; plain values.

    Attributes
    ----------
    files : dict of str to bytes
        Contents by path.
    refused : dict of str to int
        What could not be read, and the error number.
    """

    def __init__(self, recorder: RecorderSource, facts: Mapping[str, Any]) -> None:
        hidden = without_mac_addresses([*recorder.files, *recorder.links, *recorder.folders])
        self.files = {hidden(path): data for path, data in recorder.files.items()}
        self.links = {hidden(path): hidden(target) for path, target in recorder.links.items() if path not in recorder.files}
        self.folders = {path for path in map(hidden, recorder.folders) if path not in self.files and path not in self.links}
        self.refused = {hidden(path): number for path, number in sorted(recorder.refused.items())}
        database = ""
        for path, own in sorted(recorder.properties_of.items()):
            lines = "".join(f"E: {name}={_line(value)}\n" for name, value in sorted(own.items()))
            database += f"P: {hidden(path).removeprefix('/sys')}\n{lines}\n"
        if database:
            self.files["/udev.txt"] = database.encode("utf-8", "replace")
        self.files[MANIFEST] = dumps({**facts, "refused": self.refused}).encode() + b"\n"

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write the archive, whole or not at all, for its owner alone.

        Raises
        ------
        OutputError
            It exists, or cannot be written.
        """
        with output_file(path, force=force, mode=MODE) as file:
            self.write_to(file)

    def write_to(self, file: IO[bytes]) -> None:
        """Write the archive to a file that is open."""
        now = int(time.time())
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=now) as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
            for path in sorted({*self.files, *self.links, *self.folders}):
                member = tarfile.TarInfo(f"{TOP}{path}")
                member.mtime, member.mode = now, 0o644
                if path in self.files:
                    member.size = len(self.files[path])
                    tar.addfile(member, io.BytesIO(self.files[path]))
                elif path in self.links:
                    member.type, member.linkname = tarfile.SYMTYPE, relpath(self.links[path], path.rpartition("/")[0])
                    tar.addfile(member)
                else:
                    member.type, member.mode = tarfile.DIRTYPE, 0o755
                    tar.addfile(member)


def part_of(path: str) -> str:
    """Return what a path of a machine is about."""
    if path in ("/udev.txt", MANIFEST):
        return "PCI functions" if path == "/udev.txt" else "what was collected"
    return next(part for part, word in _PARTS if word in path)


def _line(value: str) -> str:
    return " ".join(value.split())
