"""A file in the address space: read where it lies, given back to the system where it has been read."""

from __future__ import annotations

import mmap
import os


class MappedFile:
    """A regular file, mapped read-only. ``path``: where it can be opened again, empty where nowhere. ``view``: all of it.

    The descriptor may be closed afterwards. A file that somebody shortens while it is mapped kills the process (SIGBUS): no program that
    maps files is safe from that.
    """

    def __init__(self, descriptor: int, path: str) -> None:
        about = os.fstat(descriptor)
        self.path = _reachable(path, about)
        self.size = about.st_size
        self._map = mmap.mmap(descriptor, self.size, access=mmap.ACCESS_READ)
        self.view = memoryview(self._map)

    def forget(self, start: int, end: int) -> None:
        """Give back the pages that lie wholly between two offsets; read again, they come back from the file."""
        first = -(-max(start, 0) // mmap.PAGESIZE) * mmap.PAGESIZE
        last = min(end, self.size) // mmap.PAGESIZE * mmap.PAGESIZE
        if last > first:
            self._map.madvise(mmap.MADV_DONTNEED, first, last - first)

    def close(self) -> None:
        """Unmap, or, while somebody still looks at a part of it, leave that to the last one."""
        try:
            self.view.release()
            self._map.close()
        except BufferError:
            return


def _reachable(path: str, about: os.stat_result) -> str:
    """A path by which other processes find the same file; empty where there is none, as for one that was removed."""
    real = os.path.realpath(path)
    try:
        return real if os.path.samestat(os.stat(real), about) else ""  # noqa: PTH116
    except OSError:
        return ""
