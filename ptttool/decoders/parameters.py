"""Parameters of protocols: what a decoder must know and the trace does not say.

A protocol's parameters are the fields of a frozen dataclass, derived from :class:`Settings` and described with :func:`number`,
:func:`numbers`, :func:`flag`, :func:`choice` and :func:`text`; :func:`settle` makes one of the texts that a user gave.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from ptttool.budget import over_budget, over_budget_text
from ptttool.decoders.budget import MAX_DESCRIPTION_BYTES, MAX_FILES
from ptttool.errors import AccessError, InputError, UsageError
from ptttool.wording import did_you_mean

Value: TypeAlias = int | bool | str | tuple[int, ...]
Values: TypeAlias = Mapping[str, Value | None]

_NUMBER = re.compile(r"[+-]?(0[xX](_?[0-9a-fA-F])+|0[bB](_?[01])+|0[oO](_?[0-7])+|[0-9](_?[0-9])*)")
_DECIMAL = re.compile(r"[+-]?[0-9_]+")
_WORDS = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}
_NOT_IN_NAMES = re.compile(r"[\s:#;\[]")
_REMARK = re.compile(r"[#;]")
_IGNORED = re.compile(r"\s*(?:[#;].*|//.*|\[[^\]]*\]\s*(?:[#;].*)?)?")
_LONGEST_NUMBER, _LONGEST_PATH = 80, 4096


class Type(StrEnum):
    """What the text of a parameter means."""

    INT = "int"
    INTS = "ints"  # commas between them
    BOOL = "bool"
    CHOICE = "choice"
    TEXT = "text"


class Paths(StrEnum):
    """What a text names that decoding reads."""

    FILES = "files"  # FILE or FILE@NUMBER, commas between them
    FOLDER = "folder"


class Parameter(Struct, frozen=True, kw_only=True):
    """A parameter of a protocol or of its framing.

    Parameters
    ----------
    name : str
        Name, as in ``-p NAME=VALUE``.
    type : str
        ``int``, ``ints``, ``bool``, ``choice`` or ``text``.
    mandatory : bool
        Whether it must be given.
    default : bool, int, str, list of int, or None
        Value by default.
    minimum, maximum : int or None
        The smallest and the largest number.
    choices : tuple of str or None
        The values of a choice.
    used : bool
        Whether decoding depends on it. Files of parameters may hold others.
    meaning : str
        What it means.
    optional : bool
        Whether it may be left out although it has no default; it is None then.
    paths : Paths or None
        What the text names that decoding reads.
    """

    json_name: ClassVar = "ParameterBody"
    json_hides: ClassVar = ("optional", "paths")

    name: str = ""
    type: str
    mandatory: bool = False
    default: bool | int | str | tuple[int, ...] | None = None
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] | None = None
    used: bool = True
    meaning: str
    optional: bool = False
    paths: Paths | None = None

    def __post_init__(self) -> None:
        """Say whether decoding needs it."""
        force_setattr(self, "mandatory", self.default is None and not self.optional and self.used)

    @property
    def range_text(self) -> str:
        """Its range: ``0 to 16``, ``yes or no``, ``framed or unframed``."""
        if self.type == Type.BOOL:
            return "yes or no"
        if self.type == Type.CHOICE:
            return " or ".join(self.choices or ())
        if self.type == Type.INTS:
            return f"{replace(self, type=Type.INT).range_text}, several with commas between"
        if self.type == Type.INT and self.minimum is not None:
            return f"{self.minimum} to {self.maximum}" if self.maximum is not None else f"{self.minimum} or more"
        return "any number" if self.type == Type.INT else "any text"

    def parse(self, text: str, where: str) -> Value:
        """Return the value that a text means.

        Parameters
        ----------
        text : str
            What was given.
        where : str
            Where it was given, for the message.

        Raises
        ------
        UsageError
            The text does not mean a value in the range (code ``bad-parameter``).
        """
        value: Value | None = None
        text = text.strip()
        if self.type == Type.INT:
            value = self._number(text)
        elif self.type == Type.INTS:
            numbers = [self._number(each.strip()) for each in text.split(",")]
            value = None if None in numbers else tuple(number for number in numbers if number is not None)
        elif self.type == Type.BOOL:
            value = _WORDS.get(text.lower())
        elif self.type == Type.CHOICE:
            value = text if text in (self.choices or ()) else None
        elif self.type == Type.TEXT and text:
            value = text
        if value is None:
            shown = text if len(text) <= 80 else text[:80] + "…"
            raise UsageError(
                f"{where}: {self.name}={shown} is not possible",
                hint=f"{self.name} ({self.meaning}): {self.range_text}",
                code="bad-parameter",
            )
        return value

    def _number(self, text: str) -> int | None:
        number = number_of(text)
        if number is None or (self.minimum is not None and number < self.minimum):
            return None
        return None if self.maximum is not None and number > self.maximum else number


class Given(NamedTuple):
    """A parameter as it was given.

    Parameters
    ----------
    text : str
        What was given.
    where : str
        Where: ``-p``, ``trace.scf: line 3``.
    from_file : bool
        Whether a file of parameters gave it.
    """

    text: str
    where: str
    from_file: bool = False


def number_of(text: str) -> int | None:
    """Return the number that a text means: ``16``, ``0x10``, ``0b1_0000``; None for any other text.

    A number with a leading zero is decimal, as it is in all file formats that are read here.
    """
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    return int(text, 10 if _DECIMAL.fullmatch(text) else 0)


def files_of(text: str) -> list[tuple[str, str | None]]:
    """Split ``FILE`` or ``FILE@NUMBER``, several with commas between them, into names and the texts behind their last @."""
    if _is_there(text):  # a comma in its name
        return [(text, None)]
    if text.count(",") >= MAX_FILES:
        raise over_budget_text("a list of files", MAX_FILES, "files")
    files: list[tuple[str, str | None]] = []
    for word in filter(None, (word.strip() for word in text.split(","))):
        path, at, number = word.rpartition("@")
        files.append((path, number) if at and not _is_there(word) else (word, None))
    return files


def _is_there(path: str) -> bool:
    """Return whether there is a file or folder; False for what cannot be a path."""
    return len(path) <= _LONGEST_PATH and os.path.exists(path)  # noqa: PTH110 - False for a zero byte, too


def parse_options(options: Iterable[str]) -> dict[str, Given]:
    """Return the parameters in ``key=value`` arguments; of several for one name the last counts.

    Raises
    ------
    UsageError
        An argument is not ``key=value`` (code ``bad-parameter``).
    """
    arguments = {}
    for word in options:
        name, equals, text = word.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"-p {word} is not key=value", hint="such as -p srcid_bits=6", code="bad-parameter")
        arguments[name.strip()] = Given(text, "-p")
    return arguments


def read_text(path: str | Path, what: str, hint: str | None = None) -> str:
    """Return the text of a file that describes a trace unit.

    Parameters
    ----------
    path : str or Path
        The file.
    what : str
        What it describes, for messages: ``parameters``.
    hint : str, optional
        Hint of an error: what the file should hold.

    Raises
    ------
    InputError
        The file is missing, is not text or is too long.
    AccessError
        It may not be read.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_DESCRIPTION_BYTES + 1)
        if len(content) > MAX_DESCRIPTION_BYTES:
            raise over_budget(path, f"the file of {what}", MAX_DESCRIPTION_BYTES, "bytes", hint=hint)
        text = content.decode("utf-8-sig")
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror}") from None
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise InputError(path, "not a text file", offset=error.start, hint=hint) from None
    except ValueError:  # another file can name such a path
        raise InputError(path, "the path holds a zero byte", code="bad-path") from None
    return text


