"""Who can change what lies at a path: code that root runs must be root's alone."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

# Groups below are made by the system; Debian lets its group staff write /usr/local/lib.
_FIRST_USER_GROUP = 1000


# No Struct: msgspec may lie where others can write, and is imported once root's path has been looked at.
class Weakness(NamedTuple):
    """A folder or file on the way to a path that others than root can change.

    Parameters
    ----------
    path : str
        The folder or file.
    user : int or None
        Its owner, if that is not root.
    group : int or None
        Its group, if that can write; None also for a group of the system.
    everyone : bool
        Whether every user can write.
    """

    path: str
    user: int | None
    group: int | None
    everyone: bool

    def __str__(self) -> str:
        if self.everyone:
            return f"every user can write {self.path}"
        return f"{self.path} belongs to user {self.user}" if self.user is not None else f"group {self.group} can write {self.path}"


def weakness_of(path: str, *, trusted: frozenset[int] = frozenset()) -> Weakness | None:
    """Return the first thing on the way to a path that others than root can change.

    Parameters
    ----------
    path : str
        The path; links are followed, and the folders that hold them count, too. What does not exist could be created.
    trusted : frozenset of int
        Further users and groups that count as root.

    Returns
    -------
    Weakness or None
        None if root alone decides what lies there. That everyone can write is reported before that one user can.
    """
    first = None
    for way in dict.fromkeys((os.path.abspath(path), os.path.realpath(path))):
        for weakness in _on(way, trusted):
            if weakness.everyone:
                return weakness
            first = first or weakness
    return first


def _on(path: str, trusted: frozenset[int]) -> list[Weakness]:
    """Return the weak folders of a path without links, the outermost first."""
    weaknesses = []
    at_end = True
    while True:
        try:
            about = os.stat(path)  # noqa: PTH116 - start-up
        except OSError:
            about = None
        if about is not None:
            weakness = _weakness(path, about, trusted, at_end)
            if weakness is not None:
                weaknesses.append(weakness)
            at_end = False
        above = os.path.dirname(path)  # noqa: PTH120
        if above == path:
            return weaknesses[::-1]
        path = above


def _weakness(path: str, about: os.stat_result, trusted: frozenset[int], at_end: bool) -> Weakness | None:
    # In a sticky folder, what is there already is safe from others; new files are not.
    writable = about.st_mode if at_end or not about.st_mode & stat.S_ISVTX else 0
    user = about.st_uid if about.st_uid and about.st_uid not in trusted else None
    group = about.st_gid if writable & stat.S_IWGRP and about.st_gid >= _FIRST_USER_GROUP and about.st_gid not in trusted else None
    everyone = bool(writable & stat.S_IWOTH)
    return Weakness(path, user, group, everyone) if everyone or user is not None or group is not None else None
