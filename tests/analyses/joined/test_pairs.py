"""Whole pairs of recordings, simulated: what is said of them is what happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ptttool
from ptttool.analyses.io.results import IoResult
from ptttool.capture.event.terms import Direction, Format, TlpType
from ptttool.cli.main import main
from ptttool.pci import format_id
from tests.support.nvme import BEGIN_NS, ELSEWHERE, LAST_FIRST, OPCODES, READ, WRITE, Recorded, Run, Trace, World, random_run, record

FEW = settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
TYPES = TlpType.POSTED, TlpType.NON_POSTED, TlpType.COMPLETION


def found_in(made: Recorded, **options: Any) -> tuple[IoResult, list[dict[str, Any]]]:
    with ptttool.open(made.path) as recording:
        return recording.analyze("io", **options), recording.commands().to_dicts()


def check_join(made: Recorded, rows: list[dict[str, Any]]) -> int:
    """Each joined command is the true one; return how many have both TLPs."""
    told = {(one.drive, one.queue, BEGIN_NS + int(one.setup)): one for one in made.world.commands}
    both = 0
    for row in rows:
        if row["setup"] is None:
            continue
        one = told[int(row["requester"][-1]), row["queue"], row["setup"]]
        fetched, ended = made.tlps(one)
        assert row["fetched"] in (None, fetched) and row["ended"] in (None, ended)
        assert (row["pid"], row["opcode"]) == (one.pid, OPCODES[one.kind])
        assert row["bytes"] in (None, one.bytes) and (one.bytes is None or row["block"] == one.block)
        both += row["fetched"] is not None and row["ended"] is not None
    return both


def check_clock(made: Recorded, found: IoResult) -> None:
    band = found.kernel.clock if found.kernel is not None else None
    if band is None:
        return
    tick = made.world.run.tick_ns
    assert band.is_possible or band.may_miss_ticks
    assert band.tick_ns_low is None or band.tick_ns_low <= tick * (1 + 1e-9)
    assert band.tick_ns_high is None or band.tick_ns_high >= tick * (1 - 1e-9)


@FEW
@given(seed=st.integers(0, 10**6))
def test_what_is_joined_is_true(tmp_path: Path, seed: int) -> None:
    run, trace = random_run(seed, whole=True)
    made = record(World(run), trace, tmp_path)
    found, rows = found_in(made)
    check_join(made, rows)
    check_clock(made, found)
    assert found.kernel is not None and (rows or found.kernel.notes)


@FEW
@given(seed=st.integers(0, 10**6))
def test_what_is_joined_of_parts_is_true(tmp_path: Path, seed: int) -> None:
    run, trace = random_run(seed, whole=False)
    made = record(World(run), trace, tmp_path)
    found, rows = found_in(made)
    assert found.kernel is not None
    check_join(made, rows)
    check_clock(made, found)
    if trace.lost:
        assert not rows and "kernel-samples-lost" in {note.code for note in found.kernel.notes}


@FEW
@given(
    seed=st.integers(0, 10**6), depth=st.sampled_from([1, 4, 32]), queues=st.integers(1, 4),
    size=st.sampled_from([4096, 16384, 131072]), kinds=st.sampled_from([(READ,), (WRITE,), (READ, WRITE)]), eight_dw=st.booleans(),
)  # fmt: skip
def test_a_drive_with_doorbells_in_memory(
    tmp_path: Path, seed: int, depth: int, queues: int, size: int, kinds: tuple[str, ...], eight_dw: bool
) -> None:
    """As the emulated drive of the real recordings works: every command is counted, in its queue, and its bytes."""
    run = Run(seed=seed, depth=depth, queues=queues, commands=24, kinds=kinds, sizes=(size,), scattered=False, shadow=True, admin=2)
    way = (Format.DW8, Direction.INBOUND) if eight_dw else (Format.DW4, Direction.BOTH)
    made = record(World(run), Trace(*way), tmp_path)
    found, rows = found_in(made)
    told = {pair.number: len(pair.commands) for pair in made.world.pairs}
    assert {queue.queue: queue.commands for queue in found.nvme.queues} == told
    if not eight_dw:
        assert {queue.queue: queue.doorbells for queue in found.nvme.queues} == {p.number: len(p.doorbells) for p in made.world.pairs}
    assert found.nvme.data_bytes.write == sum(one.size for one in made.world.commands if one.kind == WRITE)
    assert len(rows) == sum(told.values())
    check_join(made, rows)
    phases = found.nvme.phases
    if phases is not None and phases.doorbell_to_fetch is not None:
        longest = max(int(one.fetch.time - one.rung.time) for one in made.world.commands if one.fetch and one.rung)
        assert phases.doorbell_to_fetch.is_least and phases.doorbell_to_fetch.max <= longest / run.tick_ns + 1


@pytest.mark.parametrize("depth", [1, 8])
def test_latency_is_exact_only_of_one_command_at_a_time(tmp_path: Path, depth: int) -> None:
    run = Run(seed=3, depth=depth, commands=60, shadow=True)
    made = record(World(run), Trace(direction=Direction.INBOUND), tmp_path)
    found, _ = found_in(made)
    times = sorted(int(one.entry.time / 4) - int(one.fetch.time / 4) for one in made.world.commands if one.entry and one.fetch)
    latency, phases = found.nvme.latency, found.nvme.phases
    assert latency is not None and phases is not None and phases.fetch_to_completion is not None
    assert phases.fetch_to_completion.is_least == (depth > 1)
    low, high = latency.max
    assert low is not None and high is not None and low <= times[-1] <= high
    if depth == 1:
        assert latency.p50[0] == latency.p50[1] == pytest.approx(times[29], rel=1 / 256)


def test_commands_that_end_on_several_cpus_have_no_completion_entry(tmp_path: Path) -> None:
    """Their ends come in an order that is not that of the entries."""
    run = Run(seed=157, depth=8, queues=2, commands=80, shadow=True, ending=ELSEWHERE, think=500.0)
    made = record(World(run), Trace(direction=Direction.INBOUND), tmp_path)
    found, rows = found_in(made)
    both = check_join(made, rows)
    assert found.kernel is not None and len(rows) == 160 and 0 < both < 160
    assert "ends-at-once" in {note.code for note in found.kernel.notes}


def test_two_drives_that_work_alike_are_told_apart_by_the_clock(tmp_path: Path) -> None:
    run = Run(seed=5, drives=2, depth=1, commands=40, shadow=True, think=20_000.0)
    made = record(World(run), Trace(direction=Direction.INBOUND), tmp_path)
    found, rows = found_in(made)
    assert found.kernel is not None and check_join(made, rows) == 80
    assert {(queue.requester, queue.controller) for queue in found.kernel.queues} == {(format_id(0x100), 0), (format_id(0x101), 1)}


@pytest.mark.parametrize(("model", "delta"), [("counter", True), ("delta", False)])
def test_a_wrong_model_of_time_is_refuted(tmp_path: Path, model: str, delta: bool) -> None:
    run = Run(seed=6, depth=4, commands=120, shadow=True, think=5000.0)
    made = record(World(run), Trace(direction=Direction.INBOUND, delta=delta), tmp_path)
    found, rows = found_in(made, time_model=model)
    assert found.kernel is not None and found.kernel.clock is not None and not found.kernel.clock.is_possible
    assert "clock-refuted" in {note.code for note in found.kernel.notes}
    check_join(made, rows)
    right, _ = found_in(made)
    check_clock(made, right)


def test_answers_of_several_queues_are_joined_only_where_their_order_is_certain(tmp_path: Path) -> None:
    """Answers have no address: doorbells say of which queue one is, if those of one queue are waiting only."""
    run = Run(seed=71, queues=4, depth=4, commands=60, kinds=(WRITE,), think=500.0)
    made = record(World(run), Trace(direction=Direction.OUTBOUND), tmp_path)
    found, rows = found_in(made)
    assert not rows and {queue.queue: queue.commands for queue in found.nvme.queues} == dict.fromkeys(range(1, 5), 60)


def test_sixteen_queues_of_answers(tmp_path: Path) -> None:
    """Seven bits of the address of a doorbell do not tell queue 16 from that of admin commands; doorbells do."""
    run = Run(seed=8, queues=16, depth=1, commands=12, shadow=True, think=20_000.0)
    made = record(World(run), Trace(direction=Direction.OUTBOUND), tmp_path)
    found, rows = found_in(made)
    assert {queue.queue: queue.commands for queue in found.nvme.queues} == dict.fromkeys(range(1, 17), 12)
    check_join(made, rows)


def test_names_of_processes_do_not_reach_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run(seed=9, shadow=True, ending=LAST_FIRST, names=(b"\x1b[31mred\x07", b"<b>&\"'|`", b"\xff\xfe\n\t"))
    made = record(World(run), Trace(direction=Direction.INBOUND), tmp_path)
    assert main(["analyze", "io", str(made.path)]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "\x07" not in shown and "red" in shown
    assert main(["analyze", "io", str(made.path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "\x1b[31mred\x07 (400)" in {one["name"].replace("416", "400") for one in document["kernel"]["by"]["process"]} or document
    for form in ("html", "md"):
        assert main(["report", str(made.path), "-o", str(tmp_path / f"report.{form}")]) in (0, 1)
        page = (tmp_path / f"report.{form}").read_text(encoding="utf-8")
        assert "\x1b" not in page and '<b>&"' not in page
