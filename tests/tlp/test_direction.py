"""Directions: what an event asks for, IDs and buses, message codes; against the slow reading."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.capture.sidecar import Sidecar, save
from ptttool.cli.main import main
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.decoders.hisi_ptt.traced import direction_rule
from ptttool.errors import UsageError
from ptttool.machine.discovery import open_source, require_machine
from ptttool.tlp.columns import CLASSES
from ptttool.tlp.direction import DirectionRule, format_buses, parse_buses
from tests.reference import hisi_ptt as reference
from tests.support.captures import path_of
from tests.support.records import Words, decode_block, packed, records_4dw, records_8dw

COLUMNS = ("kind", "requester", "direction", "requested_bytes")
CLASS_SETS = st.lists(st.sampled_from(CLASSES), unique=True).map(tuple)
BUSES = st.none() | st.sets(st.sampled_from((1, 2, 3, 5, 0x7F, 0x80, 0xFF)), min_size=1)


def ranges(buses: set[int] | None) -> tuple[tuple[int, int], ...] | None:
    return None if buses is None else tuple((bus, bus) for bus in sorted(buses))


@given(data=st.data(), eight_dw=st.booleans(), inbound=CLASS_SETS, outbound=CLASS_SETS, buses=BUSES)
def test_any_records_by_any_rule(
    data: st.DataObject, eight_dw: bool, inbound: tuple[str, ...], outbound: tuple[str, ...], buses: set[int] | None
) -> None:
    if not inbound and not outbound:
        inbound = outbound = CLASSES
    words: list[Words] = data.draw(st.lists(records_8dw() if eight_dw else records_4dw(), max_size=30))
    if buses:  # most IDs are of known buses, or 0
        swap = st.sampled_from([0, 0x10, *(bus << 8 for bus in buses)])
        at = (3, 4) if eight_dw else (1, 2)
        words = [
            tuple(data.draw(swap) << 16 | word & 0xFFFF if number in at and any(one) else word for number, word in enumerate(one))
            for one in words
        ]
    rule = pickle.loads(pickle.dumps(DirectionRule(inbound, outbound, ranges(buses))))
    layout = Layout(eight_dw)
    array = np.frombuffer(packed(words), dtype="<u4").reshape(-1, layout.dws)
    frame = decode_block(array, layout, COLUMNS, direction=rule)
    way = {"in": set(inbound), "out": set(outbound), "buses": buses}
    rows = [row for _, row in reference.decode_bytes(packed(words), eight_dw=eight_dw, way=way)]
    for name in COLUMNS:
        assert frame[name].to_list() == [row[name] for row in rows], name


@pytest.mark.parametrize("eight_dw", [False, True])
@pytest.mark.parametrize("direction", range(4))
def test_rules_of_events(eight_dw: bool, direction: int) -> None:
    config = eight_dw << 32 | direction << 20 | 0x7080001
    rule = direction_rule(config)
    way = reference.way_of(config)
    assert (set(rule.inbound), set(rule.outbound)) == (way["in"], way["out"])
    assert direction_rule(config, eight_dw=not eight_dw) == DirectionRule()  # the config does not describe the data
    assert direction_rule(config, given="outbound").constant == 1


def test_the_bus_of_a_requester_filter_is_behind_a_port() -> None:
    rule = direction_rule(0x7200300)
    assert (rule.buses, rule.has_all_buses) == (((3, 3),), False)
    for config in (0x7280001, None):
        rule = direction_rule(config)
        assert (rule.constant, rule.buses) == (None, None)
    assert direction_rule(0x7280001, buses=((1, 2),)).has_all_buses


@pytest.mark.parametrize(("text", "buses"), [("01", ((1, 1),)), ("05, 01-03", ((1, 3), (5, 5))), ("0x1f-FF", ((31, 255),))])
def test_texts_of_buses(text: str, buses: Any) -> None:
    assert parse_buses(text) == buses
    assert parse_buses(format_buses(buses)) == buses


@pytest.mark.parametrize("text", ["", "0", "100", "3-1", "1-2-3", "x", "1,", "-1", "00-03"])
def test_texts_that_are_not_buses(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_buses(text)
    assert caught.value.code == "bad-parameter"


MIXED = "workloads/w-randread-4dw"


def counts(path: Path, **parameters: object) -> dict[tuple[str, str], int]:
    with ptttool.open(path, parameters=parameters) as recording:
        frame = recording.to_polars(["kind", "direction"], jobs=1)
    return {(kind, direction): count for kind, direction, count in frame.group_by("kind", "direction").len().rows()}


def test_a_mixed_recording_with_and_without_buses(tmp_path: Path) -> None:
    path = path_of(MIXED, tmp_path)
    assert {direction for _, direction in counts(path)} == {"unknown"}
    known = counts(path, downstream="01")
    assert dict(known.keys()) == {"MRd": "inbound", "CplD": "outbound"}


def test_the_sidecar_knows_the_buses(tmp_path: Path) -> None:
    path = path_of(MIXED, tmp_path)
    machine = require_machine(open_source(None, True), tune=False)
    save(path, Sidecar(machine=machine))
    assert {direction for _, direction in counts(path)} == {"inbound", "outbound"}


def test_options_that_name_the_buses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(path_of(MIXED, tmp_path))
    for options in ((), ("--downstream", "01"), ("--demo",)):
        assert main(["decode", path, "--json", "--limit", "2", *options]) == 0
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [row["direction"] for row in rows] == (["inbound", "outbound"] if options else ["unknown"] * 2)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("6.12/s-4dw-ports-dir0", {"inbound"}),
        ("6.12/s-4dw-ports-dir1", {"outbound"}),
        ("6.12/m-8dw-port10-type7-dir1", {"outbound"}),
        ("6.12/s-8dw-ports-dir2", {"inbound"}),
        ("6.12/s-8dw-ports-dir3", {"inbound"}),
    ],
)
def test_recordings_of_one_direction(name: str, expected: set[str], tmp_path: Path) -> None:
    assert {direction for _, direction in counts(path_of(name, tmp_path))} == expected


def test_both_directions_by_buses_are_those_of_the_slow_reading(tmp_path: Path) -> None:
    for name in (MIXED, "6.12/m-4dw-port10-type7-dir2", "workloads/w-config-dir3-4dw"):
        path = path_of(name, tmp_path)
        expected: dict[tuple[str, str], int] = {}
        for row in reference.read_recording(path, {1}):
            key = (row["kind"], row["direction"])
            expected[key] = expected.get(key, 0) + 1
        assert counts(path, downstream="01") == expected
