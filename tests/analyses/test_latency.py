"""Latency held against sums over the reference's transactions, and the numbers of real workloads."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import ptttool
from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.latency import sums
from ptttool.analyses.latency.analysis import LatencyAnalysis
from ptttool.analyses.latency.bins import BIN_BITS, RELATIVE_ERROR, bin_of, edges_of, percentile
from ptttool.analyses.latency.document import Latency, LatencyGroup, Spread
from ptttool.analyses.scope import Scope
from ptttool.analyses.shown import Histogram, Table, no_names
from ptttool.analyses.time.model import TimeModel
from ptttool.api.machine import find_machine
from ptttool.capture.perf.counters import Counted, LinkCounters
from ptttool.documents import to_json
from ptttool.machine.model import PciFunctions
from ptttool.pci import format_id
from ptttool.perfdata.model import Contents, Mode
from ptttool.pipeline.analyzing.ask import Ask, run
from ptttool.pipeline.recording import OpenRecording, Request
from tests.reference import matching as reference
from tests.support import captures
from tests.support.traffic import Traffic, merged, traffic

CONTEXT = AnalysisContext("made", contents=Contents(Mode.FILE))
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


def latency_of(made: Traffic, cuts: tuple[int, ...] = (), model: TimeModel = TimeModel.COUNTER, *, tree: bool = False) -> Latency:
    scope = Scope(time_model=model, time_bits=32 if made.eight_dw else 11)
    found = merged(LatencyAnalysis, made.batches(cuts, LatencyAnalysis.columns), scope, tree=tree).result(CONTEXT)
    assert isinstance(found, Latency)
    return found


@given(st.lists(st.one_of(st.integers(0, 1000), st.integers(0, (1 << 63) - 1)), min_size=1), st.floats(0, 1))
def test_bins(values: list[int], share: float) -> None:
    array = np.array(sorted(values), dtype=np.int64)
    bins = bin_of(array)
    low, high = edges_of(bins)
    assert (low <= array).all()
    assert (array <= high).all()
    assert (np.diff(bins) >= 0).all()
    assert bins.max() < 1 << BIN_BITS
    assert all((top - bottom) // 2 <= RELATIVE_ERROR * bottom for bottom, top in zip(low.tolist(), high.tolist(), strict=True))
    unique, counts = np.unique(bins, return_counts=True)
    exact = int(array[max(math.ceil(share * len(array)), 1) - 1])
    found = percentile(unique, counts, share)
    assert found is not None
    assert abs(found - exact) <= RELATIVE_ERROR * exact


def check_spread(spread: Spread, times: list[tuple[int, int]]) -> None:
    """A spread is that of (time, index) pairs."""
    assert spread.n == len(times)
    if not times:
        assert spread == Spread(0, None, None, None, None, None, None, None, None, None)
        return
    values = sorted(time for time, _ in times)
    assert (spread.min, spread.max) == (values[0], values[-1])
    assert spread.mean == pytest.approx(sum(values) / len(values))
    assert spread.min_index == min(index for time, index in times if time == values[0])
    assert spread.max_index == min(index for time, index in times if time == values[-1])
    for name, share in SHARES.items():
        exact = values[max(math.ceil(share * len(values)), 1) - 1]
        assert abs(getattr(spread, name) - exact) <= RELATIVE_ERROR * exact


def check_group(group: LatencyGroup | Latency, rows: list[dict[str, Any]]) -> None:
    """A group is that of some of the reference's transactions."""
    assert group.requests == len(rows)
    assert group.matched == sum(row["ending"] < reference.INSIDE for row in rows)
    assert group.errors == sum(row["ending"] == reference.ERROR for row in rows)
    assert group.short == sum(row["ending"] == reference.SHORT for row in rows)
    assert group.requested_bytes == sum(row["requested"] for row in rows)
    assert group.received_bytes == sum(row["received"] for row in rows)
    assert group.ticks is not None
    assert group.to_first is not None
    check_spread(group.ticks, [(row["to_last"], row["request"]) for row in rows if row["to_last"] >= 0])
    check_spread(group.to_first, [(row["to_first"], row["request"]) for row in rows if row["to_first"] >= 0])


