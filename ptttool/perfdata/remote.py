"""Reads a recording on storage that is no file system (``s3://bucket/perf.data``): its records, and of the payloads just the beginnings.

The payloads are read by whoever decodes them (:mod:`ptttool.pipeline.jobs`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ptttool.errors import InputError
from ptttool.files.remote import open_remote
from ptttool.perfdata.header import read_features
from ptttool.perfdata.model import AuxChunk
from ptttool.perfdata.records import Payload
from ptttool.perfdata.stream import MAX_APART, StreamReader

# Bytes of a payload that are looked at to see what its records are; more where they are all zero, up to the device's ring.
SAMPLE, MOST_SAMPLE = 64 << 10, 16 << 20


class RemoteReader(StreamReader):
    """Reads from front to back, passing over payloads. ``path``: an address that fsspec knows."""

    def __init__(self, path: str) -> None:
        self._file: Any = open_remote(path)
        super().__init__(path, -1)
        self.size = self._file.size
        self.path = path
        self._read_features()

    def _read_features(self) -> None:
        """What comes behind the data of a recording that perf finished: known before the walk, as of a file."""
        header = self._header
        if header is None or header.data[1] == 0 or header.data_end > self._file.size:
            return
        position = self._file.tell()
        self._file.seek(header.data_end)
        read_features(header, memoryview(self._file.read(MAX_APART)), header.data_end, self._walker)
        self._file.seek(position)
        self._features_are_read = True

    def _read_some(self, size: int) -> bytes:
        try:
            part: bytes = self._file.read(size)
        except OSError as error:
            raise InputError(self._name, error.strerror or str(error), offset=self._read) from None
        self._read += len(part)
        return part

    def _payload(self, payload: Payload) -> Iterator[AuxChunk]:
        number, self._number = self._number, self._number + 1
        begin = self._read - len(self._buffer)
        held = max(0, min(payload.size, self._file.size - begin))
        if self._left is not None:
            held = min(held, len(self._buffer) + self._left)
        data = self._sample(begin, held)
        self._end_payload(payload, number, begin, held)
        self.position = begin
        self._go_to(begin + held)
        chunk = self._chunk(payload, number, 0, begin, memoryview(data), payload.size - held)
        yield replace(chunk, remote=self._name, remote_size=held)

    def _sample(self, begin: int, held: int) -> bytes:
        """The first bytes of a payload, so many that they tell what it holds."""
        size = min(SAMPLE, held)
        while True:
            self._file.seek(begin)
            data: bytes = self._file.read(size)
            if size >= min(held, MOST_SAMPLE) or data.count(0) < len(data):
                return data
            size = min(4 * size, held, MOST_SAMPLE)

    def _go_to(self, position: int) -> None:
        """Read on from there."""
        if self._left is not None:
            self._left -= position - self._read
        self._buffer = b""
        self._read = position
        self._file.seek(position)

    def close(self) -> None:
        self._file.close()
