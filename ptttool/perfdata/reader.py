"""The front door of perf.data: a path in, the recording's contents and its AUX payloads out."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from ptttool.errors import AccessError, InputError
from ptttool.perfdata import layout
from ptttool.perfdata.attributes import AttributeTable
from ptttool.perfdata.backing import Backing, Memory
from ptttool.perfdata.header import empty_file, parse_header, read_attributes, read_features
from ptttool.perfdata.mapped import MappedFile
from ptttool.perfdata.model import AuxChunk, AuxPayload, Contents
from ptttool.perfdata.records import MAX_AUX_EVENTS, Payload, Walker, Why

WINDOW = 16 << 20


class Reader:
    """A recording that is being read: a context manager.

    ``path``: as given (``-`` for standard input). ``contents``: complete once :meth:`chunks` has come to its end; the attributes are there
    at once, in pipe mode before the first chunk. ``size``: bytes, None where it cannot be known. ``position``: bytes walked.
    """

    def __init__(self, path: str, mode: str) -> None:
        self.path = path
        self._name = path  # for messages
        self.contents = Contents(mode)
        self.size: int | None = None
        self.position = 0
        self._walker = Walker(self.contents, AttributeTable(self.contents.attributes))
        self._number = 0
        self._started = False

    def chunks(self) -> Iterator[AuxChunk]:
        """The AUX payloads in file order, once. Damage ends the walk and is told in ``contents.problems``.

        Raises MissingPackageError for a ``perf record -z`` recording without the package zstandard.
        """
        if self._started:
            raise RuntimeError("the chunks of a recording are read once")
        self._started = True
        return self._walk()

    def _walk(self) -> Iterator[AuxChunk]:
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the file. Chunks that are still in use stay valid."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _chunk(self, payload: Payload, number: int, start: int, file_offset: int, size: int, backing: Backing, missing: int) -> AuxChunk:
        return AuxChunk(
            number=number, offset=payload.offset, start=start, payload_size=payload.size, size=size, idx=payload.idx, cpu=payload.cpu,
            tid=payload.tid, reference=payload.reference, file_offset=file_offset, _backing=backing, missing=missing,
        )  # fmt: skip

    def _end_payload(self, payload: Payload, number: int, file_offset: int, held: int) -> None:
        """Note a payload that has been found, whole or not. ``file_offset``: where it begins."""
        payloads = self.contents.aux_payloads
        if len(payloads) < MAX_AUX_EVENTS:
            payloads.append(AuxPayload(number, payload.offset, payload.size, held, payload.idx, payload.cpu, file_offset))
        if held < payload.size:
            reason = f"an AUXTRACE payload of {payload.size} bytes lacks its last {payload.size - held}"
            self._walker.problem(file_offset + held, reason, "truncated")


@dataclass(frozen=True)
class _Segment:
    """Records between two offsets of a mapped file. ``before``: bytes of the segments before it."""

    file: MappedFile
    name: str
    start: int
    end: int
    before: int


class MappedReader(Reader):
    """Reads regular files, of either mode, and directories of them."""

    def __init__(self, path: str, mode: str, file: MappedFile) -> None:
        super().__init__(path, mode)
        self._files = [file]
        self._segments: list[_Segment] = []
        self.size = file.size
        self._open_main(file, path if mode == "file" else f"{path}/data")

    def _open_main(self, file: MappedFile, name: str) -> None:
        header = parse_header(name, file.view)
        if header is None:
            if self.contents.mode == "file":
                self.contents.mode = "pipe"
            self._segments.append(_Segment(file, "", layout.PIPE_HEADER.size, file.size, 0))
            return
        read_attributes(header, file.view, self._walker)
        start, size = header.data
        if start > file.size:
            self._walker.problem(40, f"the data section should begin at offset {start:#x}, behind the end of the file", "truncated")
            start = file.size
        end = header.data_end
        if size == 0:
            self.contents.interrupted = True
            end = file.size
        elif end > file.size:
            missing = end - file.size
            self._walker.problem(file.size, f"the file ends here, {missing} bytes before the end of its data section", "truncated")
            end = file.size
        else:
            read_features(header, file.view[end:], end, self._walker)
        self._segments.append(_Segment(file, "", start, end, 0))

    def add(self, file: MappedFile, name: str) -> None:
        """One more file of a perf.data directory: records from its first byte to its last."""
        before = self.size or 0
        self._files.append(file)
        self._segments.append(_Segment(file, f"{name}: ", 0, file.size, before))
        self.size = before + file.size

    def note(self, name: str, reason: str) -> None:
        """A file of a directory that cannot be read."""
        self._walker.problem(None, f"{name}: {reason}", "bad-input")

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
                walker.problem(position, f"the data ends inside a record, after {end - position} bytes of it", "truncated")
                return
            if why is Why.DAMAGE:
                return
            if why is Why.SKIP:
                position = min(position + walker.skip, end)
            elif why is Why.PAYLOAD:
                payload = walker.payload
                held = min(payload.size, end - position)
                number, self._number = self._number, self._number + 1
                self._end_payload(payload, number, position, held)
                backing = Memory(view[position : position + held], file, position)
                yield self._chunk(payload, number, 0, position, held, backing, payload.size - held)
                position += held

    def close(self) -> None:
        for file in self._files:
            file.close()


def open_perfdata(path: str | Path) -> Reader:
    """Open a recording: a file, a perf.data directory, a FIFO, or ``-`` for standard input.

    Raises InputError where it is no perf.data, and AccessError where it must not be read. A recording of another PMU, or without AUX data,
    is none of that: the contents tell.
    """
    name = str(path)
    if name == "-":
        try:
            descriptor = os.dup(sys.stdin.fileno())
        except (AttributeError, ValueError, OSError):
            raise InputError("standard input", "closed") from None
        return _open_descriptor("standard input", descriptor, name)
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _cannot_open(name, error) from None
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return _open_directory(Path(name))
    return _open_descriptor(name, descriptor, name)


def _open_descriptor(name: str, descriptor: int, path: str) -> Reader:
    """Read a descriptor, which is the reader's from now on. ``name``: for messages."""
    from ptttool.perfdata.stream import StreamReader

    file = _map_if_regular(name, descriptor, path)
    reader: Reader
    if file is None:
        reader = StreamReader(name, descriptor)
    else:
        os.close(descriptor)
        try:
            reader = MappedReader(name, "file", file)
        except BaseException:
            file.close()
            raise
    reader.path = path
    return reader


