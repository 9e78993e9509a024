"""The JSON Schemas of ``docs/schemas``, made of the registered documents: ``python -m ptttool.cli.schemas docs/schemas``.

Needs msgspec and numpydoc, which come with the extra ``dev``.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Any

from ptttool.documents import MERGED, OMIT_NONE, documents, dumps, fields_of, is_shape
from ptttool.files.atomic import output_file

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/{name}"
# Stands for a type without a form in JSON, which a document may hide.
_UNKNOWN = "x-unknown"


def import_everything() -> None:
    """Import every module of the package, so that all documents are registered."""
    for module in pkgutil.walk_packages([str(Path(__file__).parents[1])], "ptttool."):
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
    """
    import msgspec

    parts = {part.__name__: part for part in _parts(shape)}
    _, components = msgspec.json.schema_components(parts.values(), schema_hook=_other_types, ref_template=_REF)
    for key, part in parts.items():
        components[key] = _object(components, part)
    top = components.pop(shape.__name__)
    components = _reached(top, components)
    for component in (top, *components.values()):
        if "description" in component:
            component["description"] = _summary(component["description"])
    names = {key: getattr(part, "json_name", key) for key, part in parts.items()}
    document = {"$schema": DIALECT, **top, "title": name}
    if components:
        named = {names.get(key, key): {**component, "title": names.get(key, key)} for key, component in components.items()}
        document["$defs"] = dict(sorted(named.items()))
    text = json.dumps(document)
    for key, other in names.items():
        text = text.replace(json.dumps(_REF.format(name=key)), json.dumps(_REF.format(name=other)))
    renamed: dict[str, Any] = json.loads(text)
    return renamed


def _reached(top: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """Return the components that a schema refers to, and those that these refer to."""
    reached: dict[str, Any] = {}
    waiting = [top]
    while waiting:
        text = json.dumps(waiting.pop())
        if _UNKNOWN in text:
            raise TypeError(f"{top['title']}: {text}")
        found = {key: one for key, one in components.items() if key not in reached and json.dumps(_REF.format(name=key)) in text}
        reached |= found
        waiting += found.values()
    return reached


def _object(components: dict[str, Any], part: type) -> dict[str, Any]:
    """Return msgspec's schema of a class as :mod:`ptttool.documents` writes the objects."""
    schema: dict[str, Any] = components[part.__name__]
    hints = typing.get_type_hints(part)
    described = dict(_descriptions(part))
    properties: dict[str, Any] = {}
    required = []
    says_less: dict[str, Any] = getattr(part, "json_types", {})
    for name, key, differs in fields_of(part):
        if differs == MERGED["json"] and is_shape(hints[name]):
            merged = _object(components, hints[name])
            properties |= merged["properties"]
            required += merged["required"]
            continue
        if differs == MERGED["json"]:
            schema["additionalProperties"] = True
            continue
        # msgspec does not know the keys of dataclasses.
        found = _schema(says_less[name]) if name in says_less else schema["properties"].get(key) or schema["properties"][name]
        found.pop("default", None)
        if differs == OMIT_NONE["json"]:
            found = _without_null(found)
        else:
            required.append(key)
        properties[key] = {**found, **({"description": described[name]} if name in described else {})}
    schema["properties"], schema["required"] = properties, required
    return schema


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    choices = [one for one in schema.get("anyOf", []) if one != {"type": "null"}]
    return choices[0] if len(choices) == 1 else {**schema, "anyOf": choices} if choices else schema


def _other_types(kind: Any) -> dict[str, Any]:
    if kind is object:
        return {"type": ["object", "array", "string", "number", "boolean", "null"]}
    if isinstance(kind, type) and issubclass(kind, PurePath):
        return {"type": "string"}
    if hasattr(kind, "json_type"):
        return _schema(kind.json_type)
    return {_UNKNOWN: str(kind)}


def _schema(kind: Any) -> dict[str, Any]:
    import msgspec

    (schema,), _ = msgspec.json.schema_components((kind,), schema_hook=_other_types, ref_template=_REF)
    return schema


def _parts(shape: type) -> Iterator[type]:
    """Yield a class and the classes that its fields hold, each once."""
    seen: set[type] = set()
    waiting: list[Any] = [shape]
    while waiting:
        kind = waiting.pop()
        if is_shape(kind):
            if kind not in seen:
                seen.add(kind)
                yield kind
                waiting.extend((typing.get_type_hints(kind) | getattr(kind, "json_types", {})).values())
        else:
            waiting.extend(typing.get_args(getattr(kind, "json_type", kind)))


def _summary(docstring: str) -> str:
    import numpydoc.docscrape

    return _one_line(numpydoc.docscrape.NumpyDocString(_dedented(docstring))["Summary"])


def _descriptions(part: type) -> Iterator[tuple[str, str]]:
    """Yield what the docstrings of a class and of its bases say about the fields; the class itself has the last word."""
    import msgspec
    import numpydoc.docscrape

    for one in reversed(part.__mro__):
        if is_shape(one) and one is not msgspec.Struct and one.__doc__ and not one.__doc__.startswith(f"{one.__name__}("):
            parsed = numpydoc.docscrape.NumpyDocString(_dedented(one.__doc__))
            for parameter in (*parsed["Parameters"], *parsed["Attributes"]):
                for name in parameter.name.split(","):
                    yield name.strip(), _one_line(parameter.desc)


def _dedented(docstring: str) -> str:
    import inspect

    return inspect.cleandoc(docstring)


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
