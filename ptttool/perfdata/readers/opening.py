"""Open a perf.data of this machine with the reader that fits it."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from ptttool.budget import CODE
from ptttool.errors import AccessError, InputError
from ptttool.files.local import LocalFile
from ptttool.files.packed.kinds import LONGEST_MAGIC, kind_of
from ptttool.files.standard import standard_input
from ptttool.perfdata.budget import MAX_FILES
from ptttool.perfdata.header import empty_file
from ptttool.perfdata.model import Mode
from ptttool.perfdata.readers.base import Reader
from ptttool.perfdata.readers.files import FileReader
from ptttool.perfdata.readers.stream import StreamReader

if TYPE_CHECKING:
    from ptttool.files.packed.unpack import Unpacked


def open_perfdata(path: str | Path) -> Reader:
    """Open a perf.data of this machine.

    Parameters
    ----------
    path : str or Path
        A file, a folder of ``perf record``, a FIFO, or ``-`` for standard input.

    Raises
    ------
    InputError
        If it is not a perf.data. A recording of another PMU or without AUX data is not an error: the contents show that.
    AccessError
        If it may not be read.
    """
    name = str(path)
    if name == "-":
        descriptor = os.dup(standard_input().fileno())
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
    """Read from a descriptor, which the reader owns from now on; ``name`` is for messages."""
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or os.lseek(descriptor, 0, os.SEEK_CUR) != 0:
        return StreamReader(path, descriptor, name)
    if about.st_size == 0:
        os.close(descriptor)
        raise empty_file(name)
    try:
        found = _unpacked(descriptor, name)
    except BaseException:
        os.close(descriptor)
        raise
    if found is None:
        return FileReader(path, Mode.FILE, LocalFile(descriptor, "/dev/stdin" if path == "-" else name), name)
    os.close(descriptor)
    reader = FileReader(path, Mode.FILE, LocalFile(os.dup(found.file.fileno()), name), name)
    if found.problem is not None:
        reader.note("", "damaged-archive", found.problem)
    return reader


def _unpacked(descriptor: int, name: str) -> Unpacked | None:
    if kind_of(os.pread(descriptor, LONGEST_MAGIC, 0)) is None:
        return None
    from ptttool.files.packed.unpack import unpacked

    return unpacked(descriptor, name)


def _open_directory(folder: Path) -> Reader:
    main = _open_file(folder / "data")
    if main is None:
        raise empty_file(str(folder / "data"))
    reader = FileReader(str(folder), Mode.DIRECTORY, main)
    try:
        numbered = [entry.name for entry in folder.iterdir() if re.fullmatch(r"data\.[0-9]+", entry.name)]
    except OSError as error:
        reader.close()
        raise _cannot_open(str(folder), error) from None
    for number, name in enumerate(sorted(numbered, key=lambda each: int(each[5:]))):
        if number >= MAX_FILES:
            reader.note(name, CODE, f"the folder has {len(numbered)} files of data, {MAX_FILES} are read: this and later ones are left out")
            break
        try:
            file = _open_file(folder / name)
        except (InputError, AccessError) as error:
            reader.note(name, "bad-input", error.message)
            continue
        if file is not None:
            reader.add(file, name)
    return reader


def _open_file(path: Path) -> LocalFile | None:
    """Return a file of a perf.data folder; None for an empty one."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise _no_recording(path.parent) from None
    except OSError as error:
        raise _cannot_open(str(path), error) from None
    about = os.fstat(descriptor)
    if stat.S_ISREG(about.st_mode) and about.st_size:
        return LocalFile(descriptor, str(path))
    os.close(descriptor)
    if not stat.S_ISREG(about.st_mode):
        raise InputError(path, "not a regular file", code="not-a-file")
    return None


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


def _no_recording(folder: Path) -> InputError:
    """Return the error for a folder that perf record did not write, by its whole path."""
    where = os.path.abspath(folder)
    hint = "name a recording in it; analyze, report and metrics take folders of recordings"
    if any(os.path.isdir(os.path.join(where, name)) for name in ("sys", "bus", "devices")):  # noqa: PTH112, PTH118 - False where not permitted
        hint = f"a machine is for --sysfs: ptttool list --sysfs {where}"
    return InputError(where, "a folder without a file 'data' in it, so not a perf.data folder", hint=hint, code="no-such-file")
