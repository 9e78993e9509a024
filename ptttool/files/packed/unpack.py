"""Unpack a file to a temporary one without a name, so that it can be read at any offset.

The temporary file is in ``TMPDIR``, else in ``/var/tmp``, which unlike ``/tmp`` is a disk on every system. It has no name, so nobody else
can open it, and it is gone when the process ends, however that happens.
"""

from __future__ import annotations

import bz2
import errno
import lzma
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, BinaryIO

from msgspec import Struct

from ptttool.budget import over_budget
from ptttool.errors import InputError, OutputError
from ptttool.files.packed.budget import LEFT_ON_DISK, MAX_UNPACKED, MAX_UNPACKING_MEMORY, UNPACKED_FREE, UNPACKED_RATIO
from ptttool.files.packed.kinds import LONGEST_MAGIC, kind_of

_PIECE = 1 << 20
_ZSTD_PIECE = 1 << 12
# What is left of a piece is copied for each stream in it.
_STREAM_PIECE = 1 << 16
# Streams, one behind the other, with nothing in them; of more the file is damaged. Parallel packers leave one or two.
_MOST_EMPTY = 1 << 12


class Unpacked(Struct, frozen=True):
    """What was in a packed file.

    Parameters
    ----------
    file : IO of bytes
        The temporary file.
    kind : str
        ``xz``, ``gzip``, ``zstd`` or ``bzip2``.
    problem : str or None
        Why the packed file could not be read to its end; what came before is there.
    """

    file: IO[bytes]
    kind: str
    problem: str | None


def first_bytes(file: BinaryIO, kind: str, count: int) -> bytes:
    """Return the first bytes of what is in a packed file; fewer where there are no more, or it is damaged."""
    file.seek(0)
    content = b""
    with suppress(*_DAMAGE, MemoryError, ImportError):
        for piece in pieces_of(file, kind):
            content += piece[:count]
            if len(content) >= count:
                break
    return content[:count]


_last: tuple[tuple[int, int, int, int], Unpacked] | None = None


def unpacked(descriptor: int, name: str) -> Unpacked | None:
    """Return what is in a packed file; None for a file that is not packed.

    What was unpacked last is kept until the process ends or another file is unpacked: a recording is opened more than once.

    Parameters
    ----------
    descriptor : int
        A regular file. Its position does not change.
    name : str
        Its name, for errors.

    Raises
    ------
    InputError
        Nothing of it can be unpacked (code ``damaged-archive``), or it is more than the budgets allow (``over-budget``).
    OutputError
        The disk has no room for it (code ``disk-full``).
    """
    global _last
    kind = kind_of(os.pread(descriptor, LONGEST_MAGIC, 0))
    if kind is None:
        return None
    about = os.fstat(descriptor)
    key = (about.st_dev, about.st_ino, about.st_mtime_ns, about.st_size)
    if _last is not None and _last[0] == key:
        return _last[1]
    if _last is not None:
        _last[1].file.close()
        _last = None
    with os.fdopen(os.dup(descriptor), "rb", closefd=True) as packed:
        before = packed.tell()
        packed.seek(0)
        try:
            result = _unpack(packed, kind, name, about.st_size)
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)
    _last = key, result
    return result


def _unpack(packed: BinaryIO, kind: str, name: str, size: int) -> Unpacked:
    folder = os.environ.get("TMPDIR") or "/var/tmp"
    problem = None
    try:
        file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - kept for the next opening of the recording
    except OSError as error:
        raise OutputError(
            f"{folder}: {error.strerror}", hint=f"TMPDIR names another folder, to unpack {name} in", code="cannot-write"
        ) from None
    done = 0
    try:
        try:
            for piece in pieces_of(packed, kind):
                done += len(piece)
                _check(done, size, name, folder)
                file.write(piece)
            file.flush()
        except _DAMAGE as error:
            problem = f"the {kind} data is damaged or ends early: {str(error) or type(error).__name__}"
        if not done:
            reason, code = (problem, "damaged-archive") if problem else (f"a {kind} file with nothing in it", "empty-file")
            raise InputError(name, reason, offset=0, hint="is it whole? copy it again" if problem else None, code=code)
        file.flush()
    except OSError as error:
        file.close()
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise _full(name, folder) from None
        raise
    except BaseException:
        file.close()
        raise
    return Unpacked(file, kind, problem)