def read_file(path: str | Path) -> dict[str, Given]:
    """Return the parameters in a file with one ``key=value`` a line: .scf files, flat TOML, ini; comments and headings are ignored.

    Raises
    ------
    InputError
        The file cannot be read as text, or a line is not ``key=value`` (code ``bad-parameter-file``).
    AccessError
        It may not be read.
    UsageError
        A name has two values (code ``bad-parameter``).
    """
    arguments: dict[str, Given] = {}
    for number, line in enumerate(read_text(path, "parameters", "one parameter a line: key=value").splitlines(), 1):
        where = f"{path}: line {number}"
        pair = _pair(line)
        if pair is None:
            if _IGNORED.fullmatch(line):
                continue
            raise InputError(path, f"line {number} is not key=value", hint="one parameter a line: key=value", code="bad-parameter-file")
        name, value = pair[0].strip("\"'"), pair[1].strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        if name in arguments and arguments[name].text != value:
            raise UsageError(f"{where}: {name} is {value} here and {arguments[name].text} before", code="bad-parameter")
        arguments[name] = Given(value, where, from_file=True)
    return arguments


def _pair(line: str) -> tuple[str, str] | None:
    """Split ``key = value``; None for other lines. A value in quotes may hold a #; else a # begins a remark.

    A regular expression for this takes quadratic time for long lines of blanks.
    """
    name, equals, value = line.partition("=")
    name, value = name.strip(), value.strip()
    if not equals or not name or _NOT_IN_NAMES.search(name):
        return None
    if value[:1] in ("'", '"'):
        end = value.find(value[0], 1)
        behind = value[end + 1 :].lstrip()
        if end > 0 and (not behind or behind[0] in "#;"):
            return name, value[: end + 1]
    return name, _REMARK.split(value, maxsplit=1)[0]


