"""Rename without replacing: renameat2(2), with other means where a file system does not have it."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat
from collections.abc import Callable

_NOREPLACE = 1
# What a kernel, a C library or a file system answers that does not have a flag.
_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def rename_new(old: str, new: str, *, source: int, target: int) -> None:
    """Rename a file or folder; what has the new name is never replaced.

    Parameters
    ----------
    old, new : str
        The names.
    source, target : int
        Descriptors of their folders.

    Raises
    ------
    FileExistsError
        Something has the new name.
    OSError
        The file system refuses.
    """
    number = renameat2(old, new, source, target, _NOREPLACE)
    if number == 0:
        return
    if number not in _UNSUPPORTED:
        raise OSError(number, os.strerror(number), new)
    if not stat.S_ISDIR(os.stat(old, dir_fd=source, follow_symlinks=False).st_mode):
        try:
            os.link(old, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
        except FileExistsError:
            # A run that was killed between the two calls leaves one file with both names.
            if not _is_one_file(old, new, source, target):
                raise
            os.unlink(old, dir_fd=source)
            return
        except OSError:  # a file system without hard links
            pass
        else:
            os.unlink(old, dir_fd=source)
            return
    # Between the two calls something may get the name. It is in the folder that the user named, and is no link's target.
    if _exists(new, target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)
    os.rename(old, new, src_dir_fd=source, dst_dir_fd=target)


def _exists(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _is_one_file(old: str, new: str, source: int, target: int) -> bool:
    return os.path.samestat(os.stat(old, dir_fd=source, follow_symlinks=False), os.stat(new, dir_fd=target, follow_symlinks=False))


def renameat2(old: str, new: str, source: int, target: int, flags: int) -> int:
    """Call renameat2(2); return 0 or the number of the error. ``ENOSYS`` where the C library does not have it."""
    function = _function()
    if function is None:
        return errno.ENOSYS
    while function(source, os.fsencode(old), target, os.fsencode(new), flags) != 0:
        if (number := ctypes.get_errno()) != errno.EINTR:
            return number
    return 0


@functools.cache
def _function() -> Callable[..., int] | None:
    """Return the C library's function; None where it has none."""
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int
    return function
