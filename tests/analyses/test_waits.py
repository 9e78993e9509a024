"""What reads of devices waited for: as counted TLP by TLP, in any cutting; and in a real recording."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.latency import waits
from ptttool.analyses.latency.analysis import LatencyAnalysis
from ptttool.analyses.latency.bins import RELATIVE_ERROR
from ptttool.analyses.latency.document import Latency
from ptttool.analyses.latency.waited import waits_of
from ptttool.analyses.latency.waits import Line, WaitSums
from ptttool.analyses.scope import Scope
from ptttool.analyses.shown import Facts, Note, Table, Timeline, no_names
from ptttool.analyses.time.model import TimeModel
from ptttool.documents import to_json
from ptttool.generate import tlps
from ptttool.pci import format_id
from ptttool.perfdata.model import Contents, Mode
from ptttool.tlp.columns import DIRECTIONS
from ptttool.tlp.direction import EITHER, DirectionRule
from tests.reference import waits as reference
from tests.support import captures
from tests.support.traffic import Traffic, merged, traffic

CONTEXT = AnalysisContext("made", contents=Contents(Mode.FILE))
BEHIND = DirectionRule(buses=((1, 1),))


def found_in(made: Traffic, cuts: tuple[int, ...] = (), rule: DirectionRule = EITHER, *, tree: bool = False) -> Latency:
    scope = Scope(time_model=TimeModel.COUNTER, time_bits=32 if made.eight_dw else 11)
    result = merged(LatencyAnalysis, made.batches(cuts, LatencyAnalysis.columns, rule), scope, tree=tree).result(CONTEXT)
    assert isinstance(result, Latency)
    return result


def expected_of(made: Traffic, rule: DirectionRule) -> list[dict[str, Any]]:
    rows = made.rows()
    for batch in made.batches((), LatencyAnalysis.columns, rule):
        codes = np.asarray(batch.values("direction").array)
        for row, code in zip(rows, codes.tolist(), strict=True):
            row["direction"] = DIRECTIONS[code]
    return reference.reads(rows, "counter")


def near(value: float | None, wanted: Fraction | None) -> bool:
    return value is None if wanted is None else value == pytest.approx(float(wanted))


def check(found: Latency, reads: list[dict[str, Any]]) -> None:
    """A result is that of the reference's reads."""
    seen = found.waits
    assert seen.reads == len(reads)
    if not reads:
        assert (seen.mean, seen.own, seen.behind, seen.idle, seen.explained, seen.slowest, seen.requesters) == (*(None,) * 6, [])
        return
    times = [one["to_last"] for one in reads]
    slope, explained = reference.line([one["sent"] for one in reads], times)
    assert near(seen.mean, reference.mean(times))
    assert near(seen.explained, explained if slope is None or slope >= 0 else Fraction(0))
    assert near(seen.fitted_ticks_per_byte, None if slope is None else max(slope, Fraction(0)))
    each, explained = reference.line([one["front"] for one in reads], [one["to_first"] for one in reads])
    assert near(seen.front.each, each)
    assert near(seen.front.explained, explained)
    check_parts(seen, reads, seen.ticks_per_byte)
    for group in seen.requesters:
        check_parts(group, [one for one in reads if format_id(one["requester"]) == group.key], seen.ticks_per_byte)
    assert sum(group.reads for group in seen.requesters) == len(reads)
    idle = [one for one in reads if not one["front"]]
    assert (seen.ordering.idle, seen.ordering.candidates) == (len(idle), sum(one["posted"] > 0 for one in idle))
    if idle:
        assert near(seen.ordering.explained, reference.line([one["posted"] for one in idle], [one["to_first"] for one in idle])[1])
        if some := [one["to_first"] for one in idle if one["posted"]]:
            assert near(seen.ordering.mean, reference.mean(some))
    check_gaps(found, [one for one in idle if one["quiet"] is not None])
    assert sum(each.n for each in found.by_size) == len(reads)
    if found.by_level is not None:
        wanted: dict[Any, list[int]] = {}
        for one in reads:
            wanted.setdefault(one["level"], []).append(one["to_last"])
        assert {each.key: each.n for each in found.by_level} == {level: len(times) for level, times in wanted.items()}
        for level in found.by_level:
            assert near(level.mean, reference.mean(wanted[level.key]))
            assert level.p99 is not None
            assert abs(level.p99 - max(wanted[level.key])) <= RELATIVE_ERROR * level.p99 + 1 or level.n > 99


