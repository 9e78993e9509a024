"""How options and arguments are named and described, in ``--help`` and in the manual pages alike."""

from __future__ import annotations

import enum
from typing import Any


def is_option(parameter: Any) -> bool:
    """Return whether a parameter is an option that is shown."""
    return parameter.param_type_name == "option" and not getattr(parameter, "hidden", False)


def is_argument(parameter: Any) -> bool:
    """Return whether a parameter is an argument that is shown."""
    return parameter.param_type_name == "argument" and not getattr(parameter, "hidden", False)


def value_name(parameter: Any) -> str:
    """Return the placeholder for the value of an option: ``FILE``, ``inbound|outbound|both``; nothing for a switch."""
    if parameter.param_type_name == "option" and (parameter.is_flag or parameter.count):
        return ""
    if parameter.metavar is not None:
        return str(parameter.metavar).strip("<>") if "|" in str(parameter.metavar) else str(parameter.metavar)
    choices = choices_of(parameter)
    if choices:
        return "|".join(choices)
    return "N" if number_of(parameter) is not None else str(parameter.name).upper()


def choices_of(parameter: Any) -> list[str]:
    """Return the values that an option or an argument can have; none where it can have any."""
    return [str(choice.value if isinstance(choice, enum.Enum) else choice) for choice in getattr(parameter.type, "choices", ())]


def number_of(parameter: Any) -> type[int] | type[float] | None:
    """Return which kind of number an option or an argument takes; None where it takes something else."""
    kinds: dict[str, type[int] | type[float]] = {"int": int, "float": float}
    return kinds.get(parameter.type.name.removesuffix(" range"))


def option_names(parameter: Any) -> str:
    """Return the names of an option, short ones first, and its placeholder: ``-o, --output FILE``."""
    names = sorted(parameter.opts, key=lambda name: len(name) - len(name.lstrip("-")))
    text = ", ".join(names)
    if parameter.secondary_opts:
        text += f", {', '.join(parameter.secondary_opts)}"
    value = value_name(parameter)
    return f"{text} {value}" if value else text


def description(parameter: Any) -> str:
    """Return what an option or an argument is for, with its default where the help text does not say it."""
    text = str(getattr(parameter, "help", None) or "")
    default = _default(parameter)
    if default is None or not getattr(parameter, "show_default", False) or "default" in text.lower():
        return text
    return f"{text} Default: {default}." if text else f"Default: {default}."


def _default(parameter: Any) -> str | None:
    default = parameter.default
    if callable(default) or default is None or default in ((), [], ""):
        return None
    if isinstance(default, bool):
        names = parameter.opts if default else parameter.secondary_opts
        return str(names[0]) if parameter.secondary_opts else None
    return str(default.value if isinstance(default, enum.Enum) else default)


def argument_name(parameter: Any) -> str:
    """Return the name of an argument as it stands in the list of arguments: ``FILE``."""
    return str(parameter.metavar or parameter.name.upper()).strip("[]").removeprefix("-- ").removesuffix("...")


def argument_usage(parameter: Any) -> str:
    """Return an argument for the usage line: in brackets if it may be left out, with dots if it may be repeated."""
    name = str(parameter.metavar or parameter.name.upper())
    if name.startswith("["):  # says it all by itself
        return name
    name = name.removesuffix("...") + ("..." if parameter.nargs == -1 or name.endswith("...") else "")
    return name if parameter.required else f"[{name}]"


def usage(command: Any) -> str:
    """Return what follows the command's name on its usage line."""
    words = ["[OPTIONS]", *(argument_usage(parameter) for parameter in command.params if is_argument(parameter))]
    if hasattr(command, "commands"):
        words.append("COMMAND ...")
    return " ".join(words)


def summary(command: Any) -> str:
    """Return the first sentence of a command's help on one line."""
    text = " ".join(str(command.short_help or command.help or "").split("\n\n", maxsplit=1)[0].split())
    return text.removesuffix(".")
