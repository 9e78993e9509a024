"""Find devices by their folders, in copies of a sysfs that lack the lists of its subsystems."""

from __future__ import annotations

import re
from typing import Final

from ptttool.machine.budget import MAX_WALKED
from ptttool.machine.pmu import PMU_PREFIX
from ptttool.machine.sources.contract import or_none
from ptttool.machine.sources.files import Files

_DEEPEST: Final = 40
# Folders of /sys/devices without devices of a PCI function.
_LEFT_OUT: Final = frozenset("system virtual breakpoint kprobe software tracepoint uprobe".split())
_FUNCTION: Final = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_PTT: Final = re.compile(rf"{PMU_PREFIX}[0-9]+_[0-9]+")
_CLASSES: Final = ("net", "nvme", "block", "infiniband", "scsi_host")


def walk_devices(files: Files) -> dict[str, list[str]]:
    """Find PTT devices, PCI functions and what is on these in the folders below ``/sys/devices``.

    Returns
    -------
    dict of str to list of str
        Paths by subsystem.
    """
    devices: dict[str, list[str]] = {}
    left = [("/sys/devices", 0)]
    count = 0
    while left and count < MAX_WALKED:
        folder, depth = left.pop()
        names = or_none(files.names, folder)
        if names is None:  # a file, or not readable
            continue
        count += 1
        for name in names:
            path = f"{folder}/{name}"
            if (depth == 0 and name in _LEFT_OUT) or files.link(path) is not None:
                continue
            subsystem = _subsystem(folder.rpartition("/")[2], name)
            if subsystem is not None and files.is_folder(path):
                devices.setdefault(subsystem, []).append(path)
            if depth < _DEEPEST:
                left.append((path, depth + 1))
    return devices


def _subsystem(parent: str, name: str) -> str | None:
    if _FUNCTION.fullmatch(name):
        return "pci"
    if _PTT.fullmatch(name):
        return "event_source"
    if parent in _CLASSES:
        return parent
    if re.fullmatch(r"nvme[0-9]+", parent) and re.fullmatch(r"nvme[0-9]+(c[0-9]+)?n[0-9]+", name):
        return "block"
    return None
