"""Ranges of ``/proc/iomem`` that say what a request's address is: memory, windows of PCI host bridges, the doorbell of interrupts."""

from __future__ import annotations

import re

from ptttool.documents import Hex
from ptttool.machine.budget import MAX_MEMORY_RANGES
from ptttool.machine.model import MemoryRange

# Names are those of the kernel. An ITS (Interrupt Translation Service) takes the writes that are interrupts.
_DOORBELL = re.compile(r"\bITS\b|\bits@|\bmsi-controller@", re.IGNORECASE)
_OUTER = re.compile(r"System RAM$|Persistent Memory$|PCI Bus [0-9a-f]{4}:[0-9a-f]{2}$")
_LINE = re.compile(r"( *)([0-9a-f]{1,16})-([0-9a-f]{1,16}) : (.{1,80})")


def is_doorbell(one: MemoryRange) -> bool:
    """Tell whether writes to a range are interrupts (MSI, MSI-X)."""
    return _DOORBELL.search(one.name) is not None


def worth_a_name(text: str) -> str:
    """Return the lines of ``/proc/iomem`` that :func:`memory_ranges` uses; none where the kernel hides the addresses."""
    ranges, _ = memory_ranges(text)
    if ranges is None:
        return ""
    matches = (_LINE.fullmatch(line) for line in text.split("\n"))
    return "".join(f"{match[0]}\n" for match in matches if match is not None and _is_wanted(match))


def _is_wanted(match: re.Match[str]) -> bool:
    return bool((not match[1] and _OUTER.match(match[4])) or _DOORBELL.search(match[4]))


def memory_ranges(text: str) -> tuple[tuple[MemoryRange, ...] | None, int]:
    """Return the ranges that are worth a name.

    Parameters
    ----------
    text : str
        What is in ``/proc/iomem``, or the start of it.

    Returns
    -------
    ranges : tuple of MemoryRange or None
        The ranges, by address; neighbours of the same name are one. None where the kernel hides the addresses (they are all 0 for who is
        not privileged).
    left_out : int
        How many there were above :data:`~ptttool.machine.budget.MAX_MEMORY_RANGES`.
    """
    ranges: list[MemoryRange] = []
    is_hidden = True
    for line in text.split("\n"):
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        first, last, name = int(match[2], 16), int(match[3], 16), match[4]
        is_hidden = is_hidden and last == 0
        if not _is_wanted(match) or not first <= last or last == 0:
            continue
        if ranges and ranges[-1].name == name and ranges[-1].last + 1 == first:
            ranges[-1] = MemoryRange(ranges[-1].first, Hex(last), name)
        else:
            ranges.append(MemoryRange(Hex(first), Hex(last), name))
    if is_hidden:
        return None, 0
    ranges.sort(key=lambda one: (one.first, one.last))
    return tuple(ranges[:MAX_MEMORY_RANGES]), max(len(ranges) - MAX_MEMORY_RANGES, 0)
