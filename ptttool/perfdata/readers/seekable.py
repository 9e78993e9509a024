"""Reads a recording from a file that is read at any offset but cannot be mapped, such as one on remote storage."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.perfdata.backing import OnRequest, RandomAccess
from ptttool.perfdata.header import read_features
from ptttool.perfdata.model import AuxChunk
from ptttool.perfdata.readers.stream import MAX_APART, StreamReader
from ptttool.perfdata.walker import Payload


class SeekableReader(StreamReader):
    """Reads the records from front to back and passes over the payloads: their bytes are read only when a chunk is asked for them.

    Parameters
    ----------
    file : RandomAccess
        The file; closed with the reader.
    """

    def __init__(self, file: RandomAccess) -> None:
        self._file = file
        super().__init__(file.path, -1)
        self.size = file.size
        try:
            self._read_features()
        except BaseException:
            self.close()
            raise

    def _read_features(self) -> None:
        """Read what comes behind the data of a recording that perf finished, so that it is there before the walk, as of a mapped file."""
        header = self._header
        if header is None or header.data[1] == 0 or header.data_end > self._file.size:
            return
        section = self._file.read(header.data_end, min(MAX_APART, self._file.size - header.data_end))
        read_features(header, memoryview(section), header.data_end, self._walker)
        self._features_are_read = True

    def _read_some(self, size: int) -> bytes:
        part = self._file.read(self._read, min(size, max(0, self._file.size - self._read)))
        self._read += len(part)
        return part

    def _payload(self, payload: Payload) -> Iterator[AuxChunk]:
        number = self._next_number()
        begin = self._read - len(self._buffer)
        held = max(0, min(payload.size, self._file.size - begin))
        if self._left is not None:
            held = min(held, len(self._buffer) + self._left)
        self._end_payload(payload, number, begin, held)
        self.position = begin
        self._go_to(begin + held)
        yield self._chunk(payload, number, 0, begin, held, OnRequest(self._file, begin), payload.size - held)

    def _go_to(self, position: int) -> None:
        """Read on from there."""
        if self._left is not None:
            self._left -= position - self._read
        self._buffer = b""
        self._read = position

    def close(self) -> None:
        """Close the file."""
        self._file.close()
