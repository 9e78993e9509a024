"""JSON documents: what ``--json`` prints, as dataclasses.

A dataclass with ``@document("name")`` is the shape of one document. :func:`to_json` turns objects into what the JSON encoder takes;
``python -m ptttool.cli.schemas`` writes the JSON Schema of every registered document.

The keys of a document are the names of its fields, in order. A field that is named as a Python keyword ends in an underscore, which
the key does not have (``class_`` is the key ``class``). Every key is always there; ``null`` stands for an absent value. Two kinds of
fields differ, by their metadata::

    error: ErrorBody | None = field(default=None, metadata=OMIT_NONE)  # no key where the value is None
    details: Mapping[str, object] = field(metadata=MERGED)  # its items are keys of the object itself
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping, Set
from enum import Enum
from pathlib import PurePath
from typing import Any, Final, TypeVar

from ptttool.errors import InputError, PtttoolError

T = TypeVar("T", bound=type)

OMIT_NONE: Final = {"json": "omit-none"}
MERGED: Final = {"json": "merged"}

# DEL, C1 controls, marks that change the direction of writing, and surrogates, which no encoding can write. JSON escapes 0x00-0x1f itself.
_OBEYED_BY_TERMINALS = re.compile(r"[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_DOCUMENTS: dict[str, type] = {}


def document(name: str) -> Callable[[T], T]:
    """Register a dataclass as the shape of a JSON document.

    Parameters
    ----------
    name : str
        Name of the document and of its schema, in kebab case: the command that prints it (``tune-show`` for ``tune show``).

    Returns
    -------
    Callable
        The decorator; it returns the class as it is. It stands above ``@dataclass``.

    Raises
    ------
    TypeError
        The class is not a dataclass.
    ValueError
        Another class has that name.
    """

    def register(shape: T) -> T:
        if not dataclasses.is_dataclass(shape):
            raise TypeError(f"{shape.__name__} is not a dataclass")
        if name in _DOCUMENTS:
            raise ValueError(f"document {name!r} is registered twice")
        _DOCUMENTS[name] = shape
        return shape

    return register


def documents() -> dict[str, type]:
    """Return the registered documents by name: those of all modules that are imported by now."""
    return dict(sorted(_DOCUMENTS.items()))


def key_of(name: str) -> str:
    """Return the JSON key of a field: its name without a trailing underscore."""
    return name.removesuffix("_")


def to_json(value: object) -> Any:
    """Convert a value to what :mod:`json` encodes: dict, list, str, int, float, bool, None.

    Parameters
    ----------
    value : object
        A dataclass instance, or any nesting of dataclasses, mappings with text keys, lists, tuples, sets (sorted), enum members (their
        value), paths (as text), NumPy scalars and plain values.

    Raises
    ------
    TypeError
        There is something else in it.
    """
    if value is None or type(value) in (str, int, float, bool):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dict(_items(value))
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, Mapping):
        return {_key_text(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, Set):
        return [to_json(item) for item in sorted(value)]
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, str | int | float):
        return value
    if hasattr(value, "item") and getattr(value, "shape", None) == ():  # a NumPy scalar, without the import of NumPy
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _key_text(key: object) -> str:
    """Return the text of a mapping's key; enum members give their value, numbers their digits."""
    key = key.value if isinstance(key, Enum) else key
    if not isinstance(key, str | int):
        raise TypeError(f"{key!r} is not a JSON key")
    return str(key)


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        kind = field.metadata.get("json")
        if kind == MERGED["json"]:
            yield from to_json(item).items()
        elif item is not None or kind != OMIT_NONE["json"]:
            yield key_of(field.name), to_json(item)


def dumps(value: object, *, indent: int | None = 2) -> str:
    """Encode a value as JSON text for people and programs, without a line end.

    Parameters
    ----------
    value : object
        As :func:`to_json` takes it.
    indent : int or None
        Blanks a level; None puts the document on one line.

    Returns
    -------
    str
        Text in which every character that a terminal would obey is escaped.
    """
    text = json.dumps(to_json(value), indent=indent, ensure_ascii=False)
    return _OBEYED_BY_TERMINALS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@dataclasses.dataclass(frozen=True)
class ErrorBody:
    """Why a command failed.

    Parameters
    ----------
    code : str
        A stable word in kebab case, one for each cause.
    exit_code : int
        Exit code of the command.
    message : str
        What is wrong, in one line.
    hint : str or None
        What to do next, in one line.
    details : Mapping[str, object]
        Further facts. For a bad input: ``path``, ``offset`` (bytes from the file's start, or null) and ``reason``.
    """

    code: str
    exit_code: int
    message: str
    hint: str | None = dataclasses.field(default=None, metadata=OMIT_NONE)
    details: Mapping[str, object] = dataclasses.field(default_factory=dict, metadata=MERGED)

    @classmethod
    def of(cls, error: PtttoolError) -> ErrorBody:
        """Make the body of an error."""
        details = dict(error.details)
        if isinstance(error, InputError):
            details |= {"path": error.path, "offset": error.offset, "reason": error.reason}
        return cls(error.code, error.exit_code, error.message, error.hint, details)


@document("error")
@dataclasses.dataclass(frozen=True)
class ErrorDocument:
    """What every command with ``--json`` prints where it fails."""

    error: ErrorBody

    @classmethod
    def of(cls, error: PtttoolError) -> ErrorDocument:
        """Make the document of an error."""
        return cls(ErrorBody.of(error))
