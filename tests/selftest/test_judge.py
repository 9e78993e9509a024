"""The self-test's judgement of recordings whose truth is known, and of those that the real driver made."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ptttool.api.selftest import judge_recordings
from ptttool.selftest.coded_reads import offsets
from ptttool.selftest.document import SelfTest, Verdict
from ptttool.selftest.evidence import MOST_ROWS, Found, _completions, align
from ptttool.selftest.readings import Readings
from tests import ROOT
from tests.selftest.device import FUNCTION, Device, explained, make_reads

TRIALS = {
    "8dw-out-np": "filter=0x80001,direction=1,type=2,format=1",
    "8dw-in-a": "filter=0x80001,direction=3,type=7,format=1",
    "8dw-in-b": "filter=0x80001,direction=2,type=7,format=1",
    "4dw-both-a": "filter=0x80001,direction=3,type=7,format=0",
    "4dw-both-b": "filter=0x80001,direction=2,type=7,format=0",
    "4dw-function": "filter=0x00100,direction=2,type=7,format=0",
    "4dw-other-port": "filter=0x80004,direction=3,type=7,format=0",
}
ALL = {f"A{number}" for number in range(1, 21)}
Judge = Callable[..., SelfTest]


@pytest.fixture
def judged(tmp_path: Path) -> Judge:
    """Judge the recordings of a device with something wrong."""

    def judge(wrong: str = "nothing", count: int = 300, took: tuple[int, int] = (900, 2500)) -> SelfTest:
        reads = make_reads(count, took)
        for name, event in TRIALS.items():
            Device().wrong(wrong).record(explained(f"hisi_ptt0_0/{event}/"), reads, tmp_path / f"{name}.data")
            (tmp_path / f"{name}.reads.json").write_text(json.dumps(reads))
        return judge_recordings(tmp_path)

    return judge


def verdicts(result: SelfTest) -> dict[str, Verdict]:
    return {one.name: one.verdict for one in result.judged}


def refuted(result: SelfTest) -> set[str]:
    return {name for name, verdict in verdicts(result).items() if verdict is Verdict.REFUTED}


def test_a_device_as_assumed(judged: Judge) -> None:
    result = judged("so")
    assert refuted(result) == set()
    confirmed = {name for name, verdict in verdicts(result).items() if verdict is Verdict.CONFIRMED}
    assert confirmed == {"A1", "A2", "A3", "A4", "A5", "A7", "A8", "A9", "A11", "A14"}
    assert set(verdicts(result)) == ALL
    for name, bits in (("8dw", 32), ("4dw", 11)):
        clock = result.clocks[name]
        assert (clock.model, clock.bits) == ("counter", bits)
        assert clock.low_ns <= 4.0007 <= clock.high_ns
        assert clock.high_ns - clock.low_ns < 4.0007e-4


@pytest.mark.parametrize(
    ("wrong", "names"),
    [
        ("delta", {"A1", "A2"}),
        ("full", {"A2", "A1"}),
        ("small-tick", {"A2"}),
        ("order", {"A3"}),
        ("fields", {"A4"}),
        ("requester", {"A5"}),
        ("completions", {"A7"}),
        ("any-requester", {"A8"}),
        ("any-port", {"A9"}),
        ("reserved", {"A11"}),
        ("late", {"A13"}),
        ("lost", {"A14"}),
        ("nothing", set()),
    ],
)
def test_each_is_refuted_by_itself(judged: Judge, wrong: str, names: set[str]) -> None:
    result = judged(wrong)
    # SO of this device is always 0, as that of the emulated one.
    assert refuted(result) - {"A12"} == names
    for one in result.judged:
        if one.name in names:
            assert one.recording is not None
            assert one.recording in TRIALS


def test_the_clock_of_differences(judged: Judge) -> None:
    clock = judged("delta").clocks["8dw"]
    assert clock.model == "delta"
    assert clock.low_ns <= 4.0007 <= clock.high_ns


def test_where_it_can_be_seen(judged: Judge) -> None:
    by_name = {one.name: one for one in judged("order").judged}
    assert by_name["A3"].recording == "4dw-both-a"
    assert by_name["A3"].details["wrong"] == 2
    assert set(by_name["A3"].indexes) == {2 * 7, 2 * 40}
    lost = {one.name: one for one in judged("lost").judged}["A14"]
    assert (lost.details["missing"], lost.indexes) == (2, (38, 40))


def test_an_early_commit(judged: Judge) -> None:
    assert verdicts(judged("early"))["A13"] is Verdict.CONFIRMED


def test_reads_of_others_between(judged: Judge) -> None:
    result = judged("strangers")
    assert verdicts(result)["A14"] is Verdict.CONFIRMED
    assert verdicts(result)["A1"] is Verdict.CONFIRMED


def test_slow_reads(judged: Judge) -> None:
    # 11 bits turn round several times in a read: only many reads tell whether the counter is the same.
    few = judged(count=62, took=(50_000, 90_000))
    assert verdicts(few)["A2"] is Verdict.NOT_TESTED
    assert "4dw" not in few.clocks
    many = judged(count=4096, took=(50_000, 52_000))
    assert verdicts(many)["A2"] is Verdict.CONFIRMED
    assert many.clocks["4dw"].low_ns <= 4.0007 <= many.clocks["4dw"].high_ns


def test_slow_reads_of_another_tick(judged: Judge) -> None:
    result = judged("small-tick", count=4096, took=(50_000, 52_000))
    assert verdicts(result)["A2"] is not Verdict.CONFIRMED


def test_the_real_driver() -> None:
    result = judge_recordings(ROOT / "fixtures" / "anchors")
    clock = result.clocks["8dw"]
    assert clock.low_ns <= 4 <= clock.high_ns
    assert clock.low_ns > 3.9994
    assert clock.high_ns < 4.0005
    by_name = {one.name: one for one in result.judged}
    assert by_name["A7"].details == {"a": [124, 124], "b": [0, 124]}
    assert by_name["A14"].details == {"made": 372, "missing": 0, "counted": 0}
    assert {one.name: (one.requests, one.completions) for one in result.recordings} == {
        "anchors-4dw-dir1-np": (62, 0),
        "anchors-4dw-dir2": (62, 0),
        "anchors-4dw-dir3": (62, 62),
        "anchors-8dw-dir1": (62, 0),
        "anchors-8dw-dir2": (0, 0),
        "anchors-8dw-dir3": (0, 62),
    }


def test_the_pattern() -> None:
    from ptttool.selftest.coded_reads import MOST, WINDOW, offsets

    sequence = offsets()
    assert len(sequence) == MOST
    assert set(sequence) == set(range(0, 64, 4))
    circle = np.array(sequence + sequence[: WINDOW - 1])
    assert len({tuple(circle[at : at + WINDOW]) for at in range(MOST)}) == MOST


def test_too_many_reads_of_others(tmp_path: Path) -> None:
    # Of what is not looked at nothing is said: not that reads are lost.
    reads = make_reads(4096)
    device = Device(strangers={2048: (0, 4) * (MOST_ROWS // 2)})
    device.record(explained(f"hisi_ptt0_0/{TRIALS['8dw-out-np']}/"), reads, tmp_path / "a.data")
    (tmp_path / "a.reads.json").write_text(json.dumps(reads))
    result = judge_recordings(tmp_path)
    assert [one.code for one in result.diagnostics] == ["too-many-reads"]
    assert verdicts(result)["A14"] is Verdict.NOT_TESTED


def test_many_completions_of_one_tag() -> None:
    count, more = 4096, 60_000
    none, numbers = np.zeros(0, dtype=np.int64), np.arange(count + more)
    kinds = ("CfgRd0", "CplD")
    columns = {"kind": (numbers >= count).astype(np.int64), "tag": np.zeros(count + more, dtype=np.int64)}
    rows = Found(none, numbers, numbers, numbers, numbers, columns)
    requests = rows.take(np.arange(count), np.arange(count))
    form = make_reads(count)["reads"]
    offsets, before, after = (np.array([row[at] for row in form]) for at in (0, 2, 3))
    made = Readings(FUNCTION, offsets, before, after)
    began = time.process_time()
    found = _completions(rows, made, requests, kinds)
    assert time.process_time() - began < 5  # each with each takes a minute
    assert found.index.tolist() == list(range(count, 2 * count))


def test_what_a_recording_without_a_tlp_shows(judged: Judge, tmp_path: Path) -> None:
    judged()
    # A filter that records nothing at all proves nothing.
    Device(tick_ns=4).record(explained(f"hisi_ptt0_0/{TRIALS['4dw-function']}/"), make_reads(0), tmp_path / "4dw-function.data")
    assert verdicts(judge_recordings(tmp_path))["A8"] is Verdict.NOT_TESTED


def test_completions_that_are_missing(judged: Judge, tmp_path: Path) -> None:
    reads = make_reads(300)
    judged()
    fewer = {**reads, "reads": reads["reads"][:150]}
    Device().record(explained(f"hisi_ptt0_0/{TRIALS['4dw-both-a']}/"), fewer, tmp_path / "4dw-both-a.data")
    loss = {one.name: one for one in judge_recordings(tmp_path).judged}["A14"]
    assert (loss.verdict, loss.details["missing"]) == (Verdict.REFUTED, 150)


def test_functions_behind_two_ports(judged: Judge, tmp_path: Path) -> None:
    judged()
    reads = make_reads(300)
    other = {**reads, "bdf": "0000:02:00.0"}
    Device(any_port=True).record(explained(f"hisi_ptt0_0/{TRIALS['4dw-other-port']}/"), reads, tmp_path / "4dw-second.data")
    (tmp_path / "4dw-second.reads.json").write_text(json.dumps(other), encoding="utf-8")
    assert verdicts(judge_recordings(tmp_path))["A9"] is Verdict.CONFIRMED


def test_reads_of_others_alone() -> None:
    # 60,000 reads of others have many windows of the pattern by chance.
    others = (4 * np.random.default_rng(5).integers(0, 16, 60_000)).tolist()
    recorded, _ = align(others, offsets())
    assert len(recorded) == 0
    recorded, made = align([*others[:500], *offsets()[:50], *others[500:900], *offsets()[50:300]], offsets())
    assert made.tolist() == list(range(300))
    assert recorded.tolist() == [*range(500, 550), *range(950, 1200)]


def test_a_clock_that_stands_still(tmp_path: Path) -> None:
    reads = make_reads(10)
    reads["reads"] = [(offset, data, 5, 5) for offset, data, _, _ in reads["reads"]]
    Device().record(explained(f"hisi_ptt0_0/{TRIALS['8dw-out-np']}/"), reads, tmp_path / "8dw-out-np.data")
    (tmp_path / "8dw-out-np.reads.json").write_text(json.dumps(reads), encoding="utf-8")
    result = judge_recordings(tmp_path)
    assert [one.code for one in result.diagnostics] == ["readings-damaged"]
    assert verdicts(result)["A1"] is Verdict.NOT_TESTED
