"""Freed memory: kept for the next arrays, or given back to the system where there is much of it."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

from ptttool.pipeline.workers.budget import MAX_KEPT_MEMORY

# Parameters of mallopt(3), and how much freed memory a process keeps.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _KEPT_MEMORY, _KEPT_BLOCK = -1, -3, 64 << 20, 4 << 20


def keep_memory() -> None:
    """Have this process keep freed memory for the next arrays.

    glibc gives large blocks back to the system when they are freed and faults new ones in, page by page: up to a quarter of the time of a
    summary, depending on nothing but the layout of the heap.
    """
    with suppress(OSError, AttributeError):  # not glibc
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_TRIM_THRESHOLD, _KEPT_MEMORY)
        # Arrays of a unit are smaller. Of larger ones the heap would be full of holes: what is freed of them goes back.
        libc.mallopt(_M_MMAP_THRESHOLD, _KEPT_BLOCK)


def has_much_memory() -> bool:
    """Return whether this process has so much memory that what is freed is better given back."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - pathlib takes three times as long
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") > MAX_KEPT_MEMORY
    except (OSError, ValueError, IndexError):
        return False


def give_back() -> None:
    """Give freed memory back to the system, also from holes in the heap."""
    with suppress(OSError, AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)
