"""Errors of the command line in our words: what was written, what was meant, how to write it. No sentence of a library is shown."""

from __future__ import annotations

import ast
import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from ptttool.cli.help.about import about
from ptttool.cli.help.described import argument_usage, choices_of, is_argument, is_option, number_of, usage, value_name
from ptttool.cli.help.stray import check_quotes, looks_like_a_device
from ptttool.errors import UsageError
from ptttool.wording import did_you_mean


@cache
def _meant_by(what: str) -> list[tuple[list[str], str]]:
    """Return what people write for ``commands`` or ``options``, and their ``habits``: the words, and what is meant."""
    entries = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))[what]
    return [(words.split(), meant) for words, meant in entries.items()]


# What typer says of a value that it refuses.
_REFUSED = re.compile(r"(?P<value>.*) is not (?:a valid|one of|in the range) ", re.DOTALL)
_EXTRA = re.compile(r"Got unexpected extra arguments?\(?s?\)? \((?P<words>.*)\)", re.DOTALL)


def said(error: Any, arguments: Sequence[str] = ()) -> UsageError:
    """Return the error for a command line that typer does not take; `arguments`: the command line."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "ptttool"
    see = f"see '{path} --help'"
    name = type(error).__name__
    if name == "NoSuchOption":
        return _unknown_option(error.option_name, context, see, arguments)
    if name == "MissingParameter" and error.param is not None:
        return _missing(error.param, context, see)
    if name == "BadParameter" and error.param is not None:
        return _bad_value(error, see)
    if name == "BadOptionUsage":
        return _bad_use(error, context, see)
    match = _EXTRA.fullmatch(error.format_message())
    if match is not None and context is not None:
        return _extra(match["words"], context, see)
    return UsageError(error.format_message(), hint=see)


def unknown_command(name: str, group: Any, context: Any) -> UsageError:
    """Return the error for a command that does not exist: with those that are written or meant alike."""
    path = context.command_path
    names = {word for word, one in group.commands.items() if not one.hidden}
    root = context.find_root().command
    meant = _meant(name, root, inside=path.partition(" ")[2])
    near = [] if meant is not None else [f"{path} {each}" for each in _near(name, names)]
    suggestions = [f"ptttool {meant}"] if meant is not None else near
    hint = did_you_mean(f"{each!r}" for each in suggestions) if suggestions else f"see '{path} --help'"
    return UsageError(f"{path} has no command {name!r}", hint=hint, code="unknown-command", command=name, suggestions=suggestions)


def _meant(name: str, root: Any, inside: str) -> str | None:
    """Return the command that another word means, if this version has it."""
    from ptttool.analyses.contract import ANALYSES

    command = next((command for words, command in _meant_by("commands") if name.lower() in words), None)
    if command == "--help":
        return f"{inside} {command}".lstrip()
    if command is not None and _exists(command, root):
        return command
    tune = root.commands.get("tune")
    if not inside and tune is not None and name in tune.commands:
        return f"tune {name}"
    if inside and name in root.commands:
        return name
    return f"analyze {name}" if not inside and name in ANALYSES.names() else None


def _exists(path: str, root: Any) -> bool:
    command = root
    for word in path.split():
        if word.startswith("--"):
            return True
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            return False
    return True


def _unknown_option(name: str, context: Any, see: str, arguments: Sequence[str]) -> UsageError:
    options = set(_option_names(context))
    written = name if len(name) == 2 else name.lower()  # -C is not -c
    meant = [option for words, option in _meant_by("options") if written in words and option in options]
    same = [each for each in options if each.replace("-", "") == name.lower().replace("-", "")]
    suggestions = same or meant or _near(name, {each for each in options if each.startswith("--")})
    if suggestions:
        # The value stands behind it, in a word of its own.
        behind = next((word for before, word in pairwise(arguments) if before == name), "-")
        value = f" {behind}" if len(suggestions) == 1 and not same and not behind.startswith("-") else ""
        hint = did_you_mean(f"{each}{value}" for each in suggestions)
    else:
        hint = _habit(name, context) or see
    path = context.command_path if context is not None else "ptttool"
    return UsageError(f"{path} has no option {name}", hint=hint, code="unknown-option", option=name, suggestions=suggestions)


def _habit(name: str, context: Any) -> str | None:
    """Return what to do instead of an option of another tool, if this command can."""
    if context is None:
        return None
    has = {*_option_names(context), *re.findall("[A-Z]+", " ".join(map(argument_usage, filter(is_argument, context.command.params))))}
    for words, text in _meant_by("habits"):
        # What the text names outside of quotes.
        needed = re.findall(r"--[a-z]+|\b(?:FILE|DEVICE)\b", re.sub("'[^']*'|> FILE", "", text))
        if name in words and has.issuperset(needed):
            return text
    return None


def _option_names(context: Any) -> Iterator[str]:
    if context is None:
        return
    for one in context.command.get_params(context):
        if is_option(one):
            yield from (*one.opts, *one.secondary_opts)


def _near(name: str, names: Iterable[str]) -> list[str]:
    """Return what is written nearly so: the best, and a second one that is as near."""
    lower = name.lower()
    begins = sorted(each for each in names if len(lower.strip("-")) > 1 and each.startswith(lower))
    if len(begins) == 1:
        return begins
    scored = sorted(((difflib.SequenceMatcher(None, lower, each).ratio(), each) for each in names), key=lambda pair: (-pair[0], pair[1]))
    return [each for ratio, each in scored[:2] if ratio >= 0.75 and ratio >= scored[0][0] - 0.05]


def _missing(parameter: Any, context: Any, see: str) -> UsageError:
    name = argument_usage(parameter) if is_argument(parameter) else f"{_option(parameter)} {value_name(parameter)}".strip()
    command = context.command if context is not None else None
    example = next((one.line for one in about(command).examples), None)
    hint = f"such as: {example}" if example is not None else see
    return UsageError(f"{name} is missing", hint=hint, code="missing-argument", missing=[name.removesuffix("...")])


def _bad_value(error: Any, see: str) -> UsageError:
    parameter = error.param
    what = _option(parameter) if is_option(parameter) else argument_usage(parameter)
    value = _value_of(error)
    choices = choices_of(parameter)
    details: dict[str, Any] = {"option": what, "value": None if value is None else str(value)}
    shown = "" if value is None else f"{str(value)!r} "
    if choices:
        suggestions = [each for each in choices if value is not None and each.startswith(str(value).lower())] or _near(str(value), choices)
        text = f"{what}: {shown}is not one of {', '.join(choices)}"
        hint = did_you_mean(suggestions) if len(suggestions) == 1 else see
        return UsageError(text, hint=hint, code="unknown-choice", suggestions=suggestions, **details)
    kind = number_of(parameter)
    number = None if kind is None else _number(value, kind)
    smallest, largest = getattr(parameter.type, "min", None), getattr(parameter.type, "max", None)
    if number is not None and smallest is not None and number < smallest:
        return UsageError(f"{what}: {value} is less than {smallest}", hint=see, code="too-small", smallest=smallest, **details)
    if number is not None and largest is not None and number > largest:
        return UsageError(f"{what}: {value} is more than {largest}", hint=see, code="too-large", largest=largest, **details)
    if kind is not None:
        words = "a whole number" if kind is int else "a number"
        return UsageError(f"{what}: {shown}is not {words}", hint="written with digits alone, such as 20", code="not-a-number", **details)
    return UsageError(f"{what}: {shown}is not valid", hint=see, code="bad-value", **details)


def _value_of(error: Any) -> str | None:
    """Return what was written: typer keeps it in its sentence alone, as Python writes it."""
    match = _REFUSED.match(error.message)
    if match is None:
        return None
    try:
        return str(ast.literal_eval(match["value"]))
    except (SyntaxError, ValueError):  # inf
        return match["value"]


def _number(value: str | None, kind: type[int] | type[float]) -> float | None:
    try:
        return None if value is None else kind(value)
    except (ValueError, OverflowError):
        return None


def _bad_use(error: Any, context: Any, see: str) -> UsageError:
    name = error.option_name
    parameter = next((one for one in context.command.get_params(context) if name in (*one.opts, *one.secondary_opts)), None)
    if parameter is not None and not value_name(parameter):
        return UsageError(f"{name} does not take a value", hint=see, code="needless-value", option=name)
    needed = "" if parameter is None else f": {name} {value_name(parameter)}"
    return UsageError(f"{name} needs a value{needed}", hint=see, code="missing-value", option=name)


def _extra(words: str, context: Any, see: str) -> UsageError:
    hint = f"it takes: {context.command_path} {usage(context.command)}" if any(map(is_argument, context.command.params)) else see
    options = {*_option_names(context)}
    try:
        check_quotes(context.params.get("where"), words.split())
    except UsageError as error:
        return error
    if "--rootport" in options and looks_like_a_device(words):
        hint = f"to trace it: --rootport {words}"
    elif re.search("[a-z]=", words) and "--where" in options:
        hint = f'a condition is written --where "{words}"'
    return UsageError(f"{words}: {context.command_path} takes no further argument", hint=hint, code="extra-argument", words=words.split())


def _option(parameter: Any) -> str:
    return str(max(parameter.opts, key=len))
