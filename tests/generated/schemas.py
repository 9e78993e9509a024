"""The JSON Schemas of ``docs/schemas``, made of the registered documents: ``python -m tests.generated.schemas docs/schemas``.

Needs numpydoc, which comes with the extra ``dev``.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum
from pathlib import Path, PurePath
from typing import Any

from msgspec import Struct

import ptttool
from ptttool.documents import documents, dumps, fields_of, is_shape
from ptttool.files.atomic import output_file

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    types.NoneType: {"type": "null"},
    Any: {},
    object: {"type": ["object", "array", "string", "number", "boolean", "null"]},
}


def import_everything() -> None:
    """Import every module of the package, so that all documents are registered."""
    for module in pkgutil.walk_packages(ptttool.__path__, "ptttool."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of every document of the package, by the document's name."""
    import_everything()
    return {name: schema_of(name, shape) for name, shape in documents().items()}


def schema_of(name: str, shape: type) -> dict[str, Any]:
    """Return the JSON Schema of one document.

    Parameters
    ----------
    name : str
        The document's name; it becomes the schema's title.
    shape : type
        Its class. The docstrings of the class and of its parts give the descriptions: the summary that of the object, the section
        Parameters (or Attributes) those of the keys.

    Returns
    -------
    dict
        A schema of draft 2020-12. Objects are open: later versions may add keys.

    Raises
    ------
    TypeError
        A key has a type without a form in JSON.
    """
    parts = _Parts()
    top = parts.object_of(shape)
    document = {"$schema": DIALECT, **top, "title": name}
    return {**document, "$defs": dict(sorted(parts.defined.items()))} if parts.defined else document


class _Parts:
    """The definitions that a schema refers to, by name; each is made when it is first met."""

    def __init__(self) -> None:
        self.defined: dict[str, dict[str, Any]] = {}

    def object_of(self, part: type) -> dict[str, Any]:
        """Return the schema of a class as :mod:`ptttool.documents` writes its objects."""
        hints = _hints(part)
        described = dict(_descriptions(part))
        schema: dict[str, Any] = {"title": _name(part), **_described(part), "type": "object", "properties": {}, "required": []}
        for name, key, differs in fields_of(part):
            if differs == "merges":
                if is_shape(hints[name]):
                    merged = self.object_of(hints[name])
                    schema["properties"] |= merged["properties"]
                    schema["required"] += merged["required"]
                else:
                    schema["additionalProperties"] = True
                continue
            if differs != "omits_none":
                schema["required"].append(key)
            found = self.schema_of(hints[name], without_null=differs == "omits_none")
            schema["properties"][key] = {**found, **({"description": described[name]} if name in described else {})}
        return schema

    def schema_of(self, kind: Any, *, without_null: bool = False) -> dict[str, Any]:
        """Return the schema of a type: of a class and of an enumeration a reference."""
        origin, inner = typing.get_origin(kind) or kind, typing.get_args(kind)
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        if origin in (typing.Union, types.UnionType):
            choices = [self.schema_of(one) for one in inner if one is not types.NoneType or not without_null]
            return choices[0] if len(choices) == 1 else {"anyOf": choices}
        if not isinstance(origin, type):
            raise TypeError(f"{kind} has no form in JSON")
        if is_shape(kind) or issubclass(origin, Enum):
            if _name(kind) not in self.defined:
                self.defined[_name(kind)] = {}  # it may refer to itself
                self.defined[_name(kind)] = self.object_of(kind) if is_shape(kind) else _choices(kind)
            return {"$ref": f"#/$defs/{_name(kind)}"}
        if hasattr(kind, "json_type"):
            return self.schema_of(kind.json_type)
        if issubclass(origin, PurePath):
            return {"type": "string"}
        if issubclass(origin, Mapping):
            values = self.schema_of(inner[1]) if inner else {}
            return {"type": "object", **({"additionalProperties": values} if values else {})}
        if issubclass(origin, tuple) and inner[1:] != (...,):
            items = [self.schema_of(one) for one in inner]
            return {"type": "array", "minItems": len(items), "maxItems": len(items), "prefixItems": items, "items": False}
        if issubclass(origin, Collection):
            return {"type": "array", "items": self.schema_of(inner[0])}
        raise TypeError(f"{kind} has no form in JSON")


def _hints(part: type) -> dict[str, Any]:
    """Return the types of the fields of a class, with what stands for the parameters of a generic base."""
    bound: dict[Any, Any] = {}
    for base in (base for one in part.__mro__ for base in one.__dict__.get("__orig_bases__", ())):
        bound |= zip(getattr(typing.get_origin(base), "__parameters__", ()), typing.get_args(base), strict=False)
    hints = {name: bound.get(hint, hint) for name, hint in typing.get_type_hints(part).items()}
    for name, hint in hints.items():
        parameters = getattr(hint, "__parameters__", ())
        hints[name] = hint[tuple(bound[one] for one in parameters)] if parameters else hint
    return hints | getattr(part, "json_types", {})


def _name(part: type) -> str:
    return str(getattr(part, "json_name", part.__name__))


def _described(part: type) -> dict[str, str]:
    return {"description": _summary(part.__doc__)} if part.__doc__ else {}


def _choices(kind: type[Enum]) -> dict[str, Any]:
    return {"title": kind.__name__, **_described(kind), "enum": sorted(one.value for one in kind)}


def _summary(docstring: str) -> str:
    import numpydoc.docscrape

    return _one_line(numpydoc.docscrape.NumpyDocString(inspect.cleandoc(docstring))["Summary"])


def _descriptions(part: type) -> Iterator[tuple[str, str]]:
    """Yield what the docstrings of a class and of its bases say about the fields; the class itself has the last word."""
    import numpydoc.docscrape

    for one in reversed(part.__mro__):
        if is_shape(one) and one is not Struct and one.__doc__ and not one.__doc__.startswith(f"{one.__name__}("):
            parsed = numpydoc.docscrape.NumpyDocString(inspect.cleandoc(one.__doc__))
            for parameter in (*parsed["Parameters"], *parsed["Attributes"]):
                for name in parameter.name.split(","):
                    yield name.strip(), _one_line(parameter.desc)


def _one_line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).replace("``", "`").split())


def write(folder: Path, say: Callable[[str], object] = print) -> None:
    """Write ``NAME.json`` of every document; a file of a document that is gone is removed."""
    wanted = {f"{name}.json": dumps(schema) + "\n" for name, schema in schemas().items()}
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.glob("*.json"):
        if stale.name not in wanted:
            stale.unlink()
    for name, text in wanted.items():
        with output_file(folder / name, force=True) as file:
            file.write(text.encode())
    say(f"{len(wanted)} schemas in {folder}")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
