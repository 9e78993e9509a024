"""Write the manual pages from the command tree: ``ptttool.1`` and one page for each command.

``python -m tests.generated.manpages FOLDER``, or ``make man``; ``tests/test_man.py`` fails while the committed pages differ.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ptttool._version import __version__
from ptttool.cli.help import described
from ptttool.cli.help.about import about
from ptttool.cli.help.page import stages
from ptttool.cli.help.panels import in_panels
from ptttool.errors import ExitCode
from ptttool.files.atomic import output_file

RELEASES = {"0.2.0": "2026-11-22"}
"""The dates of the pages, by version: a page is the same whenever it is built."""

_LINE = 70

VERSION = __version__.partition(".dev")[0]


def roff(text: str) -> str:
    """Escape text for roff: backslashes, leading dots and hyphens."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def paragraphs(text: str) -> Iterator[str]:
    r"""Yield the paragraphs of a help text, their lines as long as sources of pages are; blocks after a ``\b`` line keep their lines."""
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in block.splitlines()]
        if lines and lines[0] == "\b":
            yield "\n.br\n".join(roff(line) for line in lines[1:])
        else:
            yield "\n".join(roff(line) for line in textwrap.wrap(" ".join(lines), _LINE, break_long_words=False, break_on_hyphens=False))


def synopsis(command: Any, path: str) -> str:
    """Format the command with its arguments, as usage lines show it."""
    return f"\\fB{roff(path)}\\fR {roff(described.usage(command))}"


def definitions(rows: Iterable[tuple[str, str]], font: str = "B") -> Iterator[str]:
    """Yield a list of names with their texts."""
    for name, text in rows:
        yield ".TP"
        yield f"\\f{font}{roff(name)}\\fR"
        yield from paragraphs(text)


def option_lines(command: Any, path: str, parent: Any) -> Iterator[str]:
    """Yield the lines of the options, in panels, each with its help."""
    context = command.make_context(path, [], parent=parent, resilient_parsing=True)
    options = [one for one in command.get_params(context) if described.is_option(one)]
    found = in_panels(options)
    for title, panel in found.items():
        if len(found) > 1:
            yield f".SS {title}"
        yield from definitions((described.option_names(one), described.description(one)) for one in panel)


def example_lines(command: Any) -> Iterator[str]:
    """Yield the lines of the examples: what each does, and the command line below it."""
    for number, example in enumerate(about(command).examples):
        if number:
            yield ".PP"
        yield from paragraphs(example.text)
        yield from (".PP", ".in +4n", ".nf", roff(example.line), ".fi", ".in")


def exit_codes(path: str) -> Iterator[tuple[str, str]]:
    """Yield the exit codes with their meanings; codes that belong to other commands are left out."""
    for code in ExitCode:
        named = re.findall(r"`(?:ptttool )?((?:tune )?[a-z]+)[^`]*`: ", code.meaning)
        if path == "ptttool" or not named or path.removeprefix("ptttool ") in named:
            meaning = code.meaning.replace("`", "")
            yield str(int(code)), f"{meaning}."


_ENVIRONMENT = (
    ("NO_COLOR", "When set, no colour is used, on a terminal either."),
    ("CLICOLOR_FORCE", "When set and not 0, colour is used, in a pipe too."),
    ("PTTTOOL_PLUGINS", "When 1, root loads plug-ins also from folders that others than root can write: --plugins."),
    ("PTTTOOL_CRASH_REPORT", "The file that --crash-report names."),
)


def related(command: Any, path: str, paths: list[str]) -> list[str]:
    """Return the pages for SEE ALSO: the group and what it says itself, of ptttool all commands."""
    if hasattr(command, "commands"):
        depth = path.count(" ") + 1
        found = [other for other in paths if other.startswith(f"{path} ") and other.count(" ") == depth]
        return found if path == "ptttool" else ["ptttool", *found]
    group = path.rpartition(" ")[0]
    named = [f"ptttool {name}" for name in about(command).related]
    beside = [other for other in paths if group != "ptttool" and other.rpartition(" ")[0] == group and other != path]
    return list(dict.fromkeys(["ptttool", group, *beside, *named]))


def page(command: Any, path: str, paths: list[str], parent: Any = None) -> str:
    """Return one manual page, as roff."""
    title = path.replace(" ", "-")
    _, *rest = list(paragraphs(command.help or "")) or [""]
    lines = [
        '.\\" Written from the command tree by tests/generated/manpages.py; edit the help texts instead.',
        f'.TH "{title.upper()}" "1" "{RELEASES[VERSION]}" "ptttool {VERSION}" "ptttool manual"',
        ".SH NAME",
        f"{roff(title)} \\- {roff(described.summary(command))}",
        ".SH SYNOPSIS",
        synopsis(command, path),
    ]
    if rest:
        lines += [".SH DESCRIPTION", rest[0], *(line for text in rest[1:] for line in (".PP", text))]
    if hasattr(command, "commands"):
        lines.append(".SH COMMANDS")
        for stage, items in stages(command).items():
            lines += [f".SS {stage}"] if path == "ptttool" else []
            lines += definitions((f"{name}", f"{described.summary(one)}.") for name, one in items)
    examples = list(example_lines(command))
    if examples:
        lines += [".SH EXAMPLES", *examples]
    arguments = [(described.argument_name(one), described.description(one)) for one in command.params if described.is_argument(one)]
    if arguments:
        lines += [".SH ARGUMENTS", *definitions(arguments, "I")]
    options = list(option_lines(command, path, parent))
    if options:
        lines += [".SH OPTIONS", *options]
    lines += [".SH EXIT STATUS", *definitions(exit_codes(path))]
    files = about(command).files
    if files:
        lines += [".SH FILES", *definitions(((kept.path, kept.text) for kept in files), "I")]
    if path == "ptttool":
        lines += [".SH ENVIRONMENT", *definitions(_ENVIRONMENT)]
    others = related(command, path, paths)
    lines += [".SH SEE ALSO", ",\n".join(f"\\fB{roff(other.replace(' ', '-'))}\\fR(1)" for other in others)]
    return "\n".join(lines) + "\n"


def walk(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the command and all its sub-commands, with their full names, in the order of use."""
    yield path, command
    for items in stages(command).values() if hasattr(command, "commands") else ():
        for name, sub in items:
            yield from walk(sub, f"{path} {name}")


def pages() -> dict[str, str]:
    """Return the text of every page by its file name."""
    from ptttool.cli.app import app
    from ptttool.cli.main import load_commands

    load_commands()
    root = app.tree
    context = root.make_context("ptttool", [], resilient_parsing=True)  # commands inherit its settings: -h
    commands = list(walk(root, "ptttool"))
    paths = [path for path, _ in commands]
    return {f"{path.replace(' ', '-')}.1": page(command, path, paths, None if command is root else context) for path, command in commands}


def main(folder: Path) -> int:
    """Write every page, and remove pages of commands that no longer exist."""
    wanted = pages()
    for old in folder.glob("*.1"):
        if old.name not in wanted:
            old.unlink()
    for name, text in wanted.items():
        with output_file(folder / name, force=True) as file:
            file.write(text.encode())
    sys.stdout.write(f"{len(wanted)} pages in {folder}\n")
    return 0


if __name__ == "__main__":
    from tests.generated.words import write

    write()  # what completion offers follows from the same commands
    sys.exit(main(Path(sys.argv[1])))
