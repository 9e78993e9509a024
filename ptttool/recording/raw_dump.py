"""A raw AUX dump: trace data without a container, read as a recording of one AUX stream."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ptttool.errors import AccessError, InputError
from ptttool.files.local import Closing, LocalFile
from ptttool.files.packed.kinds import LONGEST_MAGIC, kind_of
from ptttool.files.remote import is_remote
from ptttool.files.standard import standard_input
from ptttool.perfdata.layout import MAGIC
from ptttool.perfdata.model import AuxChunk, Contents, Mode, RandomAccess
from ptttool.recording.remote import RemoteFile
from ptttool.wording import as_root

# Read at a time from a pipe; a multiple of every record size.
PIECE = 1 << 22


class RawDump(Closing):
    """A raw dump, read as one AUX payload; satisfies :class:`ptttool.recording.opening.Source`.

    Parameters
    ----------
    path : str or Path
        A file, a FIFO, an address, or ``-`` for standard input; a pipe is read in pieces.

    Raises
    ------
    InputError
        If there is no such file, or it is empty.
    AccessError
        If it may not be read.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self.contents = Contents(Mode.RAW)
        self.size: int | None = None
        self.position = 0
        self._file: RandomAccess | None = None
        self._pipe: BinaryIO | None = None
        if is_remote(self.path):
            self._file = RemoteFile(self.path)
            self.size = self._file.size
        else:
            opened = standard_input() if self.path == "-" else _open(self.path)
            status = os.fstat(opened.fileno())
            if stat.S_ISREG(status.st_mode):
                self.size = status.st_size
            if self.size is None or self.path == "-":
                self._pipe = opened
            else:
                with opened:
                    self._file = LocalFile(os.dup(opened.fileno()), self.path)
        if self.size == 0:
            self.close()
            raise InputError(self.path, "the file is empty", code="empty-file")

    def chunks(self) -> Iterator[AuxChunk]:
        """Yield the dump as one payload: all of a file, a pipe piece by piece.

        Raises
        ------
        InputError
            If it is a perf.data, or nothing comes through the pipe.
        """
        if self._file is not None:
            self._refuse_container(self._file.read(0, len(MAGIC)))
            yield self._chunk(0, self._file.size, self._file)
            self.position = self._file.size
            return
        start = 0
        while piece := self._read_piece():
            if not start:
                self._refuse_container(piece[: len(MAGIC)])
            yield self._chunk(start, len(piece), memoryview(piece))
            start += len(piece)
            self.position = start
        if not start:
            raise InputError(self.path, "the input is empty", code="empty-file")

    def _refuse_container(self, head: bytes) -> None:
        if head == MAGIC:
            raise InputError(self.path, "this is a perf.data, not a raw dump", offset=0, hint="--input perf", code="not-raw")

    def _read_piece(self) -> bytes:
        assert self._pipe is not None
        parts = []
        missing = PIECE
        while missing and (part := self._pipe.read(missing)):
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _chunk(self, start: int, size: int, source: memoryview | RandomAccess) -> AuxChunk:
        payload_size = self.size if self.size is not None else start + size
        return AuxChunk(
            number=0, offset=0, start=start, payload_size=payload_size, size=size, idx=0, cpu=-1, tid=-1, reference=0, file_offset=start,
            source=source,
        )  # fmt: skip

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._file is not None:
            self._file.close()
        if self._pipe is not None and self.path != "-":
            self._pipe.close()


def _open(path: str) -> BinaryIO:
    try:
        opened = Path(path).open("rb")  # noqa: SIM115 - the dump closes it
        try:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode) or kind_of(os.pread(opened.fileno(), LONGEST_MAGIC, 0)) is None:
                return opened
            from ptttool.files.packed.unpack import unpacked

            result = unpacked(opened.fileno(), path)
            assert result is not None
        except BaseException:
            opened.close()
            raise
        opened.close()
        if result.problem is not None:
            raise InputError(path, result.problem, hint="a raw dump that is packed is read whole or not at all", code="damaged-archive")
        return os.fdopen(os.dup(result.file.fileno()), "rb")
    except IsADirectoryError:
        raise InputError(path, "is a folder, not a dump of AUX data", code="is-a-folder") from None
    except FileNotFoundError:
        raise InputError(path, "no such file", code="no-such-file") from None
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror}", hint=f"recordings of root belong to root: copy it, or {as_root()}") from None
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from None
