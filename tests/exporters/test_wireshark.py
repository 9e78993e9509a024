"""What the real tshark shows with ptttool's dissector: every field as ptttool itself decodes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptttool
from ptttool.pci import format_id
from ptttool.table.schema import DType, Style
from ptttool.tlp.columns import TLP_SCHEMA
from tests.support import captures
from tests.support.records import packed, records_4dw, records_8dw
from tests.support.tshark import fields

NAMES = [name for name in captures.shapes() if "x86" not in name]
# Of a large capture, as many TLPs at its start and spread over the rest.
ENOUGH = 4000


def own(path: Path, **options: Any) -> list[dict[str, Any]]:
    """The rows as ptttool decodes them."""
    with ptttool.open(path, **options) as recording:
        return recording.to_polars(list(TLP_SCHEMA.names)).to_dicts()


def read(name: str, text: str) -> Any:
    """A field's text as the value of the column."""
    column = TLP_SCHEMA[name]
    if text == "":
        return None
    return text if column.dtype is DType.ENUM or column.style is Style.ID else int(text, 0)


def shown(home: Path, capture: Path) -> list[dict[str, Any]]:
    rows = fields(home, capture, [f"pcie.tlp.{name}" for name in TLP_SCHEMA.names])
    return [{name: read(name, text) for name, text in zip(TLP_SCHEMA.names, row, strict=True)} for row in rows]


def same(expected: list[dict[str, Any]], found: list[dict[str, Any]]) -> None:
    ids = [column.name for column in TLP_SCHEMA if column.style is Style.ID]
    for row in expected:
        row.update({name: None if row[name] is None else format_id(row[name]) for name in ids})
    assert len(found) == len(expected)
    for row, other in zip(expected, found, strict=True):
        assert other == row


@pytest.mark.parametrize("name", NAMES)
def test_every_field_of_every_capture(name: str, tmp_path: Path) -> None:
    path = captures.path_of(name, tmp_path)
    capture = tmp_path / "out.pcapng"
    rows = own(path)
    step = max(1, len(rows) // ENOUGH)
    with ptttool.open(path) as recording:
        recording.export(capture, where=f"index < {ENOUGH} OR index % {step} = 0")
    same([row for row in rows if row["index"] < ENOUGH or row["index"] % step == 0], shown(tmp_path / "home", capture))


@settings(max_examples=5)
@given(data=st.data())
@pytest.mark.parametrize("layout", ["4dw", "8dw"])
@pytest.mark.parametrize("pattern", ["legacy", "v1"])
def test_every_field_of_any_record(layout: str, pattern: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("any")
    records = data.draw(st.lists(records_8dw() if layout == "8dw" else records_4dw(), min_size=1, max_size=60))
    path, capture = folder / "raw.bin", folder / "out.pcapng"
    path.write_bytes(packed(records))
    options: dict[str, Any] = {"protocol": "hisi-ptt", "parameters": {"input": layout, "pattern": pattern}, "form": "raw"}
    with ptttool.open(path, **options) as recording:
        recording.export(capture)
    same(own(path, **options), shown(folder / "home", capture))
