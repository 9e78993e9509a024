"""Names of the files beside a recording: its sidecar, and what is not finished yet.

Imports little, because every ``info`` and ``decode`` looks at these names.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from ptttool.files.packed.kinds import SUFFIXES
from ptttool.files.remote import beside

SUFFIX = ".ptttool.json"
"""What follows the name of a recording in that of its sidecar."""
KERNEL_SUFFIX = ".kernel"
"""What follows the name of an unfinished recording in that of the kernel's events beside it."""
# What can follow .data in the name of a recording: it was moved, is packed, or one of several of a name.
_DATA = re.compile(r"(?P<stem>.*)\.data(?P<rest>(\.[0-9]{1,5})?(\.old)?)", re.DOTALL)
_UNFINISHED = re.compile(r"(?P<wanted>.+)\.[0-9a-f]{16}\.part", re.DOTALL)


def sidecar_names(recording: str) -> list[str]:
    """Return the paths, or addresses, where the sidecar of a recording may be: of a packed one (``FILE.xz``) also that of ``FILE``."""

    def named(end: str) -> str:
        return beside(recording, lambda path: path.removesuffix(end) + SUFFIX)

    return list(dict.fromkeys(map(named, ("", *SUFFIXES))))


def sidecar_path(recording: str | Path) -> Path:
    """Return the path of a recording's sidecar; of a packed one (``FILE.xz``) also the one beside ``FILE``."""
    own, *further = (Path(name) for name in sidecar_names(str(recording)))
    return own if not further or own.exists() else further[0]


def kernel_name(name: str) -> str:
    """Return the name of the kernel's events beside a recording: ``NAME.kernel.data`` of ``NAME.data``."""
    if wanted_name(name) is not None:
        return name + KERNEL_SUFFIX
    match = _DATA.fullmatch(name)
    return f"{name}.kernel.data" if match is None else f"{match['stem']}.kernel.data{match['rest']}"


def kernel_path(recording: str | Path) -> Path:
    """Return the path of the kernel's events beside a recording; of a packed one (``NAME.data.xz``) the one that is there, if any is."""
    path = Path(recording)
    plain = next((path.name.removesuffix(end) for end in SUFFIXES if path.name.endswith(end)), path.name)
    own, *packed = (path.with_name(kernel_name(plain) + end) for end in ("", *SUFFIXES))
    return own if own.exists() else next((one for one in packed if one.exists()), own)


def wanted_name(name: str) -> str | None:
    """Return the name that an unfinished recording is to get; None for the name of another file."""
    match = _UNFINISHED.fullmatch(name)
    return None if match is None else match["wanted"]


def unfinished_in(folder: Path, output_name: str | None = None) -> list[Path]:
    """Return the unfinished recordings of a folder, the oldest first; ``output_name``: only those that are to get this name."""
    recordings: list[tuple[int, Path]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = wanted_name(entry.name)
            if name is not None and output_name in (None, name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):  # it has just got its name
                    recordings.append((entry.stat(follow_symlinks=False).st_mtime_ns, folder / entry.name))
    return [path for _, path in sorted(recordings)]


def unfinished_of(recording: Path) -> list[Path]:
    """Return the unfinished recordings that are to get a path, or the one that has it; none where the folder cannot be read."""
    if wanted_name(recording.name) is not None:
        return [recording]
    try:
        return unfinished_in(recording.absolute().parent, recording.name)
    except OSError:
        return []
