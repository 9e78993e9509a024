"""The commands of ptttool by name, for the help that lists them: read from a file, as to import them all takes a tenth of a second."""

from __future__ import annotations

from ptttool.cli.completion.words import listed
from ptttool.cli.help.about import About, Stage
from ptttool.cli.help.commands import Command


def listed_commands() -> dict[str, Command]:
    """Return a command for each name: it has its stage and its summary, and cannot run. Empty where the file cannot be read."""
    found: dict[str, Command] = {}
    for stage, commands in listed().items():
        for rank, (name, summary) in enumerate(commands.items()):
            found[name] = Command(name, help=summary)
            found[name].about = About(Stage(stage), rank)
    return found
