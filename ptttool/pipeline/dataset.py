"""Write recordings to a folder of Parquet files. The process that decodes a part of a recording also writes its file.

DuckDB, polars and Spark read the folder as one table. With partitions, subfolders have names in Hive's style (``host=node7/``).
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from ptttool.errors import OutputError, UsageError
from ptttool.exporters.contract import ExportContext
from ptttool.exporters.parquet import Parquet
from ptttool.files.failures import output_failure
from ptttool.files.folders import UnfinishedFolder, output_folder
from ptttool.files.locations import opened_folder
from ptttool.files.progress import Watch, unwatched
from ptttool.files.remote import is_remote, storage_answers, storage_of
from ptttool.pipeline.jobs import Each, Units, size_of
from ptttool.pipeline.query import Query
from ptttool.pipeline.recording import OpenRecording, Request
from ptttool.pipeline.streams import Decoded, Filter, StreamDecoder, StreamWalk
from ptttool.pipeline.walk import RecordWalk, Walk
from ptttool.pipeline.work import Encode, Outcome
from ptttool.pipeline.workers.pool import Workers
from ptttool.table.schema import Schema

# Names of a dataset's files, and of those that a worker is writing.
_OURS = re.compile(r"r[0-9]{4,}-.*\.parquet", re.DOTALL)
_UNFINISHED = re.compile(r"\.[0-9a-f]{12}\.unfinished")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Longest part of a name in bytes. A quoted byte takes three characters, and file systems allow about 250.
_LONGEST = 64
# Bytes of trace in a file: 25 to 50 MB of Parquet.
PART_BYTES = 128 << 20


def _host(recording: OpenRecording) -> str:
    folder = recording.path if is_remote(recording.path) else os.path.abspath(recording.path)
    return _text(recording.contents.features.get("hostname")) or posixpath.basename(posixpath.dirname(folder)) or "unknown"


def _device(recording: OpenRecording) -> str:
    return recording.device or "unknown"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


PARTITIONS: Mapping[str, Callable[[OpenRecording], str] | None] = {"host": _host, "device": _device, "recording": None}
"""Partitions by name: the recorded host (or else the recording's folder), the device, the recording's label."""


def _quoted(text: str) -> str:
    """Quote a part of a path as Hive does, so that it cannot lead to another folder; a long one is cut."""
    return quote(os.fsencode(text)[:_LONGEST], safe=" ")


def labels(paths: Sequence[str]) -> list[str]:
    """Return a unique name for each recording: the end of its path, with the fewest folders that make all names different."""
    parts = [path.rstrip("/").split("/") for path in paths]
    count = 1
    while count < max(map(len, parts)) and len({tuple(part[-count:]) for part in parts}) < len(parts):
        count += 1
    return ["/".join(part[-count:]) for part in parts]


def checked_partitions(names: str | None) -> tuple[str, ...]:
    """Split and check a list of partitions such as ``host,device``; duplicates are dropped. Raises UsageError."""
    partitions = tuple(dict.fromkeys(name.strip() for name in names.split(","))) if names else ()
    for name in partitions:
        if name not in PARTITIONS:
            raise UsageError(f"--partition: unknown partition {name!r}", hint="known: " + ", ".join(PARTITIONS), code="unknown-partition")
    return partitions


class Target(Struct, frozen=True):
    """Where rows are written.

    Parameters
    ----------
    folder : str
        An existing folder, or an address.
    shown : str
        The dataset's folder as the user named it, for messages.
    prefix : str
        Start of the file names.
    schema : Schema
        Columns of the files.
    facts : tuple of (str, str)
        Keys and values for the metadata of the files.
    """

    folder: str
    shown: str
    prefix: str
    schema: Schema
    facts: tuple[tuple[str, str], ...]

    @contextmanager
    def file(self, name: str) -> Iterator[Any]:
        """Open a Parquet file and yield its writer; the file appears when it is complete."""
        with self.unnamed() as (temporary, writer):
            yield writer
        self.publish(temporary, name)

    @contextmanager
    def unnamed(self) -> Iterator[tuple[str, Any]]:
        """Open a Parquet file; yield its temporary name and its writer. Readers of the dataset do not see it until :meth:`publish`."""
        temporary = f".{os.urandom(6).hex()}.unfinished"
        with _new_file(self.folder, temporary, self.shown) as file:
            writer = _PARQUET.writer(file, self.schema, ExportContext(facts=dict(self.facts)))
            yield temporary, writer
            writer.close()

    def publish(self, temporary: str, name: str) -> None:
        """Give a complete file its name."""
        _rename(self.folder, temporary, f"{self.prefix}{name}.parquet", self.shown)


_PARQUET = Parquet()


class Part(Struct):
    """A part of a recording that was written to a file.

    Parameters
    ----------
    temporary : str
        The name that the file has.
    name : str
        The name that it gets.
    rows : int
        Number of rows.
    """

    temporary: str
    name: str
    rows: int = 0


class WriteUnits(Struct, frozen=True):
    """Task: write the rows of units to a Parquet file with a temporary name.

    It is published by the process that asked for it. A task that was submitted with a first row that turned out to be wrong may still
    be running, and must not replace the file of the task that is right.
    """

    each: Each[tuple[int, Any]]
    target: Target

    def __call__(self, units: Units, index: int) -> Outcome[Part]:
        """Write the rows of units; `index` is the number of the first row."""
        first = units[0].pieces[0]
        name = f"{_quoted(posixpath.basename(first.path) or 'stream')}-{first.file_offset:015}"
        with self.target.unnamed() as (temporary, writer):
            outcome = Outcome(Part(temporary, name), size=size_of(units))
            for count, piece in self.each.results(units, index, outcome):
                outcome.value.rows += count
                writer.add(piece)
        return outcome


class WriteStream(Struct, frozen=True):
    """Task: write the rows of one packet stream to a Parquet file. The outcome is the number of rows and the findings.

    Parameters
    ----------
    request : Request
        The recording.
    number : int
        Number of the stream in the recording.
    query : Query
        Rows and columns.
    target : Target
        Where they are written.
    """

    request: Request
    number: int
    query: Query
    target: Target

    def __call__(self) -> Outcome[int]:
        """Write the rows of the stream."""
        with OpenRecording(self.request) as recording:
            decoder = _OneStream(recording, self.number)
            chosen = Filter(self.request.channels, self.request.without)
            walk = StreamWalk(decoder, recording.stack, chosen, file=self.request.file, strict=self.request.strict)
            rows = _write_walk(walk, self.query, self.target, f"{_label(recording.path)}-{self.number:05}")
            return Outcome(rows, walk.findings)


class _OneStream(StreamDecoder):
    """Decodes one stream of a recording."""

    def __init__(self, recording: OpenRecording, number: int) -> None:
        super().__init__(recording.source(), recording.stack)
        self._number = number

    def decoded(self, accepts: Callable[[int], bool] = lambda _stream: True) -> Iterator[Decoded]:
        return super().decoded(lambda stream: stream == self._number and accepts(stream))


def _label(path: str) -> str:
    return _quoted(posixpath.basename(path.rstrip("/"))) if path != "-" else "stream"


def _write_walk(walk: Walk, query: Query, target: Target, name: str) -> int:
    """Write all rows of a walk to one file and return their number."""
    rows = 0
    with target.file(name) as writer:
        for count, piece in walk.pieces(query, _PARQUET, target.schema):
            rows += count
            writer.add(piece)
    return rows


@contextmanager
def _new_file(folder: str, name: str, shown: str) -> Iterator[Any]:
    """Make a file and open it; after an error it is removed."""
    if is_remote(folder):
        path = posixpath.join(folder, name)
        with _storage(path), _new_remote_file(path) as file:
            yield file
        return
    with _opened(folder, shown) as parent:
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(name, flags, 0o666, dir_fd=parent), "wb") as file:
                yield file
        except BaseException:
            with suppress(OSError):
                os.unlink(name, dir_fd=parent)
            raise


def _rename(folder: str, old: str, new: str, shown: str) -> None:
    """Rename a file of a folder; it takes the place of one that has the name."""
    if is_remote(folder):
        path = posixpath.join(folder, new)
        with _storage(path):
            system, name = storage_of(path)
            system.mv(posixpath.join(posixpath.dirname(name), old), name)
        return
    with _opened(folder, shown) as parent:
        os.rename(old, new, src_dir_fd=parent, dst_dir_fd=parent)


@contextmanager
def _new_remote_file(path: str) -> Iterator[Any]:
    """Open a remote file. Object stores show a file when it is closed, so after a failure it is discarded, or else removed."""
    system, name = storage_of(path)
    file = system.open(name, "wb")
    try:
        yield file
        file.close()
    except BaseException:
        with suppress(Exception):  # the failure that is being handled matters more
            file.discard()
        with suppress(Exception):
            file.closed = True  # closing it later would store what there is
        with suppress(Exception):
            system.rm(name)
        raise


@contextmanager
def _storage(path: str) -> Iterator[None]:
    """Raise what storage says to the body as an OutputError."""
    try:
        with storage_answers():
            yield
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror or error}") from None


@contextmanager
def _opened(folder: str, shown: str) -> Iterator[int]:
    """Open a folder. What fails in the body is an OutputError: it ends the whole work, unlike an AccessError of a recording."""
    try:
        with opened_folder(folder) as descriptor:
            yield descriptor
    except BrokenPipeError:
        raise
    except OSError as error:
        failure = output_failure(shown, error, kind="folder")
        if isinstance(failure, OutputError):
            raise failure from None
        raise OutputError(failure.message, hint=failure.hint, code=failure.code) from None


class Location(Struct, frozen=True):
    """Where a recording is written.

    Parameters
    ----------
    folder : UnfinishedFolder
        The dataset's folder, from :func:`new_folder`.
    number : int
        Number of the recording in the dataset.
    label : str
        Unique name of the recording in the dataset.
    partitions : tuple of str
        Names of the partitions.
    """

    folder: UnfinishedFolder
    number: int
    label: str
    partitions: tuple[str, ...]

    def made(self, recording: OpenRecording) -> str:
        """Return the recording's subfolder; make it if it does not exist."""
        values = {name: value(recording) if value is not None else self.label for name, value in PARTITIONS.items()}
        parts = [f"{name}={_quoted(values[name])}" for name in self.partitions]
        if not is_remote(self.folder.path):
            with _opened(self.folder.path, self.folder.shown) as folder, ExitStack() as stack:
                for part in parts:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=folder)
                    folder = os.open(part, _FOLDER, dir_fd=folder)
                    stack.callback(os.close, folder)
        return posixpath.join(self.folder.path, *parts)


