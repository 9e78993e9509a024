"""Show a fake machine through pyfakefs: its files, its devices in libudev, its users."""

from __future__ import annotations

import errno
import inspect
import io
import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pyudev
from pyfakefs import helpers
from pyfakefs.fake_file import (
    FakeDirectory,
    FakeDirectoryFromRealDirectory,
    FakeFile,
    FakeFileWrapper,
    FakePipeWrapper,
    StandardStreamWrapper,
)
from pyfakefs.fake_open import FakeFileOpen
from pyfakefs.fake_os import FakeOsModule

from ptttool.files import locations, renaming
from ptttool.testing.attribute import failure
from ptttool.testing.fakefs.commandline import typer_patches
from ptttool.testing.fakefs.descriptors import AttributeDescriptor, AttributeFile, AttributeStream, open_stream
from ptttool.testing.fakefs.imports import RealImports
from ptttool.testing.fakefs.libudev import FakeContext, device_at
from ptttool.testing.tree import PLAIN_MODE, render

if TYPE_CHECKING:
    from pyfakefs.fake_filesystem import FakeFilesystem

    from ptttool.testing.description import MachineDescription

ROOTS = ("/sys", "/proc")
# In a tuple, where pyfakefs does not replace it.
REAL_LISTDIR = (os.listdir,)


class Mount:
    """A machine in a fake file system, from construction to :meth:`undo`.

    Parameters
    ----------
    machine
        What is shown.
    fs
        The file system of pyfakefs.
    """

    def __init__(self, machine: MachineDescription, fs: FakeFilesystem) -> None:
        self._machine = machine
        self._fs = fs
        self._database: dict[str, dict[str, str]] = {}
        self._undo: list[Callable[[], None]] = []
        self._patch(FakeFileOpen, "call", _open_hook(FakeFileOpen.call))
        self._patch(FakeOsModule, "open", _os_open_hook(FakeOsModule.open))
        self._patch(FakeOsModule, "fstat", _fstat_hook(FakeOsModule.fstat))
        self._patch(FakeOsModule, "geteuid", lambda _: helpers.get_uid())
        self._patch(FakeOsModule, "getegid", lambda _: helpers.get_gid())
        # Calls that pyfakefs does not know would go to the real file system.
        self._patch(renaming, "renameat2", lambda *_: errno.ENOSYS)
        self._patch(locations, "read_link", _read_link)
        self._patch(pyudev, "Context", lambda: FakeContext(self._database))
        self._patch(pyudev, "Devices", SimpleNamespace(from_sys_path=device_at, from_path=device_at))
        self._patched_typer: set[tuple[object, str]] = set()
        self._patch_typer()
        self._patch(subprocess.Popen, "__init__", _popen_hook(subprocess.Popen.__init__, fs))
        self._imports = RealImports(fs, self._patch_typer)
        self._imports.install()
        self._undo.append(self._imports.remove)
        _become(0)
        self._undo.append(helpers.reset_ids)
        _add_package(fs)
        _open_temporary_folder(fs)
        self._create()

    def _patch(self, owner: object, name: str, value: object) -> None:
        missing = object()
        before = vars(owner).get(name, missing)
        setattr(owner, name, value)
        self._undo.append(lambda: delattr(owner, name) if before is missing else setattr(owner, name, before))

    def _patch_typer(self) -> None:
        for module, name, function in typer_patches():
            if (module, name) not in self._patched_typer:
                self._patched_typer.add((module, name))
                self._patch(module, name, function)

    def _create(self) -> None:
        tree = render(self._machine)
        self._database.clear()
        self._database.update(tree.properties)
        folders: dict[str, FakeDirectory] = {"": self._fs.root_dir}
        for root in (*ROOTS, "/sys/bus", "/sys/class", "/sys/devices"):
            self._folder(root, folders)
        for path, attribute in tree.files.items():
            folder, _, name = path.rpartition("/")
            self._folder(folder, folders).add_entry(AttributeFile(name, attribute, tree.modes.get(path, PLAIN_MODE), self._fs))
        for path, target in tree.links.items():
            folder, _, name = path.rpartition("/")
            link = FakeFile(name, stat.S_IFLNK | 0o777, filesystem=self._fs)
            self._folder(folder, folders).add_entry(link)
            link.set_initial_contents(target)

    def _folder(self, path: str, folders: dict[str, FakeDirectory]) -> FakeDirectory:
        """Return a folder, made where it is missing: in a tenth of the time that pyfakefs takes to find it by its path."""
        if path not in folders:
            above, _, name = path.rpartition("/")
            parent = self._folder(above, folders)
            if name not in parent.entries:
                parent.add_entry(FakeDirectory(name, 0o755, filesystem=self._fs))
            folders[path] = cast(FakeDirectory, parent.entries[name])
        return folders[path]

    def refresh(self) -> None:
        """Show the machine as it is described now."""
        self._remove()
        self._create()

    def _remove(self) -> None:
        for root in ROOTS:
            if self._fs.exists(root):
                self._fs.remove_object(root)

    def undo(self) -> None:
        """Take everything back."""
        self._remove()
        while self._undo:
            self._undo.pop()()

    def paused(self) -> AbstractContextManager[None]:
        """Give the real file system back for the ``with`` block."""
        return self._imports.real_files()

    @contextmanager
    def user(self, uid: int) -> Iterator[None]:
        """Run the ``with`` block as that user."""
        _become(uid)
        try:
            yield
        finally:
            _become(0)


