"""The classes of commands and groups of commands, and the application that takes what a command says of itself."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, TypeVar

import typer
import typer.main
from msgspec import Struct
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from ptttool.cli.help.about import About, Example, KeptFile, Stage
from ptttool.cli.terminal.colours import When, choose
from ptttool.cli.terminal.talk import be_quiet
from ptttool.errors import UsageError
from ptttool.machine.sources.contract import DEMO_PREFIX

Function = TypeVar("Function", bound=Callable[..., Any])


# Before the command, too: what stands behind it does not take back what it does not say.
def _choose_colour(value: When) -> None:
    if value is not When.AUTO:
        choose(value)


def _choose_quiet(value: bool) -> None:
    if value:
        be_quiet(True)


_QUIET = "No notes on standard error, only warnings and errors."


def _options(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help=_QUIET, callback=_choose_quiet, expose_value=False)] = False,
    color: Annotated[
        When,
        typer.Option(
            "--color",
            help="Colour; auto is on a terminal only. NO_COLOR and CLICOLOR_FORCE in the environment do the same.",
            callback=_choose_colour,
            expose_value=False,
            is_eager=True,
            show_default=False,
        ),
    ] = When.AUTO,
) -> None:
    """Nothing is done: typer reads the options that every command has from this signature."""


class OptionGroup(Struct, frozen=True):
    """Options that belong together: the base of a class whose fields are annotated as a command's parameters are.

    A class can leave options of its base out; they have their defaults.
    """

    left_out: ClassVar[tuple[str, ...]] = ()


def _with_groups(function: Function) -> Function:
    """Make parameters of an :class:`OptionGroup` stand for the options in it: typer reads the signature of the function."""
    parameters, groups = [], {}
    for one in inspect.signature(function, eval_str=True).parameters.values():
        if isinstance(one.annotation, type) and issubclass(one.annotation, OptionGroup):
            groups[one.name] = one.annotation
            options = inspect.signature(one.annotation, eval_str=True).parameters.values()
            parameters += [each.replace(kind=one.kind) for each in options if each.name not in one.annotation.left_out]
        else:
            parameters.append(one)
    if not groups:
        return function

    @functools.wraps(function)
    def command(**values: Any) -> Any:
        for name, group in groups.items():
            values[name] = group(**{each: values.pop(each) for each in group.__struct_fields__ if each not in group.left_out})
        return function(**values)

    command.__annotations__ = {}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command  # type: ignore[return-value]


@functools.cache
def general_options() -> list[Any]:
    """Return the options that every command has."""
    reader = typer.Typer(add_completion=False)
    reader.command()(_options)
    return list(typer.main.get_command(reader).params)


class Escaped(Exception):
    """Its cause is an exception that typer would turn into an exit code without a word: Ctrl-C, or a defect."""


class _WithHelp:
    """What commands and groups share: our help, and the options that every command has."""

    about = About()
    params: list[Any]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; an error knows its command: typer says so of some."""
        try:
            return super().parse_args(ctx, args)  # type: ignore[misc,no-any-return]
        except TyperException as error:
            if getattr(error, "ctx", None) is None:
                error.ctx = ctx  # type: ignore[attr-defined]
            raise

    def make_parser(self, ctx: Any) -> Any:
        """Return typer's parser, to which ``--demo=NAME`` is a machine as ``--sysfs`` names it: its flags have no value."""
        parser = super().make_parser(ctx)  # type: ignore[misc]
        match = parser._match_long_opt

        def match_long(option: str, value: str | None, state: Any) -> None:
            if option == "--demo" and value is not None and {"--demo", "--sysfs"} <= set(parser._long_opt):
                option, value = "--sysfs", f"{DEMO_PREFIX}{value}"
            before = state.opts.get("sysfs")
            match(option, value, state)
            if option == "--sysfs" and before is not None and DEMO_PREFIX in (before[:5], state.opts["sysfs"][:5]):
                raise UsageError("--sysfs and --demo exclude each other", code="exclusive-options")

        parser._match_long_opt = match_long
        return parser

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options and arguments: its own, the general ones, --help."""
        params, own = super().get_params(ctx), len(self.params)  # type: ignore[misc]
        taken = {name for one in params for name in one.opts}
        general = [one for one in general_options() if taken.isdisjoint(one.opts)]
        return [*params[:own], *general, *params[own:]]

    def get_help(self, ctx: Any) -> str:
        """Return the text of ``--help``."""
        from ptttool.cli.help.page import help_text

        return help_text(self, ctx)


class Command(_WithHelp, TyperCommand):
    """A command with our help, and with the options that every command has."""


class Group(_WithHelp, TyperGroup):
    """A group of commands with our help, which knows what people mean."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name. Raises UsageError where there is none (code ``unknown-command``)."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            from ptttool.cli.help.mistakes import unknown_command

            raise unknown_command(args[0], self, ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, EOFError) as error:
            raise Escaped from error


class App(typer.Typer):
    """A typer application whose commands say their stage and examples where they register themselves."""

    _built: tuple[list[object], Any] | None = None

    @property
    def tree(self) -> Any:
        """The commands as typer builds them: once, for all command lines of a process, and again where others are registered."""
        parts = [*self.registered_commands, *self.registered_groups]
        if self._built is None or self._built[0] != parts:
            self._built = parts, typer.main.get_command(self)
        return self._built[1]

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
        settings.setdefault("cls", type("Command", (Command,), {"about": About(stage, rank, examples, files, related)}))
        register: Callable[[Function], Function] = super().command(name, **settings)
        return lambda function: register(_with_groups(function))

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
