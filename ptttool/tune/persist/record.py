"""What was installed: a record for each target, by which it is removed again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ptttool.errors import InputError
from ptttool.files.failures import output_failure
from ptttool.files.own_folders import open_own_folder, state_folder
from ptttool.tune.persist.rooted import LARGEST, Rooted

VERSION = 1
RUNNING_ROOT = Path("/")


@dataclass(frozen=True)
class Installed:
    """What was installed for a target.

    Parameters
    ----------
    target : str
        Its name.
    profile : str
        The profile.
    files : Mapping[str, tuple[str, ...]]
        Digests of what is at each path; two while one is being replaced by the other.
    folders : tuple of str
        Folders that were created, the outermost first.
    """

    target: str
    profile: str
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    folders: tuple[str, ...] = ()


def digest(data: bytes, is_link: bool) -> str:
    """Return what identifies the content of a file, or where a link leads."""
    return f"{'link' if is_link else 'file'} {hashlib.sha256(data).hexdigest()}"


class Records:
    """The records of a root folder.

    Parameters
    ----------
    root : Path
        The folder. For the running system, they are in :func:`~ptttool.files.own_folders.state_folder`.
    """

    def __init__(self, root: Path) -> None:
        self._own = state_folder() if root == RUNNING_ROOT else None
        self._files = Rooted(root if self._own is None else self._own)
        self._folder = "/var/lib/ptttool/installed" if self._own is None else "/installed"

    def path(self, target: str) -> str:
        """Return the path of a target's record."""
        return f"{self._folder}/{target}.json"

    def read(self, target: str) -> Installed | None:
        """Read a record; None if nothing is installed.

        Raises
        ------
        InputError
            ``record-damaged``: it is not a record of this version.
        """
        path = self.path(target)
        found = self._files.read(path)
        if found is None:
            return None
        data, is_link = found
        try:
            document = None if is_link or len(data) > LARGEST else json.loads(data)
            return _checked(document, target)
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
            shown = self._files.shown(path)
            hint = "what was installed is not known: remove it by hand, then this file"
            raise InputError(shown, "not a record of what was installed", hint=hint, code="record-damaged") from None

    def write(self, installed: Installed) -> None:
        """Write a record. Raises AccessError, OutputError."""
        if self._own is not None:
            try:
                os.close(open_own_folder(self._own))
            except OSError as error:
                raise output_failure(self._own, error, kind="folder") from None
        document = {
            "version": VERSION,
            "target": installed.target,
            "profile": installed.profile,
            "files": {path: list(digests) for path, digests in installed.files.items()},
            "folders": list(installed.folders),
        }
        self._files.write(self.path(installed.target), json.dumps(document, indent=2).encode() + b"\n", replace=True)

    def remove(self, target: str) -> None:
        """Remove a record."""
        self._files.remove(self.path(target))


def _checked(document: Any, target: str) -> Installed:
    if document["version"] != VERSION or document["target"] != target:
        raise ValueError
    files = {_path(path): tuple(map(_text, digests)) for path, digests in document["files"].items()}
    return Installed(target, _text(document["profile"]), files, tuple(map(_path, document["folders"])))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _path(value: object) -> str:
    text = _text(value)
    if not text.startswith("/") or ".." in text.split("/") or "\0" in text:
        raise ValueError
    return text