def settle(parameters: Sequence[Parameter], arguments: Mapping[str, Given], title: str) -> dict[str, Value | None]:
    """Return a value for every parameter that is used.

    Parameters
    ----------
    parameters : sequence of Parameter
        All that are known.
    arguments : Mapping[str, Given]
        What the user gave.
    title : str
        The protocol they are for, for messages.

    Raises
    ------
    UsageError
        A name is unknown (code ``unknown-parameter``), a value is not possible (``bad-parameter``) or one is missing
        (``missing-parameter``).
    """
    _check_names(parameters, arguments, title)
    values: dict[str, Value | None] = {}
    for parameter in parameters:
        if parameter.used:
            own = arguments.get(parameter.name)
            values[parameter.name] = parameter.default if own is None else parameter.parse(own.text, own.where)
    missing = [parameter for parameter in parameters if parameter.mandatory and parameter.name not in arguments]
    if missing:
        names = ", ".join(parameter.name for parameter in missing)
        first = missing[0]
        hint = f"-p {first.name}=…: {first.meaning} ({first.range_text})"
        raise UsageError(f"{title} needs {names}", hint=hint, code="missing-parameter", parameters=[each.name for each in missing])
    return values


def _check_names(parameters: Sequence[Parameter], arguments: Mapping[str, Given], title: str) -> None:
    names = {parameter.name for parameter in parameters}
    for name, value in arguments.items():
        if name not in names:
            useful = [parameter.name for parameter in parameters if parameter.used]
            near = get_close_matches(name, useful, n=3)
            hint = did_you_mean(near) if near else f"known: {', '.join(useful) or 'none'}"
            raise UsageError(f"{value.where}: {title} does not have a parameter {name!r}", hint=hint, code="unknown-parameter")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The values of a protocol's parameters; this class has none."""

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """Return the parameters, as they are listed."""
        parameters = []
        for field in dataclasses.fields(cls):
            parameter = field.metadata.get(_KEY)
            if parameter is not None:
                parameters.append(replace(parameter, name=field.name))
        return tuple(parameters)

    @classmethod
    def of(cls, values: Values) -> Self:
        """Make the settings of the values of all parameters; others are ignored."""
        return cls(**{field.name: values[field.name] for field in dataclasses.fields(cls) if _KEY in field.metadata})


_KEY = "parameter"


def _field(parameter: Parameter) -> Any:
    default = dataclasses.MISSING if parameter.mandatory else parameter.default
    return dataclasses.field(default=default, metadata={_KEY: parameter})


def number(
    meaning: str, default: int | None = None, minimum: int | None = None, maximum: int | None = None, *, optional: bool = False
) -> Any:
    """Describe a parameter that is an integer; see :class:`Parameter`."""
    return _field(Parameter(type=Type.INT, meaning=meaning, default=default, minimum=minimum, maximum=maximum, optional=optional))


def numbers(meaning: str, minimum: int | None = None, maximum: int | None = None) -> Any:
    """Describe an optional parameter that is several integers."""
    return _field(Parameter(type=Type.INTS, meaning=meaning, minimum=minimum, maximum=maximum, optional=True))


def flag(meaning: str, default: bool | None = None) -> Any:
    """Describe a parameter that is yes or no."""
    return _field(Parameter(type=Type.BOOL, meaning=meaning, default=default))


def choice(meaning: str, choices: Iterable[str], default: str | None = None, *, optional: bool = False) -> Any:
    """Describe a parameter that is one of some words."""
    return _field(Parameter(type=Type.CHOICE, meaning=meaning, default=default, choices=tuple(choices), optional=optional))


def text(meaning: str, *, optional: bool = False, paths: Paths | None = None) -> Any:
    """Describe a parameter that is any text."""
    return _field(Parameter(type=Type.TEXT, meaning=meaning, optional=optional, paths=paths))
