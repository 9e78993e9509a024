"""Output files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ptttool.errors import AccessError, OutputError


@contextmanager
def output_file(path: str | Path, *, force: bool = False) -> Iterator[IO[bytes]]:
    """A binary file to write; it takes the place of ``path`` when the block ends well and leaves no trace otherwise.

    An existing file is refused without ``force`` (OutputError ``exists``) and keeps its mode with it; a link is followed. What is no
    regular file (``/dev/null``, a FIFO), and standard output by any name, is written in place. Raises OutputError where the folder
    cannot be written, OSError with the file's name from writing (a full disk).
    """
    try:
        with _open(path, force) as file:
            yield file
    except OSError as error:
        if error.filename is None:  # write(2) and fsync(2) do not know it
            error.filename = str(path)
        raise


@contextmanager
def _open(path: str | Path, force: bool) -> Iterator[IO[bytes]]:
    target = Path(os.path.realpath(path))
    try:
        # Not the target's: what /dev/stdout leads to need not have a path.
        about = Path(path).stat()
    except FileNotFoundError:
        mode = None
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from None
    else:
        mode = about.st_mode
        if stat.S_ISDIR(mode):
            raise OutputError(f"{path}: a folder", code="is-a-folder")
        if not stat.S_ISREG(mode) or _is_standard_output(about):
            with _in_place(path, about) as file:
                yield file
            return
    if mode is not None and not force:
        raise OutputError(f"{path}: exists already", hint="--force overwrites it", code="exists")
    temporary = target.with_name(f".{target.name[:60]}.{os.urandom(8).hex()}")
    try:
        # Created within: a signal may come as soon as the file is there.
        with os.fdopen(_create(temporary, path), "wb") as file:
            os.fchmod(file.fileno(), _new_file_mode() if mode is None else stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _create(temporary: Path, path: str | Path) -> int:
    """A descriptor of a new file that nobody else may read; the errors name ``path``."""
    try:
        return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror}", hint="write where you may, or become who may", code="output-not-permitted") from None
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}", code="cannot-write") from None


def _is_standard_output(about: os.stat_result) -> bool:
    try:
        return os.path.samestat(about, os.fstat(1))
    except OSError:  # closed
        return False


def _in_place(path: str | Path, about: os.stat_result) -> IO[bytes]:
    """Standard output goes on where it is, also if it is a file; opened anew it would begin at its start."""
    return os.fdopen(os.dup(1), "wb") if _is_standard_output(about) else Path(path).open("wb")


def _new_file_mode() -> int:
    """What open(2) would give a new file: 0666 less the umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
