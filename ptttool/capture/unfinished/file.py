"""Unfinished recordings: files with a name of their own, from before perf starts until they get the wanted name.

The name is ``NAME.MARK.part`` in the folder of the output, with 16 random hexadecimal digits as the mark. So the name cannot be foreseen,
and a recording that was not finished (a kill, a power loss) is recognised by it. ptttool creates the file; perf opens it through ptttool's
descriptor in ``/proc``, so no link or other file that takes the name meanwhile leads perf elsewhere.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self

from ptttool.capture.names import SUFFIX, kernel_name
from ptttool.errors import AccessError, InputError, PtttoolError
from ptttool.files.failures import output_failure
from ptttool.files.local import open_regular
from ptttool.files.locations import opened_folder
from ptttool.files.renaming import rename_new

_F_SETSIG = 10
# Names that are tried for what has lost its recording.
_MOST_NAMES = 100


class UnfinishedFile:
    """An unfinished recording, held open; a context manager.

    Parameters
    ----------
    path : Path
        The path that the recording is to get.
    name : str or None
        The name of an unfinished file in the folder of ``path``; None: create one.

    Raises
    ------
    OutputError, AccessError
        The file cannot be created.
    InputError
        It cannot be opened, or is not a regular file.

    Attributes
    ----------
    wanted : Path
        The path that the recording is to get.
    path : Path
        The path that it has.
    descriptor : int
        The open file.
    """

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.wanted = path
        self.name = f"{path.name}.{os.urandom(8).hex()}.part" if name is None else name
        self.path = path.with_name(self.name)
        with ExitStack() as stack:
            try:
                self._folder = stack.enter_context(opened_folder(path.parent))
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                self.descriptor = (
                    os.open(self.name, flags, 0o600, dir_fd=self._folder) if name is None else open_regular(name, folder=self._folder)
                )
            except OSError as error:
                raise (output_failure(path, error) if name is None else _cannot_open(self.path, error)) from None
            stack.callback(os.close, self.descriptor)
            self._stack = stack.pop_all()

    @property
    def through_proc(self) -> Path:
        """The path by which perf and this process reach exactly this file, whatever has its name."""
        return _through_proc(self.descriptor)

    def beside(self) -> Path:
        """Create the file of the kernel's events beside the recording; return the path by which perf reaches exactly this file.

        It gets its name, moves and goes with the recording.

        Raises
        ------
        OSError
            It cannot be created.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(kernel_name(self.name), flags, 0o600, dir_fd=self._folder)
        self._stack.callback(os.close, descriptor)
        return _through_proc(descriptor)

    def take_name(self, name: str, *, keep_old: bool = True) -> str | None:
        """Give the recording its name, and its sidecar with it. Nothing is replaced.

        Parameters
        ----------
        name : str
            A name in the same folder.
        keep_old : bool
            A regular file that has the name becomes ``NAME.old``, with its sidecar, as perf does it; an older ``NAME.old`` is replaced. An
            empty file is replaced. False: the name must be free.

        Returns
        -------
        str or None
            The ``.old`` name, where a file got it.

        Raises
        ------
        FileExistsError
            The name is not free.
        OSError
            The file system refuses. The recording then still has its unfinished name.
        """
        with suppress(OSError):  # pipes and special file systems
            os.fsync(self.descriptor)
        self._require_own_name()
        if not keep_old and self._exists(kernel_name(self.name)) and self._exists(kernel_name(name)):
            raise FileExistsError(errno.EEXIST, "the name of the kernel's events is taken", kernel_name(name))
        moved = self._make_way(name) if keep_old else None
        rename_new(self.name, name, source=self._folder, target=self._folder)
        with suppress(OSError):  # the recording matters more than the files beside it
            os.rename(self.name + SUFFIX, name + SUFFIX, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        with suppress(OSError):
            rename_new(kernel_name(self.name), kernel_name(name), source=self._folder, target=self._folder)
        self._sync_folder()
        return moved

    def keep_beside(self) -> str:
        """Give the file of the kernel's events its name, or the next free one, without a recording; return the name.

        Raises
        ------
        OSError
            It is not there, the file system refuses, or all names are taken.
        """
        names = (kernel_name(self.wanted.name + (f".{number}" if number else "")) for number in range(_MOST_NAMES))
        for name in names:
            with suppress(FileExistsError):
                rename_new(kernel_name(self.name), name, source=self._folder, target=self._folder)
                return name
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))

    def _sync_folder(self) -> None:
        with suppress(OSError):
            folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._folder)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _require_own_name(self) -> None:
        """Raise FileNotFoundError where the name is gone, or has another file by now."""
        try:
            about = os.stat(self.name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, "the unfinished recording was removed by another process", str(self.path)) from None
        if not os.path.samestat(about, os.fstat(self.descriptor)):
            raise FileNotFoundError(errno.ENOENT, "the unfinished recording was replaced by another file", str(self.path))

    def _make_way(self, name: str) -> str | None:
        try:
            about = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(about.st_mode):
            raise FileExistsError(errno.EEXIST, "something else has taken the name", name)
        if not about.st_size:
            os.unlink(name, dir_fd=self._folder)
            return None
        old = f"{name}.old"
        os.rename(name, old, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        with suppress(FileNotFoundError):
            os.unlink(old + SUFFIX, dir_fd=self._folder)
        with suppress(FileNotFoundError):
            os.rename(name + SUFFIX, old + SUFFIX, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        with suppress(OSError):  # it is none of the recording that has that name now
            os.unlink(kernel_name(old), dir_fd=self._folder)
        with suppress(OSError):
            os.rename(kernel_name(name), kernel_name(old), src_dir_fd=self._folder, dst_dir_fd=self._folder)
        return old

    def _exists(self, name: str) -> bool:
        try:
            os.stat(name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def removed_on_failure(self) -> Iterator[None]:
        """Remove the file if the block fails; an OSError becomes the error of an output that cannot be written."""
        try:
            yield
        except BaseException as error:
            self.remove()
            if isinstance(error, OSError):
                raise output_failure(self.wanted, error) from None
            raise

    def remove(self) -> None:
        """Remove the file and those beside it."""
        self.remove_sidecar()
        self.remove_beside()
        with suppress(FileNotFoundError):
            os.unlink(self.name, dir_fd=self._folder)

    def remove_sidecar(self) -> None:
        """Remove the sidecar alone."""
        with suppress(FileNotFoundError):
            os.unlink(self.name + SUFFIX, dir_fd=self._folder)

    def take_beside(self, other: UnfinishedFile) -> None:
        """Take over the kernel's events of another unfinished recording in the folder, if it has some."""
        with suppress(OSError):
            rename_new(kernel_name(other.name), kernel_name(self.name), source=self._folder, target=self._folder)

    def remove_beside(self) -> None:
        """Remove the file of the kernel's events alone."""
        with suppress(FileNotFoundError):
            os.unlink(kernel_name(self.name), dir_fd=self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; it stays."""
        self._stack.close()


def _through_proc(descriptor: int) -> Path:
    return Path("/proc", os.readlink("/proc/self"), "fd", str(descriptor))  # noqa: PTH115 - a process ID as /proc counts them


def is_being_written(descriptor: int) -> bool:
    """Return whether any process has a file open to write.

    A read lease tells it: the kernel grants one only while no process has the file open to write (fcntl(2)). Where leases are not granted
    (a file of another user, network file systems), the descriptors of the processes in ``/proc`` tell it, as far as they can be seen.

    Parameters
    ----------
    descriptor : int
        The file, opened to read.
    """
    try:
        # The signal of a lease that is broken would end this process; SIGURG is ignored by default.
        fcntl.fcntl(descriptor, _F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return True
    except OSError:
        return any(_writers(os.fstat(descriptor)))
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def _writers(about: os.stat_result) -> Iterator[int]:
    """Yield the process IDs of those that have a file open to write."""
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        with suppress(OSError):  # it has ended, or belongs to another user
            for link in (process / "fd").iterdir():
                with suppress(OSError):
                    if os.path.samestat(link.stat(), about) and link.lstat().st_mode & stat.S_IWUSR:
                        yield int(process.name)


def _cannot_open(path: Path, error: OSError) -> PtttoolError:
    if error.errno in (errno.EACCES, errno.EPERM):
        return AccessError(f"{path}: {error.strerror}", hint="ask its owner, or root", path=str(path))
    code = "no-such-file" if error.errno == errno.ENOENT else "not-a-file"
    return InputError(path, error.strerror or str(error), code=code)
