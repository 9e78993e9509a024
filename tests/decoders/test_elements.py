"""The element model: kinds and fields hold together, and the documentation says what the code says."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

from ptttool.decoders.elements.arrays import Elements, Strings
from ptttool.decoders.elements.model import FIELDS, FIELDS_BY_NAME, KINDS, ORIGINS, Flags
from ptttool.table.schema import Column
from tests import ROOT

DOCUMENT = ROOT / "docs" / "elements.md"


def kind_table() -> Iterator[str]:
    """The kinds as a table in Markdown."""
    origins = {"document": "OpenCSD", "later": "OpenCSD, later", "ptttool": "ptttool"}
    yield "| kind | of | meaning | fields always there | fields there or not |"
    yield "| --- | --- | --- | --- | --- |"
    for kind in KINDS:
        always, optional = (", ".join(f"`{name}`" for name in names) for names in (kind.fields, kind.optional))
        yield f"| `{kind.name}` | {origins[kind.origin]} | {kind.meaning} | {always} | {optional} |"


def field_table(fields: tuple[Column, ...] = FIELDS) -> Iterator[str]:
    """Fields as a table in Markdown."""
    yield "| field | type | meaning |"
    yield "| --- | --- | --- |"
    for field in fields:
        values = f": {' '.join(field.values)}" if field.values else ""
        yield f"| `{field.name}` | {field.dtype} | {field.meaning}{values} |"


TABLES = {"kinds": kind_table, "fields": field_table}


def in_document(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?s)(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)")


@pytest.mark.parametrize("name", TABLES)
def test_the_document_has_the_tables_of_the_code(name: str) -> None:
    """``python -m tests.decoders.test_elements`` writes them."""
    found = in_document(name).search(DOCUMENT.read_text(encoding="utf-8"))
    assert found is not None
    assert found[0].splitlines() == list(TABLES[name]())


def test_kinds_are_those_of_opencsd_and_two_more() -> None:
    of = {origin: [kind.name for kind in KINDS if kind.origin == origin] for origin in ORIGINS}
    assert len(of["document"]) == 16
    assert of["later"] == ["sync_marker", "memtrans", "instrumentation", "itmtrace"]
    assert of["ptttool"] == ["addr", "branch_map"]


def test_fields_and_kinds_know_each_other() -> None:
    used = {name for kind in KINDS for name in (*kind.fields, *kind.optional)}
    assert used == set(FIELDS_BY_NAME)
    assert len(FIELDS) == len(FIELDS_BY_NAME)
    assert all(bool(field.values) == (field.dtype == "enum") for field in FIELDS)


def test_flags_have_names() -> None:
    assert (Flags.RESERVED | Flags.TRUNCATED).names == ("truncated", "reserved")
    assert Flags(0).names == ()


def test_batches_of_two_protocols_in_order() -> None:
    first = Elements("a", np.array([0, 20]), np.array([5, 5]), kind=1)
    first.put("reason", np.array([3], dtype=np.uint8), np.array([1]))
    second = Elements("b", np.array([5, 10]), np.array([5, 10]), channel=7, timestamp=np.array([1, 2]), timed=np.array([True, False]))
    second.put("value", 9)
    second.put("payload", Strings(np.arange(9, dtype=np.uint8), np.array([2, -1]), np.array([3, 0])))
    found = list(Elements.join([first, second], by_index=True).objects())
    assert [each.index for each in found] == [0, 5, 10, 20]
    assert [each.protocol for each in found] == ["a", "b", "b", "a"]
    assert [dict(each.fields) for each in found] == [
        {}, {"payload": b"\x02\x03\x04", "value": 9}, {"value": 9}, {"reason": "overflow"},
    ]  # fmt: skip
    assert [each.timestamp for each in found] == [None, 1, None, None]
    assert [each.channel for each in found] == [None, 7, 7, None]


def test_a_field_in_parts() -> None:
    batch = Elements("a", np.arange(4), np.ones(4))
    batch.put("value", np.array([1, 2]), np.array([0, 2]))
    batch.put("value", 5, np.array([3]))
    values, valid = batch.column("value")
    assert values.tolist() == [1, 0, 2, 5]
    assert valid.tolist() == [True, False, True, True]
    assert [each.fields.get("value") for each in batch.take(np.array([3, 0])).objects()] == [5, 1]


def write() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, table in TABLES.items():
        text = in_document(name).sub("\n".join(table()).replace("\\", "\\\\") + "\n", text)
    DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
