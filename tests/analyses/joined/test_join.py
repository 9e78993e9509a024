"""Commands of both sides are the same where they are joined; where that is not certain, they are not, and it is said why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptttool.analyses.budget import MAX_CONTROLLERS
from ptttool.analyses.joined.commands import WANTED, kernel_commands
from ptttool.analyses.joined.document import KernelSide
from ptttool.analyses.joined.join import Link, join
from ptttool.analyses.joined.order import QueueEntries
from ptttool.analyses.shown import Table
from ptttool.perfdata.tracepoints.samples import read_samples
from tests.reference import joining
from tests.support.joined import BEGIN_NS, TICK_NS, Run, run_of
from tests.support.tracepoints import (
    COMPLETE,
    EVENTS,
    ISSUE,
    POLLED,
    RECEIVED,
    SETUP,
    Sample,
    comm,
    complete,
    issue,
    kernel_file,
    lost,
    polled,
    received,
    setup,
)

FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
NAMES = b"".join(comm(100 + queue, b"fio%d" % queue) for queue in range(1, 9))


def write(folder: Path, samples: list[Sample], before: bytes = NAMES) -> str:
    path = folder / "run.kernel.data"
    path.write_bytes(kernel_file(samples, before))
    return str(path)


def of_queue(side: KernelSide, queue: int) -> Any:
    return next(one for one in side.by["queue"] if one.name == f"01:00.0, {queue}")


def codes(side: KernelSide) -> list[str]:
    return [note.code for note in side.notes]


def _is_spread(found: Any, values: list[int]) -> bool:
    ordered = sorted(values)
    told = [ordered[-(-len(ordered) * percent // 100) - 1] for percent in (50, 90, 99)]
    return [found.p50, found.p90, found.p99, found.max] == [*told, ordered[-1]]


@FIXTURE
@given(seed=st.integers(0, 10**6), depth=st.integers(1, 8), queues=st.integers(1, 3), bits=st.sampled_from([11, 32]))
def test_what_is_joined_is_true(tmp_path: Path, seed: int, depth: int, queues: int, bits: int) -> None:
    run = run_of(seed, depth=depth, queues=queues, commands=30, turned=bool(seed % 2))
    side = join(write(tmp_path, run.samples()), Link(run.entries(bits=bits), time_bits=bits)).side
    assert side.joined and side.commands == side.seen == len(run.commands) and side.conflicts == 0
    assert side.at_least == (bits < 32)
    told = told_of(run)
    for queue in range(1, queues + 1):
        found = of_queue(side, queue)
        assert _is_spread(found.in_kernel, [time for (each, _), (_, time) in told.items() if each == queue])
        if bits == 32 and "ends-at-once" not in codes(side):
            assert _is_spread(found.on_wire, list(run.on_wire(queue).values()))
        assert found.bytes is None  # without the block layer, the size of a block is not known
    assert {one.name for one in side.by["process"]} == {f"fio{queue} ({100 + queue})" for queue in range(1, queues + 1)}


def told_of(run: Run) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the commands as the reference finds them."""
    samples = run.samples()
    return joining.pairs(
        [joining.Setup(one.time, *_key(one.raw, 44, 52)) for one in samples if one.event is SETUP],
        [joining.Setup(one.time, *_key(one.raw, 44, 48)) for one in samples if one.event is COMPLETE],
    )


def _key(raw: bytes, queue: int, identifier: int) -> tuple[int, int]:
    return int.from_bytes(raw[queue : queue + 4], "little"), int.from_bytes(raw[identifier : identifier + 2], "little")


@FIXTURE
@given(seed=st.integers(0, 10**6), depth=st.integers(1, 8))
def test_the_true_tick_is_in_the_band(tmp_path: Path, seed: int, depth: int) -> None:
    run = run_of(seed, depth=depth, commands=40)
    found = join(write(tmp_path, run.samples()), Link(run.entries()))
    band = found.side.clock
    assert band is not None and band.is_possible and band.tick_ns_low is not None and band.tick_ns_high is not None
    assert band.tick_ns_low <= TICK_NS * (1 + 1e-9) and band.tick_ns_high >= TICK_NS * (1 - 1e-9)
    assert found.clock is not None
    fetches = sorted(one.fetch for one in run.commands)
    events = sorted([one.fetch for one in run.commands] + [one.entry for one in run.commands])
    first, last = found.clock.at(np.array([run.ticks(time) - run.ticks(events[0]) for time in fetches]))
    # Ticks are rounded down: by less than one.
    assert (first <= np.array(fetches) + TICK_NS).all() and (np.array(fetches) - TICK_NS <= last).all()


