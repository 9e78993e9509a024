"""Bookmarks with notes, in a file beside a recording, for colleagues."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from msgspec import Struct, ValidationError, field

from ptttool.documents import document, dumps, read_json
from ptttool.errors import InputError, OutputError
from ptttool.files.atomic import output_file
from ptttool.files.local import open_regular

SUFFIX = ".notes.json"
"""What follows the name of a recording in that of its notes."""
_VERSION = 1
_MOST_BYTES = 1 << 20


class Note(Struct, frozen=True, order=True):
    """A bookmark.

    Parameters
    ----------
    index : int
        Number of the row in the recording.
    text : str
        The note.
    """

    index: int
    text: str


@document("notes")
class Notes(Struct, frozen=True):
    """The file `FILE.notes.json`: bookmarks of a recording.

    Parameters
    ----------
    version : int
        Version of the document: 1.
    recording : str
        Name of the recording.
    size : int or None
        Its bytes.
    notes : list of Note
        The bookmarks, by row.
    """

    version: int = field(name="ptttool_notes")
    recording: str
    size: int | None
    notes: list[Note]


def load_notes(recording: str) -> list[Note]:
    """Return the notes beside a recording, none where there is no such file.

    Raises
    ------
    InputError
        It is a link or no file of notes (code ``bad-notes``).
    """
    path = recording + SUFFIX
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise InputError(path, f"has more than {_MOST_BYTES:,} bytes: it is not read as notes", code="bad-notes")
        body = read_json(json.loads(text), Notes)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(path, f"is not read: {error.strerror}", code="bad-notes") from None
    except ValidationError as error:
        raise InputError(path, f"is no file of notes: {error}", code="bad-notes") from None
    except (ValueError, RecursionError):
        raise InputError(path, "is not JSON", code="bad-notes") from None
    if body.version != _VERSION:
        raise InputError(path, f"has the unknown version {body.version}", code="bad-notes")
    return sorted(body.notes)


def save_notes(recording: str, notes: list[Note], known: list[Note]) -> Path:
    """Write notes beside a recording, with those that others have added meanwhile. Who may read the recording may read them.

    Parameters
    ----------
    recording : str
        The recording.
    notes : list of Note
        The notes.
    known : list of Note
        Those that were there when the file was read.

    Raises
    ------
    InputError
        What has the name is no file of notes (code ``bad-notes``).
    OutputError, AccessError
        It cannot be written; it is a link (code ``untrusted-link``).
    """
    path = Path(recording + SUFFIX)
    if path.is_symlink():
        raise OutputError(f"{path}: a link: it is not followed", hint="remove it", code="untrusted-link")
    others = [note for note in load_notes(recording) if note not in known]
    about = Path(recording).stat()
    mode = about.st_mode & 0o666 if stat.S_ISREG(about.st_mode) else 0o600
    size = about.st_size if stat.S_ISREG(about.st_mode) else None
    document = Notes(_VERSION, Path(recording).name, size, sorted({*notes, *others}))
    with output_file(path, force=True, mode=mode) as file:
        file.write((dumps(document) + "\n").encode("utf-8", "backslashreplace"))
    return path
