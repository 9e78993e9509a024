"""Recordings to a folder of Parquet files, of which each is written by whoever decodes its part.

The folder is a table as it is for DuckDB, polars and Spark; with partitions its subfolders are named as Hive names them
(``host=node7/``).
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.errors import AccessError, OutputError, UsageError
from ptttool.exporters.parquet_blocks import CREATED_BY, columns_of, row_group_of
from ptttool.files.remote import is_remote
from ptttool.parquet.file import ParquetFile
from ptttool.pipeline.jobs import Batch, Outcome, results, size_of
from ptttool.pipeline.selection import Select
from ptttool.pipeline.trace import Trace
from ptttool.pipeline.workers import ALONE, Workers
from ptttool.recording.identity import pmu_names

# Names of the files of a dataset, and the end of those that are not finished.
_OURS = re.compile(r"r[0-9]{4,}-.*\.parquet")
_UNFINISHED = ".unfinished"
# Bytes of a name that are kept: each may take three, and file systems allow some 250.
_LONGEST = 64
# Bytes of trace in a file: some 25 to 50 MB of Parquet.
PART_BYTES = 128 << 20


def _host(trace: Trace) -> str:
    folder = trace.path if is_remote(trace.path) else os.path.abspath(trace.path)
    return _text(trace.contents.features.get("hostname")) or posixpath.basename(posixpath.dirname(folder)) or "unknown"


def _device(trace: Trace) -> str:
    attribute = trace.attribute
    name = None if attribute is None else pmu_names(trace.contents).get(attribute.type)
    return name or "unknown"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


PARTITIONS: Mapping[str, Callable[[Trace], str] | None] = {"host": _host, "device": _device, "recording": None}
"""What files can be sorted by: the host that was recorded (else the recording's folder), its device, the recording's label."""


def _quoted(text: str) -> str:
    """A part of a path that cannot lead anywhere else, as Hive writes it; of a long one the beginning."""
    return quote(os.fsencode(text)[:_LONGEST], safe=" ")


def labels(paths: Sequence[str]) -> list[str]:
    """Names of recordings, with as many of their folders as it takes to tell them apart."""
    parts = [path.rstrip("/").split("/") for path in paths]
    count = 1
    while count < max(map(len, parts)) and len({tuple(part[-count:]) for part in parts}) < len(parts):
        count += 1
    return ["/".join(part[-count:]) for part in parts]


def checked_partitions(names: str | None) -> tuple[str, ...]:
    """``host,device`` as names, each once."""
    found = tuple(dict.fromkeys(name.strip() for name in names.split(","))) if names else ()
    for name in found:
        if name not in PARTITIONS:
            raise UsageError(f"--partition: nothing is called {name!r}", hint="known: " + ", ".join(PARTITIONS), code="unknown-partition")
    return found


@dataclass(frozen=True)
class WritePart:
    """Task: a batch's rows to a Parquet file of their own; gives their number.

    ``folder``: that is there, or an address. ``prefix``: of the file's name, which goes on with where the batch lies.
    """

    select: Select
    folder: str
    prefix: str
    facts: tuple[tuple[str, str], ...]

    def __call__(self, batch: Batch, index: int) -> Outcome[int]:
        findings = Findings()
        rows = 0
        first = batch[0].pieces[0]
        name = f"{self.prefix}{_quoted(posixpath.basename(first.path) or 'stream')}-{first.file_offset:015}.parquet"
        with _whole_file(posixpath.join(self.folder, name)) as file:
            parquet = ParquetFile(file, columns_of(self.select.columns), dict(self.facts), created_by=CREATED_BY)
            for block in results(self.select, batch, index, findings):
                rows += block.size
                parquet.add(row_group_of(block))
            parquet.close()
        return Outcome(rows, findings, size_of(batch))

    def write_nothing(self) -> None:
        """A file without rows, which tells the columns of a recording without records."""
        with _whole_file(posixpath.join(self.folder, f"{self.prefix}empty.parquet")) as file:
            ParquetFile(file, columns_of(self.select.columns), dict(self.facts), created_by=CREATED_BY).close()


@contextmanager
def _whole_file(path: str) -> Iterator[Any]:
    """A file that is there when it is whole: two workers that do the same task do not spoil each other's."""
    if is_remote(path):
        import fsspec

        try:
            with fsspec.open(path, "wb") as file:  # object stores show a file when it is closed
                yield file
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror or error}") from None
        return
    target = Path(path)
    temporary = target.with_name(f".{os.urandom(6).hex()}{_UNFINISHED}")
    try:
        with temporary.open("xb") as file:
            yield file
        temporary.replace(target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise OutputError(f"{path}: {error.strerror or error}") from None
        raise


@dataclass(frozen=True)
class Place:
    """Where a recording goes: its ``number`` among those of the ``folder``, its ``label``, and what its files are sorted by."""

    folder: str
    number: int
    label: str
    partitions: tuple[str, ...]

    def made(self, trace: Trace) -> str:
        """The subfolder, made where it is not there yet."""
        values = {name: value(trace) if value is not None else self.label for name, value in PARTITIONS.items()}
        place = posixpath.join(self.folder, *(f"{name}={_quoted(values[name])}" for name in self.partitions))
        if not is_remote(place):
            Path(place).mkdir(parents=True, exist_ok=True)
        return place


def write_recording(trace: Trace, select: Select, place: Place, facts: Mapping[str, str], workers: Workers = ALONE) -> int:
    """One recording's rows into a dataset's folder; gives their number."""
    rows = 0
    task = WritePart(select, place.made(trace), prefix_of(place.number), tuple(facts.items()))
    nothing = True
    for written in trace.run_batches(PART_BYTES, task, select, workers=workers):
        rows += written
        nothing = False
    if nothing:
        task.write_nothing()
    return rows


def prefix_of(number: int) -> str:
    """What the names of a recording's files begin with."""
    return f"r{number:04}-"


def remove_recording(folder: str, number: int) -> None:
    """Take the files of a recording that cannot be read to its end away again."""
    if is_remote(folder):
        import fsspec

        system, name = fsspec.core.url_to_fs(folder)
        for path in system.glob(f"{name}/**/{prefix_of(number)}*.parquet"):
            system.rm(path)
        return
    for path in Path(folder).rglob(f"{prefix_of(number)}*.parquet"):
        path.unlink()


@contextmanager
def new_folder(path: str, inputs: Sequence[str], *, force: bool) -> Iterator[str]:
    """A folder to write to, which takes the place of ``path`` when the block ends well and leaves no trace otherwise.

    One with something in it is refused; ``force`` replaces it where all of it is such a dataset. ``inputs``: recordings, none of which may
    be in it. At an address the folder is written in place, and must be empty.
    """
    if is_remote(path):
        _refuse_full_address(path)
        yield path
        return
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_dir():
        raise OutputError(f"{path}: a file, no folder", code="not-a-folder")
    if target.is_dir():
        _refuse_what_is_there(path, target, inputs, force)
    # An empty one stays: it may be where a file system begins, or in a folder that cannot be written.
    inside = target.is_dir() and not any(target.iterdir())
    hidden = f".{os.urandom(8).hex()}{_UNFINISHED}"
    temporary = target / hidden if inside else target.with_name(hidden)
    try:
        try:
            temporary.mkdir()
        except PermissionError as error:
            raise AccessError(f"{path}: {error.strerror}", hint="write where you may", code="output-not-permitted") from None
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}") from None
        yield str(temporary)
        # What a worker was at when it was killed.
        for unfinished in temporary.rglob(f".*{_UNFINISHED}"):
            unfinished.unlink()
        if inside:
            for entry in temporary.iterdir():
                entry.rename(target / entry.name)
            temporary.rmdir()
        else:
            _exchange(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _refuse_what_is_there(path: str, target: Path, inputs: Sequence[str], force: bool) -> None:
    entries = [*target.rglob("*")]
    if not entries:
        return
    if not force:
        raise OutputError(f"{path}: a folder with something in it", hint="--force replaces a folder of such files", code="exists")
    for entry in entries:
        ours = "=" in entry.name if entry.is_dir() else _OURS.fullmatch(entry.name) is not None
        if not ours or entry.is_symlink():
            raise OutputError(
                f"{path}: holds {entry.relative_to(target)}, which is no file of such a folder: it is not replaced",
                hint="name another folder",
                code="foreign-folder",
            )
    if any(target in Path(os.path.realpath(recording)).parents for recording in inputs) or target == Path.cwd():
        raise UsageError(f"{path}: a recording is in it, or it is the working directory", hint="name another", code="output-is-input")


def _exchange(new: Path, target: Path) -> None:
    """Put the new folder where the old one is, and remove that."""
    if not target.exists():
        new.rename(target)
        return
    new.chmod(target.stat().st_mode)
    old = target.with_name(f"{new.name}.old")
    target.rename(old)
    try:
        new.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _refuse_full_address(path: str) -> None:
    import fsspec

    system, name = fsspec.core.url_to_fs(path)
    if system.exists(name) and system.ls(name):
        raise OutputError(f"{path}: there is something already", hint="name another, or remove it", code="exists")
