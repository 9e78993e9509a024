"""Which parameters stand on the command line, and what is refused beside others because it would have no effect."""

from __future__ import annotations

from typing import Any

from ptttool.cli.help.described import argument_usage, is_option
from ptttool.errors import UsageError


def given(context: Any) -> set[str]:
    """Return the names of the parameters that stand on the command line."""
    return {name for name in context.params if (source := context.get_parameter_source(name)) is not None and source.name == "COMMANDLINE"}


def refuse_beside(mode: str, context: Any, *, takes: tuple[str, ...] = (), refused: tuple[str, ...] | None = None) -> None:
    """Raise a UsageError for what is on the command line and has no effect beside an option.

    Parameters
    ----------
    mode : str
        What it would have no effect beside, as the user writes it: ``--list``.
    context : typer.Context
        The command.
    takes : tuple of str
        The parameters that have an effect, by their names in the command's function; all others are refused.
    refused : tuple of str, optional
        The parameters that are refused; all others have an effect.
    """
    parameters = given(context)
    for one in context.command.params:
        is_refused = one.name not in takes if refused is None else one.name in refused
        if one.name in parameters and is_refused:
            name = max((*one.opts, *one.secondary_opts), key=len) if is_option(one) else argument_usage(one).strip("[]").removesuffix("...")
            raise UsageError(f"{name} has no effect with {mode}", hint=f"leave out {name}", code="exclusive-options", option=name)
