"""Read packed files forward, piece by piece, up to a limit: what they expand to is never in memory as a whole."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final

import zstandard

from ptttool.budget import over_budget
from ptttool.errors import InputError
from ptttool.machine.budget import ARCHIVE_FREE, ARCHIVE_RATIO, MAX_ARCHIVE_BYTES, MAX_DICTIONARY

GZIP: Final = b"\x1f\x8b"
XZ: Final = b"\xfd7zXZ\x00"
BZIP2: Final = b"BZh"
ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"
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
        self._expanding = _expanding(self._file)
        self.is_packed = self._expanding is not self._file

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
        found = bytearray()
        while len(found) < size and (piece := self._expanding.read(size - len(found))):
            found += piece
        self._position += len(found)
        self.last = bytes(found)
        if self._position > self.most:
            raise over_budget(
                self._path, "the archive", self.most, "bytes when expanded", hint="pack sys/ alone: tar czf machine.tar.gz sys"
            )
        return self.last

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go forward to a position."""
        if whence != io.SEEK_SET or offset < self._position:
            raise InputError(self._path, "the archive refers back to itself", offset=self._position, code="damaged-archive")
        while self._position < offset and self.read(min(offset - self._position, _PIECE)):
            pass
        return self._position


def _expanding(file: BinaryIO) -> BinaryIO | _Xz:
    start = file.read(6)
    file.seek(0)
    if start.startswith(GZIP):
        return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]
    if start.startswith(BZIP2):
        return bz2.BZ2File(file)  # type: ignore[return-value]
    if start.startswith(XZ):
        return _Xz(file)
    if start.startswith(ZSTANDARD):
        return zstandard.ZstdDecompressor(max_window_size=MAX_DICTIONARY).stream_reader(file, read_across_frames=True)
    return file


class _Xz:
    """What :class:`lzma.LZMAFile` is, with a limit for the memory that the file asks for."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_DICTIONARY * 2)

    def read(self, size: int) -> bytes:
        """Read at most so many bytes; none at the end."""
        while True:
            if self._decompressor.eof:  # streams may follow each other
                rest = self._decompressor.unused_data.lstrip(b"\x00") or self._file.read(_PIECE).lstrip(b"\x00")
                if not rest:
                    return b""
                self._decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_DICTIONARY * 2)
                found = self._decompressor.decompress(rest, size)
            else:
                packed = self._file.read(_PIECE) if self._decompressor.needs_input else b""
                if self._decompressor.needs_input and not packed:
                    raise EOFError("the file ends within its packed data")
                found = self._decompressor.decompress(packed, size)
            if found:
                return found
