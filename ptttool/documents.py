"""JSON documents: what ``--json`` prints, as Structs of msgspec (or dataclasses, as results of foreign analyses may be).

A class with ``@document("name")`` is the shape of one document. :func:`to_json` turns objects into what the JSON encoder takes,
:func:`read_json` turns that into Structs; ``make schemas`` writes the JSON Schema of every registered document.

The keys of a document are the names of its fields, in order, or what ``msgspec.field(name=...)`` says. Every key is always there; ``null``
stands for an absent value. Variables of a class say what differs::

    json_name: ClassVar = "BarDocument"  # its name in schemas, where that is not the name of the class
    json_omits_none: ClassVar = ("error",)  # no key where the value is None
    json_merges: ClassVar = ("details",)  # the items, or fields, of this field are keys of the object itself
    json_hides: ClassVar = ("sink",)  # no key at all
    json_types: ClassVar = {"machine": dict}  # what its schema says of a field, where that is less than the field's type

They hold for dataclasses, too, whose fields that end in an underscore have a key without it (``class_`` is the key ``class``).

Any other class can say what it is in JSON, as :class:`Hex` and :class:`~ptttool.pci.PciAddress` do: ``json_type`` is the type of its form,
``as_json()`` returns the form, and ``of_json(form)`` makes an object of it or raises ValueError.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from enum import Enum
from functools import cache
from pathlib import PurePath
from typing import Any, ClassVar, Self, TypeVar

import msgspec
from msgspec import Struct

from ptttool.errors import InputError, PtttoolError
from ptttool.wording import OBEYED

T = TypeVar("T", bound=type)
S = TypeVar("S")

# JSON escapes 0x00-0x1f itself.
_OBEYED_BY_TERMINALS = re.compile(f"[{OBEYED}]")

_DOCUMENTS: dict[str, type] = {}


def document(name: str) -> Callable[[T], T]:
    """Register a Struct or a dataclass as the shape of a JSON document.

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
        The class is neither.
    ValueError
        Another class has that name.
    """

    def register(shape: T) -> T:
        if not is_shape(shape):
            raise TypeError(f"{shape.__name__} is neither a Struct nor a dataclass")
        if name in _DOCUMENTS:
            raise ValueError(f"document {name!r} is registered twice")
        _DOCUMENTS[name] = shape
        return shape

    return register


def documents() -> dict[str, type]:
    """Return the registered documents by name: those of all modules that are imported by now."""
    return dict(sorted(_DOCUMENTS.items()))


class Hex(int):
    """A number that is hexadecimal text in JSON."""

    json_type: ClassVar[Any] = str
    digits: ClassVar[int] = 1

    def as_json(self) -> str:
        """Return ``0x`` and at least as many digits as the class says."""
        return f"0x{self:0{self.digits}x}"

    @classmethod
    def of_json(cls, form: str) -> Self:
        """Read the text."""
        return cls(int(form, 16))


def is_shape(kind: object) -> bool:
    """Return whether this is a class of Structs or a dataclass."""
    return isinstance(kind, type) and (issubclass(kind, Struct) or dataclasses.is_dataclass(kind))


@cache
def fields_of(shape: type) -> tuple[tuple[str, str, str], ...]:
    """Return the fields of a Struct or a dataclass that are keys: name, key, and ``omits_none`` or ``merges`` where the class says so."""
    keys: Iterable[tuple[str, str]]
    if issubclass(shape, Struct):
        keys = zip(shape.__struct_fields__, shape.__struct_encode_fields__, strict=True)
    else:
        keys = ((each.name, each.name.removesuffix("_")) for each in dataclasses.fields(shape))  # type: ignore[arg-type]
    words = {name: word for word in ("omits_none", "merges", "hides") for name in getattr(shape, f"json_{word}", ())}
    return tuple((name, key, words.get(name, "")) for name, key in keys if words.get(name) != "hides")


def to_json(value: object) -> Any:
    """Convert a value to what :mod:`json` encodes: dict, list, str, int, float, bool, None.

    Parameters
    ----------
    value : object
        A Struct, or any nesting of Structs, dataclasses, objects with ``as_json()``, mappings with text keys, lists, tuples, sets (sorted),
        enum members (their value), paths (as text), NumPy scalars and plain values.

    Raises
    ------
    TypeError
        There is something else in it.
    """
    if value is None or type(value) in (str, int, float, bool):
        return value
    if is_shape(type(value)):
        return dict(_items(value))
    if hasattr(value, "as_json"):
        return to_json(value.as_json())
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
    for name, key, differs in fields_of(type(value)):  # type: ignore[arg-type] # classes are hashable
        item = getattr(value, name)
        if differs == "merges":
            yield from to_json(item).items()
        elif item is not None or differs != "omits_none":
            yield key, to_json(item)


def read_json(body: object, kind: type[S]) -> S:
    """Make a Struct of what :mod:`json` made of its document. Types are checked; unknown keys are left out, so later versions may add some.

    Raises
    ------
    msgspec.ValidationError
        It is not such a document. It is a ValueError, and says where in the document.
    """
    return msgspec.convert(body, kind, dec_hook=_of_form)


def _of_form(kind: Any, body: object) -> object:
    return body if kind is object else kind.of_json(read_json(body, kind.json_type))


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
    return _OBEYED_BY_TERMINALS.sub(lambda match: "\\u007f" if match[0] == "\x7f" else json.dumps(match[0])[1:-1], text)


class ErrorBody(Struct, frozen=True):
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

    json_omits_none: ClassVar = ("hint",)
    json_merges: ClassVar = ("details",)

    code: str
    exit_code: int
    message: str
    hint: str | None = None
    details: Mapping[str, object] = {}

    @classmethod
    def of(cls, error: PtttoolError) -> ErrorBody:
        """Make the body of an error."""
        details = dict(error.details)
        if isinstance(error, InputError):
            details |= {"path": error.path, "offset": error.offset, "reason": error.reason}
        return cls(error.code, error.exit_code, error.message, error.hint, details)


@document("error")
class ErrorDocument(Struct, frozen=True):
    """What every command with ``--json`` prints where it fails."""

    error: ErrorBody

    @classmethod
    def of(cls, error: PtttoolError) -> ErrorDocument:
        """Make the document of an error."""
        return cls(ErrorBody.of(error))