def check_gaps(found: Latency, idle: list[dict[str, Any]]) -> None:
    """Reads by the gap in front of them; with 11 bits, nothing is said of how long it is at most."""
    for each in found.by_gap:
        assert (each.below is None) == (found.time.bits < 32)
        times = sorted(one["to_last"] for one in idle if each.at_least <= one["quiet"] < max(2 * each.at_least, 1))
        assert len(times) == each.n
        assert near(each.mean, reference.mean(times))
        for value, share in ((each.p50, 50), (each.p90, 90), (each.p99, 99)):
            assert value is not None
            assert abs(value - times[max(-(-share * len(times) // 100), 1) - 1]) <= RELATIVE_ERROR * value + 1
    assert sum(each.n for each in found.by_gap) == len(idle)


def check_parts(group: Any, reads: list[dict[str, Any]], rate: float | None) -> None:
    assert near(group.mean, reference.mean([one["to_last"] for one in reads]))
    if rate is None:
        assert (group.own, group.behind, group.idle) == (None, None, None)
        return
    own = rate * float(reference.mean([one["own"] for one in reads]))
    sent = rate * float(reference.mean([one["sent"] for one in reads]))
    assert group.own == pytest.approx(min(own, group.mean))
    assert group.own + group.behind == pytest.approx(min(sent, group.mean))
    assert group.own + group.behind + group.idle == pytest.approx(group.mean)
    assert min(group.own, group.behind, group.idle) >= 0


@given(traffic(), st.lists(st.integers(0, 60), max_size=8), st.booleans(), st.sampled_from((EITHER, BEHIND)))
def test_like_the_reference_for_any_cutting(made: Traffic, cuts: list[int], tree: bool, rule: DirectionRule) -> None:
    whole = found_in(made, (), rule)
    check(whole, expected_of(made, rule))
    assert found_in(made, tuple(cuts), rule, tree=tree) == whole
    assert found_in(made, tuple(range(60)), rule, tree=tree) == whole


@given(traffic(holes=False), st.integers(0, 60))
def test_one_part_may_see_several_batches(made: Traffic, cut: int) -> None:
    scope = Scope(time_model=TimeModel.COUNTER, time_bits=32 if made.eight_dw else 11)
    analysis = LatencyAnalysis(scope)
    for batch in made.batches((cut,), LatencyAnalysis.columns):
        analysis.update(batch)
    assert analysis.result(CONTEXT) == found_in(made)


NUMBERS = st.lists(st.tuples(st.integers(0, 1 << 62), st.integers(0, 1 << 62)), max_size=5)


@given(NUMBERS, NUMBERS, st.integers(0, 1 << 62))
def test_sums_are_exact(one: list[tuple[int, int]], other: list[tuple[int, int]], by: int) -> None:
    def line(pairs: list[tuple[int, int]]) -> Line:
        return Line.of(*np.array(pairs, dtype=np.int64).reshape(-1, 2).T)

    pairs = one + other
    assert line(one) + line(other) == line(pairs)
    x, y = [one + by for one, _ in pairs], [one for _, one in pairs]
    products = (sum(one * other for one, other in zip(*both, strict=True)) for both in ((x, x), (x, y), (y, y)))
    assert line(pairs).moved(by) == Line(len(pairs), sum(x), sum(y), *products)


def burst(count: int, each: int = 10) -> Traffic:
    """Reads that are asked at once, by two requesters in turn, and answered one after the other."""
    made = Traffic(eight_dw=True)
    for number in range(count):
        made.add(tlps.request(tlps.MRD, 0x100 + number % 2, number // 2, 0x1000, 64), number)
    for number in range(count):
        made.add(tlps.completion(tlps.CPLD, 0, 0x100 + number % 2, number // 2, size=64, byte_count=64), 100 + each * number)
    return made


def test_a_burst_waits_for_itself() -> None:
    found = found_in(burst(40), rule=BEHIND)
    seen = found.waits
    assert seen.fitted_ticks_per_byte == pytest.approx(9 / 84)  # each read is asked a tick later, and answered 10 later
    assert [seen.explained, seen.front.each] == pytest.approx([1.0, 9.0])
    assert seen.slowest is not None
    assert (seen.slowest.reads, seen.slowest.completions, seen.slowest.key) == (1, 39, format_id(0x101))
    assert seen.slowest.itself == pytest.approx((seen.slowest.behind or 0) * 19 / 39)
    assert found.by_level is not None
    assert [(level.key, level.n) for level in found.by_level] == [(level, 1) for level in range(40)]
    assert [(size.key, size.n) for size in found.by_size] == [("33-64", 40)]
    parts = list(found.shown(no_names))
    assert [part.axis for part in parts if isinstance(part, Timeline)] == ["Outstanding"]
    assert [len(part.rows) for part in parts if isinstance(part, Table)][-1] == 3
    assert len([part for part in parts if isinstance(part, Facts)]) == 3
    assert seen.sentence(found.time, no_names) in [part.text for part in parts if isinstance(part, Note)]
    assert json.dumps(to_json(found))


def test_the_rate_of_the_link_where_the_reads_can_have_had_it() -> None:
    sums = WaitSums()
    sums.sent, sums._requesters = Line(2, 100, 300, 6000, 15000, 50000), found_sums(burst(2))._requesters
    assert (waits_of(sums, 1.0, 8).rate_from, waits_of(sums, 1.0, 8).ticks_per_byte) == ("link", 1.0)
    # Bytes of the link would have taken longer than the reads, and these do not take longer with more bytes in front.
    assert [(each.rate_from, each.idle) for each in (waits_of(sums, 4.0, 8), waits_of(sums, None, 8))] == [(None, None)] * 2
    sums.sent = Line(2, 100, 300, 6000, 15500, 50000)
    assert waits_of(sums, 4.0, 8).rate_from == waits_of(sums, None, 8).rate_from == "recording"


def gaps_in_front(*, eight_dw: bool) -> Latency:
    """Pairs of reads, one after a long gap, and a doorbell between gap and read; the first of all has nothing in front."""
    made, now = Traffic(eight_dw=eight_dw), 0
    for number in range(10):
        now += 100 if number % 2 else 5000
        made.add(tlps.request(tlps.MWR, 0, 0, 0x1000, 4), now)
        made.add(tlps.request(tlps.MRD, 0x100, number, 0x1000, 64), now + 3)
        now += 50 if number % 2 else 250
        made.add(tlps.completion(tlps.CPLD, 0, 0x100, number, size=64, byte_count=64), now)
    return found_in(made, rule=BEHIND)


def test_the_first_read_after_a_gap() -> None:
    found = gaps_in_front(eight_dw=True)
    assert [(each.at_least, each.below, each.n, each.p50) for each in found.by_gap] == [(64, 128, 5, 47), (4096, 8192, 4, 247)]
    assert "gaps-at-least" not in [note.code for note in found.notes]


def test_gaps_of_11_bits_are_at_least_as_long() -> None:
    found = gaps_in_front(eight_dw=False)
    assert {each.below for each in found.by_gap} == {None}
    assert sum(each.n for each in found.by_gap) == 9
    assert "gaps-at-least" in [note.code for note in found.notes]


def found_sums(made: Traffic) -> WaitSums:
    analysis = LatencyAnalysis(Scope(time_model=TimeModel.COUNTER))
    for batch in made.batches((), LatencyAnalysis.columns):
        analysis.update(batch)
    return analysis._waits


def test_reads_that_are_alike_show_no_rate() -> None:
    found = found_in(burst(1), rule=BEHIND)
    assert (found.waits.mean, found.waits.own, found.waits.explained, found.waits.ticks_per_byte) == (100, None, None, None)
    assert "waits-all-alike" in [note.code for note in found.notes]
    assert found.waits.sentence(found.time, no_names) is None


def test_what_is_not_known_is_said() -> None:
    lost = burst(4)
    del lost.records[-2]
    lost.records[-1] = (0, lost.records[-2][1] + 32, lost.records[-1][2])
    lost.add(tlps.request(tlps.MRD, 0x100, 1, 0x1000, 64), 500)  # its tag again
    found = found_in(lost, rule=BEHIND)
    assert found.by_level is None
    assert {note.code for note in found.notes} >= {"levels-not-known"}
    guessed = found_in(burst(4))
    assert {note.code for note in guessed.notes} >= {"waits-directions"}
    assert guessed.waits.reads == 4


def test_too_many_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = found_in(burst(40), rule=BEHIND).waits
    monkeypatch.setattr(waits, "MAX_LATENCY_BINS", 20)
    few = found_in(burst(40), (7, 55), rule=BEHIND)
    assert few.by_level is None
    assert [(each.key, each.reads) for each in few.waits.requesters] == [(None, 40)]
    assert [few.waits.mean, few.waits.own, few.waits.explained] == pytest.approx([whole.mean, whole.own, whole.explained])


def test_the_recording_of_the_guide(tmp_path: Path) -> None:
    """97.6 ticks to the first completion, and 15.8 for each in front: nearly all that differs."""
    with ptttool.open(captures.path_of("6.12/m-4dw-port10-type7-dir2", tmp_path), parameters={"downstream": "01"}) as recording:
        found = recording.analyze("latency")
        assert recording.analyze("latency", jobs=2) == found
    seen = found.waits
    assert seen.reads == 636
    assert (round(seen.front.base, 1), round(seen.front.each, 1), round(seen.front.explained, 4)) == (97.6, 15.8, 0.9955)
    assert round(seen.explained, 4) == 0.9955
    assert seen.own + seen.behind + seen.idle == pytest.approx(seen.mean)
    assert (seen.slowest.reads, round(seen.slowest.completions), seen.slowest.from_ticks) == (7, 84, 1435)
    assert seen.slowest.itself == pytest.approx(seen.slowest.behind)
    assert (found.by_level[0].key, found.by_level[0].p50, found.by_level[-1].key) == (0, 105, 44)


def test_completions_that_are_not_traced(tmp_path: Path) -> None:
    with ptttool.open(captures.path_of("workloads/w-download-8dw", tmp_path)) as recording:
        found = recording.analyze("latency")
    assert (found.waits.reads, found.waits.own, found.waits.explained) == (0, None, None)
    assert "waits-not-seen" in [note.code for note in found.notes]
