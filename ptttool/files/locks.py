"""Locks between processes: one process at a time works on a machine, or on a device.

A lock is a ``flock`` on a small file, so the kernel releases it when its holder ends, however it ends. The file holds a text that says who
holds the lock. The text is information for people: it is believed only while the lock is held and its process runs. The files lie in
a folder that is empty after a reboot.

A lock works between processes of one user, as their folder is the same: root's is ``/run/ptttool``. No other user can take, hold or read
root's locks.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from ptttool.errors import AccessError, BusyError
from ptttool.files.ownership import RUNTIME_VARIABLE, lock_folder, open_own_folder

# Bytes of a holder's text, and characters of a purpose in it.
LONGEST_TEXT = 4096
LONGEST_PURPOSE = 200
# Seconds between two attempts to take a lock.
INTERVAL = 0.02


class Holder(Struct, frozen=True):
    """Who holds a lock.

    Parameters
    ----------
    pid : int
        Its process.
    user : str
        Name of its user, or the number.
    purpose : str
        What it does, such as ``tune apply p.toml``.
    since : str
        When it took the lock: date and time in UTC, ISO 8601.
    """

    pid: int
    user: str
    purpose: str
    since: str

    def __str__(self) -> str:
        """Describe the holder in a message."""
        return f"process {self.pid} of {self.user} ({self.purpose}), since {self.since}"


@contextmanager
def hold(
    name: str,
    *,
    purpose: str,
    subject: str | None = None,
    wait: float = 0.0,
    folder: str | os.PathLike[str] | None = None,
    keep: bool = True,
) -> Iterator[Path]:
    """Hold a lock while the body runs.

    The lock is not re-entrant: a process that takes it twice is refused as any other.

    Parameters
    ----------
    name : str
        Name of the lock: letters, digits, ``.``, ``_`` and ``-``.
    purpose : str
        What the lock is taken for; others that are refused see it.
    subject : str, optional
        What is locked, for messages (``the tune attributes of this machine``). Default: the name.
    wait : float
        Seconds to wait for a lock that is held.
    folder : str or path, optional
        Folder of the lock files. Default: :func:`~ptttool.files.ownership.lock_folder`. It is created if it does not exist.
    keep : bool
        Leave the file in the folder at the end; False for names that come and go.

    Yields
    ------
    Path
        The lock's file.

    Raises
    ------
    BusyError
        ``locked``: another process holds the lock. ``details["holder"]`` has ``pid``, ``user``, ``purpose`` and ``since``, or is None if
        they are not known.
    AccessError
        ``unsafe-folder``: others may write in the folder, or it belongs to another user. ``no-lock``: the file cannot be created.
    ValueError
        The name is not a name.
    """
    if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}", name) is None:
        raise ValueError(f"{name!r} is not a name of a lock")
    path = (lock_folder() if folder is None else Path(folder)) / f"{name}.lock"
    descriptor = _acquire(path, subject or name, time.monotonic() + wait)
    try:
        _say_who(descriptor, purpose)
        try:
            yield path
        finally:
            # A text that stays after a crash is harmless; this one is not needed any more.
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
                if not keep:
                    # While it is locked: whoever waits for this file sees that it is gone, and opens the next one.
                    path.unlink()
            # Explicitly: a forked child may have inherited the descriptor, and closing ours would not release the lock.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def holder_of(name: str, *, folder: str | os.PathLike[str] | None = None) -> Holder | None:
    """Return who holds a lock, as its file says; nothing is locked or created, so nobody is refused because of this look.

    Parameters
    ----------
    name : str
        Name of the lock.
    folder : str or path, optional
        As for :func:`hold`.

    Returns
    -------
    Holder or None
        None for a lock that nobody holds, or whose holder is not known.

    Raises
    ------
    OSError
        The file may not be read.
    """
    path = (lock_folder() if folder is None else Path(folder)) / f"{name}.lock"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return _read_holder(descriptor) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    finally:
        os.close(descriptor)


def process_start(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None for one that does not run.

    Process numbers are used again. A number and this value together name one process (``/proc/PID/stat``, field 22; proc(5)).
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    # A zombie has released its locks and will do nothing more.
    return int(fields[19]) if len(fields) > 19 and fields[0] != b"Z" else None


def utc_now() -> str:
    """Return date and time in UTC, ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def user_name(uid: int) -> str:
    """Return the name of a user, or the number of one without a name."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _acquire(path: Path, subject: str, end: float) -> int:
    """Open a lock's file and lock it, before a time of the monotonic clock; return the descriptor."""
    while True:
        descriptor = _open_lock(path)
        try:
            _take(descriptor, subject, end)
            if _is_at(descriptor, path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        # Somebody removed the file (a cleaner of /tmp, an administrator): the lock of the file that is there now counts.
        os.close(descriptor)


def _open_lock(path: Path) -> int:
    """Open a lock's file; create it where there is none."""
    try:
        folder = open_own_folder(path.parent)
        try:
            # O_NONBLOCK: opening a FIFO that was planted there would wait for its other end.
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(path.name, flags, 0o600, dir_fd=folder)
        finally:
            os.close(folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "not a regular file")
    except OSError as error:
        raise AccessError(
            f"{path}: the lock cannot be created: {error.strerror}",
            hint=f"name a folder that you may write in by the environment variable {RUNTIME_VARIABLE}",
            code="no-lock",
            path=str(path),
        ) from None
    return descriptor


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def _take(descriptor: int, subject: str, end: float) -> None:
    """Lock an open file; raise BusyError where it is still locked at the end."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            left = end - time.monotonic()
            if left <= 0:
                raise _locked(descriptor, subject) from None
            time.sleep(min(INTERVAL, left))


def _locked(descriptor: int, subject: str) -> BusyError:
    holder = _read_holder(descriptor)
    who = "another process" if holder is None else str(holder)
    details = None if holder is None else asdict(holder)
    hint = "wait until it has ended, then try again"
    return BusyError(f"{subject}: locked by {who}", hint=hint, code="locked", holder=details)


def _say_who(descriptor: int, purpose: str) -> None:
    """Write the holder's text. A disk that is full makes no difference: the lock is held all the same."""
    text = {
        "pid": os.getpid(),
        "started": process_start(os.getpid()),
        "user": user_name(os.geteuid()),
        "purpose": purpose[:LONGEST_PURPOSE],
        "since": utc_now(),
    }
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, json.dumps(text).encode())


def _read_holder(descriptor: int) -> Holder | None:
    """Read the holder's text; None for one that is not there, not whole, or of a process that has ended."""
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        document = json.loads(os.read(descriptor, LONGEST_TEXT))
        pid, started = int(document["pid"]), document["started"]
        holder = Holder(pid, str(document["user"])[:100], str(document["purpose"])[:LONGEST_PURPOSE], str(document["since"])[:40])
    except (OSError, ValueError, OverflowError, KeyError, TypeError, RecursionError):
        return None
    return holder if process_start(pid) == started else None
