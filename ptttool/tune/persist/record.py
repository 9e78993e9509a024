"""What was installed: a record for each target, by which it is removed again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ptttool.documents import read_json, to_json
from ptttool.errors import InputError
from ptttool.files.failures import output_failure
from ptttool.files.ownership import open_own_folder, state_folder
from ptttool.tune.persist.rooted import LARGEST, Rooted

VERSION = 1
RUNNING_ROOT = Path("/")


class Installed(Struct, frozen=True):
    """What was installed for a target: the record of it.

    Parameters
    ----------
    version : int
        Version of the record.
    target : str
        Its name.
    profile : str
        The profile.
    files : Mapping[str, tuple[str, ...]]
        Digests of what is at each path; two while one is being replaced by the other.
    folders : tuple of str
        Folders that were created, the outermost first.
    """

    version: int
    target: str
    profile: str
    files: Mapping[str, tuple[str, ...]]
    folders: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse other versions, and paths that lead elsewhere."""
        if self.version != VERSION or not all(map(_is_path, (*self.files, *self.folders))):
            raise ValueError("not a record of this version")


def digest(data: bytes, is_link: bool) -> str:
    """Return what identifies the content of a file, or where a link leads."""
    return f"{'link' if is_link else 'file'} {hashlib.sha256(data).hexdigest()}"


def _record_of(root: Path, target: str) -> tuple[Rooted, str]:
    """Return where the record of a target is: for the running system in :func:`~ptttool.files.ownership.state_folder`."""
    if root == RUNNING_ROOT:
        return Rooted(state_folder()), f"/installed/{target}.json"
    return Rooted(root), f"/var/lib/ptttool/installed/{target}.json"


def read_record(root: Path, target: str) -> Installed | None:
    """Read the record of a target below a root folder; None if nothing is installed.

    Raises
    ------
    InputError
        ``record-damaged``: it is not a record of this version.
    """
    files, path = _record_of(root, target)
    content = files.read(path)
    if content is None:
        return None
    data, is_link = content
    try:
        installed = read_json(None if is_link or len(data) > LARGEST else json.loads(data), Installed)
        if installed.target != target:
            raise ValueError("the record of another target")
    except (RecursionError, ValueError):
        hint = "what was installed is not known: remove it by hand, then this file"
        raise InputError(files.shown(path), "not a record of what was installed", hint=hint, code="record-damaged") from None
    return installed


def write_record(root: Path, installed: Installed) -> None:
    """Write a record. Raises AccessError, OutputError."""
    files, path = _record_of(root, installed.target)
    if root == RUNNING_ROOT:
        try:
            os.close(open_own_folder(files.root))
        except OSError as error:
            raise output_failure(files.root, error, kind="folder") from None
    files.write(path, json.dumps(to_json(installed), indent=2).encode() + b"\n", replace=True)


def remove_record(root: Path, target: str) -> None:
    """Remove the record of a target."""
    files, path = _record_of(root, target)
    files.remove(path)


def _is_path(text: str) -> bool:
    return text.startswith("/") and ".." not in text.split("/") and "\0" not in text
