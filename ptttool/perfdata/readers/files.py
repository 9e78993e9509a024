"""Reads a recording from files that are read at any offset: a perf.data, here or on remote storage, or a folder of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ptttool.files.local import LocalFile
from ptttool.perfdata import layout
from ptttool.perfdata.header import parse_header, read_attributes, read_features
from ptttool.perfdata.model import AuxChunk, Mode, RandomAccess
from ptttool.perfdata.readers.base import Reader
from ptttool.perfdata.walker import Why

# Bytes of records that are read at a time: few behind a payload, where the next payload is often near, then more and more.
FIRST, MOST = 16 << 10, 256 << 10


class _Segment(NamedTuple):
    """Records between two offsets of a file.

    Attributes
    ----------
    file : RandomAccess
        The file.
    name : str
        Name of the file in a perf.data folder; empty for the main one.
    start, end : int
        The offsets.
    before : int
        Size of the files before it.
    """

    file: RandomAccess
    name: str
    start: int
    end: int
    before: int


class FileReader(Reader):
    """Reads files of either mode, and folders of them. The bytes of payloads are read only when a chunk is asked for them.

    Parameters
    ----------
    path : str
        The path as given.
    mode : Mode
        ``Mode.FILE`` or ``Mode.DIRECTORY``.
    file : RandomAccess
        The file with the header; closed with the reader, also where that raises.
    name : str, optional
        Name of the recording for messages, where it is not the path.

    Raises
    ------
    InputError
        If the file is not a perf.data.
    """

    def __init__(self, path: str, mode: Mode, file: RandomAccess, name: str | None = None) -> None:
        super().__init__(path, mode, name)
        self._files = [file]
        self._segments: list[_Segment] = []
        self.size = file.size
        try:
            self._open_main(file, self._name if mode is Mode.FILE else f"{path}/data")
        except BaseException:
            self.close()
            raise

    def _open_main(self, file: RandomAccess, name: str) -> None:
        header = parse_header(name, file.read(0, layout.FILE_HEADER_SIZE))
        if header is None:
            if self.contents.mode is Mode.FILE:
                self.contents.mode = Mode.PIPE
            self._segments.append(_Segment(file, "", layout.PIPE_HEADER.size, file.size, 0))
            return
        read_attributes(header, file, self._walker)
        start, size = header.data
        if start > file.size:
            message = f"the data section should begin at offset {start:#x}, behind the end of the file"
            self._problems.add("truncated", message, layout.DATA_FIELD, begin=start)
            start = file.size
        end = header.data_end
        if size == 0:
            self.contents.interrupted = True
            end = file.size
        elif end > file.size:
            missing = end - file.size
            message = f"the file ends here, {missing} bytes before the end of its data section"
            self._problems.add("truncated", message, file.size, missing=missing)
            end = file.size
        else:
            read_features(header, file, self._walker)
        self._segments.append(_Segment(file, "", start, end, 0))

    def add(self, file: LocalFile, name: str) -> None:
        """Add a file of a perf.data folder: records from its first byte to its last. It is open only while it is walked."""
        before = self.size or 0
        file.close()
        self._files.append(file)
        self._segments.append(_Segment(file, name, 0, file.size, before))
        self.size = before + file.size

    def note(self, name: str, code: str, message: str) -> None:
        """Note a file of a perf.data folder that cannot be read."""
        self._problems.begin(name)
        self._problems.add(code, message, None)
        self._problems.begin("")

    def _walk(self) -> Iterator[AuxChunk]:
        for segment in self._segments:
            if segment.name and isinstance(segment.file, LocalFile):
                segment.file.open()
            self._walker.begin(segment.name)
            yield from self._walk_segment(segment)
            self._walker.finish()
            self.position = segment.before + segment.file.size
            if segment.name:
                segment.file.close()

    def _walk_segment(self, segment: _Segment) -> Iterator[AuxChunk]:
        file, end, walker = segment.file, segment.end, self._walker
        position, size = segment.start, FIRST
        buffer, base = b"", position
        while True:
            why, at = walker.advance(buffer, position - base, len(buffer), base)
            position = base + at
            self.position = segment.before + position
            if why is Why.DAMAGE:
                return
            if why is Why.SKIP:
                position = min(position + walker.skip, end)
            elif why is Why.PAYLOAD:
                chunk = self._whole_payload(file, position, end)
                yield chunk
                position += chunk.size
            elif base + len(buffer) < end:
                # What is left of the buffer is read again. A record has at most 64 KiB: then the next buffer is large enough.
                buffer, base = file.read(position, min(size, end - position)), position
                size = min(2 * size, MOST)
                continue
            else:
                if why is Why.MORE:
                    self._problems.add("truncated", f"the data ends inside a record, after {end - position} bytes of it", position)
                return
            if position > base + len(buffer):
                buffer, base, size = b"", position, FIRST

    def _whole_payload(self, file: RandomAccess, position: int, end: int) -> AuxChunk:
        payload = self._walker.payload
        held = min(payload.size, end - position)
        number = self._next_number()
        self._end_payload(payload, number, position, held)
        return self._chunk(payload, number, 0, position, held, file, payload.size - held)

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()
