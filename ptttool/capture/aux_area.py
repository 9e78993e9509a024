"""How large the AUX area is, where it decides how long a trace gets: with a driver that hands trace over only when the area is full.

Such a trace ends when the area is full: by itself ptttool then takes the largest area that is sensible. With other drivers the area is a
buffer that perf empties.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ptttool.capture.checks.host import free_bytes, online_cpus, read_rights
from ptttool.capture.perf.command import DEFAULT_AUX_SIZE, MINIMUM_AUX_SIZE
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.driver import Driver, driver_of
from ptttool.machine.model import Machine, PttDevice
from ptttool.machine.sources.contract import Source, or_none

LARGEST_CHOSEN: Final = 2 << 30
"""The largest area that is chosen: the most that the driver takes with pages of 4 KiB. With larger pages ``--aux-size`` can be more."""
# Of the memory that is available and of the room on the disk, what an area takes by itself: doctor and trace warn above it.
_SHARE = 4
# Bytes of trace a second above which no link is expected, where its rate is not known: twice a Gen4 x16 with writes and reads in 8DW.
_FASTEST = 11e9
_MEMINFO: Final = "/proc/meminfo"
_WHY: Final[Mapping[str, str]] = {
    "asked": "",
    "driver": "; with pages of 4 KiB, drivers take no larger area",
    "memory": "; twice that would be more than a quarter of the memory that is available",
    "disk": "; twice that would be more than a quarter of the room on the disk",
    "locked-memory": "; this user may not lock twice that",
    "duration": "; the area holds twice what a full link makes in the time that was asked for",
    "memory-unknown": "; how much memory is available is not known, so the area is no larger than with other drivers",
}


def driver_on(machine: Machine) -> Driver:
    """Return the driver of a machine; of one that an older version described, what its kernel's release says."""
    return machine.driver or driver_of(machine.kernel)


def available_memory(source: Source) -> int | None:
    """Return the bytes of memory that are available on a machine; None where it does not say."""
    match = re.search(r"(?m)^MemAvailable: *([0-9]{1,15}) kB$", or_none(source.read, _MEMINFO) or "", re.ASCII)
    return None if match is None else int(match[1]) * 1024


def aux_area(
    machine: Machine,
    device: PttDevice,
    asked: int | None,
    output: Path,
    *,
    default: int = DEFAULT_AUX_SIZE,
    full: float | None = None,
    link: str | None = None,
    seconds: float | None = None,
) -> tuple[int, Diagnostic | None]:
    """Choose the size of the AUX area.

    Parameters
    ----------
    machine : Machine
        The machine.
    device : PttDevice
        The device that traces.
    asked : int or None
        The bytes that the user wants.
    output : Path
        Where the recording goes.
    default : int
        The bytes where the area is a buffer only.
    full : float or None
        Bytes of trace that a full link makes in a second; None where that is not known.
    link : str or None
        That link, in words.
    seconds : float or None
        How long the trace is to be; None where that is not known.

    Returns
    -------
    size : int
        Bytes.
    limit : Diagnostic or None
        That the trace ends when the area is full (``late-commit``), where it does.
    """
    driver = driver_on(machine)
    if driver.commits_early is not False:
        return asked or default, None
    wanted = None if seconds is None else seconds * (full or _FASTEST)
    size, chosen_by = (asked, "asked") if asked is not None else _largest(device.source, output, wanted)
    lasts = None if full is None else size / full
    time = "" if lasts is None else f", {time_text(lasts)} if the {link} link is full of what is traced"
    message = (
        f"the driver hands trace over only when the AUX area is full ({driver.reason}): the trace ends after {size_words(size)}{time}, "
        f"however fast the disk is{_WHY[chosen_by]}"
    )
    is_enough = wanted is not None and size >= wanted
    details = {"aux_size": size, "seconds": lasts, "chosen_by": chosen_by, "release": machine.kernel, "distribution": driver.distribution}
    hint = None if is_enough else "trace one requester or one type, and a longer time fits in"
    return size, Diagnostic(Severity.INFO if is_enough else Severity.WARNING, "late-commit", message, hint, details=details)


def _largest(source: Source | None, output: Path, wanted: float | None) -> tuple[int, str]:
    """Return the largest sensible area, and which limit made it no larger."""
    memory = None if source is None else available_memory(source)
    if source is None or memory is None:
        return DEFAULT_AUX_SIZE, "memory-unknown"
    limits: dict[str, float | None] = {"driver": LARGEST_CHOSEN, "memory": memory / _SHARE}
    if source.live:
        free = free_bytes(output.absolute().parent)
        limits |= {"disk": None if free is None else free / _SHARE, "locked-memory": read_rights(online_cpus(source)).lockable}
    least, chosen_by = min((limit, name) for name, limit in limits.items() if limit is not None)
    size = MINIMUM_AUX_SIZE
    # Twice what the time needs: TLPs without data can be more.
    enough = None if wanted is None else max(2 * wanted, DEFAULT_AUX_SIZE)
    while size * 2 <= least and (enough is None or size < enough):
        size *= 2
    return size, chosen_by if enough is None or size < enough else "duration"


def size_words(size: float) -> str:
    """Write a number of bytes: ``64 MiB``, ``2 GiB``."""
    return f"{size / (1 << 30):.3g} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.3g} MiB"


def time_text(seconds: float) -> str:
    """Write a time: ``37 ms``, ``1.2 s``."""
    return f"{seconds * 1000:.2g} ms" if seconds < 0.1 else f"{seconds:.2g} s" if seconds < 10 else f"{seconds:,.0f} s"
