"""Where an output is written: a name in an open folder, found by resolving the path once.

Everything after that works on the folder's descriptor and the name, so it makes no difference what others do to the path meanwhile.

A link is followed only if no other user could have made or exchanged it. So root can write in the folders of others: a link there cannot
send the output to another place.

- A link in a folder that only this user and root can change, and that belongs to one of them, is followed.
- Any other link as the last component is not followed.
- Any other link before that is followed only if it leads to a folder of the link's own owner.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from ptttool.errors import OutputError

# Links in one path, as in the kernel (path_resolution(7)).
MAX_LINKS = 40
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# A descriptor that names something and cannot read it.
_NAME_ONLY = os.O_PATH | os.O_CLOEXEC


class Location(Struct, frozen=True):
    """A name in an open folder.

    Parameters
    ----------
    path : str
        The path as it was given.
    folder : int
        Descriptor of the folder, to be used as ``dir_fd``. Whether the folder can be read is not certain.
    name : str
        The name in the folder.
    found : os.stat_result or None
        What has the name: a link itself, not its target. None if there is nothing.
    follows : bool
        Whether ``found`` is the target of a link of procfs, such as ``/proc/self/fd/1``, which only the kernel can follow.
    """

    path: str
    folder: int
    name: str
    found: os.stat_result | None
    follows: bool = False


@contextmanager
def located(path: str | os.PathLike[str], *, folder: bool = False) -> Iterator[Location]:
    """Resolve a path, and keep its folder open while the body runs.

    Parameters
    ----------
    path : str or path
        The path.
    folder : bool
        Whether the last component is to be a folder: then its link is followed as those before it.

    Yields
    ------
    Location
        Where it leads.

    Raises
    ------
    OutputError
        ``untrusted-link``: a link before the last component, or with ``folder`` the last one, is another user's.
    OSError
        A folder does not exist, or may not be searched.
    """
    walk = _Walk(os.fspath(path))
    try:
        yield walk.find(folder)
    finally:
        walk.close()


@contextmanager
def opened_folder(path: str | os.PathLike[str]) -> Iterator[int]:
    """Open a folder by the same rules, and yield its descriptor, which can be used as ``dir_fd``. Errors are those of :func:`located`."""
    walk = _Walk(os.fspath(path))
    try:
        yield walk.enter(walk.start(walk.path), walk.path)
    finally:
        walk.close()


def read_link(name: str, folder: int) -> tuple[os.stat_result, str]:
    """Return the properties and the target of a link. Both are of the same link, even if another one takes its name meanwhile."""
    link = os.open(name, _NAME_ONLY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        return os.fstat(link), os.readlink("", dir_fd=link)
    finally:
        os.close(link)


def _is_safe(folder: int) -> bool:
    """Return whether only this user and root can change the entries of a folder."""
    about = os.fstat(folder)
    if about.st_uid not in (0, os.geteuid()) or about.st_mode & stat.S_IWOTH:
        return False
    return not about.st_mode & stat.S_IWGRP or _is_private(about, folder)


def _is_private(about: os.stat_result, folder: int) -> bool:
    """Return whether the group of a folder has this user as its only member: many systems give each user such a group, and umask 002.

    For root this is never assumed.
    """
    import grp
    import pwd

    user = os.geteuid()
    if user == 0 or about.st_uid != user:
        return False
    with suppress(OSError):  # with an access control list, the bits of the group are those of other users, too
        if "system.posix_acl_access" in os.listxattr(folder):
            return False
    try:
        group, account = grp.getgrgid(about.st_gid), pwd.getpwuid(user)
    except KeyError:
        return False
    return account.pw_gid == about.st_gid and group.gr_name == account.pw_name and {*group.gr_mem} <= {account.pw_name}


def _is_trusted(link: os.stat_result, folder: int) -> bool:
    """Return whether no other user can have put this link into this folder."""
    return link.st_uid in (0, os.geteuid()) and _is_safe(folder)


class _Walk(Struct):
    """The resolution of one path: its open folders, and the links that may still follow."""

    path: str
    links: int = MAX_LINKS
    _open: list[int] = []

    def close(self) -> None:
        for descriptor in self._open:
            with suppress(OSError):
                os.close(descriptor)

    def start(self, text: str) -> int:
        """Open the folder where a path begins."""
        return self._folder("/" if text.startswith("/") else ".")

    def find(self, is_folder: bool) -> Location:
        text = self.path or "."
        folder = self.start(text)
        owners: list[int] = []
        while True:
            before, _, name = (text.rstrip("/") or "/.").rpartition("/")
            folder = self.enter(self.start(text) if text.startswith("/") else folder, before)
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                status = None
            if status is None or not stat.S_ISLNK(status.st_mode):
                self._check_owners(owners, status)
                return Location(self.path, folder, name, status)
            about, target = self._next_link(name, folder)
            if not _is_trusted(about, folder):
                if not is_folder:
                    return Location(self.path, folder, name, about)
                owners.append(self._owner(about))
            elif (leads_to := _beyond(name, folder, about)) is not None:
                return Location(self.path, folder, name, leads_to, follows=True)
            text = target

    def enter(self, folder: int, text: str) -> int:
        """Open a folder by its path from an open folder."""
        for part in text.split("/"):
            if part in ("", "."):
                continue
            about = os.stat(part, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISLNK(about.st_mode):
                folder = self._folder(part, folder)
                continue
            about, target = self._next_link(part, folder)
            trusted = _is_trusted(about, folder)
            if trusted and _is_in_procfs(about):
                folder = self._folder(part, folder, follow=0)
                continue
            folder = self.enter(self.start(target) if target.startswith("/") else folder, target)
            if not trusted:
                self._check_owners([self._owner(about)], os.fstat(folder))
        return folder

    def _folder(self, name: str, folder: int | None = None, follow: int = os.O_NOFOLLOW) -> int:
        # With O_NOFOLLOW, a link that has taken the name since it was looked at is an error.
        try:
            self._open.append(os.open(name, _FOLDER | follow, dir_fd=folder))
        except PermissionError:  # it may be searched all the same. O_PATH at once would not mount what is mounted on demand.
            self._open.append(os.open(name, _NAME_ONLY | os.O_DIRECTORY | follow, dir_fd=folder))
        return self._open[-1]

    def _next_link(self, name: str, folder: int) -> tuple[os.stat_result, str]:
        self.links -= 1
        if self.links < 0:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        return read_link(name, folder)

    def _owner(self, link: os.stat_result) -> int:
        # A second name of a link can be made by somebody who does not own it.
        return link.st_uid if link.st_nlink == 1 else -1

    def _check_owners(self, owners: list[int], status: os.stat_result | None) -> None:
        if any(status is None or owner != status.st_uid for owner in owners):
            raise OutputError(
                f"{self.path}: a link on the path can be changed by another user, and does not lead to a folder of its owner",
                hint="name the folder by a path without that link",
                code="untrusted-link",
            )


def _beyond(name: str, folder: int, link: os.stat_result) -> os.stat_result | None:
    """Return what is beyond a link of procfs if it has no other path: a pipe, a terminal, or the file that is standard output."""
    if not _is_in_procfs(link):
        return None
    try:
        target = os.stat(name, dir_fd=folder)
    except OSError:
        return None
    has_path = stat.S_ISREG(target.st_mode) or stat.S_ISDIR(target.st_mode)
    return None if has_path and not is_standard_output(target) else target


def _is_in_procfs(link: os.stat_result) -> bool:
    try:
        return link.st_dev == Path("/proc").stat().st_dev
    except OSError:
        return False


def is_standard_output(about: os.stat_result) -> bool:
    """Return whether this is the file that standard output is."""
    try:
        return os.path.samestat(about, os.fstat(1))
    except OSError:  # closed
        return False
