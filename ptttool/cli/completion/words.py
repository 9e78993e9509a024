"""The words of the committed files: what there is to complete."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

FOLDER: Final = Path(__file__).parent / "data"


class Parameter(NamedTuple):
    """An option or an argument of a command.

    Parameters
    ----------
    kind : str
        What its value is; empty for a switch.
    many : bool
        Whether it may be repeated.
    names : list of str
        The names of an option.
    help : str
        What an option does.
    """

    kind: str
    many: bool
    names: Sequence[str] = ()
    help: str = ""


class Command(NamedTuple):
    """A command, or a group of commands.

    Parameters
    ----------
    options : list of Parameter
        Its options.
    arguments : list of Parameter
        Its arguments.
    commands : dict of str to str
        What it is a group of, with help.
    interspersed : bool
        Whether options may follow the first argument.
    """

    options: list[Parameter]
    arguments: list[Parameter]
    commands: dict[str, str]
    interspersed: bool

    def option(self, name: str) -> Parameter | None:
        """Return the option of a name."""
        return next((one for one in self.options if name in one.names), None)


def command_of(path: tuple[str, ...]) -> Command | None:
    """Return the command of a path of names; None for one of another package."""
    content = _read("-".join(("ptttool", *path)))
    if content is None:
        return None
    return Command(
        [Parameter(**one) for one in content["options"]],
        [Parameter(**one) for one in content["arguments"]],
        content.get("commands", {}),
        content["interspersed"],
    )


def listed() -> dict[str, dict[str, str]]:
    """Return the commands of ptttool with their help, by stage."""
    top = _read("ptttool") or {}
    return {stage: {name: top["commands"][name] for name in names} for stage, names in top.get("stages", {}).items()}


def values() -> dict[str, Any]:
    """Return the values that ptttool itself defines, by kind."""
    return _read("values") or {}


def _read(name: str) -> dict[str, Any] | None:
    if not name.replace("-", "").isalnum():
        return None
    try:
        content = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None
