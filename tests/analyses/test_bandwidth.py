"""Bandwidth: the sums of a plain reading, in any cutting; rates where they are known, and words where they are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import ptttool
from ptttool.analyses.bandwidth.analysis import BandwidthAnalysis
from ptttool.analyses.bandwidth.cells import CELLS
from ptttool.analyses.bandwidth.document import Bandwidth
from ptttool.analyses.bandwidth.floor import floor_of
from ptttool.analyses.bandwidth.saturation import FULL, saturation_of
from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.link import LinkRate, rate_of, rate_of_ports
from ptttool.analyses.scope import Scope
from ptttool.analyses.shown import Facts, Note, Table, Timeline, no_names
from ptttool.analyses.time.kept import TickFloor
from ptttool.analyses.time.line import Line
from ptttool.analyses.time.model import TimeModel
from ptttool.api.machine import find_machine
from ptttool.cli.main import main
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.decoders.hisi_ptt.records import Piece
from ptttool.decoders.hisi_ptt.units import TlpUnit
from ptttool.generate.recording import GeneratedRecording, Wanted
from ptttool.machine.model import Link, Machine, PciFunction, PciFunctions
from ptttool.pci import PciAddress
from ptttool.perfdata.model import Contents, Mode
from ptttool.pipeline.jobs import load
from ptttool.tlp.direction import DirectionRule
from tests.analyses.time.test_clock import cut, traces
from tests.reference.bandwidth import bandwidth, full_ticks
from tests.reference.hisi_ptt import decode, read_recording
from tests.support import captures
from tests.support.records import packed

CONTEXT = AnalysisContext("perf.data", Contents(Mode.RAW))
NAMES = (
    "6.12/m-8dw-port10-type7-dir2",
    "6.12/s-4dw-ports-dir0",
    "6.12/s-8dw-ports-dir3",
    "6.12/s-8dw-delta-time",
    "6.12/m-4dw-port10-type7-dir2",
)


def agrees(found: Bandwidth, wanted: dict[str, Any]) -> None:
    """Hold a result against the reference."""
    sums = {(each.direction, each.class_): [each.tlps, each.payload_bytes, each.wire_bytes] for each in found.flows if each.tlps}
    assert sums == wanted["flows"]
    assert found.undecodable == wanted["undecodable"]
    assert found.total.tlps == sum(row[0] for row in sums.values()) + found.undecodable
    assert found.total.wire_bytes == sum(row[2] for row in sums.values())
    if found.idle is not None:
        assert (found.idle.gaps, found.idle.ticks) == (wanted["gaps"], wanted["gap_ticks"])
        assert (found.idle.longest, found.idle.index) == (wanted["longest"], wanted["longest_index"])


def agrees_over_time(found: Bandwidth, wanted: dict[str, Any]) -> None:
    """Hold the time line against the reference: exact where each TLP is a point of it."""
    for number in range(len(found.line.begins)):
        for direction in ("inbound", "outbound", "unknown"):
            row = [each[direction][number] for each in (found.line.tlps, found.line.payload_bytes, found.line.wire_bytes)]
            assert row == wanted["intervals"].get((direction, number), [0, 0, 0])


@pytest.mark.parametrize("name", NAMES)
def test_captures_against_a_plain_reading(name: str, tmp_path: Path) -> None:
    path = captures.path_of(name, tmp_path)
    records = list(read_recording(path))
    with ptttool.open(path) as recording:
        found = recording.analyze("bandwidth")
        again = recording.analyze("bandwidth", jobs=2)
    assert found == again
    assert found.time.model is (TimeModel.DELTA if "delta" in name else TimeModel.COUNTER)
    wanted = bandwidth(records, found.time.model.value, eight_dw="8dw" in name, width=found.line.width)
    agrees(found, wanted)
    assert found.time.elapsed_ticks == wanted["elapsed"]
    if len(records) <= 4096:
        agrees_over_time(found, wanted)
    assert sum(map(sum, found.line.wire_bytes.values())) == found.total.wire_bytes
    for burst in found.bursts.values():
        assert burst.flow.wire_bytes == max(found.line.wire_bytes[str(burst.flow.direction)])
        assert burst.begin <= (found.time.elapsed_ticks or 0)
        assert 0 <= burst.index < len(records)


@pytest.mark.parametrize("form", ["4dw", "8dw"])
def test_every_kind_of_tlp(form: str, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    size, direction = (16, "both") if form == "4dw" else (32, "inbound")
    with path.open("wb") as file:
        GeneratedRecording(Wanted("mixed", form, 3000 * size, direction=direction)).write(file)
    with ptttool.open(path) as recording:
        found = recording.analyze("bandwidth")
    wanted = bandwidth(list(read_recording(path)), "counter", eight_dw=form == "8dw", width=found.line.width)
    agrees(found, wanted)
    agrees_over_time(found, wanted)
    assert found.undecodable > 0


def analysis_of(layout: Layout, pieces: list[Any], scope: Scope, rows: int = 0) -> BandwidthAnalysis:
    """The analysis of a part, seen in two batches."""
    parts = []
    for cpu, offset, words in pieces:
        data = packed(words)
        parts.append(Piece("", 0, len(data), offset, cpu, memoryview(data)))
    decoded, _ = load(TlpUnit(layout, tuple(parts))).decoded(0)
    batch = decoded.batch(BandwidthAnalysis.columns)
    analysis = BandwidthAnalysis(scope)
    analysis.update(batch.part(0, rows))
    analysis.update(batch.part(rows, batch.size))
    return analysis


@given(trace=traces(), model=st.sampled_from(tuple(TimeModel)), data=st.data())
def test_any_cutting_gives_what_the_reference_says(trace: Any, model: TimeModel, data: st.DataObject) -> None:
    layout, rest = trace
    pieces = rest
    scope = Scope(time_model=model, time_bits=32 if layout.eight_dw else 11)
    whole = BandwidthAnalysis(scope)
    for _ in range(data.draw(st.integers(0, 3), label="parts")):
        part, rest = cut(rest, data.draw(st.integers(0, 12), label="records"), layout.record_size)
        whole.merge(analysis_of(layout, part, scope, data.draw(st.integers(0, 12), label="rows")))
    whole.merge(analysis_of(layout, rest, scope))
    found = whole.result(CONTEXT)
    assert found == analysis_of(layout, pieces, scope).result(CONTEXT)
    records: list[dict[str, Any]] = []
    for cpu, offset, words in pieces:
        for number, each in enumerate(words):
            record = decode(list(each))
            if record is not None:
                place = {"index": len(records), "cpu": cpu if cpu >= 0 else None, "offset": offset + number * layout.record_size}
                records.append({**record, **place})
    wanted = bandwidth(records, model.value, eight_dw=layout.eight_dw, width=found.line.width)
    agrees(found, wanted)
    if model is not TimeModel.UNKNOWN:
        agrees_over_time(found, wanted)
        window, rate = data.draw(st.integers(1, 3000), label="window"), data.draw(st.floats(1e-3, 10), label="bytes a tick")
        link = LinkRate([], [], 2 * rate / FULL, rate / FULL)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ptttool.analyses.bandwidth.saturation.BUFFERED", (window - 0.5) * link.usable_per_second)
            full = saturation_of(whole._line, link, 1e9, 1)
        for direction in ("inbound", "outbound"):
            wanted_ticks = full_ticks(
                records, model.value, eight_dw=layout.eight_dw, window=window, per_tick=FULL * (rate / FULL), direction=direction
            )
            assert (full[direction].ticks if direction in full else 0) == wanted_ticks


def test_rows_that_a_condition_leaves_out_take_their_time(tmp_path: Path) -> None:
    path = captures.path_of("6.12/m-8dw-port10-type7-dir2", tmp_path)
    with ptttool.open(path) as recording:
        whole, part = recording.analyze("bandwidth"), recording.analyze("bandwidth", where="class = 'NP'")
    assert part.time.elapsed_ticks == whole.time.elapsed_ticks
    assert (part.time.breaks, part.time.holes) == (whole.time.breaks, whole.time.holes)
    assert [each for each in part.flows if each.tlps] == [each for each in whole.flows if each.class_ == "NP" and each.tlps]
    records = [each for each in read_recording(path) if each["class"] == "NP"]
    assert part.line.indexes[0] == records[0]["index"]
    assert set(part.line.indexes) <= {each["index"] for each in records}


def test_without_a_model_of_time_there_are_no_rates(tmp_path: Path) -> None:
    path = captures.path_of("6.12/s-4dw-ports-dir0", tmp_path)
    analysis = BandwidthAnalysis(Scope(time_bits=11))
    with ptttool.open(path) as recording:
        for batch in recording.batches(BandwidthAnalysis.columns):
            analysis.update(batch)
        found = analysis.result(AnalysisContext(str(path), recording.contents))
    assert found.idle is None
    assert found.bursts == {}
    assert found.total.wire_per_tick is None
    assert found.line.begins == [number * found.line.width for number in range(len(found.line.begins))]
    assert found.line.indexes == found.line.begins
    assert sum(map(sum, found.line.tlps.values())) == found.total.tlps


@pytest.mark.parametrize("link", [None, Link("2.5 GT/s PCIe", 1, None, None)])
def test_rates_and_shares(link: Link | None, tmp_path: Path) -> None:
    """All TLPs go in, so they are the only direction with a share."""
    path = captures.path_of("6.12/m-8dw-port10-type7-dir2", tmp_path)
    machine = find_machine(demo=True)
    functions = {address: replace(each, link=link) for address, each in machine.functions.items()}
    with ptttool.open(path) as recording:
        ticks = recording.analyze("bandwidth", machine=replace(machine, functions=PciFunctions(functions), hostname=None))
        found = recording.analyze("bandwidth", machine=replace(machine, functions=PciFunctions(functions), hostname=None), tick_ns=4.0)
    assert ticks.total.wire_per_second is None
    assert ticks.directions[0].share is None
    seconds = (found.time.elapsed_ticks or 0) * 4e-9
    assert found.total.wire_per_second == pytest.approx(found.total.wire_bytes / seconds)
    assert found.total.tlps_per_second == pytest.approx(found.total.tlps / seconds)
    assert ticks.saturation is None
    assert ("saturation-unknown" in [note.code for note in found.notes]) is (found.saturation is None) is (link is None)
    assert "saturation-unknown" in [note.code for note in ticks.notes]
    if link is None:
        assert found.link is None
        assert found.directions[0].share is None
    else:
        assert found.link is not None
        assert (found.link.ports, found.link.bytes_per_second) == (["0000:00:10.0"], 250e6)
        assert found.directions[0].share == pytest.approx(found.total.wire_bytes / seconds / 250e6)


def test_more_than_the_link_can_carry_is_said(tmp_path: Path) -> None:
    path = captures.path_of("6.12/m-8dw-port10-type7-dir2", tmp_path)
    machine = replace(find_machine(demo=True), hostname=None)
    with ptttool.open(path) as recording:
        usual = recording.analyze("bandwidth", machine=machine, tick_ns=4.0)
        found = recording.analyze("bandwidth", machine=machine, tick_ns=1e-3)
    assert "more-than-the-link" not in {note.code for note in usual.notes}
    (note,) = [note for note in found.notes if note.code == "more-than-the-link"]
    assert note.details["bytes_per_second"] > note.details["link"] == found.link.bytes_per_second
    assert usual.directions[0].share is not None
    assert {flow.share for flow in (*found.directions, *found.flows)} == {None}


@pytest.mark.parametrize(
    ("speed", "width", "rate"),
    [
        ("2.5 GT/s PCIe", 1, 250e6),
        ("5.0 GT/s PCIe", 4, 2e9),
        ("8.0 GT/s PCIe", 1, 8e9 / 8 * 128 / 130),
        ("16.0 GT/s PCIe", 16, 32e9 * 128 / 130),
        ("32.0 GT/s PCIe", 2, 8e9 * 128 / 130),
        ("64.0 GT/s PCIe", 1, 8e9 * 242 / 256),
        ("Unknown", 1, None),
        ("0.0 GT/s PCIe", 1, None),
        ("16.0 GT/s PCIe", 0, None),
        ("16.0 GT/s PCIe", 10**9, None),
        ("16.0 GT/s PCIe", None, None),
        (None, 4, None),
    ],
)
def test_what_a_link_can_carry(speed: str | None, width: int | None, rate: float | None) -> None:
    found = rate_of(Link(speed, width, None, None))
    assert found is rate if rate is None else found == pytest.approx(rate)


def test_links_of_several_ports_add_up_where_all_are_known() -> None:
    link = Link("2.5 GT/s PCIe", 2, None, None)
    one = PciFunction(PciAddress.parse("0000:00:10.0"), None, None, None, "", link=link)
    other = replace(one, address=PciAddress.parse("0000:00:11.0"))
    both = rate_of_ports([one, other])
    assert both is not None
    assert both.bytes_per_second == 1e9
    assert rate_of_ports([one, replace(other, link=None)]) is None
    assert rate_of_ports([]) is None


def test_what_people_see(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = captures.path_of("6.12/s-8dw-ports-dir3", tmp_path)
    with ptttool.open(path) as recording:
        found = recording.analyze("bandwidth")
    parts = list(found.shown(no_names))
    assert {Table, Timeline, Facts, Note} <= {type(part) for part in parts}
    line = next(part for part in parts if isinstance(part, Timeline))
    assert line.indexes is not None
    assert {len(line.times), len(line.indexes)} | {len(each.values) for each in line.series} == {len(found.line.begins)}
    assert main(["analyze", "bandwidth", str(path), "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["total"]["tlps"] == found.total.tlps
    assert {note["code"] for note in body["notes"]} == {note.code for note in found.notes}
    assert "time-holes" in {note["code"] for note in body["time"]["notes"]}


def test_nothing_was_recorded() -> None:
    found = BandwidthAnalysis().result(CONTEXT)
    assert (found.total.tlps, found.line.begins, found.bursts, found.idle) == (0, [], {}, None)
    assert len(list(found.shown(no_names))) > 0


def test_sums_of_many_large_tlps_do_not_run_over() -> None:
    """A unit of 2^17 writes of 4096 bytes each, in one point of the time line."""
    count = 1 << 17
    words = np.zeros((count, 8), dtype="<u4")
    words[:, 0], words[:, 2], words[:, 7] = 0xFFFFFFFF, 0x60000000, np.arange(count)
    data = words.tobytes()
    decoded, _ = load(TlpUnit(Layout(True), (Piece("", 0, len(data), 0, 0, memoryview(data)),))).decoded(0)
    analysis = BandwidthAnalysis(Scope(time_model=TimeModel.COUNTER, grain=40))
    analysis.update(decoded.batch(BandwidthAnalysis.columns))
    found = analysis.result(CONTEXT)
    assert (found.total.tlps, found.total.payload_bytes, found.total.wire_bytes) == (count, 4096 * count, (4096 + 24) * count)


def test_a_link_that_is_full_at_times() -> None:
    """For 5 ms of every 20 it has 0.915 bytes a tick, of 0.92 that DLLPs leave: in the mean, little more than a fifth of it."""
    count, periods = 278, 4
    words = np.zeros((count * periods, 8), dtype="<u4")
    words[:, 0], words[:, 2], words[:, 3] = 0xFFFFFFFF, 0x60000000, 0x01000000  # Length 0: 1024 DWs
    words[:, 7] = (np.arange(count) * 4500 + np.arange(periods)[:, None] * 5_000_000).reshape(-1)
    data = words.tobytes()
    pieces = (Piece("", 0, len(data), 0, 0, memoryview(data)),)
    decoded, _ = load(TlpUnit(Layout(True), pieces, direction=DirectionRule(outbound=()))).decoded(0)
    analysis = BandwidthAnalysis(Scope(time_model=TimeModel.COUNTER))
    analysis.update(decoded.batch(BandwidthAnalysis.columns))
    elapsed = int(words[-1, 7])
    link = LinkRate(["0000:00:10.0"], ["2.5 GT/s PCIe x1"], 250e6, 230e6)
    found = saturation_of(analysis._line, link, 4.0, elapsed)
    assert list(found) == ["inbound"]
    full = found["inbound"]
    # The window at the end of each period holds the pause behind it.
    assert 0.9 * periods * count * 4500 < full.ticks <= periods * count * 4500
    assert (full.share, full.index) == (full.ticks / elapsed, 0)
    assert 0.9 * count * 4500 < full.longest <= count * 4500
    assert full.bytes_per_second == 0.9 * 230e6
    slower = saturation_of(analysis._line, replace(link, usable_per_second=300e6), 4.0, elapsed)["inbound"]
    assert (slower.ticks, slower.share, slower.longest, slower.index) == (0, 0.0, 0, None)


def fast(machine: Machine, speed: str = "16.0 GT/s PCIe", width: int = 4) -> Machine:
    """A machine all of whose ports are as fast at most, and slower now."""
    link = Link("2.5 GT/s PCIe", 1, speed, width)
    functions = {address: replace(each, link=link) for address, each in machine.functions.items()}
    return replace(machine, hostname=None, functions=PciFunctions(functions))


@pytest.fixture(scope="module")
def full_rate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated link of 16 GT/s x4 that drives keep full; its ticks are 4 ns."""
    path = tmp_path_factory.mktemp("rate") / "perf.data"
    with path.open("wb") as file:
        GeneratedRecording(Wanted("nvme", "8dw", 2 << 20, direction="inbound")).write(file)
    return path