def write_recording(recording: OpenRecording, query: Query, location: Location, workers: Workers, watch: Watch = unwatched) -> int:
    """Write one recording's rows into a dataset's folder; return their number.

    Records of fixed size are written in parts of about 128 MiB of trace, packet streams one by one. Each part or stream becomes a file, and
    workers write several files at the same time.

    Parameters
    ----------
    recording : OpenRecording
        The recording.
    query : Query
        Rows and columns; a range of rows is not supported.
    location : Location
        Where it is written.
    workers : Workers
        The workers that decode and write.
    watch : callable
        Shows how far the work has come.
    """
    walk = recording.walk(workers)
    schema = recording.schema.select(query.columns)
    facts = tuple(recording.facts.items())
    target = Target(location.made(recording), location.folder.shown, prefix_of(location.number), schema, facts)
    with watch(walk.progress):
        if isinstance(walk, RecordWalk):
            return _write_units(walk, query, target)
        if recording.path == "-" or recording.contents.mode == "raw":
            return _write_walk(walk, query, target, _label(recording.path))
        return _write_streams(recording, walk, query, target, workers)


def _write_units(walk: RecordWalk, query: Query, target: Target) -> int:
    work = Encode(query, _PARQUET.name, target.schema, _PARQUET.rows)
    rows, nothing = 0, True
    for written in walk.run_batches(PART_BYTES, WriteUnits(Each(work, walk.path, walk.strict), target), work):
        target.publish(written.temporary, written.name)
        rows += written.rows
        nothing = False
    if nothing:
        with target.file("empty"):
            pass
    return rows


