"""Sums over TLPs against a count, one TLP at a time; any cutting gives the same."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.summary import Summary
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.decoders.hisi_ptt.units import LoadedTlpUnit
from ptttool.perfdata.model import Contents, Mode
from ptttool.tlp.direction import DirectionRule
from tests.reference import hisi_ptt as reference
from tests.support.captures import path_of
from tests.support.records import Words, loaded, packed, records_4dw, records_8dw

ASKS = {"MRd", "MRdLk", "IORd", "CfgRd0", "CfgRd1", "TCfgRd", "FetchAdd", "Swap", "CAS"}
CONTEXT = AnalysisContext("perf.data", Contents(Mode.RAW))


def counted(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], list[int]]:
    """Records, bytes and bytes asked for by direction, requester and kind."""
    sums: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        cell = sums.setdefault((row["direction"], row["requester"], row["kind"]), [0, 0, 0])
        cell[0] += 1
        cell[1] += row["payload_bytes"] or 0
        cell[2] += row["requested_bytes"] if row["kind"] in ASKS else 0
    return sums


def summed(words: list[Words], layout: Layout, rule: DirectionRule) -> Summary:
    array = np.frombuffer(packed(words), dtype="<u4").reshape(-1, layout.dws)
    analysis = Summary()
    rows, _ = LoadedTlpUnit(loaded(array, layout, direction=rule)).decoded(0)
    analysis.update(rows.batch(Summary.columns))
    return analysis


@given(data=st.data(), eight_dw=st.booleans(), buses=st.none() | st.sets(st.integers(1, 4), min_size=1))
def test_any_records_in_any_parts(data: st.DataObject, eight_dw: bool, buses: set[int] | None) -> None:
    words: list[Words] = data.draw(st.lists(records_8dw() if eight_dw else records_4dw(), max_size=40))
    ids = st.sampled_from([0, 0x10, 0x100, 0x200, 0x301, 0x500])
    at = (3, 4) if eight_dw else (1, 2)
    words = [
        tuple(data.draw(ids) << 16 | word & 0xFFFF if number in at and any(one) else word for number, word in enumerate(one))
        for one in words
    ]
    rule = DirectionRule(buses=None if buses is None else tuple((bus, bus) for bus in sorted(buses)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(words)), max_size=3)))
    parts = [summed(words[start:stop], Layout(eight_dw), rule) for start, stop in zip([0, *cuts], [*cuts, len(words)], strict=True)]
    whole: Summary = pickle.loads(pickle.dumps(parts[0]))
    for part in parts[1:]:
        whole.merge(pickle.loads(pickle.dumps(part)))
    way = {**reference.ANY_WAY, "buses": buses}
    rows = [row for _, row in reference.decode_bytes(packed(words), eight_dw=eight_dw, way=way)]
    found = {(cell.direction, cell.requester, cell.kind): list(cell[3:]) for cell in whole.tally.cells()}
    assert found == counted(rows)
    result = whole.result(CONTEXT)
    assert result == summed(words, Layout(eight_dw), rule).result(CONTEXT)
    assert result.records == len(rows) == sum(flow.records for flow in result.flows)
    for sums in (result.kinds, result.classes, result.directions):
        known = [each for name, each in sums.items() if name != "Unknown"]
        assert sum(each.records for each in known) == sum(row["kind"] != "Unknown" for row in rows)
    for requester in result.requesters:
        for parts_of_it in (requester.classes, requester.directions):
            assert sum(each.records for each in parts_of_it.values()) == requester.records
            assert sum(each.requested_bytes for each in parts_of_it.values()) == requester.requested_bytes


@pytest.mark.parametrize("name", ["6.12/s-8dw-ports-dir2", "6.12/m-4dw-port10-type7-dir2", "workloads/w-config-dir3-4dw"])
def test_recordings(name: str, tmp_path: Path) -> None:
    path = path_of(name, tmp_path)
    with ptttool.open(path, parameters={"downstream": "01-02"}) as recording:
        result = recording.analyze("summary", jobs=1)
    expected: Counter[tuple[str | None, str]] = Counter()
    for (direction, _, kind), (records, *_) in counted(list(reference.read_recording(path, {1, 2}))).items():
        expected[direction, kind] += records
    assert {(flow.direction, flow.kind): flow.records for flow in result.flows} == dict(expected)


def test_the_bytes_that_fio_read(tmp_path: Path) -> None:
    """A read of the disk is inbound writes of 256 bytes: 4000 reads of 4096 bytes."""
    with ptttool.open(path_of("workloads/w-randread-8dw", tmp_path)) as recording:
        result = recording.analyze("summary", where="kind = 'MWr' AND length_dw = 64 AND requester = '01:00.0'")
    assert result.directions["inbound"].payload_bytes == result.payload_bytes == 16384000