def test_a_full_link_says_how_long_a_tick_is(full_rate: Path) -> None:
    machine = fast(find_machine(demo=True))
    with ptttool.open(full_rate) as recording:
        found, again = (recording.analyze("bandwidth", machine=machine, jobs=jobs) for jobs in (1, 3))
        part = recording.analyze("bandwidth", machine=machine, where="kind = 'MWr'")
    assert found == again
    floor = found.tick_floor
    assert 3.9 < floor.tick_ns <= 4.0
    assert (floor.direction, found.time.tick_ns) == ("inbound", None)  # it is no tick
    assert floor.tick_ns == pytest.approx((floor.wire_bytes - floor.waiting_bytes) / floor.ticks / floor.bytes_per_second * 1e9)
    records = list(read_recording(full_rate))
    first = records[floor.index]["time"]
    assert first - records[0]["time"] == floor.begin
    # All that a plain reading finds in these ticks, but for TLPs of the same ticks that lie outside.
    inside = [each for each in records if 0 <= each["time"] - first < floor.ticks]
    wire = sum(row[2] for (direction, _), row in bandwidth(inside, "counter", eight_dw=True, width=1 << 30)["flows"].items() if direction)
    assert 0 <= wire - floor.wire_bytes < 4096
    assert part.tick_floor.tick_ns < floor.tick_ns
    assert any("16.0 GT/s" in value for facts in found.shown(no_names) if isinstance(facts, Facts) for _, value in facts.rows)


