"""Lists of CPUs as the kernel writes them: ``0-1,4``."""

from __future__ import annotations

import re
from collections.abc import Iterable


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """Read a kernel CPU list.

    Returns
    -------
    tuple of int
        The CPUs in ascending order; none for an empty text.

    Raises
    ------
    ValueError
        The text is something else.
    """
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        if match is None:
            raise ValueError(f"not a list of CPUs: {text!r}")
        cpus.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return tuple(sorted(cpus))


def format_cpus(cpus: Iterable[int]) -> str:
    """Write CPUs as the kernel lists them."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ranges)