@FIXTURE
@given(seed=st.integers(0, 10**6), depth=st.integers(1, 6), part=st.tuples(st.floats(0, 0.5), st.floats(0.5, 1)), knows=st.booleans())
def test_a_trace_of_a_part_is_joined_rightly_or_not_at_all(
    tmp_path: Path, seed: int, depth: int, part: tuple[float, float], knows: bool
) -> None:
    run = run_of(seed, depth=depth, queues=1, commands=40)
    times = sorted([one.fetch for one in run.commands] + [one.entry for one in run.commands])
    first, last = (times[0] + int((times[-1] - times[0]) * share) for share in part)
    entries = run.entries(first, last)
    if not entries:
        return
    side = join(write(tmp_path, run.samples()), Link(entries, end=last if knows else None)).side
    if not side.joined:
        assert set(codes(side)) & {"ambiguous-order", "order-differs", "causes-differ"}
        return
    (queue,) = side.queues
    before = [sum(getattr(one, name) < first for one in run.commands) for name in ("fetch", "entry")]
    assert queue.first_submitted in (before[0], None)
    assert queue.first_ended in (before[1], None)


def test_the_slowest_commands_are_named(tmp_path: Path) -> None:
    run = run_of(22, commands=50)
    side = join(write(tmp_path, run.samples()), Link(run.entries())).side
    told = told_of(run)
    assert [one.in_kernel_ns for one in side.slowest] == sorted((time for _, time in told.values()), reverse=True)[:5]
    assert all(one.process == f"fio{one.queue} ({100 + one.queue})" and one.opcode == 2 and one.index is not None for one in side.slowest)