def test_no_floor_is_said(full_rate: Path, tmp_path: Path) -> None:
    machine = find_machine(demo=True)
    short, gapped = tmp_path / "short", tmp_path / "4dw"
    with short.open("wb") as file:
        GeneratedRecording(Wanted("nvme", "8dw", 200 * 32, direction="inbound")).write(file)
    with gapped.open("wb") as file:
        GeneratedRecording(Wanted("nvme", "4dw", 2 << 20, direction="inbound")).write(file)
    for path, links, model in (
        (full_rate, fast(machine, "64.0 GT/s PCIe"), "auto"),  # flits
        (full_rate, fast(machine, "Unknown", 255), "auto"),
        (full_rate, None, "auto"),
        (full_rate, fast(machine), "unknown"),
        (short, fast(machine), "auto"),  # all of it may have waited
        (gapped, fast(machine), "auto"),  # 11 bits hide time
    ):
        with ptttool.open(path) as recording:
            assert recording.analyze("bandwidth", machine=links, time_model=model).tick_floor is None


def test_a_floor_does_not_reach_over_breaks() -> None:
    """Of 60,000 bytes on each side of an unknown time, no interval has both."""
    link = LinkRate([], ["16.0 GT/s PCIe x4"], 8e9, 7e9)

    def floor(segments: tuple[int, int, int, int]) -> TickFloor | None:
        line = Line(3 * CELLS)
        line.points = np.zeros((2, 9 + 3 * CELLS), dtype=np.int64)
        # CPU, offsets, ticks, numbers and segments of the first and the last record of each.
        line.points[0, :9] = (0, 0, 320, 0, 999, 0, 9, *segments[:2])
        line.points[1, :9] = (0, 320, 640, 1000, 1999, 10, 19, *segments[2:])
        line.points[:, 9 + 2 * CELLS] = 60_000  # the first direction
        return floor_of(line, link)

    whole = floor((3, 3, 3, 3))
    assert whole is not None
    assert (whole.wire_bytes, whole.ticks, whole.index, whole.begin) == (120_000, 2000, 0, 0)
    assert whole.tick_ns == pytest.approx((120_000 - 65_536) / 8 / 2000)
    assert floor((3, 3, 4, 4)) is None
    assert floor((3, 4, 4, 4)) is None


@pytest.mark.parametrize("name", [*NAMES, "6.12/m-8dw-port10-type7-dir1"])
def test_the_floor_of_real_recordings_is_below_their_tick(name: str, tmp_path: Path) -> None:
    """Their ticks are 4 ns, and the ports of that machine 16 GT/s x4 at most."""
    path = captures.path_of(name, tmp_path)
    with ptttool.open(path) as recording:
        floor = recording.analyze("bandwidth", machine=replace(find_machine(demo=True), hostname=None)).tick_floor
    assert floor is None or 0 < floor.tick_ns <= 4.0
    if name == NAMES[0]:
        assert floor.tick_ns > 1.0
    if "4dw" in name:
        assert floor is None
