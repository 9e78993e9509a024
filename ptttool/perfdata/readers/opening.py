"""Open a perf.data of this machine with the reader that fits it."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from pathlib import Path

from ptttool.errors import AccessError, InputError
from ptttool.perfdata.header import empty_file
from ptttool.perfdata.mapped import MappedFile
from ptttool.perfdata.model import Mode
from ptttool.perfdata.readers.base import Reader
from ptttool.perfdata.readers.mapped import MappedReader
from ptttool.perfdata.readers.stream import StreamReader


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
        try:
            descriptor = os.dup(sys.stdin.fileno())
        except (AttributeError, ValueError, OSError):
            raise InputError("standard input", "closed", code="closed") from None
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
    file = _map_if_regular(name, descriptor, path)
    if file is None:
        return StreamReader(path, descriptor, name)
    os.close(descriptor)
    try:
        return MappedReader(path, Mode.FILE, file, name)
    except BaseException:
        file.close()
        raise


def _map_if_regular(name: str, descriptor: int, path: str) -> MappedFile | None:
    """Return the file, mapped; None for what has to be read from front to back."""
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
        reader = MappedReader(str(folder), Mode.DIRECTORY, main)
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
    """Return a file of a perf.data folder, mapped; None for an empty one."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise InputError(path.parent, "a folder without a file 'data' in it, so not a perf.data folder", code="no-such-file") from None
    except OSError as error:
        raise _cannot_open(str(path), error) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError(path, "not a regular file", code="not-a-file")
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
