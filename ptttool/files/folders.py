"""Output folders that appear whole or not at all, and replace nothing but what was there at the start."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ptttool.errors import OutputError, UsageError
from ptttool.files.failures import output_failure
from ptttool.files.leftovers import NEW, OLD, Workspace, listing, sweep
from ptttool.files.locations import Location, located
from ptttool.files.renaming import exchange, rename_new

IsOurs = Callable[[str, bool], bool]


@dataclass(frozen=True)
class UnfinishedFolder:
    """A folder that is being written.

    Parameters
    ----------
    path : str
        Its path at present, or its address.
    shown : str
        The folder as the user named it, for messages.
    """

    path: str
    shown: str


@contextmanager
def output_folder(path: str, inputs: Sequence[str], *, force: bool, is_ours: IsOurs) -> Iterator[UnfinishedFolder]:
    """Make a temporary folder to write to. It takes the place of ``path`` if the block ends without an exception; otherwise it is removed.

    Where the file system can exchange names, the folder is the old or the new one at any time. Only what was in the old folder at the start
    and has not changed since is removed. If anything else has appeared, nothing is replaced, and the new folder gets a name beside it.

    An empty folder is kept and filled, because it may be a mount point, or in a folder that cannot be written. Its files then appear one by
    one at the end; if the run is killed in that moment, the next run that writes to the folder moves the rest first.

    Parameters
    ----------
    path : str
        The folder.
    inputs : sequence of str
        Files that are read meanwhile; none of them may be in the folder.
    force : bool
        Whether a folder that is not empty is replaced.
    is_ours : Callable
        Says by name whether a file, or with True a folder, in the folder may be replaced.

    Yields
    ------
    UnfinishedFolder
        The folder to write to.

    Raises
    ------
    OutputError
        ``not-a-folder``, ``exists``; ``foreign-folder``: something in it may not be replaced; ``mount-point``; ``folder-changed``:
        something has appeared in it meanwhile; ``untrusted-link``, ``disk-full``, ``read-only``, ``cannot-write``.
    UsageError
        ``output-is-input``: an input is in the folder, or it is the working directory.
    AccessError
        The folder may not be made.
    """
    with ExitStack() as stack:
        try:
            place = _prepare(stack, path, inputs, force, is_ours)
        except OSError as error:
            raise output_failure(path, error, kind="folder") from None
        try:
            hidden = _path_of(place.workspace.inside)
            yield UnfinishedFolder(os.path.join(hidden, NEW), path)  # noqa: PTH118
            _finish(place)
        except BaseException:
            with suppress(OSError):
                place.workspace.close()
            raise
        _close(place, hidden)


@dataclass
class _Place:
    """Where the folder is to be.

    Parameters
    ----------
    location : Location
        Its name.
    target : int or None
        Descriptor of the folder that has the name.
    known : mapping of str to tuple of int
        What was in it at the start.
    workspace : Workspace
        Where the new one is written: in the folder itself if that is empty, else beside it.
    """

    location: Location
    target: int | None
    known: Mapping[str, tuple[int, ...]]
    workspace: Workspace


def _prepare(stack: ExitStack, path: str, inputs: Sequence[str], force: bool, is_ours: IsOurs) -> _Place:
    location = stack.enter_context(located(path, folder=True))
    sweep(location.folder)
    if location.found is None:
        return _Place(location, None, {}, Workspace.create(location.folder, location.name))
    if not stat.S_ISDIR(location.found.st_mode):
        raise OutputError(f"{path}: this is a file, not a folder", code="not-a-folder")
    target = os.open(location.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=location.folder)
    stack.callback(os.close, target)
    sweep(target)
    known = listing(target)
    if not known:
        return _Place(location, target, known, Workspace.create(target, None))
    _refuse_what_is_there(path, location, target, known, inputs, force, is_ours)
    return _Place(location, target, known, Workspace.create(location.folder, location.name))


def _refuse_what_is_there(
    path: str, location: Location, target: int, known: Mapping[str, tuple[int, ...]], inputs: Sequence[str], force: bool, is_ours: IsOurs
) -> None:
    if not force:
        raise OutputError(f"{path}: the folder is not empty", hint="--force replaces it if ptttool wrote all files in it", code="exists")
    for entry, facts in known.items():
        if facts[0] not in (stat.S_IFDIR, stat.S_IFREG) or not is_ours(os.path.basename(entry), facts[0] == stat.S_IFDIR):  # noqa: PTH119
            raise OutputError(
                f"{path}: {entry} is not a file of a dataset, so the folder is not replaced",
                hint="name another folder",
                code="foreign-folder",
            )
    used = [Path.cwd() / "any", *(Path(os.path.realpath(name)) for name in inputs)]
    if any(_is_folder(parent, target) for file in used for parent in file.parents):
        message = f"{path}: the folder contains a recording, or the working directory"
        raise UsageError(message, hint="name another folder", code="output-is-input")
    if _mount_of(target) != _mount_of(location.folder):
        raise OutputError(f"{path}: a mount point, which cannot be replaced", hint="empty it, or name a folder in it", code="mount-point")


def _is_folder(path: Path, folder: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(folder))
    except OSError:
        return False


def _mount_of(folder: int) -> bytes | int:
    """Return what identifies the mount that a folder is in: the same file system can be mounted at several places (proc_pid_fdinfo(5))."""
    with suppress(OSError):
        for line in Path(f"/proc/self/fdinfo/{folder}").read_bytes().splitlines():
            if line.startswith(b"mnt_id:"):
                return line
    return os.fstat(folder).st_dev


def _path_of(folder: int) -> str:
    """Return the path of an open folder, without links."""
    return os.readlink(f"/proc/self/fd/{folder}")  # noqa: PTH115


def _finish(place: _Place) -> None:
    """Give the new folder its name."""
    workspace, location = place.workspace, place.location
    try:
        if place.target is None:
            rename_new(NEW, location.name, source=workspace.inside, target=location.folder)
        elif place.known:
            _replace(place, place.target)
        else:
            _fill(place, place.target)
            return
        with suppress(OSError):
            os.fsync(location.folder)
    except FileExistsError:
        raise _changed(location.path, "something has got this name meanwhile", _keep(place)) from None
    except OSError as error:
        failure = output_failure(location.path, error)
        kept = _keep(place)
        if kept is not None:
            failure.hint = f"the new folder is complete: {kept}"
        raise failure from None


def _close(place: _Place, hidden: str) -> None:
    """Remove the temporary folder; where an empty folder is filled, this moves the files."""
    path, is_filled = place.location.path, place.target is not None and not place.known
    try:
        kept = place.workspace.close()
    except OSError as error:
        if not is_filled:  # the next run tries again
            return
        failure = output_failure(path, error)
        failure.hint = f"what was written is in {hidden}; the next run that writes to the folder moves it"
        raise failure from None
    if kept is not None and is_filled:
        raise _changed(path, "something appeared in it meanwhile", os.path.join(path, kept))  # noqa: PTH118
    if kept is not None:
        raise _changed(path, "something appeared meanwhile in the old folder, which is replaced now", _beside(path, kept))


def _fill(place: _Place, target: int) -> None:
    """Have what was written moved into the folder, which was empty, when the workspace is closed."""
    came = sorted({*os.listdir(target)} - {place.workspace.name})
    if came:
        raise _changed(place.location.path, f"{came[0]} appeared in it meanwhile", _keep(place))
    if not _has_name(place.location, target):
        raise _changed(place.location.path, "another folder has got this name meanwhile", _keep(place))
    place.workspace.note_complete()


def _has_name(location: Location, folder: int) -> bool:
    try:
        return os.path.samestat(os.stat(location.name, dir_fd=location.folder, follow_symlinks=False), os.fstat(folder))
    except FileNotFoundError:
        return False


def _replace(place: _Place, target: int) -> None:
    """Exchange the old folder for the new one. What was in the old one is removed when the workspace is closed."""
    workspace, name, folder = place.workspace, place.location.name, place.location.folder
    if (came := _newcomers(place, target)) or not _has_name(place.location, target):
        _refuse(place, came)
    _settle(workspace, os.fstat(target))
    workspace.note_replaced(place.known)
    exchanged = exchange(NEW, name, source=workspace.inside, target=folder)
    if not exchanged:
        # For a moment the name is free. If this process is killed, the next run gives the old folder its name again.
        os.rename(name, OLD, src_dir_fd=folder, dst_dir_fd=workspace.inside)
    try:
        if not exchanged:
            rename_new(NEW, name, source=workspace.inside, target=folder)
        # Whoever wrote to the old folder until then finds what they wrote: it becomes the old folder again.
        came = _newcomers(place, target)
        is_another = not os.path.samestat(
            os.stat(NEW if exchanged else OLD, dir_fd=workspace.inside, follow_symlinks=False), os.fstat(target)
        )
    except OSError:
        _take_back(place, exchanged)
        raise
    if came or is_another:
        _take_back(place, exchanged)
        _refuse(place, came)


def _take_back(place: _Place, exchanged: bool) -> None:
    """Give the old folder its name again."""
    workspace, name, folder = place.workspace, place.location.name, place.location.folder
    if exchanged:
        exchange(NEW, name, source=workspace.inside, target=folder)
        return
    if workspace.has_name(name):
        rename_new(name, NEW, source=folder, target=workspace.inside)
    rename_new(OLD, name, source=workspace.inside, target=folder)


def _newcomers(place: _Place, target: int) -> list[str]:
    return sorted(entry for entry, facts in listing(target).items() if facts != place.known.get(entry))


def _refuse(place: _Place, came: Sequence[str]) -> NoReturn:
    what = f"{came[0]} appeared or changed in it meanwhile" if came else "another folder has got this name meanwhile"
    raise _changed(place.location.path, what, _keep(place), appeared=came[:100])


def _settle(workspace: Workspace, old: os.stat_result) -> None:
    """Give the new folder the mode of the old one, if that is this user's; have its files on the disk before the old ones are removed."""
    new = os.open(NEW, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=workspace.inside)
    try:
        if old.st_uid == os.geteuid():
            os.fchmod(new, stat.S_IMODE(old.st_mode) & ~stat.S_ISUID)
        for _path, _folders, files, descriptor in os.fwalk(".", dir_fd=new):
            for name in files:
                file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
                try:
                    os.fsync(file)
                finally:
                    os.close(file)
            os.fsync(descriptor)
    finally:
        os.close(new)


def _keep(place: _Place) -> str | None:
    """Give the new folder another name, and return its path; None if it cannot have one."""
    location, workspace = place.location, place.workspace
    with suppress(OSError):
        if location.name not in (".", ".."):
            return _beside(location.path, workspace.keep(f"{location.name}.new", location.folder))
    # The folder is a mount point, or nothing can be made beside it.
    with suppress(OSError):
        name = workspace.keep("ptttool.new", workspace.folder)
        return os.path.join(_path_of(workspace.folder), name)  # noqa: PTH118
    return None


def _beside(path: str, name: str) -> str:
    return os.path.join(os.path.dirname(path.rstrip("/")), name)  # noqa: PTH118, PTH120


def _changed(path: str, what: str, kept: str | None, **details: object) -> OutputError:
    hint = None if kept is None else f"what was written is in {kept}"
    return OutputError(f"{path}: {what}", hint=hint, code="folder-changed", kept=kept, **details)
