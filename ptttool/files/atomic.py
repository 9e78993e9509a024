"""Output files that appear whole or not at all."""

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
def output_file(path: str | Path, *, force: bool = False, mode: int | None = None) -> Iterator[IO[bytes]]:
    """Open a binary file to write; it gets its name when the block ends without an exception, and is removed otherwise.

    A link is followed. Standard output by any name, and what is not a regular file (``/dev/null``, a FIFO), is written in place.

    Parameters
    ----------
    path : str or Path
        The file.
    force : bool
        Replace an existing file; the new one has its mode.
    mode : int or None
        Permission bits of the file, whatever the umask; None: as above, or what the umask leaves of 0666.

    Yields
    ------
    IO[bytes]
        The file.

    Raises
    ------
    OutputError
        ``exists``, ``is-a-folder``, or ``cannot-write``.
    AccessError
        The folder may not be written.
    OSError
        Writing fails (a full disk); it has the file's name.
    """
    try:
        with _open(path, force, mode) as file:
            yield file
    except OSError as error:
        if error.filename is None:  # as from write(2) and fsync(2)
            error.filename = str(path)
        raise


@contextmanager
def _open(path: str | Path, force: bool, wanted: int | None) -> Iterator[IO[bytes]]:
    target = Path(os.path.realpath(path))
    try:
        # Not of the target: the target of /dev/stdout need not have a path.
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
        # Created inside the block: a signal may come as soon as the file exists.
        with os.fdopen(_create(temporary, path), "wb") as file:
            if wanted is None:
                wanted = _new_file_mode() if mode is None else stat.S_IMODE(mode)
            os.fchmod(file.fileno(), wanted)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _create(temporary: Path, path: str | Path) -> int:
    """Create a file that only its owner may read, and return its descriptor; errors name ``path``."""
    try:
        return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except PermissionError as error:
        raise AccessError(
            f"{path}: {error.strerror}", hint="write to another folder, or run as a user who may write there", code="output-not-permitted"
        ) from None
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}", code="cannot-write") from None


def _is_standard_output(about: os.stat_result) -> bool:
    try:
        return os.path.samestat(about, os.fstat(1))
    except OSError:  # closed
        return False


def _in_place(path: str | Path, about: os.stat_result) -> IO[bytes]:
    """Open what is not replaced. Standard output is continued: if it is a file, a new descriptor of it would begin at its start."""
    return os.fdopen(os.dup(1), "wb") if _is_standard_output(about) else Path(path).open("wb")


def _new_file_mode() -> int:
    """Return the mode of new files: 0666 without the umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
