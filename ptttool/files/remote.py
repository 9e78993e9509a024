"""Files on this machine and on remote storage: addresses (``s3://…``, ``file://…``) are read through fsspec."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ptttool.errors import AccessError, InputError, MissingPackageError, PtttoolError, UsageError
from ptttool.files.local import fill, identity_of, replaced, shortened


def is_remote(path: str) -> bool:
    """Tell whether a path is an address."""
    return "://" in path


def beside(address: str, name: Callable[[str], str]) -> str:
    """Return the path, or the address, of a file that stands beside another.

    Parameters
    ----------
    address : str
        A path, or an address. What follows the path of an address stays: the query of a web address, further addresses
        (``simplecache::s3://…``). The version of an object of S3 does not: it is of that object alone.
    name : Callable
        Called with the address up to the end of its path; returns the one of the other file.
    """
    before, path, after = _split(address)
    return before + name(path) + after


def path_in(address: str) -> str:
    """Return an address up to the end of its path; a path as it is."""
    return _split(address)[1]


def _split(address: str) -> tuple[str, str, str]:
    if not is_remote(address):
        return "", address, ""
    parts = address.split("::")
    at = next((number for number, part in enumerate(parts) if is_remote(part)), None)
    if at is None:
        raise UsageError(f"{address}: no address of a storage", code="unknown-storage")
    path, query = parts[at], ""
    if path.startswith(("http://", "https://")):
        path, mark, query = path.partition("?")
        query = mark + query
    path = re.sub(r"\?versionId=[^/]*$", "", path)
    return "".join(f"{part}::" for part in parts[:at]), path, query + "".join(f"::{part}" for part in parts[at + 1 :])


def read_small(address: str, most: int) -> bytes:
    """Return the first bytes of a remote file, at most so many. Raises as :func:`open_remote` does; an OSError where reading fails."""
    file = open_remote(address)
    try:
        with storage_answers():
            content: bytes = file.read(most)
            return content
    finally:
        file.close()


def is_there(address: str) -> bool:
    """Tell whether a remote file exists; of one that cannot be looked at, reading it says why."""
    try:
        open_remote(address).close()
    except InputError as error:
        return error.code != "no-such-file"
    except PtttoolError:
        return True
    return True


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


def storage_of(path: str) -> tuple[Any, str]:
    """Return the storage of an address, as fsspec's file system, and the name that the file has there.

    Raises
    ------
    MissingPackageError
        fsspec, or its package for that storage, is not installed.
    UsageError
        The address is of an unknown kind, or lacks what fsspec needs for its kind (``reference://x``).
    OSError
        The storage does not answer.
    """
    try:
        import fsspec
    except ImportError:
        raise MissingPackageError.of_extra(f"{path}: reading from such storage", "fsspec", "cluster") from None
    with _address_understood(path), storage_answers():
        system, name = fsspec.core.url_to_fs(path)
    return system, name


@contextmanager
def _address_understood(path: str) -> Iterator[None]:
    """Raise for an address that fsspec takes for a kind of storage, and then cannot use: it has exceptions of all kinds for that."""
    try:
        yield
    except (OSError, PtttoolError, MemoryError):
        raise
    except ImportError as error:
        raise MissingPackageError(f"{path}: {error}", hint="install the package that fsspec names", package="fsspec") from None
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        if not isinstance(error, ValueError):  # it names an argument of fsspec's own
            reason = f"an address of this kind needs more than that, says fsspec: {reason}"
        raise UsageError(f"{path}: {reason}", code="unknown-storage") from None


def open_remote(path: str) -> Any:
    """Open a remote file to read.

    Returns
    -------
    file
        It has ``read``, ``seek`` and ``close``, and mostly ``size``.

    Raises
    ------
    InputError
        It does not exist or cannot be read.
    AccessError
        It may not be read.
    MissingPackageError, UsageError
        As :func:`storage_of`.
    """
    try:
        system, name = storage_of(path)
        with _address_understood(path), storage_answers():
            return system.open(name, "rb", cache_type="readahead", block_size=1 << 20)
    except FileNotFoundError:
        raise InputError(path, "no such file", code="no-such-file") from None
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror or 'permission denied'}", path=path) from None
    except OSError as error:
        raise InputError(path, error.strerror or str(error) or type(error).__name__) from None


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
    system, name = storage_of(path)
    with storage_answers():
        data = system.cat_file(name, start=offset, end=offset + len(into))
    into[: len(data)] = data
    return len(data)
