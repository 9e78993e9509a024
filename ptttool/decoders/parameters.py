"""Parameters of protocols, declared as data: what a decoder has to be told because the trace does not say it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ptttool.errors import AccessError, InputError, UsageError

Value = int | bool | str | tuple[int, ...]
Settings = Mapping[str, Any]

_NUMBER = re.compile(r"[+-]?(0[xX](_?[0-9a-fA-F])+|0[bB](_?[01])+|0[oO](_?[0-7])+|[0-9](_?[0-9])*)")
_DECIMAL = re.compile(r"[+-]?[0-9_]+")
_WORDS = {"yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False}
# A value in quotes may hold a #; else a # begins a remark.
_LINE = re.compile(r"""\s*([^\s=:#;\[]+)\s*=\s*("(?:[^"]*)"|'(?:[^']*)'|[^#;]*?)\s*(?:[#;].*)?""")
_IGNORED = re.compile(r"\s*(?:[#;].*|//.*|\[[^\]]*\]\s*(?:[#;].*)?)?")
_LONGEST_NUMBER = 80
# Nobody describes a trace unit in more.
_LARGEST_FILE = 1 << 20


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    ``type``: ``int``, ``ints`` (commas between them), ``bool``, ``choice`` (one of ``choices``) or ``text``. ``default``: None for one that
    must be given, unless ``optional``: then it may be left out and is None. ``minimum``, ``maximum``: of ints, both included. ``used``:
    whether decoding depends on it: files that describe a trace unit also hold what a decoder need not know, and such a name is no unknown
    one. ``reads``: the text names ``files`` (FILE or FILE@NUMBER, several with commas) or a ``folder`` that decoding reads.
    """

    name: str
    type: str
    meaning: str
    default: Value | None = None
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    optional: bool = False
    used: bool = True
    reads: str | None = None

    @property
    def mandatory(self) -> bool:
        """Whether there is no decoding without it."""
        return self.default is None and not self.optional and self.used

    @property
    def range_text(self) -> str:
        """What it may be: ``0 to 16``, ``yes or no``, ``framed or unframed``."""
        if self.type == "bool":
            return "yes or no"
        if self.type == "choice":
            return " or ".join(self.choices)
        if self.type == "ints":
            return f"{replace(self, type='int').range_text}, several with commas between"
        if self.type == "int" and self.minimum is not None:
            return f"{self.minimum} to {self.maximum}" if self.maximum is not None else f"{self.minimum} or more"
        return "any number" if self.type == "int" else "any text"

    def parse(self, text: str, where: str) -> Value:
        """The value that a text means. Raises UsageError with ``where``, the name and what it may be."""
        value: Value | None = None
        text = text.strip()
        if self.type == "int":
            value = self._number(text)
        elif self.type == "ints":
            numbers = [self._number(each.strip()) for each in text.split(",")]
            value = None if None in numbers else tuple(number for number in numbers if number is not None)
        elif self.type == "bool":
            value = _WORDS.get(text.lower())
        elif self.type == "choice":
            value = text if text in self.choices else None
        elif self.type == "text" and text:
            value = text
        if value is None:
            shown = text if len(text) <= 80 else text[:80] + "…"
            raise UsageError(
                f"{where}: {self.name}={shown}: not possible", hint=f"{self.name} ({self.meaning}): {self.range_text}", code="bad-parameter"
            )
        return value

    def _number(self, text: str) -> int | None:
        number = number_of(text)
        if number is None or (self.minimum is not None and number < self.minimum):
            return None
        return None if self.maximum is not None and number > self.maximum else number

    def as_json(self) -> dict[str, Any]:
        """For ``ptttool protocols --json``."""
        return {
            "name": self.name,
            "type": self.type,
            "mandatory": self.mandatory,
            "default": self.default,
            "minimum": self.minimum,
            "maximum": self.maximum,
            "choices": list(self.choices) or None,
            "used": self.used,
            "meaning": self.meaning,
        }


@dataclass(frozen=True)
class Given:
    """A parameter as it was given: its text, and where (``-p``, ``trace.scf: line 3``)."""

    text: str
    where: str
    from_file: bool = False


def number_of(text: str) -> int | None:
    """The number that a text means: ``16``, ``0x10``, ``0b1_0000``; None for what is none.

    A leading zero is decimal: so it is in every file format that comes here.
    """
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    return int(text, 10 if _DECIMAL.fullmatch(text) else 0)


def files_of(text: str) -> list[tuple[str, str | None]]:
    """``FILE`` or ``FILE@NUMBER``, several with commas: each file's name, and what is behind its last @."""
    if Path(text).is_file():  # a comma in its name
        return [(text, None)]
    found: list[tuple[str, str | None]] = []
    for word in filter(None, (word.strip() for word in text.split(","))):
        path, at, number = word.rpartition("@")
        found.append((path, number) if at and not Path(word).exists() else (word, None))
    return found


def parse_options(options: Iterable[str]) -> dict[str, Given]:
    """``key=value`` words of the command line; the last of a name counts. Raises UsageError."""
    given = {}
    for word in options:
        name, equals, text = word.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"-p {word}: no key=value", hint="such as -p srcid_bits=6", code="bad-parameter")
        given[name.strip()] = Given(text, "-p")
    return given


def read_text(path: str | Path, what: str, hint: str | None = None) -> str:
    """A file in which a trace unit is described. ``what``: ``parameters``. Raises InputError for what is no such file, AccessError."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
        text = content.decode("utf-8-sig")
    except PermissionError as error:
        raise AccessError(f"{path}: {error.strerror}") from None
    except OSError as error:
        raise InputError(path, error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise InputError(path, "no text file", offset=error.start, hint=hint) from None
    if len(content) > _LARGEST_FILE:
        raise InputError(path, f"too long for a file of {what}", hint=hint)
    return text


def read_file(path: str | Path) -> dict[str, Given]:
    """Parameters of a file with a line ``key=value`` each: .scf files, flat TOML, ini. Remarks, headings and empty lines are passed over.

    Raises InputError with the line that is none of that, AccessError, UsageError for a name that is there twice with two values.
    """
    given: dict[str, Given] = {}
    for number, line in enumerate(read_text(path, "parameters", "one parameter a line: key=value").splitlines(), 1):
        where = f"{path}: line {number}"
        found = _LINE.fullmatch(line)
        if found is None:
            if _IGNORED.fullmatch(line):
                continue
            raise InputError(path, f"line {number} is no key=value", hint="one parameter a line: key=value", code="bad-parameter-file")
        name, value = found[1].strip("\"'"), found[2].strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        if name in given and given[name].text != value:
            raise UsageError(f"{where}: {name} is {value} here and {given[name].text} before", code="bad-parameter")
        given[name] = Given(value, where, from_file=True)
    return given


def settle(parameters: Sequence[Parameter], given: Mapping[str, Given], of: str) -> dict[str, Any]:
    """A value for every parameter. ``of``: whose they are, for messages.

    Raises UsageError for an unknown name, a value that cannot be and a mandatory one that is missing, each named.
    """
    known = {parameter.name: parameter for parameter in parameters}
    for name, value in given.items():
        if name not in known:
            useful = [parameter.name for parameter in parameters if parameter.used]
            near = get_close_matches(name, useful, n=3)
            hint = f"did you mean {' or '.join(near)}" if near else f"known: {', '.join(useful) or 'none'}"
            raise UsageError(f"{value.where}: {of} has no parameter {name}", hint=hint, code="unknown-parameter")
    settings: dict[str, Any] = {}
    for parameter in parameters:
        if not parameter.used:
            continue
        if parameter.name in given:
            value = given[parameter.name]
            settings[parameter.name] = parameter.parse(value.text, value.where)
        else:
            settings[parameter.name] = parameter.default
    missing = [parameter for parameter in parameters if parameter.mandatory and parameter.name not in given]
    if missing:
        names = ", ".join(parameter.name for parameter in missing)
        first = missing[0]
        raise UsageError(
            f"{of} needs to be told {names}", hint=f"-p {first.name}=…: {first.meaning} ({first.range_text})", code="missing-parameter"
        )
    return settings
