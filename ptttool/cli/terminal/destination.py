"""The output of a decoding command: a file, which is written completely or not at all, or standard output."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ptttool.capture.names import sidecar_path
from ptttool.cli.terminal.streams import CLOSED, no_standard_output
from ptttool.errors import OutputError, UsageError

# Lines of a terminal that are not rows of the table: the header line, the note, the prompt.
_NOT_ROWS = 4


def page_rows(name: str, limit: int | None) -> int | None:
    """Return how many rows of a table fill a terminal.

    Parameters
    ----------
    name : str
        Name of the output format.
    limit : int or None
        The user's limit.

    Returns
    -------
    int or None
        None if there is a limit, or the format is not a table.
    """
    if name != "table" or limit is not None:
        return None
    return max(shutil.get_terminal_size().lines - _NOT_ROWS, 5)


@contextmanager
def destination(
    output: Path | None, recordings: Sequence[str], name: str, *, binary: bool, force: bool, others: Sequence[Path] = ()
) -> Iterator[IO[bytes]]:
    """Open the output.

    Parameters
    ----------
    output : Path or None
        The file; None: standard output.
    recordings : sequence of str
        The inputs; ``-`` is standard input.
    name : str
        Name of the output format.
    binary : bool
        Whether the format is binary: it is not written to a terminal.
    force : bool
        Whether an existing file is replaced.
    others : sequence of Path
        Further inputs: files, or folders of files.

    Yields
    ------
    IO[bytes]
        The stream to write to.

    Raises
    ------
    UsageError
        The output would replace an input: ``code`` is ``output-is-input``.
    OutputError
        The output cannot be written, or is binary and a terminal.
    """
    from ptttool.files.atomic import output_file

    if output is not None:
        if any(_same_file(output, recording) for recording in recordings):
            article = "the" if len(recordings) == 1 else "a"
            raise UsageError(f"{output} is {article} recording itself", hint="name another file", code="output-is-input")
        if any(_same_file(output, str(other)) or (other.is_dir() and output.resolve().parent == other.resolve()) for other in others):
            raise UsageError(f"{output} is an input, too", hint="name another file", code="output-is-input")
        if any(_same_file(output, str(sidecar_path(recording))) for recording in recordings if recording != "-"):
            raise UsageError(f"{output} is the sidecar of a recording", hint="name another file", code="output-is-input")
        with output_file(output, force=force) as file:
            if binary and file.isatty():
                raise _not_for_a_terminal(name)
            yield file
        return
    if binary and sys.stdout.isatty():
        raise _not_for_a_terminal(name)
    if "stdout" in CLOSED:
        raise no_standard_output()
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def _same_file(output: Path, recording: str) -> bool:
    """Return whether output and recording are the same file, by any path."""
    try:
        mine = os.fstat(0) if recording == "-" else Path(recording).stat()
        return output.is_file() and os.path.samestat(output.stat(), mine)
    except OSError:  # reported when the file is opened
        return False


def _not_for_a_terminal(name: str) -> OutputError:
    return OutputError(f"{name} is binary: not for a terminal", hint=f"write it to a file: -o trace.{name}", code="binary-to-terminal")