def _map_if_regular(name: str, descriptor: int, path: str) -> MappedFile | None:
    """The file, mapped; None for what has to be read from front to back."""
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or os.lseek(descriptor, 0, os.SEEK_CUR) != 0:
        return None
    if about.st_size == 0:
        os.close(descriptor)
        raise empty_file(name)
    try:
        return MappedFile(descriptor, "/dev/stdin" if path == "-" else name)
    except OSError:  # a file system without mmap
        return None


def _open_directory(folder: Path) -> Reader:
    main = _map(folder / "data")
    if main is None:
        raise empty_file(str(folder / "data"))
    try:
        reader = MappedReader(str(folder), "directory", main)
    except BaseException:
        main.close()
        raise
    try:
        numbered = [entry.name for entry in folder.iterdir() if re.fullmatch(r"data\.[0-9]+", entry.name)]
    except OSError as error:
        reader.close()
        raise _cannot_open(str(folder), error) from None
    for name in sorted(numbered, key=lambda each: int(each[5:])):
        try:
            file = _map(folder / name)
        except (InputError, AccessError) as error:
            reader.note(name, error.message)
            continue
        if file is not None:
            reader.add(file, name)
    return reader


def _map(path: Path) -> MappedFile | None:
    """A file of a perf.data directory; None for an empty one."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise InputError(path.parent, "a directory without a file 'data' in it, so no perf.data directory", code="no-such-file") from None
    except OSError as error:
        raise _cannot_open(str(path), error) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError(path, "not a regular file")
        return MappedFile(descriptor, str(path)) if os.fstat(descriptor).st_size else None
    except OSError as error:
        raise _cannot_open(str(path), error) from None
    finally:
        os.close(descriptor)


def _cannot_open(path: str, error: OSError) -> InputError | AccessError:
    if error.errno in (errno.EACCES, errno.EPERM):
        return AccessError(
            f"{path}: permission denied",
            hint="perf record makes its files readable for their owner only: ask that user, or root",
            path=path,
        )
    if error.errno == errno.ENOENT:
        return InputError(path, "no such file", code="no-such-file")
    return InputError(path, error.strerror or str(error))
