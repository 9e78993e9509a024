"""Perfetto traces with the kernel's commands: in its time where a clock is known, else in that of the link alone."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.analyses.joined.join import Joined, Link, join
from ptttool.cli.main import main
from ptttool.errors import InputError, UsageError
from ptttool.exporters.contract import EXPORTERS, ExportContext, Timing
from ptttool.exporters.perfetto import TransactionTrace
from ptttool.pipeline.exporting.kernel import with_commands
from ptttool.pipeline.exporting.transactions import _concatenated
from ptttool.pipeline.query import Query
from ptttool.table.schema import Schema
from tests.analyses.joined.test_real import pair
from tests.support.joined import BEGIN_NS, TICK_NS, Run, run_of
from tests.support.perfetto import query
from tests.support.tracepoints import comm, kernel_file

SLICES = """select slice.ts, slice.dur, slice.name, slice.depth, track.id lane, track.name track, parent.name parent,
    extract_arg(arg_set_id, 'debug.process') process, extract_arg(arg_set_id, 'debug.pid') pid,
    extract_arg(arg_set_id, 'debug.first block') block, extract_arg(arg_set_id, 'debug.bytes') bytes,
    extract_arg(arg_set_id, 'debug.opcode') opcode, extract_arg(arg_set_id, 'debug.queue') queue,
    extract_arg(arg_set_id, 'debug.fetched by TLP') fetched, extract_arg(arg_set_id, 'debug.completion entry') ended,
    extract_arg(arg_set_id, 'debug.ns in the kernel') in_kernel, extract_arg(arg_set_id, 'debug.ticks on the wire') on_wire
    from slice join track on slice.track_id = track.id left join track parent on track.parent_id = parent.id
    where slice.name not like 'about %' order by slice.ts, slice.depth"""
ABOUT = """select key, display_value value from args where arg_set_id in
    (select arg_set_id from slice where name = 'about the kernel''s side')"""
REQUESTS = """select ts, dur, slice.name from slice join track on slice.track_id = track.id
    where track.name = 'requests' order by ts, slice.name, dur"""
PROBLEMS = "select name, value from stats where value > 0 and severity != 'info'"


def read(trace: bytes) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the slices of commands, and what is said of them."""
    slices, about, problems = query(trace, SLICES, ABOUT, PROBLEMS)
    assert problems == []
    facts = {one["key"].removeprefix("debug."): one["value"] for one in about}
    return [one for one in slices if "queue" in one["track"]], facts


def exported(path: Path, **given: Any) -> bytes:
    output = path.with_name("out.pftrace")
    with ptttool.open(path) as recording:
        recording.export(output, force=True, **given)
    return output.read_bytes()


def joined(run: Run, folder: Path, before: bytes = b"") -> Joined:
    path = folder / "k.data"
    path.write_bytes(kernel_file(run.samples(), before))
    queues = [one._replace(rung_at=run.rung(one.queue)) for one in run.entries()]
    return join(str(path), Link(queues, interrupts={0x100: run.interrupts()}))


def traced(found: Joined, tick_ns: float | None = None, **given: Any) -> TransactionTrace:
    last = max(found.rows["fetched_at"].max(), found.rows["ended_at"].max())
    empty = TransactionTrace(_concatenated([]), given.pop("left_out", 0), np.array([0]), int(last) + 1, np.zeros((1, 3), np.int64))
    return with_commands(empty, found, Query((), **given), tick_ns)


def written(trace: TransactionTrace) -> bytes:
    file = io.BytesIO()
    writer = EXPORTERS.get("perfetto").writer(file, Schema(()), ExportContext(timing=Timing("counter")))
    writer.add(trace)
    return file.getvalue()


