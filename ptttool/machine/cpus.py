"""Lists of CPUs as the kernel writes them: ``0-1,4``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ptttool.machine.budget import MAX_CPUS
from ptttool.wording import shortened

_PART = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


def parse_cpu_ranges(text: str) -> tuple[tuple[int, int], ...]:
    """Read a kernel CPU list as ranges.

    Returns
    -------
    tuple of (int, int)
        First and last CPU of each range, ascending. The ranges are as few as can be, so equal sets of CPUs give equal ranges.

    Raises
    ------
    ValueError
        The text is something else, or has a CPU that no machine has (see :data:`~ptttool.machine.budget.MAX_CPUS`).
    """
    ranges: list[tuple[int, int]] = []
    for part in filter(None, text.strip().split(",")):
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(f"not a list of CPUs: {shortened(repr(text))}")
        first, last = int(match[1]), int(match[2] or match[1])
        if last >= MAX_CPUS:
            raise ValueError(f"a CPU with a number above {MAX_CPUS - 1}: {shortened(repr(part))}")
        if first <= last:
            ranges.append((first, last))
    return _merged(sorted(ranges))


def _merged(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Join sorted ranges that overlap or follow each other."""
    merged: list[tuple[int, int]] = []
    for first, last in ranges:
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """Read a kernel CPU list.

    Returns
    -------
    tuple of int
        The CPUs in ascending order; none for an empty text.

    Raises
    ------
    ValueError
        The text is something else, or has a CPU that no machine has (see :data:`~ptttool.machine.budget.MAX_CPUS`).
    """
    return tuple(cpu for first, last in parse_cpu_ranges(text) for cpu in range(first, last + 1))


def format_cpus(cpus: Iterable[int]) -> str:
    """Write CPUs as the kernel lists them."""
    return format_ranges(_merged((cpu, cpu) for cpu in sorted(cpus)))


def format_ranges(ranges: Iterable[tuple[int, int]]) -> str:
    """Write ranges of CPUs as the kernel lists them."""
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)
