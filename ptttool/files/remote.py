"""Files on this machine and on remote storage: addresses (``s3://…``, ``file://…``) are read through fsspec."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ptttool.errors import AccessError, InputError, MissingPackageError, PtttoolError, UsageError
from ptttool.files.local import fill, identity_of, replaced, shortened


def is_remote(path: str) -> bool:
    """Tell whether a path is an address."""
    return "://" in path


@contextmanager
def storage_answers() -> Iterator[None]:
    """Raise an OSError for an exception of the storage's own package: for a server that is gone, many have classes of their own."""
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError | PtttoolError) or type(error).__module__ == "builtins":
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OSError(errno.EIO, reason) from None


def open_remote(path: str) -> Any:
    """Open a remote file to read.

    Returns
    -------
    file
        It has ``read``, ``seek``, ``size`` and ``close``.

    Raises
    ------
    InputError
        It does not exist or cannot be read.
    AccessError
        It may not be read.
    MissingPackageError
        fsspec, or its package for that storage, is not installed.
    UsageError
        The address is of an unknown kind.
    """
    try:
        import fsspec
    except ImportError:
        raise MissingPackageError.of_extra(f"{path}: reading from such storage", "fsspec", "cluster") from None
    try:
        with storage_answers():
            system, name = fsspec.core.url_to_fs(path)
            return system.open(name, "rb", cache_type="readahead", block_size=1 << 20)
    except FileNotFoundError:
        raise InputError(path, "no such file", code="no-such-file") from None
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror or 'permission denied'}", path=path) from None
    except ImportError as error:
        raise MissingPackageError(f"{path}: {error}", hint="install the package that fsspec names", package="fsspec") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}", code="unknown-storage") from None
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from None


def read_into(path: str, offset: int, into: memoryview, identity: tuple[int, int] | None = None) -> None:
    """Fill memory from a file.

    Parameters
    ----------
    path : str
        Path or address of the file.
    offset : int
        Offset of the first byte.
    into : memoryview
        The memory.
    identity : tuple of int, or None
        Device and inode that a file of this machine must have; None for any.

    Raises
    ------
    InputError
        The file is gone, too short (code ``truncated``), or another one (``replaced``).
    """
    try:
        done = _read_remote(path, offset, into) if is_remote(path) else _read_local(path, offset, into, identity)
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
        raise InputError(path, reason, offset=offset) from None
    if done < len(into):
        raise shortened(path, offset + done)


def _read_local(path: str, offset: int, into: memoryview, identity: tuple[int, int] | None) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if identity is not None and identity_of(os.fstat(descriptor)) != identity:
            raise replaced(path)
        return fill(descriptor, offset, into)
    finally:
        os.close(descriptor)


def _read_remote(path: str, offset: int, into: memoryview) -> int:
    import fsspec

    with storage_answers():
        system, name = fsspec.core.url_to_fs(path)
        data = system.cat_file(name, start=offset, end=offset + len(into))
    into[: len(data)] = data
    return len(data)
