"""Documents of dataclasses: their JSON and their schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

import jsonschema
import numpy as np
import pytest
from msgspec import Struct

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import ErrorDocument, document, documents, dumps, to_json
from ptttool.errors import InputError
from tests import ROOT
from tests.generated.schemas import DIALECT, schema_of, schemas


class Colour(StrEnum):
    """What it looks like."""

    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Part:
    """One part.

    Parameters
    ----------
    class_ : Colour
        Its colour,
        in a word.
    size : int or None
        Its size in bytes.
    """

    json_omits_none: ClassVar = ("error",)
    json_merges: ClassVar = ("more",)

    class_: Colour
    size: int | None
    error: str | None = None
    more: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Whole:
    """The whole. It has parts."""

    parts: tuple[Part, ...]
    counts: Mapping[str, int]
    file: Path


WHOLE = Whole((Part(Colour.RED, None, more={"at": (1, 2)}), Part(Colour.BLUE, 3, "broken")), {"a": 1}, Path("x/y"))


def test_json_of_dataclasses() -> None:
    assert to_json(WHOLE) == {
        "parts": [{"class": "red", "size": None, "at": [1, 2]}, {"class": "blue", "size": 3, "error": "broken"}],
        "counts": {"a": 1},
        "file": "x/y",
    }


def test_json_of_a_diagnostic() -> None:
    found = Diagnostic(Severity.WARNING, "lost-data", "data was lost", where="perf.data, offset 0x40", details={"bytes": np.int64(4)})
    assert to_json(found) == {
        "severity": "warning",
        "code": "lost-data",
        "message": "data was lost",
        "hint": None,
        "where": "perf.data, offset 0x40",
        "details": {"bytes": 4},
    }


class Sheet(Struct, frozen=True):
    """A sheet."""

    json_hides: ClassVar = ("problem", "part")

    name: str
    problem: Exception | None = None
    part: Part | None = None


class Odd(Struct, frozen=True):
    """A document that cannot be written."""

    problem: Exception


def test_what_documents_hide() -> None:
    assert to_json(Sheet("a", ValueError(), Part(Colour.RED, 1))) == {"name": "a"}
    schema = schema_of("sheet", Sheet)
    assert (set(schema["properties"]), "$defs" in schema) == ({"name"}, False)
    with pytest.raises(TypeError):
        schema_of("odd", Odd)


def test_other_values() -> None:
    assert to_json([{1, 3, 2}, True, 1.5, np.bool_(True)]) == [[1, 2, 3], True, 1.5, True]
    for wrong in (object(), {("a",): 1}, np.zeros(2), Whole):
        with pytest.raises(TypeError):
            to_json(wrong)


def test_text_is_safe_on_a_terminal() -> None:
    hostile = "\x1b[31m\x9b\u202e\ud800é"
    text = dumps({"name": hostile}, indent=None)
    assert text == '{"name": "\\u001b[31m\\u009b\\u202e\\ud800é"}'
    assert json.loads(text) == {"name": hostile}


def test_registration() -> None:
    name = "test-registration"
    assert document(name)(Whole) is Whole
    assert documents()[name] is Whole
    with pytest.raises(ValueError, match=name):
        document(name)(Part)
    with pytest.raises(TypeError):
        document("no-dataclass")(Path)


def test_schema() -> None:
    schema = schema_of("whole", Whole)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert (schema["$schema"], schema["title"], schema["description"]) == (DIALECT, "whole", "The whole. It has parts.")
    assert schema["required"] == ["parts", "counts", "file"]
    part = schema["$defs"]["Part"]
    assert part["required"] == ["class", "size"]
    assert part["properties"]["class"] == {"$ref": "#/$defs/Colour", "description": "Its colour, in a word."}
    assert part["properties"]["error"] == {"type": "string"}
    jsonschema.validate(to_json(WHOLE), schema)
    wrongs: list[dict[str, object]] = [{"parts": []}, {**to_json(WHOLE), "counts": {"a": "1"}}]
    for wrong in wrongs:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_the_schemas_are_those_of_the_code() -> None:
    held = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "schemas").glob("*.json")}
    wanted = {name: dumps(schema) + "\n" for name, schema in schemas().items() if not name.startswith("test-")}
    assert held == wanted, "run `make schemas`"


def test_document_of_an_error() -> None:
    error = InputError("x.data", "is damaged", offset=64, hint="record again", code="damaged", size=3)
    printed = to_json(ErrorDocument.of(error))
    assert printed == {
        "error": {
            "code": "damaged",
            "exit_code": 6,
            "message": "x.data: offset 0x40: is damaged",
            "hint": "record again",
            "size": 3,
            "path": "x.data",
            "offset": 64,
            "reason": "is damaged",
        }
    }
    jsonschema.validate(printed, schemas()["error"])
