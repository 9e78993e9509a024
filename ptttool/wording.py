"""Words for people: lists and counts in sentences, small tables for notebooks."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence

# What a terminal obeys or does not show, for a class of a regular expression: controls, separators of lines and paragraphs, all of
# Unicode's category Cf (marks of direction, joiners, tags), and halves of surrogate pairs, which no encoding can write.
OBEYED = (
    r"\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f\ud800-\udfff"
)
_CONTROL = re.compile(f"[\\x00-\\x1f{OBEYED}]")


def clean(text: str) -> str:
    """Return a text of a file or a device on one line, without anything that a terminal would obey."""
    return _CONTROL.sub(lambda match: _escaped(ord(match[0])), text)


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shortened(text: str, most: int = 80) -> str:
    """Return a text of a file for a message: its first characters, and ``…`` where it has more."""
    return text if len(text) <= most else text[:most] + "…"


def in_words(things: Iterable[object], conjunction: str = "and") -> str:
    """Join things as in a sentence: ``a``, ``a and b``, ``a, b and c``; no things give an empty string."""
    names = [str(thing) for thing in things]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {conjunction} {names[-1]}"


def first_of(names: Sequence[str], most: int) -> list[str]:
    """Return the first names of a list, and behind them how many more there are."""
    return [*names[:most], f"{len(names) - most} more"] if len(names) > most else list(names)


def did_you_mean(names: Iterable[object]) -> str:
    """Ask whether one of the names was meant, as a hint: ``did you mean a, b or c?``."""
    return f"did you mean {in_words(names, 'or')}?"


def counted(number: int, noun: str) -> str:
    """Count things: ``1 byte``, ``2,048 bytes``."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"


def as_root() -> str:
    """Say how to run ptttool as root: by its absolute path, because sudo does not search the user's own folders for programs.

    Returns
    -------
    str
        ``run it as root (sudo /home/me/.local/bin/ptttool …)``; ``run it as root`` where this process is not the command ``ptttool``.
    """
    words = own_command()
    if words is None:
        return "run it as root"
    sudo = ["sudo"] if shutil.which("sudo") else []
    return clean(f"run it as root ({shlex.join([*sudo, *words])} …)")


def own_command() -> list[str] | None:
    """Return the words that run ptttool as it runs now, by absolute paths; None where this process is not the command ``ptttool``."""
    # The paths as they were given: a link such as /usr/bin/ptttool is the user's name of the program.
    path = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    folder, name = os.path.split(path)
    if name == "ptttool":
        return [path]
    if name == "__main__.py" and os.path.basename(folder) == "ptttool" and sys.executable:  # noqa: PTH119
        return [sys.executable, "-P", "-m", "ptttool"]
    return None


def html_table(heads: Sequence[object], rows: Iterable[Sequence[object]], *, caption: str | None = None) -> str:
    """Write a small HTML table, for ``_repr_html_``.

    Parameters
    ----------
    heads : Sequence
        Heads of the columns.
    rows : Iterable of Sequence
        The cells; None becomes an empty cell. Every text is escaped.
    caption : str or None
        Text above the table.

    Returns
    -------
    str
        One ``<table>`` element.
    """
    import html  # has a long table of entities

    def line(cells: Sequence[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{'' if cell is None else html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    above = "" if caption is None else f"<caption>{html.escape(caption)}</caption>"
    body = "".join(line(row, "td") for row in rows)
    return f"<table>{above}<thead>{line(heads, 'th')}</thead><tbody>{body}</tbody></table>"
