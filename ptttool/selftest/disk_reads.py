"""Reads a disk past the page cache, and never writes: a load for the self-test.

A program of its own, of the standard library alone, like :mod:`ptttool.selftest.coded_reads`.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import time


def read(disk: str, size: int, count: int, seconds: float) -> dict[str, object]:
    """Read pieces one after the other from the front of a disk, as many as asked for, or as fit into the time."""
    descriptor = os.open(disk, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    reads = total = 0
    began = time.monotonic()
    with mmap.mmap(-1, size) as memory:  # O_DIRECT wants an aligned buffer
        offset = 0
        while reads < count and time.monotonic() - began < seconds:
            done = os.preadv(descriptor, [memory], offset)
            if not done:
                if not offset:
                    break
                offset = 0  # the end of the disk: from the front again
                continue
            reads, total, offset = reads + 1, total + done, offset + size
    passed = time.monotonic() - began
    os.close(descriptor)
    return {"reads": reads, "bytes": total, "seconds": passed}


def main(disk: str, size: str, count: str, seconds: str, output: str) -> int:
    """Read, and write what was read to a new file."""
    try:
        result = read(disk, int(size), int(count), float(seconds))
    except OSError as error:
        result = {"reads": 0, "bytes": 0, "seconds": 0.0, "problem": error.strerror or str(error)}
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:  # noqa: PTH123 - a descriptor
        json.dump(result, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
