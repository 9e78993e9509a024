"""Read packed files forward, piece by piece, up to a limit: what they expand to is never in memory as a whole."""

from __future__ import annotations

import io
import os
import stat
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final

from ptttool.budget import over_budget
from ptttool.errors import InputError
from ptttool.files.packed.kinds import LONGEST_MAGIC, kind_of
from ptttool.files.packed.unpack import pieces_of
from ptttool.machine.budget import ARCHIVE_FREE, ARCHIVE_RATIO, MAX_ARCHIVE_BYTES

PACK_LESS: Final = "pack sys/ alone: tar czf machine.tar.gz sys"
_PIECE: Final = 1 << 16
# The longest header of a tar archive that is read at once: names and links of real ones are far shorter.
_LONGEST_READ: Final = 1 << 20


class Expanded:
    """The bytes of a file, expanded if it is packed. A file object that goes forward only, as :mod:`tarfile` needs it.

    Parameters
    ----------
    path : Path
        A regular file: plain, or packed by gzip, xz, bzip2 or zstd.

    Attributes
    ----------
    last : bytes
        What was read last.

    Raises
    ------
    OSError
        The file cannot be opened.
    InputError
        It is not a regular file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        # O_NONBLOCK: opening a named pipe would wait for its other end.
        self._file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
        about = os.fstat(self._file.fileno())
        if not stat.S_ISREG(about.st_mode):
            self._file.close()
            raise InputError(path, "neither a folder nor a file", code="not-a-machine")
        self.most = min(MAX_ARCHIVE_BYTES, ARCHIVE_FREE + ARCHIVE_RATIO * about.st_size)
        self._position = 0
        self.last = b""
        kind = kind_of(self._file.read(LONGEST_MAGIC))
        self._file.seek(0)
        self.is_packed = kind is not None
        self._pieces = iter(partial(self._file.read, _PIECE), b"") if kind is None else pieces_of(self._file, kind)
        self._piece = memoryview(b"")

    def __enter__(self) -> Expanded:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None) -> None:
        self._file.close()

    def tell(self) -> int:
        """Return the position in the expanded bytes."""
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Read so many bytes, or fewer at the end."""
        if not 0 <= size <= _LONGEST_READ:
            raise InputError(self._path, f"a header of {size:,} bytes", offset=self._position, code="damaged-archive")
        content = bytearray()
        while len(content) < size:
            if not self._piece:
                self._piece = memoryview(next(self._pieces, b""))
                if not self._piece:
                    break
            count = size - len(content)
            content += self._piece[:count]
            self._piece = self._piece[count:]
        self._position += len(content)
        self.last = bytes(content)
        if self._position > self.most:
            raise over_budget(self._path, "the archive", self.most, "bytes when expanded", hint=PACK_LESS)
        return self.last

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go forward to a position."""
        if whence != io.SEEK_SET or offset < self._position:
            raise InputError(self._path, "the archive refers back to itself", offset=self._position, code="damaged-archive")
        while self._position < offset and self.read(min(offset - self._position, _PIECE)):
            pass
        return self._position