@pytest.mark.parametrize(("depth", "bits"), [(1, 32), (4, 11), (8, 32)])
def test_a_trace_of_the_middle_finds_its_place(tmp_path: Path, depth: int, bits: int) -> None:
    run = run_of(33, depth=depth, queues=1, commands=200)
    times = sorted([one.fetch for one in run.commands] + [one.entry for one in run.commands])
    first, last = times[len(times) // 3], times[2 * len(times) // 3]
    side = join(write(tmp_path, run.samples()), Link(run.entries(first, last, bits=bits), time_bits=bits, end=last)).side
    (queue,) = side.queues
    assert queue.first_submitted == sum(one.fetch < first for one in run.commands)
    assert queue.first_ended == sum(one.entry < first for one in run.commands)


def test_one_command_at_a_time_and_few_bits_leave_several_places(tmp_path: Path) -> None:
    run = run_of(34, depth=1, queues=1, commands=100)
    times = sorted(one.fetch for one in run.commands)
    side = join(write(tmp_path, run.samples()), Link(run.entries(times[30], times[60], bits=11), time_bits=11)).side
    assert not side.joined and codes(side) == ["ambiguous-order"]


@pytest.mark.parametrize("turned", [False, True])
def test_the_order_in_which_ends_come_is_found(tmp_path: Path, turned: bool) -> None:
    run = run_of(11, depth=6, queues=2, commands=300, turned=turned)
    side = join(write(tmp_path, run.samples()), Link(run.entries())).side
    assert side.joined and side.conflicts == 0 and "ends-at-once" not in codes(side)
    for queue in (1, 2):
        assert _is_spread(of_queue(side, queue).on_wire, list(run.on_wire(queue).values()))


def test_lost_samples_join_nothing(tmp_path: Path) -> None:
    run = run_of(1)
    side = join(write(tmp_path, run.samples(), NAMES + lost(3)), Link(run.entries())).side
    assert (side.joined, side.commands, side.lost, codes(side)) == (False, 0, 3, ["kernel-samples-lost"])
    assert side.all is None and side.clock is None


def test_samples_that_are_missing_without_a_word_join_nothing(tmp_path: Path) -> None:
    run = run_of(2, queues=1, commands=200)
    samples = run.samples()
    ends = [number for number, one in enumerate(samples) if one.event is COMPLETE]
    del samples[ends[50]]
    side = join(write(tmp_path, samples), Link(run.entries())).side
    assert not side.joined and codes(side) == ["kernel-samples-missing"]


def test_another_order_joins_nothing(tmp_path: Path) -> None:
    run = run_of(3, queues=1, commands=200, depth=8)
    (entries,) = run.entries()
    wrong = np.random.default_rng(1).permutation(entries.fetched)
    side = join(write(tmp_path, run.samples()), Link([entries._replace(fetched=wrong)])).side
    assert not side.joined and "order-differs" in codes(side)


def test_commands_of_another_drive_are_not_taken(tmp_path: Path) -> None:
    run, other = run_of(4, queues=2, commands=50), run_of(5, queues=2, commands=80)
    others = [
        one._replace(raw=one.raw[:40] + b"\1" + one.raw[41:])
        if one.event in (SETUP, COMPLETE)
        else one._replace(raw=one.raw[:8] + b"\1" + one.raw[9:])
        for one in other.samples()
    ]
    side = join(write(tmp_path, sorted(run.samples() + others, key=lambda one: one.time)), Link(run.entries())).side
    assert side.joined and side.commands == len(run.commands) and side.seen == len(run.commands) + len(other.commands)
    assert {one.controller for one in side.queues} == {0}


def test_two_drives_that_look_alike_are_not_joined(tmp_path: Path) -> None:
    run = run_of(6, queues=1, commands=20, depth=1)
    again = [
        one._replace(raw=one.raw[:40] + b"\1" + one.raw[41:])
        if one.event in (SETUP, COMPLETE)
        else one._replace(raw=one.raw[:8] + b"\1" + one.raw[9:])
        for one in run.samples()
    ]
    side = join(write(tmp_path, sorted(run.samples() + again, key=lambda one: one.time)), Link(run.entries())).side
    assert not side.joined and codes(side) == ["ambiguous-controller"]


def test_a_clock_that_is_none_is_refuted(tmp_path: Path) -> None:
    run = run_of(7, queues=1, commands=300)
    (entries,) = run.entries()
    late = [np.where(ticks > ticks.max() // 2, ticks + 10**6, ticks) for ticks in (entries.fetched_at, entries.ended_at)]
    side = join(write(tmp_path, run.samples()), Link([entries._replace(fetched_at=late[0], ended_at=late[1])])).side
    assert side.joined and side.clock is not None and not side.clock.is_possible and side.clock.missed_ns > 0
    assert codes(side) == ["clock-refuted"]


def test_eleven_bits_miss_ticks_and_refute_nothing(tmp_path: Path) -> None:
    run = run_of(8, queues=1, commands=300)
    side = join(write(tmp_path, run.samples()), Link(run.entries(bits=11), time_bits=11)).side
    assert side.joined and side.clock is not None
    assert "clock-refuted" not in codes(side)
    assert side.clock.tick_ns_high is None or side.clock.tick_ns_high >= TICK_NS


def test_without_ticks_commands_are_joined_all_the_same(tmp_path: Path) -> None:
    run = run_of(9)
    entries = [one._replace(fetched_at=np.full(len(one.fetched), -1), ended_at=np.full(len(one.ended), -1)) for one in run.entries()]
    side = join(write(tmp_path, run.samples()), Link(entries, time_bits=None)).side
    assert side.joined and side.clock is None
    assert side.all is not None and side.all.on_wire is None and side.all.share is None and side.all.in_kernel is not None


def test_only_fetches_give_a_clock_and_no_time_on_the_wire(tmp_path: Path) -> None:
    run = run_of(10)
    none = np.empty(0, dtype=np.int64)
    side = join(write(tmp_path, run.samples()), Link([one._replace(ended=none, ended_at=none) for one in run.entries()])).side
    assert side.joined and side.all is not None and side.all.on_wire is None
    assert side.clock is not None and side.clock.is_possible


@FIXTURE
@given(seed=st.integers(0, 10**6))
def test_doorbells_and_interrupts_make_the_band_narrower_and_keep_the_true_clock(tmp_path: Path, seed: int) -> None:
    run = run_of(seed, queues=2, depth=3, commands=40)
    path, entries = write(tmp_path, run.samples()), run.entries()
    wide = join(path, Link(entries))
    rung = [one._replace(rung_at=run.rung(one.queue)) for one in entries]
    narrow = join(path, Link(rung, interrupts={0x100: run.interrupts()}))
    assert wide.side.clock is not None and narrow.side.clock is not None and narrow.side.clock.is_possible
    assert narrow.side.clock.bounds > wide.side.clock.bounds
    low, high = narrow.side.clock.tick_ns_low, narrow.side.clock.tick_ns_high
    assert low is not None and high is not None and low <= TICK_NS * (1 + 1e-9) and high >= TICK_NS * (1 - 1e-9)
    assert wide.clock is not None and narrow.clock is not None
    at = np.array([0, int(entries[0].ended_at[-1])])
    (first, last), (least, most) = narrow.clock.at(at), wide.clock.at(at)
    assert ((last - first) <= (most - least) + 2).all()


@pytest.mark.parametrize(("commands", "is_narrow"), [(3, False), (40, True)])
def test_only_a_narrow_band_turns_ticks_into_nanoseconds(tmp_path: Path, commands: int, is_narrow: bool) -> None:
    run = run_of(0, queues=1, commands=commands)
    side = join(write(tmp_path, run.samples()), Link(run.entries())).side
    assert side.clock is not None and side.clock.is_possible and side.clock.tick_ns_low is not None and side.clock.tick_ns_high is not None
    assert (side.clock.tick_ns_high <= 1.02 * side.clock.tick_ns_low) is is_narrow
    assert side.all is not None and side.all.on_wire is not None
    assert (side.all.on_wire_ns is not None) is is_narrow and (side.all.share is not None) is is_narrow
    if side.all.on_wire_ns is not None:
        assert side.all.on_wire_ns.max == pytest.approx(TICK_NS * side.all.on_wire.max, rel=0.01)


def test_interrupts_that_contradict_the_commands_are_left_out(tmp_path: Path) -> None:
    run = run_of(21)
    late = run.interrupts() + 10**7
    side = join(write(tmp_path, run.samples()), Link(run.entries(), interrupts={0x100: late})).side
    assert side.clock is not None and side.clock.is_possible and codes(side) == []


def test_each_namespace_has_its_own_size_of_blocks(tmp_path: Path) -> None:
    samples = []
    for number in range(9):
        space, size = (1, 512) if number % 3 else (2, 4096)
        samples.append(Sample(SETUP, 10 * number, setup(1, number, slba=number, blocks=8, space=space)))
        if number < 7:  # of the others, nothing but the namespace tells it
            samples.append(Sample(ISSUE, 10 * number + 1, issue(number * size // 512, 8 * size // 512)))
    path = tmp_path / "run.kernel.data"
    path.write_bytes(kernel_file(samples, events=(*EVENTS, ISSUE)))
    rows = kernel_commands(read_samples(str(path), WANTED)).rows
    assert rows["bytes"].tolist() == [8 * (512 if number % 3 else 4096) for number in range(9)]


def test_names_of_processes_are_shown_without_control_characters(tmp_path: Path) -> None:
    run = run_of(12, queues=1)
    path = write(tmp_path, run.samples(), comm(101, b"a\x1b[31m\n\xff"))
    tables = [part for part in join(path, Link(run.entries())).side.shown() if isinstance(part, Table)]
    assert len(tables) == 2
    assert all(str(cell).isprintable() for table in tables for row in table.rows for cell in row)


def test_no_share_is_above_the_whole(tmp_path: Path) -> None:
    run = run_of(13)
    side = join(write(tmp_path, run.samples()), Link(run.entries(), tick_ns=10_000)).side
    assert side.all is not None and side.all.share is None


def test_no_queue_joins_nothing(tmp_path: Path) -> None:
    side = join(write(tmp_path, run_of(14).samples()), Link([])).side
    assert not side.joined and codes(side) == ["no-queues"]


def test_packets_are_counted_by_interface(tmp_path: Path) -> None:
    samples = [Sample(RECEIVED, number, received(b"ens%d\x1b" % (number % 2), 100 + number)) for number in range(9)]
    samples += [Sample(POLLED, 20, polled(b"ens0\x1b", 3)), Sample(POLLED, 21, polled(b"ens0\x1b", 0))]
    path = tmp_path / "run.kernel.data"
    path.write_bytes(kernel_file(samples, events=(RECEIVED, POLLED)))
    side = join(str(path), Link([])).side
    assert [(one.name, one.received, one.received_bytes, one.sent, one.polls, one.polled) for one in side.network] == [
        ("ens0\x1b", 5, 520, None, 2, 3), ("ens1\x1b", 4, 416, None, 0, 0),
    ]  # fmt: skip
    assert not side.joined and codes(side) == []
    (table,) = (part for part in side.shown() if isinstance(part, Table))
    assert all(str(cell).isprintable() for row in table.rows for cell in row)


def test_a_queue_that_the_kernel_does_not_know_is_said(tmp_path: Path) -> None:
    run = run_of(15, queues=1)
    (entries,) = run.entries()
    side = join(write(tmp_path, run.samples()), Link([entries, entries._replace(queue=7)])).side
    assert "ambiguous-order" in codes(side)
    assert [one.commands for one in side.queues] == [len(run.commands), 0]


@pytest.mark.parametrize(("field", "instead"), [("int ctrl_id", "char ctrl_id[4]"), ("int qid", "u8 qid[4]"), ("int qid", "int other")])
def test_fields_of_other_kinds_join_nothing(tmp_path: Path, field: str, instead: str) -> None:
    event = SETUP._replace(fields=tuple((instead if one[0] == field else one[0], *one[1:]) for one in SETUP.fields))
    run = run_of(1)
    samples = [one._replace(event=event) if one.event is SETUP else one for one in run.samples()]
    path = tmp_path / "run.kernel.data"
    path.write_bytes(kernel_file(samples, events=[event if one is SETUP else one for one in EVENTS]))
    side = join(str(path), Link(run.entries())).side
    assert side.all is None or side.all.in_kernel is None


@pytest.mark.parametrize("samples", [[Sample(SETUP, 5, setup(1, 2))], [Sample(COMPLETE, 5, complete(1, 2))], []])
def test_hardly_any_sample(tmp_path: Path, samples: list[Sample]) -> None:
    one = np.array([3]), np.array([30])
    side = join(write(tmp_path, samples), Link([QueueEntries(0x100, 1, *one, *one)])).side
    assert side.commands <= 1


def test_runs_are_as_they_are_said_to_be() -> None:
    run = run_of(1, turned=True)
    assert isinstance(run, Run) and all(BEGIN_NS <= one.setup < one.fetch < one.entry < one.complete for one in run.commands)


def test_anchors_narrow_the_band_and_are_left_out_where_they_contradict(tmp_path: Path) -> None:
    run = run_of(12, queues=1, commands=4)
    path, entries = write(tmp_path, run.samples()), run.entries()
    bands = [join(path, Link(entries, ticks=ticks, anchors=9)).side.clock for ticks in (None, (3.999, 4.001), (8.0, 9.0))]
    wide, narrow, other = bands
    assert wide is not None and narrow is not None and other is not None
    assert [band.anchors for band in (wide, narrow, other)] == [0, 9, 0]
    assert narrow.tick_ns_low is not None and narrow.tick_ns_high is not None
    assert 3.99 < narrow.tick_ns_low <= TICK_NS <= narrow.tick_ns_high < 4.01
    assert narrow.error_ns is not None and wide.error_ns is not None and narrow.error_ns < wide.error_ns
    assert (other.tick_ns_low, other.tick_ns_high) == (wide.tick_ns_low, wide.tick_ns_high)


def test_of_too_many_controllers_none_is_tried(tmp_path: Path) -> None:
    run = run_of(1, commands=6)
    samples = [Sample(SETUP, BEGIN_NS + number, setup(1, 1, ctrl=number)) for number in range(MAX_CONTROLLERS + 1)]
    side = join(write(tmp_path, samples), Link(run.entries())).side
    assert (codes(side), side.commands) == (["over-budget"], 0)