@given(seed=st.integers(0, 1 << 32))
def test_true_times_are_within_the_error_that_is_stated(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    run = run_of(seed)
    found = joined(run, tmp_path_factory.mktemp("run"))
    commands = traced(found).commands
    assert commands is not None and commands.begin_ns is not None and commands.tick_ns is not None
    error = int(commands.about["placement error in ns"])
    low, high = (float(commands.about[f"{which} tick in ns"]) for which in ("shortest", "longest"))
    assert low <= commands.tick_ns <= high and low <= TICK_NS * (1 + 1e-8) and high >= TICK_NS * (1 - 1e-8)
    start = min(one.fetch for one in run.commands)
    begin = BEGIN_NS + run.ticks(start) * TICK_NS
    for name in ("fetched_at", "ended_at"):
        ticks = found.rows[name]
        true, placed = begin + ticks * TICK_NS, commands.begin_ns + np.rint(ticks * commands.tick_ns)
        assert (abs(placed - true) <= error + TICK_NS).all()


@pytest.mark.slow
def test_commands_are_those_of_the_run(tmp_path: Path) -> None:
    run = run_of(7, commands=40)
    found = joined(run, tmp_path, comm(101, b"a\x1b[2J\xff"))
    slices, facts = read(written(traced(found)))
    outer, inner = ([one for one in slices if one["depth"] == depth] for depth in (0, 1))
    told = [(one["ts"], one["ts"] + one["dur"], one["queue"], one["bytes"], one["opcode"], one["track"]) for one in outer]
    assert sorted(told) == sorted(
        (one.setup, one.complete, one.queue, None, 2, f"01:00.0 queue {one.queue}")
        for one in ((each._replace(complete=ends[each.setup])) for ends in [_ends(found)] for each in run.commands)
    )
    assert {one["name"] for one in inner} == {"on the wire"} and len(inner) == len(outer) == 80
    assert facts["commands"] == "80"
    for lane in {one["lane"] for one in outer}:
        of_lane = [one for one in outer if one["lane"] == lane]
        assert all(one["ts"] + one["dur"] <= other["ts"] for one, other in pairwise(of_lane))
    assert {one["process"] for one in outer if one["queue"] == 1} == {"a\\x1b[2J\ufffd"}


def _ends(found: Joined) -> dict[int, int]:
    return {int(row["setup"]): int(row["complete"]) for row in found.rows}


def test_a_tick_that_both_sides_contradict_places_nothing(tmp_path: Path) -> None:
    found = joined(run_of(3), tmp_path)
    for tick, is_placed in ((4.0, True), (4.001, True), (8.0, False)):
        commands = traced(found, tick).commands
        assert commands is not None and (commands.begin_ns is not None) is is_placed
        assert ("placement error in ns" in commands.about) is is_placed
    fewer = traced(found, left_out=1).commands
    assert fewer is not None and len(fewer.rows) == 0 and fewer.about["commands left out"] == str(len(found.rows))


@pytest.mark.slow
def test_real_commands_in_the_time_of_the_kernel(tmp_path: Path) -> None:
    path = pair("rr-qd8-8dw-out", tmp_path)
    slices, facts = read(exported(path))
    with ptttool.open(path) as recording:
        rows, side = recording.commands(), recording.analyze("io").kernel
    outer = [one for one in slices if one["depth"] == 0]
    assert [(one["ts"], one["dur"]) for one in outer] == [(a, b - a) for a, b in rows.select("setup", "complete").sort("setup").iter_rows()]
    for name in ("process", "pid", "bytes", "block", "opcode", "queue", "fetched"):
        assert sorted(map(str, (one[name] for one in outer))) == sorted(map(str, rows[name].to_list())), name
    fetched = [one for one in slices if one["name"] == "fetched"]
    assert len(fetched) == 400 and all(one["dur"] == 0 and one["depth"] == 1 for one in fetched)
    assert side is not None and float(facts["shortest tick in ns"]) == pytest.approx(side.clock.tick_ns_low)
    assert int(facts["placement error in ns"]) >= side.clock.error_ns - 1
    # Bytes of TLPs are on the same axis.
    (counters,) = query(exported(path), "select min(ts) low, max(ts) high from counter")
    begin, end = min(rows["setup"].to_list()), max(rows["complete"].to_list())
    assert begin - 1e9 < counters[0]["low"] < counters[0]["high"] < end + 1e9


@pytest.mark.slow
def test_without_a_clock_commands_are_in_the_time_of_the_link(tmp_path: Path) -> None:
    path = pair("mix-4dw", tmp_path)
    trace = exported(path)
    slices, facts = read(trace)
    with ptttool.open(path) as recording:
        rows = recording.commands()
    told = rows.select("fetched_at", "ended_at", "setup", "complete", "fetched", "ended").sort("fetched_at")
    assert sorted((one["ts"], one["dur"], one["in_kernel"], one["fetched"], one["ended"]) for one in slices) == sorted(
        (a, b - a, d - c, first, last) for a, b, c, d, first, last in told.iter_rows()
    )
    assert "placement error in ns" not in facts and "time of the kernel" in facts
    (requests,) = query(trace, REQUESTS)
    path.with_name("mix-4dw.kernel.data").unlink()
    without = exported(path)
    assert query(without, REQUESTS) == [requests] and read(without) == ([], {})


@pytest.mark.slow
def test_commands_go_with_the_transactions_that_are_shown(tmp_path: Path) -> None:
    path = pair("mix-4dw", tmp_path)
    slices, facts = read(exported(path, limit=200))
    assert 0 < len(slices) < 60 and int(facts["commands left out"]) + len(slices) == 292


def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = pair("mix-4dw", tmp_path)
    other = tmp_path / "other"
    other.write_bytes(b"nothing")
    with pytest.raises(InputError):
        exported(path, kernel=other)
    with ptttool.open(path) as recording, pytest.raises(UsageError) as caught:
        recording.export(tmp_path / "out.csv", kernel=other)
    assert caught.value.code == "exclusive-options"
    assert main(["decode", str(path), "--to", "csv", "--kernel", str(other)]) == 2
    path.with_name("mix-4dw.kernel.data").write_bytes(b"PERFILE2")
    capsys.readouterr()
    assert main(["decode", str(path), "-o", str(tmp_path / "x.pftrace"), "--limit", "3"]) == 0
    assert "mix-4dw.kernel.data" in capsys.readouterr().err
