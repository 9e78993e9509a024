"""The text that ``--help`` prints."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from ptttool.cli.help.about import Stage, about
from ptttool.cli.help.described import argument_name, description, is_argument, is_option, option_names, summary, usage
from ptttool.cli.help.panels import in_panels
from ptttool.cli.terminal import letters
from ptttool.cli.terminal.colours import Style, painted

_WIDEST = 100
_NARROWEST = 40
_FIRST = 30
"""Largest width of the column of names; a longer name has its text on the next line."""


def help_text(command: Any, context: Any) -> str:
    """Return the help of a command: usage, what it does, examples, arguments, options in panels, and for a group its commands."""
    width = min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)
    blocks = [_usage(context.command_path, usage(command), width), *_paragraphs(command.help or "", width)]
    # Of a group, what there is to do comes first.
    groups = list(_commands(command, context, width))
    blocks += groups
    examples = about(command).examples
    if examples:
        lines = [line for one in examples for line in (*_filled(one.text, width, "  "), f"    {one.line}")]
        blocks.append("\n".join([_heading("Examples"), *lines]))
    arguments = [(argument_name(one), description(one)) for one in command.params if is_argument(one) and getattr(one, "help", None)]
    if arguments:
        blocks.append(_list("Arguments", arguments, width))
    options = [one for one in command.get_params(context) if is_option(one)]
    for title, panel in in_panels(options).items():
        blocks.append(_list(title, [(option_names(one), description(one)) for one in panel], width))
    if groups:
        blocks.append("\n".join(_filled(f"'{context.command_path} COMMAND --help' explains a command.", width, "")))
    # typer writes UTF-8 to a stream that takes ASCII only.
    return letters.shown("\n\n".join(blocks), sys.stdout)


def stages(command: Any) -> dict[Stage, list[tuple[str, Any]]]:
    """Return the commands of a group by stage, both in the order of use."""
    shown = [(name, one) for name, one in command.commands.items() if not one.hidden]
    shown.sort(key=lambda item: (about(item[1]).rank, item[0]))
    by_stage = {stage: [item for item in shown if about(item[1]).stage is stage] for stage in Stage}
    return {stage: items for stage, items in by_stage.items() if items}


def _commands(command: Any, context: Any, width: int) -> Iterator[str]:
    if not hasattr(command, "commands"):
        return
    by_stage = stages(command)
    first = max((len(name) for items in by_stage.values() for name, _ in items), default=0)
    for stage, items in by_stage.items():
        title = str(stage) if context.parent is None else "Commands"
        yield _list(title, [(name, summary(one)) for name, one in items], width, first)


def _usage(path: str, words: str, width: int) -> str:
    lines = textwrap.wrap(f"Usage: {path} {words}", width, subsequent_indent=" " * len("Usage:   "), break_on_hyphens=False)
    return "\n".join(lines).replace("Usage:", _heading("Usage"), 1)


def _paragraphs(text: str, width: int) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in block.splitlines()]
        if lines and lines[0] == "\b":
            yield "\n".join(one for line in lines[1:] for one in _hanging(line, width))
        elif lines:
            yield "\n".join(_filled(" ".join(lines), width, "  "))


def _hanging(line: str, width: int) -> list[str]:
    """Wrap a line of a list, "name   text", so that the text stays below itself."""
    match = re.match(r"\S+ {2,}", line)
    indent = " " * (2 + (match.end() if match else 2))
    return textwrap.wrap(line, width, initial_indent="  ", subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _list(title: str, rows: Sequence[tuple[str, str]], width: int, first: int | None = None) -> str:
    column = min(first or max(len(name) for name, _ in rows), _FIRST, width // 2) + 4
    shown = [_heading(title)]
    for name, text in rows:
        lines = _filled(text, width, " " * column)
        if len(name) <= column - 4 and lines:
            lines[0] = f"  {name}".ljust(column) + lines[0][column:]
        else:
            head, _, value = name.rpartition(" ")
            lines[:0] = [f"  {head}", f"    {value}"] if head and len(name) + 2 > width else [f"  {name}"]
        shown += lines
    return "\n".join(shown)


def _filled(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _heading(text: str) -> str:
    return painted(f"{text}:", Style.HEADING, sys.stdout)
