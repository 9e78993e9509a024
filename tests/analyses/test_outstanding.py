"""Outstanding requests: what counting at every row gives, in any cutting; mean, peak and Little's law."""

from __future__ import annotations

import json
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import ptttool
from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.outstanding.analysis import OutstandingAnalysis
from ptttool.analyses.outstanding.document import Load, Outstanding
from ptttool.analyses.outstanding.plateau import plateau_of
from ptttool.analyses.scope import Scope
from ptttool.analyses.shown import Facts, Histogram, Table, Timeline, no_names
from ptttool.analyses.time.clock import Clock
from ptttool.analyses.time.line import Line
from ptttool.analyses.time.model import TimeModel
from ptttool.api.machine import find_machine
from ptttool.cli.main import main
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.diagnostics import Severity
from ptttool.generate import tlps
from ptttool.generate.recording import GeneratedRecording, Wanted
from ptttool.machine.model import PcieLimits, PciFunctions
from ptttool.pci import PciAddress, format_id
from ptttool.perfdata.model import Contents, Mode
from ptttool.pipeline.work import Analyze
from ptttool.report.advice.every import advice_on
from ptttool.table.batch import Batch, SourceRows
from tests.analyses.matching.test_matching import capture_rows
from tests.analyses.time.test_clock import batch_of
from tests.reference.outstanding import outstanding, plateau
from tests.support import captures
from tests.support.records import eight
from tests.support.traffic import Traffic, merged, traffic

CONTEXT = AnalysisContext("made", Contents(Mode.RAW))


def check(found: Outstanding, rows: list[dict[str, Any]], model: TimeModel) -> None:
    """Hold a result against counting at every row."""
    wanted = outstanding(rows, model.value)
    loads = {load.requester or load.direction: load for load in (*found.requesters, *found.directions)}
    assert set(loads) == {format_id(name) if isinstance(name, int) else name for name in wanted}
    for name, one in wanted.items():
        load = loads[format_id(name) if isinstance(name, int) else str(name)]
        assert (load.requests, load.peak, load.index) == (one["requests"], one["peak"], one["index"])
        assert {each.level: each.ticks for each in load.levels if each.ticks} == one["levels"]
        assert {each.level: each.requests for each in load.levels if each.requests} == one["sent"]
        if found.time.elapsed_ticks:
            check_numbers(load, one, found.time.elapsed_ticks)
        else:
            assert (load.mean, load.p50, load.little, load.at_peak, load.plateau, load.demand) == (None,) * 6
    check_line(found, wanted)


def check_numbers(load: Load, one: dict[str, Any], elapsed: int) -> None:
    area = sum(level * ticks for level, ticks in one["levels"].items())
    assert load.mean == pytest.approx(area / elapsed)
    check_limits(load, one)
    if one["timed"]:
        assert load.response_ticks == pytest.approx(one["ticks"] / one["timed"])
    if one["timed"] == one["requests"]:
        assert area == one["ticks"]  # nothing of it lies over a break
        assert load.little == pytest.approx(load.mean)
    levels = sorted(level for level, ticks in one["levels"].items() for _ in range(min(ticks, 1)))
    assert load.p50 in levels
    assert load.p99 in levels
    below = sum(ticks for level, ticks in one["levels"].items() if level < (load.p90 or 0))
    assert below < 0.9 * elapsed <= below + one["levels"][load.p90]


def check_limits(load: Load, one: dict[str, Any]) -> None:
    """Plateau, share of the busy time at the peak, and what each request brings."""
    levels = {each.level: each.ticks for each in load.levels}
    busy = sum(ticks for level, ticks in levels.items() if level)
    assert load.at_peak == (one["levels"][one["peak"]] / busy if busy else None)
    found = load.plateau
    wanted = plateau(levels, one["sent"])
    assert (None if found is None else (found.level, found.from_level, found.held, found.refills)) == wanted
    assert found is None or found.share == found.refills / load.requests
    if one["bytes"] and one["ticks"]:
        assert load.demand is not None
        assert load.demand.bytes_per_tick == one["bytes"] / one["ticks"]
        assert load.demand.wire_bytes == (one["bytes"] + 20 * one["completions"]) / one["timed"]
    else:
        assert load.demand is None


def check_line(found: Outstanding, wanted: dict[Any, Any]) -> None:
    if found.line is None:
        return
    for direction, means in found.line.mean.items():
        ticks = wanted[direction]["ticks"] if direction in wanted else 0
        assert sum(mean * found.line.width for mean in means) == pytest.approx(ticks)


