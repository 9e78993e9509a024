"""A recording of more requesters than a result lists: the largest have rows, the others are counted, and no sum misses them."""

from __future__ import annotations

from typing import Any

import pytest

import ptttool
from ptttool.analyses.budget import MAX_REQUESTERS
from tests.support.records import eight, packed

REQUESTERS = MAX_REQUESTERS + 100
BUSIEST = REQUESTERS - 1  # the last requester asks twice


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("many") / "raw.bin"
    records, now = [], 0
    for requester in (*range(REQUESTERS), BUSIEST):
        records.append(eight(0x00000001, requester << 16 | 0x0F, 0x1000, 0, time=now))
        records.append(eight(0x4A000001, 0x00000004, requester << 16, 0, time=now + 7))
        now += 10
    path.write_bytes(packed(records))
    with ptttool.open(path, protocol="hisi-ptt", parameters={"input": "8dw"}, form="raw") as recording:
        return {name: recording.analyze(name, time_model="counter") for name in ("summary", "traffic", "attributes", "outstanding")}


def test_summary(results: dict[str, Any]) -> None:
    found = results["summary"]
    assert (len(found.requesters), found.more_requesters) == (MAX_REQUESTERS, 100)
    assert (found.records, sum(each.records for each in found.flows)) == (2 * REQUESTERS + 2,) * 2
    assert (found.requesters[0].requester, found.requesters[0].records) == (f"{BUSIEST >> 8:02x}:{BUSIEST >> 3 & 31:02x}.{BUSIEST & 7}", 4)


def test_traffic(results: dict[str, Any]) -> None:
    found = results["traffic"]
    assert (len({row.requester for row in found.rows}), found.more_requesters) == (MAX_REQUESTERS, 100)
    others = [amount for kinds in found.left_out.values() for amount in kinds.values()]
    for field in ("tlps", "bytes", "requested_bytes"):
        assert sum(getattr(each, field) for each in (*found.rows, *others)) == getattr(found.total, field) > 0
    by_kind = list(found.shown(str))[-1]
    assert sum(row[2] for row in by_kind.rows) == found.total.tlps


def test_attributes(results: dict[str, Any]) -> None:
    found = results["attributes"]
    assert (len(found.rows), found.more_rows) == (MAX_REQUESTERS, 2 * REQUESTERS - MAX_REQUESTERS)
    assert found.tlps == 2 * REQUESTERS + 2
    assert found.rows[0].tlps == 2


def test_outstanding(results: dict[str, Any]) -> None:
    found = results["outstanding"]
    assert (len(found.requesters), found.more_requesters) == (MAX_REQUESTERS, 100)
    assert (found.counted, sum(each.requests for each in found.directions)) == (REQUESTERS + 1,) * 2
