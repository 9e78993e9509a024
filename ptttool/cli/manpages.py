"""Write the manual pages from the command tree: ``ptttool.1`` and one page for each command.

``python -m ptttool.cli.manpages FOLDER``, or ``make man``; ``tests/test_man.py`` fails while the committed pages differ.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ptttool.errors import ExitCode
from ptttool.files.atomic import output_file


def roff(text: str) -> str:
    """Escape text for roff: backslashes, leading dots and hyphens."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"(?m)^([.'])", r"\\&\1", text)


def paragraphs(text: str) -> Iterator[str]:
    r"""Yield the paragraphs of a help text, each on one line; blocks after a ``\b`` line keep their lines."""
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in block.splitlines()]
        if lines and lines[0] == "\b":
            yield "\n.br\n".join(roff(line) for line in lines[1:])
        else:
            yield roff(" ".join(lines))


def argument_synopsis(parameter: Any) -> str:
    """Format one argument: in brackets if it is optional, with dots if it may be repeated."""
    name = str(parameter.metavar or parameter.name.upper())
    if name.startswith("["):  # says it all by itself
        return f"\\fI{roff(name)}\\fR"
    dots = "…" if parameter.nargs == -1 else ""
    shown = f"\\fI{roff(name)}\\fR{dots}"
    return shown if parameter.required else f"[{shown}]"


def synopsis(command: Any, path: str) -> str:
    """Format the command with its arguments, as usage lines show it."""
    parts = [f"\\fB{roff(path)}\\fR", "[\\fIOPTIONS\\fR]"]
    parts += [argument_synopsis(parameter) for parameter in command.params if parameter.param_type_name == "argument"]
    if hasattr(command, "commands"):
        parts.append("\\fICOMMAND\\fR …")
    return " ".join(parts)


def option_lines(command: Any, path: str, parent: Any) -> Iterator[str]:
    """Yield the lines of the options, each with its help."""
    context = command.make_context(path, [], parent=parent, resilient_parsing=True)
    for parameter in command.get_params(context):
        if parameter.param_type_name != "option" or getattr(parameter, "hidden", False):
            continue
        record = parameter.get_help_record(context)
        if record is None:
            continue
        names, text = record[0], record[1]
        yield ".TP"
        yield f"\\fB{roff(names)}\\fR"
        yield from paragraphs(text)


def argument_lines(command: Any) -> Iterator[str]:
    """Yield the lines of the arguments that have a help text."""
    for parameter in command.params:
        if parameter.param_type_name == "argument" and getattr(parameter, "help", None):
            yield ".TP"
            yield f"\\fI{roff(str(parameter.metavar or parameter.name.upper()))}\\fR"
            yield from paragraphs(parameter.help)


def page(command: Any, path: str, others: list[str], parent: Any = None) -> str:
    """Return one manual page, as roff."""
    title = path.replace(" ", "-")
    help_text = command.help or ""
    first, *rest = list(paragraphs(help_text)) or [""]
    lines = [
        '.\\" Written from the command tree by ptttool/cli/manpages.py; edit the help texts instead.',
        f'.TH "{title.upper()}" "1" "" "ptttool" "ptttool manual"',
        ".SH NAME",
        f"{roff(title)} \\- {first.rstrip('.')}",
        ".SH SYNOPSIS",
        synopsis(command, path),
        ".SH DESCRIPTION",
        first,
    ]
    for text in rest:
        lines += [".PP", text]
    arguments = list(argument_lines(command))
    if arguments:
        lines += [".SH ARGUMENTS", *arguments]
    options = list(option_lines(command, path, parent))
    if options:
        lines += [".SH OPTIONS", *options]
    if hasattr(command, "commands"):
        lines.append(".SH COMMANDS")
        for name, sub in sorted(command.commands.items()):
            lines += [".TP", f"\\fB{roff(name)}\\fR (see \\fB{roff(title + '-' + name)}\\fR(1))", roff(sub.get_short_help_str(limit=200))]
    if path == "ptttool":
        lines.append(".SH EXIT STATUS")
        for code in ExitCode:
            meaning = code.meaning.replace("`", "")
            lines += [".TP", f"\\fB{code}\\fR", roff(f"{meaning[0].upper()}{meaning[1:]}.")]
        lines += [
            ".SH ENVIRONMENT",
            ".TP",
            "\\fBNO_COLOR\\fR",
            roff("When set, no colour is used, on a terminal either."),
        ]
    lines += [".SH SEE ALSO", ", ".join(f"\\fB{roff(other)}\\fR(1)" for other in others if other != title)]
    return "\n".join(lines) + "\n"


def walk(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the command and all its sub-commands, with their full names."""
    yield path, command
    for name, sub in sorted(getattr(command, "commands", {}).items()):
        if not sub.hidden:
            yield from walk(sub, f"{path} {name}")


def pages() -> dict[str, str]:
    """Return the text of every page by its file name."""
    import typer.main

    from ptttool.cli.app import app
    from ptttool.cli.main import load_commands

    load_commands()
    root = typer.main.get_command(app)
    context = root.make_context("ptttool", [], resilient_parsing=True)  # commands inherit its settings: -h
    commands = list(walk(root, "ptttool"))
    titles = [path.replace(" ", "-") for path, _ in commands]
    return {f"{path.replace(' ', '-')}.1": page(command, path, titles, None if command is root else context) for path, command in commands}


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
    sys.exit(main(Path(sys.argv[1])))
