"""What is said of requests whose completions are not traced: the same by every analysis that matches, in any recording."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import ptttool
from ptttool.analyses.follow import Followed
from ptttool.generate import tlps
from tests.support import captures
from tests.support.recordings import build_perfdata
from tests.support.traffic import Traffic

P, NP, CPL = 1, 2, 4
PORTS, REQUESTER = 0x80001, 0x00100
DEVICE, HOST = 0x0100, 0x8000
ALONE = {Followed.UNANSWERED: "inside", Followed.OPEN: "end", Followed.NOT_TRACED: "not_traced"}
RECORDINGS = [name for name, shape in captures.shapes().items() if shape.get("type") in (None, 6)]


def check(path: Path, downstream: str | None) -> None:
    """Analyses and follow agree on how many requests have no completion, and why."""
    with ptttool.open(path, parameters={"downstream": downstream} if downstream else None) as recording:
        latency, errors, outstanding = (recording.analyze(name) for name in ("latency", "errors", "outstanding"))
        left, kinds = latency.unmatched, {kind.code: kind.count for kind in errors.kinds}
        assert latency.requests == errors.requests == outstanding.requests == latency.matched + left.inside + left.end + left.not_traced
        assert errors.not_traced == outstanding.not_counted.not_traced == left.not_traced
        assert (outstanding.not_counted.inside, outstanding.not_counted.at_end) == (left.inside, left.end)
        assert kinds.get("unanswered", 0) <= left.inside + left.end - errors.open_at_end
        assert errors.open_at_end <= left.end
        has_all = latency.requests > left.not_traced or not latency.requests
        assert ("unanswered" in errors.not_seen) is not has_all
        requests = recording.to_polars(["index"], where="class = 'NP'")["index"].to_list()
        for index in requests[:: len(requests) // 3 or 1]:
            state = recording.follow(index).state
            assert state not in ALONE or getattr(left, ALONE[state]) > 0, (index, state)


@pytest.mark.parametrize("downstream", [None, "01-02"])
@pytest.mark.parametrize(
    "name",
    [
        "6.1/m-4dw-port10-type7-dir2", "6.12/m-8dw-port10-type7-dir1", "6.12/m-8dw-port10-type7-dir2", "6.12/s-4dw-ports-dir1",
        "6.12/s-8dw-delta-time", "6.12/s-8dw-ports-dir3", "6.12/x-switch-port14", "faults/filter-not-in-force",
        "faults/cpu-went-offline", "workloads/w-config-dir3-4dw",
    ],
)  # fmt: skip
def test_analyses_agree_on_real_recordings(name: str, downstream: str | None, tmp_path: Path) -> None:
    check(captures.path_of(name, tmp_path), downstream)


def recording_of(made: Traffic, folder: Path, *, types: int, direction: int, filter_: int) -> Path:
    """A recording in 4DW that says what it asks for."""
    data = b"".join(struct.pack("<4I", *words) for _, _, words in made.records)
    path = folder / "made.data"
    path.write_bytes(build_perfdata([(0, 0, data)], config=filter_ | direction << 20 | types << 24, name="hisi_ptt0_0//"))
    return path


def both_ways(*, answered: tuple[int, ...]) -> Traffic:
    """Reads of a device and of the processor, some more of each than there are tags; the requests of some requesters are answered."""
    made = Traffic(eight_dw=False)
    for number in range(60):
        for requester, address in ((DEVICE, 0x10_0000), (HOST, 0x20_0000)):
            made.add(tlps.request(tlps.MRD, requester, number % 32, address, 64), 20 * number)
            if requester in answered:
                made.add(tlps.completion(tlps.CPLD, 0, requester, number % 32, size=64, byte_count=64), 20 * number + 10)
        made.add(tlps.configuration(tlps.CFGRD0, 0, number % 32, DEVICE, 0), 20 * number + 15)
    return made


@pytest.mark.parametrize("downstream", [None, "01-02"])
@pytest.mark.parametrize(
    ("types", "filter_", "answered", "not_traced"),
    [
        (NP, PORTS, (), 180),  # no completions at all, whatever the direction
        (P | NP | CPL, PORTS, (DEVICE,), 120),  # CPL B inbound only: what the processor asks for is not answered
        (P | NP | CPL, PORTS, (DEVICE, HOST), 60),  # as peer-to-peer requests, which are answered by CPL B
        (NP | CPL, REQUESTER, (), 180),  # nobody knows which completions pass
        (NP | CPL, REQUESTER, (DEVICE,), 120),
    ],
)
def test_what_was_not_asked_for_is_no_error(
    types: int, filter_: int, answered: tuple[int, ...], not_traced: int, downstream: str | None, tmp_path: Path
) -> None:
    path = recording_of(both_ways(answered=answered), tmp_path, types=types, direction=2, filter_=filter_)
    check(path, downstream)
    with ptttool.open(path, parameters={"downstream": downstream} if downstream else None) as recording:
        errors, latency = recording.analyze("errors"), recording.analyze("latency")
        outstanding = recording.analyze("outstanding")
        mmio = recording.analyze("mmio")
    assert "unanswered" not in {kind.code for kind in errors.kinds}
    assert (errors.not_traced, errors.open_at_end) == (not_traced, 0)
    assert latency.unmatched.not_traced == not_traced
    assert not {"outstanding-cut-off", "outstanding-lower-bound"} & {note.code for note in outstanding.notes}
    assert sum(flow.unanswered + flow.open_at_end for flow in mmio.flows) == 0


def test_requests_without_an_answer_are_errors_where_others_have_one(tmp_path: Path) -> None:
    made = both_ways(answered=(DEVICE,))
    lost = next(row for row, (_, _, words) in enumerate(made.records) if words[0] >> 25 & 0x1F == 0xA)
    del made.records[lost]
    path = recording_of(made, tmp_path, types=P | NP | CPL, direction=2, filter_=PORTS)
    check(path, None)
    with ptttool.open(path) as recording:
        (kind,) = recording.analyze("errors").kinds
        assert (kind.code, kind.count, kind.index, kind.indexes) == ("unanswered", 1, 0, [0])
        assert recording.follow(0).state is Followed.UNANSWERED


def test_a_condition_hides_no_completions(tmp_path: Path) -> None:
    with ptttool.open(captures.path_of("6.12/m-4dw-port10-type7-dir2", tmp_path)) as recording:
        whole, reads = (recording.analyze("latency", where=where) for where in (None, "kind = 'MRd'"))
        errors = {where: recording.analyze("errors", where=where) for where in (None, "kind = 'MRd'", "class = 'CPL'")}
        assert recording.analyze("outstanding", where="kind = 'MRd'", jobs=2).counted == reads.matched - reads.short
    (of_reads,) = (group for group in whole.kinds if group.key == "MRd")
    assert reads.kinds == [of_reads]
    assert reads.matched > 0
    assert errors["kind = 'MRd'"].errors <= errors[None].errors
    assert errors["class = 'CPL'"].requests == 0