def scope_of(made: Traffic, model: TimeModel) -> Scope:
    return Scope(time_model=model, time_bits=32 if made.eight_dw else 11)


@given(traffic(), st.lists(st.integers(0, 60), max_size=12), st.booleans(), st.sampled_from(list(TimeModel)))
def test_counting_at_every_row_gives_the_same_for_any_cutting(made: Traffic, cuts: list[int], tree: bool, model: TimeModel) -> None:
    scope, columns, rows = scope_of(made, model), OutstandingAnalysis.columns, made.rows()
    whole = merged(OutstandingAnalysis, made.batches((), columns), scope).result(CONTEXT)
    check(whole, rows, model)
    for where in (tuple(cuts), tuple(range(60))):
        assert merged(OutstandingAnalysis, made.batches(where, columns), scope, tree=tree).result(CONTEXT) == whole


@given(traffic(), st.lists(st.integers(0, 60), max_size=12), st.booleans(), st.sampled_from(list(TimeModel)))
def test_a_condition_gives_the_same_for_any_cutting(made: Traffic, cuts: list[int], tree: bool, model: TimeModel) -> None:
    """Time passes in the rows that it leaves out, too; a part may have no row that is wanted."""
    scope = scope_of(made, model)

    def result(where: tuple[int, ...]) -> Outstanding:
        parts = []
        for batch in made.batches(where, OutstandingAnalysis.columns):
            ids = batch.values("requester")
            wanted = np.zeros(batch.size, dtype=np.bool_) if ids.array is None else np.asarray(ids.array) == 0x0100
            taken = batch.take(wanted)
            parts.append(Batch(taken.schema, taken.size, taken.columns, SourceRows(batch, wanted)))
        found: Outstanding = merged(OutstandingAnalysis, parts, scope, tree=tree).result(CONTEXT)
        return found

    whole = result(())
    for where in (tuple(cuts), tuple(range(60))):
        assert result(where) == whole


@given(traffic(), st.lists(st.integers(0, 60), max_size=5))
def test_several_batches_and_pickle(made: Traffic, cuts: list[int]) -> None:
    scope = scope_of(made, TimeModel.COUNTER)
    one, other = OutstandingAnalysis(scope), OutstandingAnalysis(scope)
    for batch in made.batches(tuple(cuts), OutstandingAnalysis.columns):
        one.update(batch)
        part = OutstandingAnalysis(scope)
        part.update(batch)
        other.merge(pickle.loads(pickle.dumps(part)))
    found = one.result(CONTEXT)
    check(found, made.rows(), TimeModel.COUNTER)
    assert other.result(CONTEXT) == found


@pytest.mark.parametrize(
    "name",
    [
        "6.12/s-8dw-delta-time", "6.12/m-4dw-port10-type7-dir2", "6.12/s-4dw-ports-dir0", "6.1/x-control", "workloads/w-config-dir3-4dw",
        "faults/cpu-went-offline",
    ],
)  # fmt: skip
def test_real_recordings(name: str, tmp_path: Path) -> None:
    path = captures.path_of(name, tmp_path)
    with ptttool.open(path) as recording:
        assert recording.attribute is not None
        eight_dw = recording.attribute.config >> 32 == 1
        found = recording.analyze("outstanding")
        again = recording.analyze("outstanding", jobs=2)
    assert found == again
    check(found, capture_rows(path, eight_dw=eight_dw), found.time.model)


