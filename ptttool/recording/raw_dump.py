"""A raw AUX dump: trace data without a container, read as a recording of one AUX stream."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from ptttool.errors import AccessError, InputError, UsageError
from ptttool.files.remote import is_remote
from ptttool.perfdata.mapped import MappedFile
from ptttool.perfdata.model import AuxChunk, Contents

# Read at a time from what cannot be mapped; a multiple of every record size.
PIECE = 1 << 22


class RawDump:
    """Same face as the perf.data reader's. ``path``: a file, or ``-`` for standard input; a pipe is read in pieces."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self.contents = Contents(mode="raw")
        self.size: int | None = None
        self.position = 0
        self._file_map: MappedFile | None = None
        self._open = ExitStack()
        self._file: BinaryIO = sys.stdin.buffer if self.path == "-" else self._open_file()
        status = os.fstat(self._file.fileno())
        if stat.S_ISREG(status.st_mode):
            self.size = status.st_size
            if not self.size:
                self.close()
                raise InputError(self.path, "the file is empty")

    def _open_file(self) -> BinaryIO:
        if is_remote(self.path):
            raise UsageError(f"{self.path}: dumps without a container are read from files of this machine", code="remote-dump")
        try:
            return self._open.enter_context(Path(self.path).open("rb"))
        except IsADirectoryError:
            raise InputError(self.path, "is a folder, no AUX dump") from None
        except PermissionError as error:
            raise AccessError(f"{self.path}: {error.strerror}", hint="recordings of root belong to root: copy it or use sudo") from None
        except OSError as error:
            raise InputError(self.path, error.strerror or str(error)) from None

    def chunks(self) -> Iterator[AuxChunk]:
        """The dump as one payload: of a file the whole mapping, of a pipe a piece at a time."""
        if self.size is not None and self.path != "-":
            self._file_map = MappedFile(self._file.fileno(), self.path)
            self._refuse_container(bytes(self._file_map.view[:8]))
            yield self._chunk(0, self._file_map.view[:])
            self.position = self.size
            return
        start = 0
        while piece := self._read_piece():
            if not start:
                self._refuse_container(piece[:8])
            yield self._chunk(start, memoryview(piece))
            start += len(piece)
            self.position = start
        if not start:
            raise InputError(self.path, "the input is empty")

    def _refuse_container(self, head: bytes) -> None:
        if head == b"PERFILE2":
            raise InputError(
                self.path, "this is a perf.data, no dump of AUX data alone", offset=0, hint="leave --input out", code="not-raw"
            )

    def _read_piece(self) -> bytes:
        parts = []
        missing = PIECE
        while missing and (part := self._file.read(missing)):
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _chunk(self, start: int, data: memoryview) -> AuxChunk:
        size = self.size if self.size is not None else start + len(data)
        return AuxChunk(
            number=0, offset=0, start=start, payload_size=size, idx=0, cpu=-1, tid=-1, reference=0, file_offset=start, data=data,
            file=self._file_map,
        )  # fmt: skip

    def close(self) -> None:
        """Let the file go."""
        if self._file_map is not None:
            self._file_map.close()
        self._open.close()

    def __enter__(self) -> RawDump:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
