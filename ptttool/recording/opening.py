"""Open a recording: perf.data or a raw dump, in a file, a folder, a pipe or on remote storage."""

from __future__ import annotations

import os
from collections.abc import Iterator
from copy import copy
from enum import StrEnum
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self
from weakref import finalize

from ptttool.errors import InputError
from ptttool.files.local import Closing
from ptttool.files.packed.look import first_bytes
from ptttool.files.remote import is_remote
from ptttool.perfdata.layout import MAGIC
from ptttool.perfdata.model import AuxChunk, Contents, Mode
from ptttool.perfdata.readers.files import FileReader
from ptttool.perfdata.readers.opening import open_perfdata as open_local
from ptttool.recording.raw_dump import RawDump
from ptttool.recording.remote import RemoteFile


class InputForm(StrEnum):
    """What an input is."""

    PERF = "perf"
    RAW = "raw"


class Source(Protocol):
    """A recording that is read once, from front to back: perf.data or a raw dump. A context manager.

    Attributes
    ----------
    path : str
        The path as given; ``-`` for standard input.
    contents : Contents
        Everything but the AUX data; complete once :meth:`chunks` has come to its end.
    size : int or None
        Size in bytes; None where it is not known, as for a pipe.
    """

    path: str
    contents: Contents
    size: int | None

    @property
    def position(self) -> int:
        """Bytes that have been read or passed over."""
        ...

    def chunks(self) -> Iterator[AuxChunk]:
        """Yield the AUX data in file order, once."""
        ...

    def close(self) -> None:
        """Close the file. Bytes that were read stay valid."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class PeekedSource(Closing):
    """A source whose first chunk can be looked at. It is closed with the last reference to it, if not before.

    Parameters
    ----------
    source : Source
        The source, not yet read; it is not to be used otherwise.
    """

    def __init__(self, source: Source) -> None:
        self.path, self.contents, self.size = source.path, source.contents, source.size
        self._source = source
        self._chunks = source.chunks()
        self._peeked: list[AuxChunk] | None = None
        self._close = finalize(self, source.close)

    @property
    def position(self) -> int:
        """Bytes that have been read or passed over."""
        return self._source.position

    def peek(self) -> AuxChunk | None:
        """Return the first chunk, which :meth:`chunks` yields all the same; None where there is none."""
        if self._peeked is None:
            self._peeked = list(islice(self._chunks, 1))
        return self._peeked[0] if self._peeked else None

    def glimpse(self) -> Self:
        """Return a source of the first chunk only; this one yields it all the same."""
        first = self.peek()
        source = copy(self)
        source._peeked, source._chunks = None, iter(() if first is None else (first,))
        source._close = finalize(source, bool)  # which does nothing: the file stays open
        return source

    def chunks(self) -> Iterator[AuxChunk]:
        """Yield the AUX data in file order, once."""
        peeked, self._peeked = self._peeked or [], []
        while peeked:
            yield peeked.pop()
        yield from self._chunks

    def close(self) -> None:
        """Close the file. Bytes that were read stay valid."""
        self._close()


def open_source(path: str | Path, form: InputForm | None = None) -> Source:
    """Open a recording.

    Parameters
    ----------
    path : str or Path
        A file, a folder of ``perf record``, a FIFO, an address (``s3://…``), or ``-`` for standard input.
    form : InputForm or None
        What it is. None: what its first bytes say; raw where they cannot be looked at without reading them (a FIFO, standard input).

    Raises
    ------
    InputError
        If the file does not exist or is not of that form.
    AccessError
        If it may not be read.
    """
    name = str(path)
    if form is None:
        form = form_of(name) or InputForm.RAW
    refuse_snapshot(name)
    return open_perfdata(name) if form is InputForm.PERF else RawDump(name)


def refuse_snapshot(path: str | Path) -> None:
    """Raise an InputError for a folder that holds a CoreSight snapshot: its trace is one of the files in it."""
    if not is_remote(str(path)) and os.path.isfile(os.path.join(path, "snapshot.ini")):  # noqa: PTH113, PTH118 - False where it may not be looked at
        raise InputError(
            path, "a folder of a snapshot, not its trace", hint="name the trace: one of the files in it", code="snapshot-folder"
        )


def open_perfdata(path: str | Path) -> Source:
    """Open a perf.data: a file, a folder of ``perf record``, a FIFO, an address, or ``-`` for standard input.

    Raises
    ------
    InputError
        If it is not a perf.data. A recording of another PMU or without AUX data is not an error: the contents show that.
    AccessError
        If it may not be read.
    """
    name = str(path)
    return FileReader(name, Mode.FILE, RemoteFile(name)) if is_remote(name) else open_local(name)


def form_of(path: str | Path) -> InputForm | None:
    """Return what the first bytes of an input say it is.

    Returns
    -------
    InputForm or None
        None where they cannot be looked at without reading them (standard input, a FIFO), or the file cannot be opened.
    """
    name = str(path)
    if name == "-":
        return None
    if is_remote(name):
        file = RemoteFile(name)
        try:
            return _form(file.read(0, len(MAGIC)))
        finally:
            file.close()
    try:
        if Path(name).is_dir():
            return InputForm.PERF
        if not Path(name).is_file():  # opening a FIFO waits for its writer, and its bytes are read once
            return None
        with Path(name).open("rb") as opened:
            return _form(first_bytes(opened, len(MAGIC)))
    except OSError:  # reported when it is opened for reading
        return None


def _form(start: bytes) -> InputForm:
    return InputForm.PERF if start == MAGIC else InputForm.RAW
