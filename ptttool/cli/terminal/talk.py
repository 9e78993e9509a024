"""Output of commands: data on standard output, messages on standard error, control characters on neither."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, TextIO, cast

from ptttool.cli.terminal.colours import Style, has_colour, painted
from ptttool.cli.terminal.journal import Priority, send, takes
from ptttool.cli.terminal.streams import CLOSED
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import ErrorDocument, dumps
from ptttool.errors import PtttoolError
from ptttool.files.standard import WholeWriter
from ptttool.wording import clean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Column at which texts begin, to the right of their labels.
_TEXT_AT = 11
# Largest number of characters of an error message that are shown; a quoted part of it may have any length.
LONGEST = 2000

_STYLES = {"error:": Style.ERROR, "warning:": Style.WARNING, "hint:": Style.HINT}
_is_quiet = False


def be_quiet(quiet: bool) -> None:
    """Write no notes from now on, or write them again: warnings and errors are always written."""
    global _is_quiet
    _is_quiet = quiet


def outlive_reader(*, is_result: bool = False) -> None:
    """Print to nowhere once nobody reads: for commands that do more than print, whose work and exit code do not depend on a reader.

    Parameters
    ----------
    is_result : bool
        Whether what is printed was asked for, as a JSON document is: then a standard output that was closed from the start still fails.
    """
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, WholeWriter):
        raw.outlives_reader = True
    if "stdout" in CLOSED and not is_result:
        CLOSED.remove("stdout")
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123


def note(text: str, **fields: object) -> None:
    """Write a note to standard error, unless --quiet is given; the journal of systemd gets the fields, too."""
    if not _is_quiet:
        say(f"ptttool: {text}", Priority.INFO, **fields)


def warn(text: str, **fields: object) -> None:
    """Write a warning to standard error; the journal of systemd gets the fields, too."""
    say(f"ptttool: warning: {text}", Priority.WARNING, **fields)


def print_diagnostic(diagnostic: Diagnostic) -> None:
    """Write a diagnostic to standard error: a note, or a warning."""
    about = {"code": diagnostic.code, "hint": diagnostic.hint, "where": diagnostic.where}
    (note if diagnostic.severity is Severity.INFO else warn)(clean(diagnostic.message), **about)


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Write diagnostics to standard error: notes first, then warnings."""
    for diagnostic in sorted(diagnostics, key=lambda one: one.severity is not Severity.INFO):
        print_diagnostic(diagnostic)


def say(line: str, priority: Priority = Priority.NOTICE, **fields: object) -> None:
    """Write a line to standard error; on a terminal it is wrapped between words, the journal of systemd gets priority and fields."""
    if takes(sys.stderr):
        left = send(line, priority, fields)
        if left is None:
            return
        line = left
    elif sys.stderr.isatty():
        line = "\n".join(folded(line, max(shutil.get_terminal_size().columns, 20)))
    # An error, a warning and a hint have their colour.
    head, label, *rest = line.split(" ", 2) if line.count(" ") else ("", line)
    if label in _STYLES:
        line = " ".join([head, painted(label, _STYLES[label], sys.stderr), *rest])
    with suppress(OSError):  # a full or closed standard error does not make the command fail
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


def folded(text: str, width: int, indent: str = "  ") -> list[str]:
    """Wrap a text between words, as lines of a terminal: a word longer than a line stays whole, so that it can be copied."""
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def report_error(error: PtttoolError, arguments: Sequence[str] = ()) -> int:
    """Write the error and its hint to standard error, with ``--json`` also as a document to standard output; return the exit code."""
    if "--json" in (arguments[: arguments.index("--")] if "--" in arguments else arguments):
        with suppress(OSError):  # a closed or full standard output must not hide the error
            sys.stdout.write(json_text(ErrorDocument.of(error)))
            sys.stdout.flush()
    message = clean(error.message)
    text = message if len(message) <= LONGEST else message[:LONGEST] + "…"
    hint = clean(error.hint) if error.hint else None
    say(f"ptttool: error: {text}", Priority.ERROR, code=error.code, hint=hint, exit_code=int(error.exit_code))
    if hint:
        say(f"ptttool: hint: {hint}")
    return error.exit_code


