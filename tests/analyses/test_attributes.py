"""Attributes: the counts of a plain reading, in any cutting; what a format does not hold is null."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.analyses import attributes as module
from ptttool.analyses.attributes import Attributes, AttributesAnalysis
from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.shown import Table, no_names
from ptttool.cli.main import main
from ptttool.generate.recording import GeneratedRecording, Wanted
from ptttool.perfdata.model import Contents, Mode
from ptttool.table.batch import Batch
from ptttool.table.values import ABSENT, Values
from ptttool.tlp.columns import CLASSES, DIRECTIONS, KINDS, TLP_SCHEMA
from tests.reference.attributes import NAMES, attributes
from tests.reference.hisi_ptt import read_recording
from tests.support import captures

CONTEXT = AnalysisContext("perf.data", Contents(Mode.RAW))


HINTS = ("bidirectional", "requester", "target", "target with priority")


def agrees_on_steering(found: Attributes, wanted: dict[str, Any]) -> None:
    """Hold the steering tags against the reference."""
    counts = {(each.requester, each.kind, each.direction, HINTS.index(each.hint), each.tag): each for each in found.steering}
    assert {key: (each.tlps, each.index) for key, each in counts.items()} == wanted["steering"]
    assert [each.tlps for each in found.steering] == sorted((each.tlps for each in found.steering), reverse=True)


def agrees(found: Attributes, wanted: dict[str, Any], *, eight_dw: bool) -> None:
    """Hold a result against the reference."""
    rows = {(row.requester, row.kind, row.direction): row for row in found.rows}
    assert set(rows) == set(wanted["rows"])
    for place, row in rows.items():
        counts = wanted["rows"][place]
        assert row.tlps == counts["tlps"]
        for name in NAMES:
            held = name == "hints" or (name == "so") != eight_dw
            assert getattr(row, name) == (counts[name] if held else None), name
        assert row.traffic_classes == (wanted["classes"][place] if eight_dw else None)
    assert found.first == wanted["first"]
    agrees_on_steering(found, wanted)
    assert found.undecodable == wanted["undecodable"]
    assert found.tlps == sum(row["tlps"] for row in wanted["rows"].values())


@pytest.mark.parametrize(
    "name", ["6.12/s-8dw-ports-dir2", "6.12/s-8dw-ports-dir3", "6.12/s-4dw-ports-dir0", "6.12/m-4dw-port10-type7-dir2"]
)
def test_captures_against_a_plain_reading(name: str, tmp_path: Path) -> None:
    path = captures.path_of(name, tmp_path)
    with ptttool.open(path) as recording:
        found = recording.analyze("attributes")
        assert found == recording.analyze("attributes", jobs=2)
    agrees(found, attributes(list(read_recording(path))), eight_dw="8dw" in name)


@pytest.mark.parametrize("form", ["4dw", "8dw"])
def test_every_kind_of_tlp(form: str, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    with path.open("wb") as file:
        GeneratedRecording(Wanted("mixed", form, 96_000, direction="inbound")).write(file)
    with ptttool.open(path) as recording:
        found = recording.analyze("attributes")
    wanted = attributes(list(read_recording(path)))
    agrees(found, wanted, eight_dw=form == "8dw")
    assert found.undecodable > 0


def test_a_format_that_lacks_them_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = captures.path_of("6.12/s-4dw-ports-dir0", tmp_path)
    assert main(["analyze", "attributes", "--json", str(path)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [lack["code"] for lack in document["lacks"]] == ["format"]
    assert all(row["relaxed_ordering"] is None for row in document["rows"])


FIELDS = {"attr": 8, "at": 4, "th": 2, "tc": 8, "so": 2}


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, int | None]]:
    """Rows of few different values; some are not TLPs."""
    rows = []
    for index in range(draw(st.integers(0, 40))):
        row: dict[str, int | None] = {name: draw(st.integers(0, top - 1)) for name, top in FIELDS.items()}
        has_tag = draw(st.booleans())
        row |= {"ph": draw(st.integers(0, 3)) if has_tag else None, "st": draw(st.sampled_from([0, 1, 0xFFFF])) if has_tag else None}
        row |= {"requester": draw(st.sampled_from([0, 0x100, 0xFFFF])), "kind": draw(st.integers(0, len(KINDS) - 2))}
        row |= {"direction": draw(st.integers(0, len(DIRECTIONS) - 1)), "prefix": draw(st.sampled_from([0, 0x91000005, 0x90000000]))}
        if draw(st.integers(0, 9)) == 0:
            row = {**dict.fromkeys(row), "kind": KINDS.index("Unknown")}
        rows.append({**row, "index": index})
    return rows


def batch_of(rows: list[dict[str, int | None]]) -> Batch:
    columns = {}
    for name in AttributesAnalysis.columns:
        values = [row[name] for row in rows]
        valid = np.array([value is not None for value in values], dtype=np.bool_)
        array = np.array([value or 0 for value in values], dtype=np.uint64)
        columns[name] = Values(array, None if valid.all() else valid) if len(rows) else ABSENT
    return Batch(TLP_SCHEMA, len(rows), columns)


@given(rows=tables(), data=st.data())
def test_any_cutting_gives_what_the_reference_says(rows: list[dict[str, int | None]], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    whole = AttributesAnalysis()
    for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        part = AttributesAnalysis()
        part.update(batch_of(rows[start:stop]))
        whole.merge(part)
    found = whole.result(CONTEXT)
    records: list[Any] = [
        {
            **row,
            "kind": KINDS[row["kind"] or 0],
            "class": None if row["requester"] is None else CLASSES[0],
            "direction": None if row["direction"] is None else DIRECTIONS[row["direction"]],
        }
        for row in rows
    ]
    wanted = attributes(records)
    counts = {(row.requester, row.kind, row.direction): row for row in found.rows}
    assert {place: row.tlps for place, row in counts.items()} == {place: row["tlps"] for place, row in wanted["rows"].items()}
    for place, row in counts.items():
        assert row.hints == wanted["rows"][place]["hints"]
        if row.pasid is not None:
            assert (row.pasid, row.translated) == (wanted["rows"][place]["pasid"], wanted["rows"][place]["translated"])
    assert found.first == wanted["first"]
    agrees_on_steering(found, wanted)


def test_too_many_different_ones_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ATTRIBUTE_SUMS", 2)
    analysis = AttributesAnalysis()
    analysis._add([(1, 5, 0), (2, 6, 1), (3, 7, 2), (1, 1, 9)])
    found = analysis.result(CONTEXT)
    assert (found.tlps, found.left_out) == (12, 7)
    rows: list[dict[str, int | None]] = [
        {**dict.fromkeys(FIELDS, 0), "requester": 0x100, "kind": 0, "direction": 0, "prefix": 0, "ph": 2, "st": tag, "index": tag}
        for tag in (3, 5, 9)
    ]
    analysis = AttributesAnalysis()
    for row in rows:
        analysis.update(batch_of([row]))
    [any_tag] = analysis.result(CONTEXT).steering
    assert (any_tag.tag, any_tag.hint, any_tag.tlps, any_tag.index) == (None, "target", 3, 3)


def test_shown_columns_are_those_that_the_records_hold(tmp_path: Path) -> None:
    titles = {}
    for name in ("6.12/s-8dw-ports-dir2", "6.12/s-4dw-ports-dir0"):
        with ptttool.open(captures.path_of(name, tmp_path)) as recording:
            table = next(part for part in recording.analyze("attributes").shown(no_names) if isinstance(part, Table))
        titles[name] = {column.title for column in table.columns}
        assert all(len(row) == len(table.columns) for row in table.rows)
    assert "RO" in titles["6.12/s-8dw-ports-dir2"]
    assert "RO" not in titles["6.12/s-4dw-ports-dir0"]
    assert "SO" in titles["6.12/s-4dw-ports-dir0"]
