"""The clock that ``trace`` keeps beside a recording, in every command that speaks of time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import ptttool
from ptttool.capture.sidecar import Sidecar, save
from ptttool.cli.main import main
from ptttool.generate.recording import GeneratedRecording, Wanted
from ptttool.machine.measured import ClockSource, KeptClock
from ptttool.machine.model import Machine
from ptttool.pipeline.analyzing.ask import Ask
from ptttool.pipeline.recording import OpenRecording, Request
from ptttool.pipeline.workers.pool import ALONE
from ptttool.report.gather import report_of
from tests.analyses.test_bandwidth import fast
from tests.exporters.test_pcapng import exported as exported_packets
from tests.support.perfetto import query

CLOCK = KeptClock("counter", 32, 4.0, 3.9995, 4.0005, 61, ClockSource.SELF_TEST, "2026-11-20T10:00:00+00:00")
WRONG = replace(CLOCK, tick_ns=1.0, low_ns=0.9995, high_ns=1.0005)
TIMED = ("bandwidth", "latency", "outstanding", "mmio", "io")


def recorded(folder: Path, clock: KeptClock | None, *, size: int = 1 << 19, seconds: float | None = None, name: str = "perf.data") -> Path:
    """A full link of 16 GT/s x4, with ticks of 4 ns, and what is kept beside it."""
    path = folder / name
    with path.open("wb") as file:
        GeneratedRecording(Wanted("nvme", "8dw", size, direction="inbound")).write(file)
    machine = fast(ptttool.find_machine(demo=True))
    save(path, Sidecar(machine=machine, clock=clock, seconds=seconds))
    return path


def facts_of(path: Path, name: str, **more: Any) -> Any:
    with ptttool.open(path) as recording:
        return recording.analyze(name, **more).time


@pytest.mark.parametrize("name", TIMED)
def test_analyses(name: str, tmp_path: Path) -> None:
    path = recorded(tmp_path, CLOCK)
    facts = facts_of(path, name)
    assert (facts.tick_ns, facts.tick_from, facts.clock, facts.dropped) == (4.0, "sidecar", CLOCK, None)
    assert facts_of(path, name, jobs=2) == facts
    assert facts_of(path, name, tick_ns=4.2).tick_from == "asked"
    assert facts_of(path, name, time_model="delta").dropped.details["reason"] == "model"


def test_older_sidecars(tmp_path: Path) -> None:
    path = recorded(tmp_path, CLOCK)
    sidecar = path.with_name("perf.data.ptttool.json")
    body = json.loads(sidecar.read_text())
    del body["clock"]
    sidecar.write_text(json.dumps(body))
    facts = facts_of(path, "bandwidth")
    assert (facts.tick_ns, facts.clock, facts.dropped) == (None, None, None)


def test_a_short_recording_is_read_by_the_kept_model(tmp_path: Path) -> None:
    path = recorded(tmp_path, CLOCK, size=6 * 32)
    facts = facts_of(path, "bandwidth")
    assert (facts.model.value, facts.evidence.model.value, facts.tick_from) == ("counter", "unknown", "sidecar")


def test_a_recording_that_is_longer_than_it_can_be(tmp_path: Path) -> None:
    path = recorded(tmp_path, replace(CLOCK, tick_ns=1e5, low_ns=9e4, high_ns=1.1e5), seconds=1.5)
    assert facts_of(path, "latency").dropped.details["reason"] == "duration"
    assert facts_of(recorded(tmp_path, CLOCK, seconds=1.5), "latency").dropped is None


def test_the_link_speaks_for_every_analysis_of_the_pass(tmp_path: Path) -> None:
    """At 1 ns a tick it would carry four times what it can."""
    path = recorded(tmp_path, WRONG)
    assert facts_of(path, "bandwidth").dropped.details["reason"] == "link"
    (found,) = ptttool.analyze(path, ["latency", "bandwidth"]).recordings
    assert {name: each.time.dropped.details["reason"] for name, each in found.results.items()} == {"latency": "link", "bandwidth": "link"}
    assert all(each.time.tick_ns is None for each in found.results.values())


@pytest.mark.parametrize(("clock", "has"), [(CLOCK, False), (WRONG, True)])
def test_the_report_says_it(clock: KeptClock, has: bool, tmp_path: Path) -> None:
    path = recorded(tmp_path, clock)
    with OpenRecording(Request(str(path))) as recording:
        report = report_of(recording, Ask(ALONE, machine=recording.machine))
    codes = [each.code for each in report.advice]
    assert ("clock-dropped" in codes, "tick-unknown" in codes) == (has, False)


def test_comparisons_are_in_nanoseconds(tmp_path: Path) -> None:
    first = recorded(tmp_path, CLOCK, name="a.data")
    second = recorded(tmp_path, replace(CLOCK, tick_ns=4.0001), name="b.data")
    third = recorded(tmp_path, None, name="c.data")
    both, one = ptttool.compare(first, second), ptttool.compare(first, third)
    units, ticks = ({each.unit for each in found.measures} for found in (both, one))
    assert any("second" in unit for unit in units)
    assert not any("second" in unit or unit == "ns" for unit in ticks)
    assert [side.tick_ns for side in both.recordings] == [4.0, 4.0001]
    assert all("2026-11-20" in str(side.tick_text) for side in both.recordings)
    assert "other-time" not in [each.code for each in both.warnings]
    assert "other-time" in [each.code for each in one.warnings]
    wrong = ptttool.compare(first, recorded(tmp_path, replace(CLOCK, model="delta"), name="d.data"))
    assert {"other-time", "clock-dropped"} <= {each.code for each in wrong.warnings}


def exported(path: Path, to: str, *options: str) -> Path:
    target = path.with_suffix(f".{to}")
    assert main(["decode", str(path), "--to", to, "-o", str(target), "--force", *options]) == 0
    return target


def test_perfetto(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "select name from track where name like '%1 tick is%'"
    ((track,),) = query(exported(recorded(tmp_path, CLOCK), "perfetto").read_bytes(), text)
    assert "4 ns, measured" in track["name"]
    assert "2026-11-20" in track["name"]
    dropped = recorded(tmp_path, replace(CLOCK, tick_ns=1e5, low_ns=9e4, high_ns=1.1e5), seconds=1.5)
    capsys.readouterr()
    trace = exported(dropped, "perfetto").read_bytes()
    assert "clock" in capsys.readouterr().err
    ((track,),) = query(trace, "select name from track where name like '%1 tick is shown as 1 ns%'")
    assert track


def test_packets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path, CLOCK)
    with ptttool.open(path) as recording:
        ticks = recording.to_polars(["time"])["time"]
    found = exported_packets(path, tmp_path)
    packet = found.packets[-1]
    assert packet.fields[1] << 32 | packet.fields[2] == 4 * (ticks[-1] - ticks[0])
    comment = b"".join(value for number, value in found.section.options if number == 1)
    assert b"4 ns, measured by the self-test on 2026-11-20" in comment
    dropped = recorded(tmp_path, replace(CLOCK, tick_ns=1e5, low_ns=9e4, high_ns=1.1e5), seconds=1.5)
    capsys.readouterr()
    exported(dropped, "pcapng")
    assert "doubtful" in capsys.readouterr().err


def test_packets_of_several_recordings_are_of_no_one_clock(tmp_path: Path) -> None:
    paths = [str(recorded(tmp_path, CLOCK, name=name)) for name in ("a.data", "b.data")]
    target = tmp_path / "x.pcapng"
    assert main(["decode", *paths, "--to", "pcapng", "-o", str(target)]) == 0
    assert b"a tick is written as 1 ns" in target.read_bytes()


def test_info(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path, CLOCK)
    assert main(["info", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["clock"]["when"] == CLOCK.when
    assert main(["info", str(path)]) == 0
    assert "2026-11-20" in capsys.readouterr().out


def test_follow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "perf.data"
    with path.open("wb") as file:
        GeneratedRecording(Wanted("nvme", "8dw", 1 << 17)).write(file)
    machine: Machine = fast(ptttool.find_machine(demo=True))
    save(path, Sidecar(machine=machine, clock=CLOCK))
    with ptttool.open(path) as recording:
        reads = recording.to_polars(["index", "kind"], "kind = 'MRd'")["index"].to_list()
        found = next(one for one in map(recording.follow, reads) if one.ticks_to_last)
    assert (found.tick_ns, found.time.tick_from if found.time else None) == (4.0, "sidecar")
    assert main(["decode", str(path), "--follow", str(found.index)]) == 0
    assert "2026-11-20" in capsys.readouterr().out