@given(traffic(), st.lists(st.integers(0, 60), max_size=8), st.booleans())
def test_like_the_reference_for_any_cutting(made: Traffic, cuts: list[int], tree: bool) -> None:
    found = latency_of(made)
    assert latency_of(made, tuple(cuts), tree=tree) == found
    expected = reference.match(made.rows())
    rows = expected.transactions
    check_group(found, rows)
    assert found.unmatched.start == expected.early_ends
    assert found.unmatched.inside == sum(row["ending"] == reference.INSIDE for row in rows)
    assert found.unmatched.end == sum(row["ending"] == reference.END for row in rows)
    assert found.requests == found.matched + found.unmatched.inside + found.unmatched.end
    assert found.completions_without_request == sum(expected.orphans.values())
    keyed: list[tuple[list[LatencyGroup], Callable[[dict[str, Any]], str]]] = [
        (found.kinds, lambda row: str(row["kind"])),
        (found.requesters, lambda row: format_id(row["requester"])),
    ]
    for groups, key in keyed:
        assert {group.key for group in groups} == {key(row) for row in rows}
        for group in groups:
            check_group(group, [row for row in rows if key(row) == group.key])
    for groups in (found.sizes, found.directions):
        assert sum(group.requests for group in groups) == len(rows)
    for group in found.sizes:
        low, high = (int(part) for part in (group.key.split("-") if "-" in group.key else (0, 0)))
        check_group(group, [row for row in rows if low <= row["requested"] <= high])
    assert found.histogram is None if not rows else found.histogram is not None
    if found.histogram is not None and found.ticks is not None:
        assert sum(found.histogram.to_last) == found.ticks.n


@given(traffic())
def test_without_a_model_of_time_there_are_no_times(made: Traffic) -> None:
    found = latency_of(made, model=TimeModel.UNKNOWN)
    assert (found.ticks, found.to_first, found.ns, found.histogram) == (None, None, None, None)
    assert all(group.ticks is None for group in (*found.kinds, *found.requesters))
    assert found.matched == latency_of(made).matched


def test_too_many_bins_leave_requesters_without_percentiles(monkeypatch: pytest.MonkeyPatch) -> None:
    made = made_of_reads(40)
    whole = latency_of(made)
    assert whole.requesters[0].ticks is not None
    assert whole.requesters[0].ticks.p50 is not None
    monkeypatch.setattr(sums, "MAX_LATENCY_BINS", 20)
    for cuts in ((), (5, 30), tuple(range(80))):
        few = latency_of(made, cuts)
        assert few.ticks == whole.ticks
        assert [group.requests for group in few.requesters] == [group.requests for group in whole.requesters]
        assert all(group.ticks is not None and group.ticks.p50 is None and group.ticks.max is not None for group in few.requesters)
        assert "too-many-requesters" in [note.code for note in few.notes]


def made_of_reads(count: int) -> Traffic:
    """Reads of several requesters, each answered later than the one before."""
    from ptttool.generate import tlps

    made, time = Traffic(eight_dw=True), 0
    for number in range(count):
        requester = 0x100 + number % 3
        made.add(tlps.request(tlps.MRD, requester, number, 0x1000, 64), time)
        time += 3 * number
        made.add(tlps.completion(tlps.CPLD, 0, requester, number, size=64, byte_count=64), time)
    return made


def test_what_is_shown() -> None:
    found = latency_of(made_of_reads(40))
    parts = list(found.shown(no_names))
    tables = [part for part in parts if isinstance(part, Table)]
    assert [len(table.rows) for table in tables] == [1, 1, 1, 1, 3, 4]
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
    assert len([part for part in parts if isinstance(part, Histogram)]) == 2
    assert json.dumps(to_json(found))
    assert not [part for part in latency_of(Traffic(eight_dw=True)).shown(no_names) if isinstance(part, (Table, Histogram))]