def json_text(value: Any) -> str:
    """Return a JSON document of a dataclass or of plain values, keys as given; control characters are escaped."""
    return _writable(dumps(value)) + "\n"


def json_line(value: Any) -> str:
    """Return a JSON document on one line, as JSON lines have it; otherwise like :func:`json_text`."""
    return _writable(dumps(value, indent=None)) + "\n"


def _writable(text: str) -> str:
    """Escape what standard output cannot encode, as JSON does: a document is the same in every locale."""
    if text.isascii() or (sys.stdout.encoding or "utf-8").lower().startswith("utf"):
        return text
    return re.sub(r"[^\x00-\x7f]", lambda match: json.dumps(match[0])[1:-1], text)


def print_json(value: Any) -> None:
    """Write a JSON document to standard output."""
    sys.stdout.write(json_text(value))


def print_line(text: str) -> None:
    """Write a line of data to standard output."""
    sys.stdout.write(text + "\n")


def print_wrapped(text: str) -> None:
    """Write a sentence to standard output: wrapped between words on a terminal, else on one line."""
    line = clean(text)
    print_line("\n".join(folded(line, max(shutil.get_terminal_size().columns, 20))) if sys.stdout.isatty() else line)


def print_labelled(label: str, text: str, at: int = _TEXT_AT) -> None:
    """Write a label and its text, which begins at column `at`, to standard output: wrapped on a terminal, else on one line."""
    line = clean(text)
    if sys.stdout.isatty():
        line = f"\n{' ' * at}".join(folded(line, max(shutil.get_terminal_size().columns, 40) - at))
    style = _STYLES.get(f"{label}:")
    shown = f"{label:<{at}}" if style is None else painted(label, style, sys.stdout) + " " * (at - len(label))
    print_line(f"{shown}{line}".rstrip())


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Write labels with their texts to standard output."""
    for label, text in facts:
        print_labelled(label, text)


class PrintedError(Exception):
    """An error that is already part of the command's JSON output, so no second document is printed."""

    def __init__(self, error: PtttoolError) -> None:
        super().__init__(str(error))
        self.error = error


@contextmanager
def error_as_json_line(active: bool) -> Iterator[None]:
    """Write an error as the last of the JSON lines on standard output, and raise it as PrintedError."""
    try:
        yield
    except PtttoolError as error:
        if active:
            sys.stdout.write(json_line(ErrorDocument.of(error)))
            raise PrintedError(error) from error
        raise


class _Trimmed(io.TextIOBase):
    """A text stream that removes blanks at line ends: rich pads tables with them, and readers of a pipe do not want them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def write(self, text: str) -> int:
        self._stream.write(re.sub(r"[ \t]+(?=\n)", "", text))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()


def console(*, stderr: bool = False) -> Console:
    """Make a rich console: with colour where :mod:`ptttool.cli.terminal.colours` says so; in a pipe as wide as its content."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 10_000
    file = stream if stream.isatty() else cast("TextIO", _Trimmed(stream))
    coloured = has_colour(stream)
    return Console(
        file=file, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False,
        color_system="standard" if coloured else None, force_terminal=coloured or None, no_color=False,
    )  # fmt: skip


def plain_table(
    heads: Iterable[str] = (), right: Collection[str] = (), whole: Collection[str] = (), overflow: Literal["fold", "ellipsis"] = "fold"
) -> Table:
    """Make a table without lines.

    Parameters
    ----------
    heads : iterable of str
        The titles of the columns; more can be added.
    right : collection of str
        Those that are aligned to the right.
    whole : collection of str
        Those that are not wrapped.
    overflow : str
        What becomes of a word that is longer than its column.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if head in right else "left", no_wrap=head in whole, overflow=overflow)
    return table
