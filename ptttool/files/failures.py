"""Errors of the operating system about an output, as errors of ptttool."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from ptttool.errors import AccessError, OutputError, PtttoolError

# Errors that say that there is no more room: on the disk, in the user's quota, in a file of the largest size allowed.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_CODES = {errno.EFBIG: "file-too-large", errno.EROFS: "read-only"} | dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "disk-full")

_PROCESS = Path("/proc/self")


def output_code(error: OSError) -> str:
    """Return the code of the error for an output that cannot be written: ``cannot-write`` if there is none for the cause."""
    return _CODES.get(error.errno or 0, "cannot-write")


def output_failure(path: str | Path, error: OSError, *, kind: str = "file") -> PtttoolError:
    """Return the error for an output that cannot be written.

    Parameters
    ----------
    path : str or Path
        The output as the user named it.
    error : OSError
        What the operating system says.
    kind : str
        ``file`` or ``folder``, for the hint.

    Returns
    -------
    PtttoolError
        An OutputError with the code ``disk-full``, ``file-too-large``, ``read-only``, ``no-procfs``, ``output-folder-missing`` or
        ``cannot-write``, or an AccessError with ``output-not-permitted``.
    """
    reason = error.strerror or (os.strerror(error.errno) if error.errno else str(error))
    message = f"{path}: {reason}"
    if error.errno == errno.EFBIG:
        return OutputError(message, hint=f"no incomplete {kind} was left behind", code=output_code(error))
    if error.errno in NO_ROOM:
        hint = f"no incomplete {kind} was left behind; make room, or write to another disk"
        return OutputError(message, hint=hint, code=output_code(error))
    if error.errno == errno.EROFS:
        return OutputError(message, hint="the file system is mounted read-only: write to another one", code=output_code(error))
    if error.errno in (errno.EACCES, errno.EPERM):
        hint = "write to another folder, or use sudo"
        return AccessError(message, hint=hint, code="output-not-permitted")
    if error.errno == errno.ENOENT and not _PROCESS.exists():
        # Files get their names by way of procfs; a changed root often lacks it.
        return OutputError(message, hint="procfs is not mounted here: mount -t proc proc /proc", code="no-procfs")
    if error.errno == errno.ENOENT and not Path(path).parent.exists():
        text = f"there is no folder {Path(path).parent}"
        return OutputError(text, hint="make it, or name another file with -o", code="output-folder-missing", path=str(path))
    return OutputError(message, code=output_code(error))