def _become(uid: int) -> None:
    helpers.set_uid(uid)
    helpers.set_gid(uid)


def _add_package(fs: FakeFilesystem) -> None:
    """Show the files of ptttool itself, which it reads at run time: its commands, the demo machine."""
    folder = Path(__file__).parents[2]
    if not fs.exists(str(folder)):
        fs.add_real_directory(str(folder))


def show_folder(fs: FakeFilesystem, folder: str) -> None:
    """Show a real folder and all below it, beside what the test has put there. What is written there stays in the fake file system."""
    if not fs.exists(folder):
        fs.add_real_directory(folder, read_only=False)
    elif not isinstance(fs.resolve(folder), FakeDirectoryFromRealDirectory):
        for path in (os.path.join(folder, name) for name in REAL_LISTDIR[0](folder)):  # noqa: PTH118
            if fs.isdir(path):
                show_folder(fs, path)
            elif not fs.exists(path):
                with suppress(OSError):  # a socket, or not readable
                    fs.add_real_paths([path], read_only=False)


def _open_temporary_folder(fs: FakeFilesystem) -> None:
    """Let every user write in /tmp, as on a real system: ptttool's locks of ordinary users can lie there."""
    if not fs.exists("/tmp"):
        fs.create_dir("/tmp")
    fs.chmod("/tmp", 0o1777)


def _open_file(fs: FakeFilesystem, number: int) -> object | None:
    """Return what is open under a number."""
    wrappers = fs.open_files[number] if 0 <= number < len(fs.open_files) else None
    return wrappers[0] if wrappers else None


def _attribute_at(fs: FakeFilesystem, path: Any) -> AttributeFile | None:
    """Return the attribute that a path leads to, through links too."""
    try:
        file: FakeFile = fs.resolve(path)
    except (OSError, TypeError, ValueError):
        return None
    return file if isinstance(file, AttributeFile) else None


