"""A file mapped into memory: its bytes are not copied, and pages that have been read can be given back."""

from __future__ import annotations

import mmap
import os


class MappedFile:
    """A regular file, mapped read-only.

    If another program shortens the file meanwhile, reading it ends the process (SIGBUS), as in every program that maps files.

    Parameters
    ----------
    descriptor : int
        The open file; it may be closed afterwards.
    path : str
        Its path.

    Attributes
    ----------
    path : str
        Path by which other processes can open the same file; empty where there is none, as for a file that was removed.
    size : int
        Size in bytes.
    view : memoryview
        All of the file.

    Raises
    ------
    OSError
        If the file system cannot map files.
    """

    def __init__(self, descriptor: int, path: str) -> None:
        about = os.fstat(descriptor)
        self.path = _reachable(path, about)
        self.size = about.st_size
        self._map = mmap.mmap(descriptor, self.size, access=mmap.ACCESS_READ)
        self.view = memoryview(self._map)

    def forget(self, start: int, end: int) -> None:
        """Give back the pages that lie wholly between two offsets; they are loaded from the file again when they are read."""
        first = -(-max(start, 0) // mmap.PAGESIZE) * mmap.PAGESIZE
        last = min(end, self.size) // mmap.PAGESIZE * mmap.PAGESIZE
        if last > first:
            self._map.madvise(mmap.MADV_DONTNEED, first, last - first)

    def close(self) -> None:
        """Unmap the file, or leave that to the last view of it that is still in use."""
        try:
            self.view.release()
            self._map.close()
        except BufferError:
            return


def _reachable(path: str, about: os.stat_result) -> str:
    """Return a path by which other processes find the same file; empty where there is none."""
    real = os.path.realpath(path)
    try:
        return real if os.path.samestat(os.stat(real), about) else ""  # noqa: PTH116
    except OSError:
        return ""
