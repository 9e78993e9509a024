"""Where the output of a decoding command goes: a file, whole or not at all, or standard output."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ptttool.errors import OutputError, UsageError

# Lines of a terminal that are not rows of the table: the headline, the note, the prompt.
_NOT_ROWS = 4


def page_rows(name: str, limit: int | None) -> int | None:
    """Rows of a table on a terminal where nobody named a number; None for no such page. ``name``: of the format."""
    if name != "table" or limit is not None:
        return None
    return max(shutil.get_terminal_size().lines - _NOT_ROWS, 5)


@contextmanager
def destination(
    output: Path | None, recordings: Sequence[str], name: str, *, binary: bool, force: bool, others: Sequence[Path] = ()
) -> Iterator[IO[bytes]]:
    """The file to write to; None: standard output. ``name``: of the format. ``binary``: not for a terminal.

    Raises UsageError where the output would take the place of one of the recordings, or of ``others``: files, or folders of files, that are
    read, too.
    """
    from ptttool.files.atomic import output_file

    if output is not None:
        if any(_same_file(output, recording) for recording in recordings):
            whose = "the" if len(recordings) == 1 else "a"
            raise UsageError(f"{output} is {whose} recording itself", hint="name another file", code="output-is-input")
        if any(_same_file(output, str(other)) or (other.is_dir() and output.resolve().parent == other.resolve()) for other in others):
            raise UsageError(f"{output} is what is read itself", hint="name another file", code="output-is-input")
        with output_file(output, force=force) as file:
            if binary and file.isatty():
                raise _not_for_a_terminal(name)
            yield file
        return
    if binary and sys.stdout.isatty():
        raise _not_for_a_terminal(name)
    if getattr(sys.stdout, "name", None) == os.devnull:  # what stands for one that was closed
        raise OutputError("standard output is closed", hint="write to a file: -o FILE", code="no-output")
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def _same_file(output: Path, recording: str) -> bool:
    """Whether the output would take the place of the recording, by whatever name."""
    try:
        mine = os.fstat(0) if recording == "-" else Path(recording).stat()
        return output.is_file() and os.path.samestat(output.stat(), mine)
    except OSError:  # what cannot be looked at is told when it is opened
        return False


def _not_for_a_terminal(name: str) -> OutputError:
    return OutputError(f"{name} is binary: not for a terminal", hint=f"write it to a file: -o trace.{name}", code="binary-to-terminal")