def _open_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that pyfakefs calls for every ``open()``: attributes are opened here, all else there."""

    def call(
        self: FakeFileOpen,
        file_: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
        open_modes: Any = None,
    ) -> Any:
        fs = self.filesystem
        if isinstance(file_, int):
            wrapper = _open_file(fs, file_)
            if isinstance(wrapper, AttributeDescriptor):
                return open_stream(wrapper.stream, mode, buffering, encoding, errors, newline)
        file = None if isinstance(file_, int) or opener is not None else _attribute_at(fs, file_)
        if file is None:
            creates = not isinstance(file_, int) and opener is None and (not open_modes.must_exist if open_modes else "r" not in mode)
            if creates and not fs.exists(file_) and os.fsdecode(fs.resolve_path(file_)).startswith("/sys/"):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), file_)
            return original(self, file_, mode, buffering, encoding, errors, newline, closefd, opener, open_modes)
        if open_modes is not None:
            readable, writable, exclusive = open_modes.can_read, open_modes.can_write, open_modes.must_not_exist
        else:
            readable, writable, exclusive = "r" in mode or "+" in mode, any(letter in mode for letter in "wax+"), "x" in mode
        if exclusive:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), file_)
        _check(file, file_, readable=readable, writable=writable)
        stream = AttributeStream(file.attribute, file_, readable=readable, writable=writable)
        if self.raw_io:
            return AttributeDescriptor(stream, file, fs)
        stream.on_fileno = lambda: AttributeDescriptor(stream, file, fs).fileno()
        return open_stream(stream, mode, buffering, encoding, errors, newline)

    return call


def _check(file: AttributeFile, path: Any, *, readable: bool, writable: bool) -> None:
    """Refuse what the kernel refuses: by the file's mode, and for writing where the driver has no store function, root too."""
    allowed = helpers.is_root() or not (
        (readable and not file.has_permission(helpers.PERM_READ)) or (writable and not file.has_permission(helpers.PERM_WRITE))
    )
    if not allowed or (writable and not file.attribute.writable):
        error = failure(errno.EACCES)
        error.filename = path
        raise error


def _os_open_hook(original: Callable[..., int]) -> Callable[..., int]:
    """Return ``os.open`` without a fault of pyfakefs: it changes the mode of a file that exists."""

    def os_open(self: FakeOsModule, path: Any, flags: int, mode: int | None = None, *, dir_fd: int | None = None) -> int:
        file = _attribute_at(self.filesystem, path) if dir_fd is None else None
        before = None if file is None else file.st_mode
        descriptor = original(self, path, flags, mode, dir_fd=dir_fd)
        if file is not None:
            file.st_mode = before
        return descriptor

    return os_open


def _read_link(name: str, folder: int) -> tuple[os.stat_result, str]:
    """Replace :func:`ptttool.files.locations.read_link`: pyfakefs opens no links."""
    return os.stat(name, dir_fd=folder, follow_symlinks=False), os.readlink(name, dir_fd=folder)


def _popen_hook(original: Callable[..., None], fs: FakeFilesystem) -> Callable[..., None]:
    """Return ``Popen.__init__`` that takes no files of the fake machine: their numbers are those of other files for a process."""
    signature = inspect.signature(original)

    def init(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        for name in ("stdin", "stdout", "stderr"):
            if name in bound.arguments:
                bound.arguments[name] = _for_a_process(fs, bound.arguments[name], name)
        original(*bound.args, **bound.kwargs)

    return init


def _for_a_process(fs: FakeFilesystem, stream: Any, name: str) -> Any:
    """Return what a process can take for a stream: the real pipe for one that was made in the test, what was given for others."""
    raw = getattr(getattr(stream, "buffer", stream), "raw", stream)
    if not isinstance(raw, (int, AttributeStream, FakeFileWrapper, FakePipeWrapper)):
        return stream
    wrapper = _open_file(fs, raw if isinstance(raw, int) else raw.fileno())
    if wrapper is None or isinstance(wrapper, StandardStreamWrapper):
        return stream
    if isinstance(wrapper, FakePipeWrapper):
        return wrapper.fd
    raise io.UnsupportedOperation(
        f"{name} is a file of the fake machine, which a process does not see: read from subprocess.PIPE instead, "
        "or write the machine into a folder with write_to()"
    )


def _fstat_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``os.fstat`` that answers for standard input, output and error, too, which pyfakefs does not."""

    def fstat(self: FakeOsModule, fd: int) -> Any:
        if isinstance(_open_file(self.filesystem, fd), StandardStreamWrapper):
            return self.os_module.fstat(fd)
        return original(self, fd)

    return fstat
