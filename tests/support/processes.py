"""The workers of a process, as the kernel lists them."""

from __future__ import annotations

import os
from pathlib import Path

from ptttool.pipeline.workers import child


def workers_of(pid: int | None = None) -> list[int]:
    """The workers that a process has started and that have not ended; by default those of this process."""
    lists = [(task / "children").read_text() for task in Path(f"/proc/{pid or os.getpid()}/task").iterdir()]
    children = [int(number) for numbers in lists for number in numbers.split()]
    return [number for number in children if child.__file__.encode() in Path(f"/proc/{number}/cmdline").read_bytes()]