def _write_streams(recording: OpenRecording, walk: Walk, query: Query, target: Target, workers: Workers) -> int:
    assert isinstance(walk, StreamWalk)
    streams = len({chunk.idx for chunk in walk.source.chunks()})
    if not streams:
        with target.file("empty"):
            pass
    tasks = [WriteStream(recording.request, number, query, target) for number in range(streams)]
    promises = [workers.submit(task) for task in tasks] if workers.jobs > 1 else None
    rows = 0
    for number, task in enumerate(tasks):
        outcome = task() if promises is None else promises[number].result()
        rows += outcome.value
        if outcome.findings is not None:
            walk.findings.merge(outcome.findings)
        walk.progress.records = walk.findings.records
    return rows


def prefix_of(number: int) -> str:
    """Return the start of the names of a recording's files."""
    return f"r{number:04}-"


def remove_recording(folder: UnfinishedFolder, number: int) -> None:
    """Remove the files of a recording that could not be read to its end."""
    _remove(folder, lambda name: name.startswith(prefix_of(number)))


def _remove(folder: UnfinishedFolder, is_unwanted: Callable[[str], bool]) -> None:
    """Remove files from a folder and the folders in it, by their names."""
    if is_remote(folder.path):
        system, name = storage_of(folder.path)
        for path in system.find(name.rstrip("/")):
            if is_unwanted(posixpath.basename(path)):
                system.rm(path)
        return
    with _opened(folder.path, folder.shown) as parent:
        for _path, _folders, files, descriptor in os.fwalk(".", dir_fd=parent):
            for name in filter(is_unwanted, files):
                os.unlink(name, dir_fd=descriptor)


