"""Reads a recording that comes through a pipe: ``perf record -o - | ptttool decode -``, ``xz -dc perf.data.xz | ptttool decode -``."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ptttool.errors import InputError
from ptttool.perfdata import layout
from ptttool.perfdata.budget import MAX_APART
from ptttool.perfdata.header import FileHeader, Held, parse_header, read_attributes, read_features
from ptttool.perfdata.model import AuxChunk, Mode
from ptttool.perfdata.readers.base import Reader
from ptttool.perfdata.walker import Payload, Why

PIECE = 8 << 20
READ_SIZE = 256 << 10


class StreamReader(Reader):
    """Reads a descriptor to its end. A recording of file mode can be read, too: its attributes lie before its data.

    Parameters
    ----------
    path : str
        The path as given.
    descriptor : int
        Where to read; closed with the reader.
    name : str, optional
        Name of the recording for messages, where it is not the path.

    Raises
    ------
    InputError
        If it is not a perf.data.
    """

    def __init__(self, path: str, descriptor: int, name: str | None = None) -> None:
        super().__init__(path, Mode.PIPE, name)
        self._descriptor = descriptor
        self._read = 0  # bytes taken from the descriptor
        self._buffer = b""  # the file's bytes up to self._read
        self._at = 0  # bytes of the buffer that have been walked
        self._header: FileHeader | None = None
        self._left: int | None = None  # bytes of the data section not taken from the descriptor yet
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        start = self._take(layout.PIPE_HEADER.size)
        if len(start) == layout.PIPE_HEADER.size and start.startswith(layout.MAGIC):
            size = layout.PIPE_HEADER.unpack(start)[1]
            if size in (layout.FILE_HEADER.size, layout.FILE_HEADER_SIZE):
                start += self._take(size - len(start))
        self._header = parse_header(self._name, start)
        if self._header is None:
            return
        self.contents.mode = Mode.FILE
        offset, size = self._header.data
        if offset > MAX_APART:
            reason = f"the data section begins at offset {offset:#x}, too far behind the header to read it from a pipe"
            raise InputError(self._name, reason, offset=layout.DATA_FIELD, hint="read it from a file", code="not-for-a-pipe")
        start += self._take(offset - len(start))
        read_attributes(self._header, Held(start), self._walker)
        if len(start) < offset:
            self._problems.add("truncated", "the file ends before its data section", len(start))
        self.contents.interrupted = size == 0
        self._left = size or None

    def _take(self, size: int) -> bytes:
        """Return ``size`` bytes, fewer only at the end of the stream."""
        parts = []
        while size > 0:
            part = self._read_some(min(size, READ_SIZE))
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _read_some(self, size: int) -> bytes:
        try:
            part = os.read(self._descriptor, size)
        except OSError as error:
            raise InputError(self._name, error.strerror or str(error), offset=self._read) from None
        self._read += len(part)
        return part

    def _data(self, size: int) -> bytes:
        """Return up to ``size`` bytes of the data section; none at its end."""
        if self._left is None:
            return self._read_some(size)
        if self._left == 0:
            return b""
        part = self._read_some(min(size, self._left))
        self._left -= len(part)
        return part

    def _walk(self) -> Iterator[AuxChunk]:
        walker = self._walker
        while True:
            base = self._read - len(self._buffer)
            why, self._at = walker.advance(self._buffer, self._at, len(self._buffer), base)
            self.position = base + self._at
            if why is Why.DAMAGE:
                break
            if why is Why.PAYLOAD:
                yield from self._payload(walker.payload)
            elif why is Why.SKIP:
                self._skip(walker.skip)
            else:
                more = self._data(READ_SIZE)
                if not more:
                    break
                self._buffer, self._at = self._buffer[self._at :] + more, 0
        self._end(why)

    def _end(self, why: Why) -> None:
        walker = self._walker
        if why is Why.MORE:
            left = len(self._buffer) - self._at
            self._problems.add("truncated", f"the data ends inside a record, after {left} bytes of it", self._read - left)
        walker.finish()
        if self._header is not None and self._left is not None:
            if self._left and why is not Why.DAMAGE:
                message = f"the file ends here, {self._left} bytes before the end of its data section"
                self._problems.add("truncated", message, self._read, missing=self._left)
            elif not self._left:
                base = self._read
                read_features(self._header, Held(self._take(MAX_APART), base), walker)
        self.position = self._read

    def _skip(self, size: int) -> None:
        held = min(size, len(self._buffer) - self._at)
        self._at += held
        size -= held
        while size > 0:
            part = self._data(min(size, READ_SIZE))
            if not part:
                return
            size -= len(part)

    def _payload(self, payload: Payload) -> Iterator[AuxChunk]:
        """Yield the payload in pieces of :data:`PIECE` bytes; the last one may be shorter."""
        number = self._next_number()
        begin = self._read - len(self._buffer) + self._at
        start = 0
        while True:
            wanted = min(PIECE, payload.size - start)
            data = self._fill(wanted)
            end = start + len(data)
            last = len(data) < wanted or end >= payload.size
            if last:
                self._end_payload(payload, number, begin, end)
            self.position = begin + start
            missing = payload.size - end if last else 0
            yield self._chunk(payload, number, start, begin + start, len(data), memoryview(data).toreadonly(), missing)
            if last:
                return
            start = end

    def _fill(self, size: int) -> bytearray:
        """Return ``size`` bytes of a payload, fewer only at the end of the data."""
        filled = min(size, len(self._buffer) - self._at)
        data = bytearray(self._buffer[self._at : self._at + filled])
        self._at += filled
        while len(data) < size:
            part = self._data(min(size - len(data), 1 << 20))
            if not part:
                break
            data += part
        return data

    def close(self) -> None:
        """Close the descriptor."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1
