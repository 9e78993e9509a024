"""Traffic against a count, one TLP at a time; the workloads' own numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.analyses.drawing.names import names_of
from ptttool.analyses.shares import percentages
from ptttool.analyses.shown import Table
from ptttool.analyses.traffic import Traffic
from ptttool.pci import format_id
from tests.analyses.test_summary import ASKS
from tests.reference import hisi_ptt as reference
from tests.support.captures import path_of


def traffic(path: Path, **parameters: Any) -> Traffic:
    jobs = parameters.pop("jobs", 1)
    with ptttool.open(path, parameters=parameters) as recording:
        found: Traffic = recording.analyze("traffic", jobs=jobs)
    return found


NAMES = ["6.12/s-8dw-ports-dir2", "6.12/s-4dw-ports-dir1", "6.12/m-4dw-port10-type7-dir2", "workloads/w-config-dir3-4dw"]


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_those_of_a_count(name: str, tmp_path: Path) -> None:
    path = path_of(name, tmp_path)
    expected: dict[tuple[str, ...], list[int]] = {}
    for tlp in reference.read_recording(path, {1, 2}):
        if tlp["kind"] == "Unknown":
            continue
        key = (format_id(tlp["requester"]), tlp["direction"], tlp["class"], tlp["kind"])
        cell = expected.setdefault(key, [0, 0, 0])
        cell[0] += 1
        cell[1] += tlp["payload_bytes"]
        cell[2] += tlp["requested_bytes"] if tlp["kind"] in ASKS else 0
    result = traffic(path, downstream="01-02")
    found = {
        (row.requester, row.direction, row.class_, kind): [amount.tlps, amount.bytes, amount.requested_bytes]
        for row in result.rows
        for kind, amount in row.kinds.items()
    }
    assert found == expected
    for row in result.rows:
        assert (row.tlps, row.bytes) == (sum(one.tlps for one in row.kinds.values()), sum(one.bytes for one in row.kinds.values()))
    assert sum(row.tlps for row in result.rows) + result.undecodable == result.total.tlps
    assert sum(row.bytes for row in result.rows) == result.total.bytes
    assert sum(row.share_of_tlps for row in result.rows) == pytest.approx(1 - result.undecodable / result.total.tlps)
    assert traffic(path, downstream="01-02", jobs=2) == result


def test_what_fio_read_is_written_by_the_disk(tmp_path: Path) -> None:
    """4000 reads of 4096 bytes: each 16 writes of 256 bytes; an entry of 64 bytes is fetched, one of 16 bytes written for each."""
    (posted, asked) = traffic(path_of("workloads/w-randread-8dw", tmp_path)).rows
    assert (posted.requester, posted.direction, posted.class_) == ("01:00.0", "inbound", "P")
    assert posted.bytes == 16384000 + 4000 * 16 + 4 * (posted.tlps - 64000 - 4000)
    assert (asked.class_, asked.bytes) == ("NP", 0)
    assert asked.requested_bytes == 4000 * 64 + 4 * (asked.tlps - 4000)


def test_what_the_adapter_received(tmp_path: Path) -> None:
    rows = traffic(path_of("workloads/w-download-8dw", tmp_path)).rows
    assert {(row.requester, row.direction) for row in rows} == {("02:00.0", "inbound")}
    assert sum(row.bytes for row in rows) > 4975267 - 4 * 3298


def test_unknown_directions_are_said(tmp_path: Path) -> None:
    path = path_of("workloads/w-randread-4dw", tmp_path)
    result = traffic(path)
    (note,) = (note for note in result.notes if note.code == "direction-unknown")
    assert note.details == {"tlps": 141928, "share": 1.0, "buses": ["01"]}
    known = traffic(path, downstream="01")
    assert known.notes == []
    assert known.directions["inbound"].requested_bytes == known.directions["outbound"].bytes == known.total.bytes
    assert known.directions["unknown"].tlps == 0


def test_tables_add_up(tmp_path: Path) -> None:
    result = traffic(path_of("6.12/s-4dw-ports-dir0", tmp_path))
    tables = [part for part in result.shown(names_of(None)) if isinstance(part, Table)]
    assert len(tables) == 2
    for table in tables:
        assert table.total is not None
        for number, column in enumerate(table.columns):
            if column.is_number:
                cells = [row[number] or 0 for row in table.rows]
                assert sum(cells) == pytest.approx(table.total[number])  # type: ignore[arg-type]


@given(parts=st.lists(st.integers(0, 10**12), max_size=30), digits=st.integers(0, 3))
def test_percentages_add_up(parts: list[int], digits: int) -> None:
    found = percentages(parts, digits)
    assert len(found) == len(parts)
    if any(parts):
        assert round(sum(found), 6) == 100
        assert all(abs(one - 100 * part / sum(parts)) <= 10**-digits for one, part in zip(found, parts, strict=True))
    else:
        assert not any(found)