@contextmanager
def new_folder(path: str) -> Iterator[UnfinishedFolder]:
    """Make a temporary folder to write to. It gets the name ``path`` if the block ends without an error; otherwise it is removed.

    At an address, the folder is written in place, and has to be empty. After an error, its files are removed.

    Parameters
    ----------
    path : str
        The folder, or its address.

    Yields
    ------
    UnfinishedFolder
        The folder to write to.

    Raises
    ------
    OutputError
        The path is a file, or a folder that is not empty, or cannot be written: the codes are those of
        :func:`ptttool.files.folders.output_folder`.
    AccessError
        The folder may not be made.
    """
    if is_remote(path):
        _refuse_full_address(path)
        folder = UnfinishedFolder(path, path)
        try:
            yield folder
            _remove(folder, _is_unfinished)
        except BaseException:
            with suppress(Exception):  # the failure that is being handled matters more
                _remove(folder, lambda name: _is_unfinished(name) or _OURS.fullmatch(name) is not None)
            raise
        return
    with output_folder(path) as folder:
        yield folder
        _remove(folder, _is_unfinished)


def _is_unfinished(name: str) -> bool:
    """Return whether a name is that of a file that a worker had begun when it was killed, or that took too long."""
    return _UNFINISHED.fullmatch(name) is not None


def _refuse_full_address(path: str) -> None:
    with _storage(path):
        system, name = storage_of(path)
        full = system.exists(name) and bool(system.ls(name))
    if full:
        raise OutputError(f"{path}: the folder is not empty", hint="name another folder, or empty it", code="exists")
