"""The classes of commands and groups of commands, and the application that takes what a command says of itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from ptttool.cli.help.about import About, Example, KeptFile, Stage

Function = TypeVar("Function", bound=Callable[..., Any])


class Command(TyperCommand):
    """A command with our help."""

    about = About()

    def get_help(self, ctx: Any) -> str:
        """Return the text of ``--help``."""
        from ptttool.cli.help.page import help_text

        return help_text(self, ctx)


class Group(TyperGroup):
    """A group of commands with our help."""

    about = About()

    def get_help(self, ctx: Any) -> str:
        """Return the text of ``--help``."""
        from ptttool.cli.help.page import help_text

        return help_text(self, ctx)


class App(typer.Typer):
    """A typer application whose commands say their stage and examples where they register themselves."""

    def command(
        self,
        name: str | None = None,
        *,
        stage: Stage = Stage.MORE,
        rank: int = 50,
        examples: Sequence[Example] = (),
        files: Sequence[KeptFile] = (),
        related: Sequence[str] = (),
        **settings: Any,
    ) -> Callable[[Function], Function]:
        """Register a command; see :class:`ptttool.cli.help.about.About`. Further settings are typer's."""
        told = About(stage, rank, examples, files, related)
        settings.setdefault("cls", type("Command", (Command,), {"about": told}))
        register: Callable[[Function], Function] = super().command(name, **settings)
        return register

    def group(
        self,
        name: str,
        help: str,
        *,
        stage: Stage = Stage.MORE,
        rank: int = 50,
        examples: Sequence[Example] = (),
        related: Sequence[str] = (),
    ) -> App:
        """Make a group of commands, such as ``tune``, and register it."""
        cls = type("Group", (Group,), {"about": About(stage, rank, examples, (), related)})
        made = App(name=name, help=help, cls=cls, no_args_is_help=True, rich_markup_mode=None)
        self.add_typer(made)
        return made