def _check(done: int, size: int, name: str, folder: str) -> None:
    """Raise the error for a file that expands too much, or for which the disk is too small."""
    limit = min(MAX_UNPACKED, UNPACKED_FREE + UNPACKED_RATIO * size)
    if done > limit:
        raise over_budget(name, f"unpacked from {size:,} bytes", limit, "bytes", hint="if it is what it should be, unpack it yourself")
    about = os.statvfs(folder)
    if about.f_bavail * about.f_frsize < LEFT_ON_DISK:
        raise _full(name, folder)


def _full(name: str, folder: str) -> OutputError:
    return OutputError(f"{folder} has no room to unpack {name}", hint="TMPDIR names another folder for it", code="disk-full", path=folder)


class _DamagedZstdError(ValueError):
    """Damaged zstd data; zstandard is imported only where it is needed."""


_DAMAGE = (lzma.LZMAError, EOFError, zlib.error, _DamagedZstdError)


def pieces_of(file: BinaryIO, kind: str) -> Iterator[bytes]:
    """Yield what is in a packed file, in bounded pieces."""
    if kind == "gzip":
        yield from _gzip_pieces(file)
    elif kind == "zstd":
        yield from _zstd_pieces(file)
    else:
        yield from _stream_pieces(file, kind)


def _zstd_pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield what is in the frames of a zstd file. A call gives all that its input holds: at most 32,768 times its size."""
    import zstandard

    decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_UNPACKING_MEMORY)
    data = file.read(_ZSTD_PIECE)
    empty = 0
    while data:
        empty = _one_more(empty)
        opened = decompressor.decompressobj()
        while not opened.eof:
            if not data:
                raise EOFError("it ends in the middle")
            try:
                piece = opened.decompress(data)
            except zstandard.ZstdError as error:
                raise _DamagedZstdError(str(error)) from None
            if piece:
                empty = 0
                yield piece
            data = b"" if opened.eof else file.read(_ZSTD_PIECE)
        data = opened.unused_data or file.read(_ZSTD_PIECE)


def _gzip_pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield what is in the members of a gzip file, one behind the other."""
    data = file.read(_STREAM_PIECE)
    empty = 0
    while data:
        empty = _one_more(empty)
        opened = zlib.decompressobj(16 + zlib.MAX_WBITS)
        while not opened.eof:
            piece = opened.decompress(data, _PIECE)
            if piece:
                empty = 0
                yield piece
            data = opened.unconsumed_tail
            if not (data or opened.eof or (data := file.read(_STREAM_PIECE))):
                while piece := opened.decompress(b"", _PIECE):  # what its window still holds
                    yield piece
                if not opened.eof:
                    raise EOFError("it ends in the middle")
        data = opened.unused_data.lstrip(b"\0") or file.read(_STREAM_PIECE).lstrip(b"\0")


def _stream_pieces(file: BinaryIO, kind: str) -> Iterator[bytes]:
    """Yield what is in the streams of an xz or bzip2 file, one behind the other."""
    data = b""
    empty = 0
    while True:
        empty = _one_more(empty)
        opened = bz2.BZ2Decompressor() if kind == "bzip2" else lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_UNPACKING_MEMORY)
        while not opened.eof:
            if opened.needs_input:
                data = data or file.read(_STREAM_PIECE)
                if not data:
                    raise EOFError("it ends in the middle")
            try:
                piece = opened.decompress(data, _PIECE)
            except OSError as error:  # bz2 reports damage so
                raise EOFError(str(error)) from None
            data = b""
            if piece:
                empty = 0
                yield piece
        data = opened.unused_data.lstrip(b"\0") or file.read(_STREAM_PIECE).lstrip(b"\0")
        if not data:
            return


def _one_more(empty: int) -> int:
    if empty >= _MOST_EMPTY:
        raise EOFError(f"{_MOST_EMPTY:,} streams with nothing in them")
    return empty + 1