def test_nanoseconds_stand_beside_ticks() -> None:
    made = made_of_reads(10)
    scope = Scope(time_model=TimeModel.COUNTER, tick_ns=4.0)
    found = merged(LatencyAnalysis, made.batches((), LatencyAnalysis.columns), scope).result(CONTEXT)
    ticks = found.ticks
    assert ticks is not None
    assert ticks == latency_of(made).ticks
    wanted = {name: 4.0 * getattr(ticks, name) for name in ("min", "mean", "max", *SHARES)}
    assert found.ns == replace(ticks, **wanted)
    assert (ticks.max, ticks.max_index) == (27, 18)


@given(traffic(), st.integers(0, 60))
def test_sums_go_through_pickle(made: Traffic, cut: int) -> None:
    scope = Scope(time_model=TimeModel.COUNTER, time_bits=32 if made.eight_dw else 11)
    whole = LatencyAnalysis(scope)
    for batch in made.batches((cut,), LatencyAnalysis.columns):
        part = LatencyAnalysis(scope)
        part.update(batch)
        whole.merge(pickle.loads(pickle.dumps(part)))
    assert whole.result(CONTEXT) == latency_of(made)


def test_a_real_random_read(tmp_path: Path) -> None:
    # fio made 20000 reads of 4 KiB: the drive fetched as many entries of 64 bytes. What else it read has 4 bytes.
    path = captures.path_of("workloads/w-randread-4dw", tmp_path)
    with ptttool.open(path) as recording:
        found = recording.analyze("latency")
        assert recording.analyze("latency", jobs=2) == found
    assert {group.key: (group.requests, group.matched, group.received_bytes) for group in found.sizes} == {
        "1-4": (50964, 50964, 4 * 50964),
        "33-64": (20000, 20000, 64 * 20000),
    }
    assert (found.requests, found.matched) == (70964, 70964)
    assert found.ticks.n == 70964


def test_completions_that_are_not_traced(tmp_path: Path) -> None:
    # 8DW inbound holds no outbound completions: the requests are neither lost nor unanswered.
    path = captures.path_of("workloads/w-download-8dw", tmp_path)
    with ptttool.open(path) as recording:
        found = recording.analyze("latency")
    assert found.requests == found.unmatched.not_traced == 3647
    assert (found.matched, found.unmatched.inside, found.unmatched.end) == (0, 0, 0)
    assert {"completions-not-traced", "no-completions"} <= {note.code for note in found.notes}


@pytest.mark.parametrize(("iommu", "told"), [("DMA-FQ", True), ("identity", False), (None, False)])
def test_translation_requests_may_be_among_reads(iommu: str | None, told: bool, tmp_path: Path) -> None:
    machine = find_machine(demo=True)
    functions = {address: replace(one, iommu=iommu) for address, one in machine.functions.items()}
    with ptttool.open(captures.path_of("6.12/m-4dw-port10-type7-dir2", tmp_path)) as recording:
        found = recording.analyze("latency", machine=replace(machine, functions=PciFunctions(functions)))
    assert ("translations-in-reads" in [note.code for note in found.notes]) is told


@pytest.mark.parametrize("counted", [True, False])
def test_mean_latency_of_counters(tmp_path: Path, counted: bool) -> None:
    """A ratio of cycles and ticks; no nanoseconds."""
    path = captures.path_of("workloads/w-randread-4dw", tmp_path)
    values = {"rx_mrd_cnt": 1000, "rx_mrd_latency": 412_000} if counted else {"rx_mrd_cnt": 0, "rx_mrd_latency": 0}
    counters = LinkCounters("hisi_pcie0_core0", 1.0, tuple(Counted(event, value) for event, value in values.items()))
    with OpenRecording(Request(str(path))) as recording:
        recording.topology = recording.part_of(find_machine(demo=True))
        found = run(recording, Ask(counters=counters), ["latency"]).results["latency"]
    notes = [note for note in found.notes if note.code == "counted-latency"]
    assert {group.key for group in found.kinds} == {"MRd"}
    assert [note.details["direction"] for note in notes] == (["inbound"] if counted else [])
    assert all(note.details["cycles"] == 412 for note in notes)
    assert found.ns is None