def test_parts_of_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A generated recording of several units of work, one after the other or side by side."""
    monkeypatch.setattr("ptttool.pipeline.analyzing.ask.Analyze", partial(Analyze, unit_records=1 << 15))
    path = tmp_path / "perf.data"
    with path.open("wb") as file:
        GeneratedRecording(Wanted("nvme", "4dw", 5 << 18)).write(file)
    with ptttool.open(path) as recording:
        found, again = recording.analyze("outstanding"), recording.analyze("outstanding", jobs=2)
    assert found == again
    check(found, capture_rows(path, eight_dw=False), TimeModel.COUNTER)
    assert found.counted > 10_000
    peaks = [load.tags for load in found.requesters]
    assert {(tags.limit, tags.share) for tags in peaks if tags is not None} == {(256, 1.0)}


def test_tags_are_held_against_what_the_machine_says(tmp_path: Path) -> None:
    path = captures.path_of("6.12/m-4dw-port10-type7-dir2", tmp_path)
    machine = find_machine(demo=True)
    address = PciAddress.parse("0000:01:00.0")

    def tags(transfers: PcieLimits | None) -> tuple[int, bool]:
        functions = {**machine.functions, address: replace(machine.functions[address], transfers=transfers)}
        with ptttool.open(path) as recording:
            found = recording.analyze("outstanding", machine=replace(machine, functions=PciFunctions(functions)))
        load = next(load for load in found.requesters if load.requester == "01:00.0")
        assert load.tags is not None
        assert ("tag-bits-unknown" in [note.code for note in found.notes]) is any(not each.tags.is_known for each in found.requesters)
        return load.tags.limit, load.tags.is_known

    assert tags(PcieLimits(extended_tags=True, ten_bit_tags=True)) == (768, True)
    assert tags(PcieLimits(extended_tags=True, ten_bit_tags=False)) == (256, True)
    assert tags(PcieLimits(extended_tags=True)) == (256, False)
    assert tags(None) == (256, False)


def test_a_limit_that_is_exceeded_is_doubted(tmp_path: Path) -> None:
    path = captures.path_of("6.12/m-4dw-port10-type7-dir2", tmp_path)
    machine = find_machine(demo=True)
    address = PciAddress.parse("0000:01:00.0")
    none = PcieLimits(256, 128, 128, extended_tags=False, ten_bit_tags=False)  # as a virtual function says of itself
    functions = {**machine.functions, address: replace(machine.functions[address], transfers=none)}
    with ptttool.open(path) as recording:
        found = {
            name: recording.analyze(name, machine=replace(machine, functions=PciFunctions(functions)))
            for name in ("outstanding", "payload")
        }
    outstanding, payload = found["outstanding"], found["payload"]
    load = next(load for load in outstanding.requesters if load.requester == "01:00.0")
    assert load.tags is not None and load.peak > 32
    assert (load.tags.doubted, load.tags.is_known, load.tags.share <= 1) == (32, False, True)
    assert [note.code for note in outstanding.notes if note.severity is Severity.WARNING] == ["tag-limit-doubted"]
    limits = [group.limit for group in payload.groups if group.requester == "01:00.0" and group.limit is not None]
    assert {(limit.name, limit.doubted, limit.is_known) for limit in limits} == {("MPS", 128, False), ("MRRS", 128, False)}
    assert {note.code for note in payload.notes if note.severity is Severity.WARNING} == {"above-limit"}
    assert not {"tags", "limit-too-small"} & {advice.code for advice in advice_on(found, {})}


def device(reads: int, most: int, together: int) -> Traffic:
    """A device that reads 512 bytes at a time, `together` of them at once when none is under way, and has at most so many under way.

    Memory takes 200 ticks, and the completions of a read 5 more on the link; 3 ticks after one has ended, the device may send the next.
    """
    made, now, free, left, open_ = Traffic(eight_dw=True), 0, 0, 0, 0
    events: list[tuple[int, int, tlps.Tlp]] = []  # when a completion leaves, its number, and it
    ready: list[int] = []  # when the device has noticed an end
    sent = 0
    while sent < reads or events:
        if not open_ and not left:
            left, now = min(together, reads - sent), now + 400
        if left and open_ + len(ready) < most:
            made.add(tlps.request(tlps.MRD, 0x0100, sent & 0xFF, 0x1000 * sent, 512), now)
            free = max(free, now + 200) + 5
            events += [(free, sent, one) for one in tlps.read_completions(0x80, 0x0100, sent & 0xFF, 0x1000 * sent, 512, 512)]
            sent, left, open_, now = sent + 1, left - 1, open_ + 1, now + 1
            continue
        now = min([each for each, _, _ in events[:1]] + ready)
        if events and events[0][0] == now:
            made.add(events.pop(0)[2], now)
            open_ -= 1
            ready.append(now + 3)
        ready = [each for each in ready if each > now]
    return made


@pytest.mark.parametrize(
    ("most", "together", "level"),
    [(24, 1024, 24), (24, 64, 24), (128, 1024, 128), (7, 256, 7), (2, 64, 2), (256, 8, None), (256, 32, None)],
)
def test_a_plateau_is_a_limit_and_a_batch_is_none(most: int, together: int, level: int | None) -> None:
    """A device with 24 reads at a time stands at 24; one that sends 8 together, which end together, does not stand at 8."""
    made = device(1024, most, together)
    scope = Scope(time_model=TimeModel.COUNTER, time_bits=32)
    found = merged(OutstandingAnalysis, made.batches((100, 300)), scope).result(CONTEXT)
    check(found, made.rows(), TimeModel.COUNTER)
    [load] = found.requesters
    assert load.demand is not None and load.demand.bytes == 512
    assert (None if load.plateau is None else load.plateau.level) == level
    assert [note.details["level"] for note in found.notes if note.code == "plateau"] == ([] if level is None else [level])
    advised = [advice for advice in advice_on({"outstanding": found}, {}) if advice.code == "plateau"]
    assert [advice.evidence["level"] for advice in advised] == ([] if level is None else [level])


@given(levels=st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 100)), max_size=40))
def test_plateaus_of_any_levels(levels: list[tuple[int, int]]) -> None:
    """Ticks and requests of each level, from 0 on."""
    ticks, sent = dict(enumerate(each for each, _ in levels)), {level: each for level, (_, each) in enumerate(levels) if each and level}
    found = plateau_of(*(np.array(each, dtype=np.int64) for each in ([*ticks], [*ticks.values()], [sent.get(level, 0) for level in ticks])))
    wanted = plateau(ticks, sent) if levels else None
    assert (None if found is None else (found.level, found.from_level, found.held, found.refills)) == wanted


def test_what_was_not_seen_whole_is_said(tmp_path: Path) -> None:
    path = captures.path_of("6.12/m-4dw-port10-type7-dir2", tmp_path)
    with ptttool.open(path) as recording:
        found = recording.analyze("outstanding")
    left = found.not_counted
    assert found.requests == found.counted + left.inside + left.at_end + left.partly + left.not_traced
    assert left.total == left.not_traced == 16
    assert not {"outstanding-lower-bound", "outstanding-cut-off"} & {note.code for note in found.notes}


def test_nothing_is_said_of_requests_whose_completions_are_not_traced(tmp_path: Path) -> None:
    with ptttool.open(captures.path_of("workloads/w-randread-8dw", tmp_path)) as recording:
        found = recording.analyze("outstanding")
    assert (found.requests, found.counted, found.directions) == (13895, 0, [])
    assert {note.code for note in found.notes} == {"outstanding-unseen", "completions-not-traced"}


def test_what_people_see(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = captures.path_of("workloads/w-config-dir3-4dw", tmp_path)
    with ptttool.open(path) as recording:
        found = recording.analyze("outstanding")
    assert {Facts, Table, Timeline, Histogram} <= {type(part) for part in found.shown(no_names)}
    assert main(["analyze", "outstanding", str(path), "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["requests"], body["counted"]) == (found.requests, found.counted)
    assert [each["peak"] for each in body["requesters"]] == [load.peak for load in found.requesters]


def test_nothing_was_recorded() -> None:
    found = OutstandingAnalysis().result(CONTEXT)
    assert (found.requests, found.requesters, found.directions, found.line) == (0, [], [], None)
    assert list(found.shown(no_names))


@given(
    at=st.lists(st.integers(0, 300), min_size=1, max_size=30).map(sorted),
    spans=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)).map(sorted), max_size=8),
    limit=st.sampled_from((2, 5, 100)),
)
def test_time_is_spread_over_the_points_of_a_line(at: list[int], spans: list[list[int]], limit: int) -> None:
    batch = batch_of(Layout(True), [(0, 0, [eight(0x60000001, 0, 0, 0, time=time) for time in at])])
    line = Line(1, limit=limit)
    starts = line.starts(batch)
    line.add(batch, Clock(TimeModel.COUNTER).ticks(batch), starts, np.zeros(len(starts), dtype=np.int64))
    last = at[-1] - at[0]
    spans = [[min(begin, last), min(end, last)] for begin, end in spans]
    line.spread(0, np.array([begin for begin, _ in spans], dtype=np.int64), np.array([end for _, end in spans], dtype=np.int64))
    firsts = [at[row] - at[0] for row in line.points[:, 5].tolist()]
    wanted = [
        sum(max(0, min(end, until) - max(begin, first)) for begin, end in spans)
        for first, until in zip(firsts, [*firsts[1:], last], strict=True)
    ]
    assert line.sums[:, 0].tolist() == wanted


def test_a_condition_leaves_rows_out_and_not_their_time(tmp_path: Path) -> None:
    path = captures.path_of("6.12/m-4dw-port10-type7-dir2", tmp_path)
    with ptttool.open(path) as recording:
        whole, part = recording.analyze("outstanding"), recording.analyze("outstanding", where="class <> 'P'")
    assert part.time == whole.time
    assert [replace(load, levels=[]) for load in part.requesters] == [replace(load, levels=[]) for load in whole.requesters]
