"""What the processor reads and writes is what a plain reading of the rows says, wherever they are cut; and real recordings."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.analyses.budget import MAX_LISTED
from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.mmio.analysis import MmioReads
from ptttool.analyses.mmio.document import Mmio
from ptttool.analyses.regions import Region, RegionKind, regions_of
from ptttool.analyses.registers import Space, configuration_register, target_of
from ptttool.analyses.scope import Scope
from ptttool.analyses.shown import Table, no_names
from ptttool.analyses.time.model import TimeModel
from ptttool.api.capture import build_event, plan_recording, record
from ptttool.documents import Hex
from ptttool.generate import tlps
from ptttool.machine.model import Bar, Hex24, Machine, PciFunction, PciFunctions
from ptttool.machine.nvme import Doorbell
from ptttool.pci import PciAddress
from ptttool.perfdata.model import Contents, Mode
from ptttool.tlp.direction import DirectionRule
from tests.reference.matching import COMPLETE, END, ERROR, INSIDE, SHORT
from tests.reference.mmio import summed
from tests.support.captures import path_of
from tests.support.traffic import Traffic, merged, scopes, traffic

# Behind the traced ports; the processor is 0000.
BUSES = range(1, 4)
RULE = DirectionRule(buses=((1, 3),))
CONTEXT = AnalysisContext("made", Contents(Mode.RAW))


def found_in(made: Traffic, scope: Scope, cuts: list[int] | None = None, *, tree: bool = False) -> Mmio:
    """The result for records that are cut into parts."""
    scope = replace(scope, time_bits=32 if made.eight_dw else 11)
    batches = made.batches(cuts or (), MmioReads.columns, RULE)
    found: Mmio = pickle.loads(pickle.dumps(merged(MmioReads, batches, scope, tree=tree))).result(CONTEXT)
    return found


@st.composite
def reads(draw: st.DrawFn) -> Traffic:
    """The processor reads a few registers again and again, and is answered; sometimes records are missing."""
    made = Traffic(draw(st.booleans()))
    time, tag = 0, 0
    for _ in range(draw(st.integers(0, 30))):
        target = draw(st.sampled_from((0x1000, 0x1000, 0x1004, 0x200)))
        time, tag = time + draw(st.integers(0, 900)), (tag + 1) % 32
        offset = None
        if draw(st.integers(0, 9)) == 9:
            offset = (made.records[-1][1] if made.records else 0) + 2 * made.size
        if target == 0x200:
            made.add(tlps.configuration(tlps.CFGRD0, 0, tag, 0x0200, 0x10, enabled=15), time, 0, offset)
        else:
            made.add(tlps.request(tlps.MRD, 0, tag, target, 4), time, 0, offset)
        if draw(st.integers(0, 5)):
            time += draw(st.integers(0, 900))
            made.add(tlps.completion(tlps.CPLD, 0x0100, 0, tag, size=4, byte_count=4), time)
    return made


@given(st.one_of(reads(), traffic()), scopes())
def test_as_the_plain_reading(made: Traffic, scope: Scope) -> None:
    found, expected = found_in(made, scope), summed(made.rows(), scope.time_model.value, BUSES)
    assert found.direction_unknown == 0
    assert {(one.space, one.operation): one.requests for one in found.flows} == expected["requests"]
    assert found.requests == sum(expected["requests"].values())
    has_time = scope.time_model is not TimeModel.UNKNOWN
    for flow in found.flows:
        key = (flow.space, flow.operation)
        endings = [expected["endings"][*key, ending] for ending in (COMPLETE, ERROR, SHORT, INSIDE, END)]
        assert [flow.answered, flow.errors, flow.short, flow.unanswered, flow.open_at_end] == endings
        latencies = [ticks for ticks, _, _ in expected["latencies"].get(key, [])]
        assert (flow.ticks.n, flow.ticks.min, flow.ticks.max) == (
            len(latencies),
            min(latencies, default=None),
            max(latencies, default=None),
        )
    assert len(found.registers) == len(expected["registers"])
    for one in found.registers:
        use = expected["registers"][one.space, int(one.address, 16)]
        wanted = [use[name] for name in ("read", "write", "atomic", "answered", "repeats", "index")]
        assert [one.reads, one.writes, one.atomics, one.answered, one.repeats, one.index] == wanted
        assert one.mean_ticks == (use["ticks"] / use["answered"] if use["answered"] else None)
        assert one.period_ticks == (use["period"] / use["repeats"] if use["repeats"] and has_time else None)
    runs = [(run["reads"], run["index"], run["last"] - run["first"] if has_time else None) for run in expected["runs"]]
    assert [(run.reads, run.index, run.ticks) for run in found.polling] == runs[:MAX_LISTED]
    slowest = sorted(((-ticks, index, last) for each in expected["latencies"].values() for ticks, index, last in each))
    assert [(-one.ticks, one.index, one.last) for one in found.slowest] == slowest[:MAX_LISTED]


@given(st.one_of(reads(), traffic()), scopes(), st.lists(st.integers(0, 60), max_size=4), st.booleans())
def test_any_cutting_gives_the_same(made: Traffic, scope: Scope, cuts: list[int], tree: bool) -> None:
    whole = found_in(made, scope)
    parts = found_in(made, scope, cuts, tree=tree)
    assert (parts.flows, parts.registers, parts.polling, parts.slowest) == (whole.flows, whole.registers, whole.polling, whole.slowest)


@given(traffic())
def test_something_is_shown(made: Traffic) -> None:
    for part in found_in(made, Scope(time_model=TimeModel.COUNTER)).shown(no_names):
        if isinstance(part, Table):
            assert all(len(row) == len(part.columns) for row in part.rows)


def test_the_longest_runs_and_slowest_reads_are_listed() -> None:
    """More than are listed, and the longest run spans parts."""
    made = Traffic(True)
    tag = time = 0
    for number in range(2 * MAX_LISTED):
        for _ in range(2 if number != MAX_LISTED else 50):
            tag, time = (tag + 1) % 256, time + 10
            made.add(tlps.request(tlps.MRD, 0, tag, 0x1000 + 4 * number, 4), time)
            time += 1 + number
            made.add(tlps.completion(tlps.CPLD, 0x0100, 0, tag, size=4, byte_count=4), time)
    whole = found_in(made, Scope(time_model=TimeModel.COUNTER))
    assert whole == found_in(made, Scope(time_model=TimeModel.COUNTER), list(range(7, len(made.records), 7)))
    assert [len(whole.registers), whole.more, len(whole.polling), len(whole.slowest)] == [MAX_LISTED, MAX_LISTED, MAX_LISTED, MAX_LISTED]
    assert (whole.polling[0].reads, whole.polling[0].period_ticks) == (50, 10 + 1 + MAX_LISTED)
    assert whole.slowest[0].ticks == 2 * MAX_LISTED


def test_without_buses_the_direction_is_unknown() -> None:
    made = Traffic(True)
    made.add(tlps.request(tlps.MRD, 0x0100, 1, 0x1000, 4), 0)
    (batch,) = made.batches((), MmioReads.columns)
    analysis = MmioReads()
    analysis.update(batch)
    found = analysis.result(CONTEXT)
    assert (found.requests, found.direction_unknown) == (0, 1)


@pytest.mark.parametrize(
    ("offset", "is_bridge", "expected"),
    [
        (0x00, None, True), (0x18, None, False), (0x18, True, True), (0x18, False, True), (0x28, False, False), (0x38, True, True),
        (0x40, None, True), (0xFFC, None, True),
    ],
)  # fmt: skip
def test_names_of_configuration_registers(offset: int, is_bridge: bool | None, expected: bool) -> None:
    assert (configuration_register(offset, is_bridge) is not None) is expected


def test_a_register_that_depends_on_the_function() -> None:
    names = {configuration_register(0x18, is_bridge) for is_bridge in (True, False, None)}
    assert len(names) == 3


def test_names_of_targets() -> None:
    bar = Region(0x1000, 0x1FFF, "01:00.0 BAR 0", RegionKind.BAR, 0x100)
    ram = Region(0x1000, 0x1FFF, "System RAM")
    assert target_of(Space.MEMORY, 0x1004, bar, {}) == ("01:00.0 BAR 0 + 0x4", None)
    assert target_of(Space.MEMORY, 0x1004, ram, {}) == target_of(Space.MEMORY, 0x1004, None, {}) == ("0x1004", None)
    register, name = target_of(Space.CONFIGURATION, 0x100 << 12 | 4, None, {})
    assert "01:00.0" in register
    assert name == configuration_register(4, None)


@pytest.mark.parametrize("dstrd", [0, 1, 3])
def test_names_of_doorbells(dstrd: int) -> None:
    """Doorbells are named by the distance that what was written shows; nothing is named without the machine."""
    address = PciAddress(0, 1, 0, 0)
    drive = PciFunction(address, None, None, Hex24(0x010802), "drive", bars=(Bar(0, Hex(0x8000), Hex(0xBFFF), "memory", False),))
    machine = Machine(origin="made", functions=PciFunctions({address: drive}))
    made = Traffic(True)
    written = {0x9000 + (2 * queue + side) * (4 << dstrd): (queue, side) for queue in (0, 3) for side in (0, 1)}
    for time, register in enumerate([*written, 0x8014, 0x801C]):
        made.add(tlps.request(tlps.MRD if register < 0x9000 else tlps.MWR, 0, time, register, 4), time, 0)
    done = merged(MmioReads, made.batches([3], MmioReads.columns, RULE), replace(Scope(), regions=regions_of(machine)))
    found: Mmio = done.result(replace(CONTEXT, machine=machine))
    names = {int(one.address, 16): one.name for one in found.registers}
    assert {at: names.pop(at) for at in written} == {at: Doorbell(queue, bool(side)).name for at, (queue, side) in written.items()}
    assert names == {0x8014: "CC", 0x801C: "CSTS"}
    assert {one.name for one in done.result(CONTEXT).registers} == {None}


def test_lspci(tmp_path: Path) -> None:
    """lspci -vvv made 31 configuration reads of 01:00.0; every one was answered, and each read a register of its own."""
    machine = ptttool.find_machine(demo=True, details=True)
    with ptttool.open(path_of("workloads/w-config-dir3-4dw", tmp_path)) as recording:
        found = recording.analyze("mmio", machine=machine)
        assert found == recording.analyze("mmio", machine=machine, jobs=2)
        frame = recording.to_polars(["kind", "destination"], where="kind = 'CfgRd0'")
    flows = {(one.space, one.operation): (one.requests, one.answered) for one in found.flows}
    assert flows == {("memory", "read"): (35, 35), ("memory", "write"): (16, 0), ("configuration", "read"): (75, 75)}
    destinations = Counter(frame["destination"].to_list())
    assert destinations[0x100] == 31
    assert found.more + len(found.registers) > 75
    assert found.time.model is TimeModel.COUNTER
    assert all(162 <= flow.ticks.min <= flow.ticks.max <= 163 for flow in found.flows if flow.ticks.n)
    named = {one.register: one.name for one in found.registers if one.space == "memory"}
    assert named["01:00.0 BAR 0 + 0x1000"] == "SQ 0 tail doorbell"
    assert named["01:00.0 BAR 0 + 0x1004"] == "CQ 0 head doorbell"
    assert named["02:00.0 BAR 0 + 0xf00"] is None, "no drive"


def test_a_recording_without_outbound_reads(tmp_path: Path) -> None:
    with ptttool.open(path_of("6.12/m-8dw-port10-type7-dir2", tmp_path)) as recording:
        found = recording.analyze("mmio")
    assert (found.requests, found.flows, found.registers) == (0, [], [])


def test_requests_whose_completions_are_not_traced(tmp_path: Path) -> None:
    """The event asks for outbound non-posted requests alone: that they have no completion says nothing."""
    machine = ptttool.find_machine(demo=True)
    chosen = build_event(machine, root_ports=["nvme0"], direction="outbound", types=["np"])
    recorded = record(plan_recording(chosen, output=tmp_path / "np.data", duration=1))
    with ptttool.open(recorded.path) as recording:
        (flow,) = recording.analyze("mmio").flows
    assert (flow.space, flow.operation) == ("configuration", "read")
    assert flow.requests == flow.not_traced > 0
    assert (flow.answered, flow.unanswered, flow.open_at_end) == (0, 0, 0)
