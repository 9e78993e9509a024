"""Reads a recording from mapped files: a perf.data, or a folder of them as ``perf record`` makes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ptttool.perfdata import layout
from ptttool.perfdata.backing import Memory
from ptttool.perfdata.header import parse_header, read_attributes, read_features
from ptttool.perfdata.mapped import MappedFile
from ptttool.perfdata.model import AuxChunk, Mode
from ptttool.perfdata.readers.base import Reader
from ptttool.perfdata.walker import Why

# Bytes walked at a time, so that the pages of a file full of small records do not stay in memory.
WINDOW = 16 << 20


@dataclass(frozen=True)
class _Segment:
    """Records between two offsets of a mapped file.

    Attributes
    ----------
    file : MappedFile
        The file.
    name : str
        Name of the file in a perf.data folder; empty for the main one.
    start, end : int
        The offsets.
    before : int
        Size of the files before it.
    """

    file: MappedFile
    name: str
    start: int
    end: int
    before: int


class MappedReader(Reader):
    """Reads regular files, of either mode, and folders of them.

    Parameters
    ----------
    path : str
        The path as given.
    mode : Mode
        ``Mode.FILE`` or ``Mode.DIRECTORY``.
    file : MappedFile
        The file with the header; closed with the reader.
    name : str, optional
        Name of the recording for messages, where it is not the path.

    Raises
    ------
    InputError
        If the file is not a perf.data.
    """

    def __init__(self, path: str, mode: Mode, file: MappedFile, name: str | None = None) -> None:
        super().__init__(path, mode, name)
        self._files = [file]
        self._segments: list[_Segment] = []
        self.size = file.size
        self._open_main(file, self._name if mode is Mode.FILE else f"{path}/data")

    def _open_main(self, file: MappedFile, name: str) -> None:
        header = parse_header(name, file.view)
        if header is None:
            if self.contents.mode is Mode.FILE:
                self.contents.mode = Mode.PIPE
            self._segments.append(_Segment(file, "", layout.PIPE_HEADER.size, file.size, 0))
            return
        read_attributes(header, file.view, self._walker)
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
            read_features(header, file.view[end:], end, self._walker)
        self._segments.append(_Segment(file, "", start, end, 0))

    def add(self, file: MappedFile, name: str) -> None:
        """Add a file of a perf.data folder: records from its first byte to its last."""
        before = self.size or 0
        self._files.append(file)
        self._segments.append(_Segment(file, name, 0, file.size, before))
        self.size = before + file.size

    def note(self, name: str, message: str) -> None:
        """Note a file of a perf.data folder that cannot be read."""
        self._problems.begin(name)
        self._problems.add("bad-input", message, None)
        self._problems.begin("")

    def _walk(self) -> Iterator[AuxChunk]:
        for segment in self._segments:
            self._walker.begin(segment.name)
            yield from self._walk_segment(segment)
            self._walker.finish()
            self.position = segment.before + segment.file.size

    def _walk_segment(self, segment: _Segment) -> Iterator[AuxChunk]:
        file, end, position = segment.file, segment.end, segment.start
        view, walker = file.view, self._walker
        while True:
            # Through a window, so that the pages of a file full of small records do not stay.
            window = min(end, position + WINDOW)
            why, walked = walker.advance(view, position, window, 0)
            file.forget(position, walked)
            position = walked
            self.position = segment.before + position
            if why is Why.END and position >= end:
                return
            if why is Why.MORE and window == end:
                self._problems.add("truncated", f"the data ends inside a record, after {end - position} bytes of it", position)
                return
            if why is Why.DAMAGE:
                return
            if why is Why.SKIP:
                position = min(position + walker.skip, end)
            elif why is Why.PAYLOAD:
                chunk = self._whole_payload(file, position, end)
                yield chunk
                position += chunk.size

    def _whole_payload(self, file: MappedFile, position: int, end: int) -> AuxChunk:
        payload = self._walker.payload
        held = min(payload.size, end - position)
        number = self._next_number()
        self._end_payload(payload, number, position, held)
        backing = Memory(file.view[position : position + held], file, position)
        return self._chunk(payload, number, 0, position, held, backing, payload.size - held)

    def close(self) -> None:
        """Unmap the files. Bytes that were read stay valid."""
        for file in self._files:
            file.close()
