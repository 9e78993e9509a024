"""Whole sweeps on a machine in a folder, whose workload reads the attribute: what is found, and what is left when something goes wrong."""

from __future__ import annotations

import itertools
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars
import pytest

from ptttool.api import sweep as sweep_module
from ptttool.api.machine import find_machine, recover_tune_attributes
from ptttool.api.sweep import SweepResult, sweep_options, sweep_tune_attributes
from ptttool.documents import to_json
from ptttool.errors import BusyError, HardwareError, InputError, OutputError, PtttoolError, UsageError, WorkloadError
from ptttool.machine.model import PttDevice
from ptttool.machine.sources.files import FolderFiles
from ptttool.sweep.log import RunLog
from ptttool.sweep.results import METADATA_KEY, write_results
from ptttool.sweep.run import SweepProgress
from ptttool.sweep.statistics import Verdict
from ptttool.tune.session import tuning
from tests import ROOT
from tests.support import machines

# A rate of 100, 10 more for each step of qos_tx_p, noise that repeats every 7 calls, and what each test adds.
WORKLOAD = """
v=$(cat $TUNE/qos_tx_p); n=$(cat $COUNT 2>/dev/null || echo 0); n=$((n + 1)); echo $n > $COUNT
{extra}
echo rate=$((100 + {effect} * v + n * n % 7))
"""
RATE = "rate=([-0-9.]+|nan)"
WRITE: Callable[[FolderFiles, str, bytes], None] = FolderFiles.write


class Bench:
    """A machine in a folder, and a workload on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tree = machines.copy_of(machines.NEW, folder)
        self.tune = self.tree / "sys/bus/event_source/devices/hisi_ptt0_0/tune"
        self.output = folder / "r.parquet"
        self.log = folder / "r.parquet.runs"

    @property
    def device(self) -> PttDevice:
        return find_machine(self.tree).devices[0]

    def command(self, extra: str = "", effect: int = 10) -> list[str]:
        text = WORKLOAD.format(extra=extra, effect=effect)
        return ["env", f"TUNE={self.tune}", f"COUNT={self.folder / 'count'}", "sh", "-c", text]

    def sweep(
        self, extra: str = "", effect: int = 10, *, output: str | None = "r.parquet", keywords: dict[str, Any] | None = None, **options: Any
    ) -> SweepResult:
        known: dict[str, Any] = {"attributes": ["qos_tx_p"], "values": [0, 1, 2], "metrics": [RATE], "seed": 1}
        chosen = sweep_options(**known | options, command=self.command(extra, effect))
        return sweep_tune_attributes(self.device, chosen, None if output is None else self.folder / output, **keywords or {})

    def values(self) -> dict[str, int]:
        return {path.name: int(path.read_text()) for path in self.tune.iterdir()}

    def runs(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()[1:]]

    def set(self, name: str, value: int) -> None:
        (self.tune / name).write_text(f"{value}\n")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def unchanged(bench: Bench, **but: int) -> None:
    """All attributes as on the machine that was recorded."""
    assert bench.values() == dict.fromkeys(bench.values(), 1) | but


def test_a_difference_is_found_and_everything_is_as_before(bench: Bench) -> None:
    found = bench.sweep(keywords={"picture": bench.folder / "r.svg"})
    (result,) = found.results
    assert [(one.subject, one.verdict) for one in result.comparisons] == [("qos_tx_p=0", Verdict.WORSE), ("qos_tx_p=2", Verdict.BETTER)]
    assert result.best == "qos_tx_p=2"
    unchanged(bench)
    assert recover_tune_attributes(find_machine(bench.tree)).settled
    assert not bench.log.exists()
    assert (bench.folder / "r.svg").read_text().count("<circle") == 21
    table = polars.read_parquet(bench.output)
    assert table.height == 21
    assert table["order"].to_list() == [*range(1, 22)]
    assert table.group_by("round").agg(polars.col("qos_tx_p").sort()).get_column("qos_tx_p").to_list() == [[0, 1, 2]] * 7
    # What was measured belongs to the setting that was set.
    assert (((table[RATE] - 100) / 10).floor().cast(polars.Int64) == table["qos_tx_p"]).all()
    plan = json.loads(polars.read_parquet_metadata(bench.output)[METADATA_KEY])
    assert (plan["seed"], plan["rounds"], plan["originals"]) == (1, 7, {"qos_tx_p": 1})


def test_no_difference_is_said_to_be_none(bench: Bench) -> None:
    (result,) = bench.sweep(effect=0).results
    assert {one.verdict for one in result.comparisons} == {Verdict.NO_DIFFERENCE}
    assert result.best is None
    assert all(one.detectable is not None and 0 < one.detectable < 20 for one in result.comparisons)
    unchanged(bench)


def test_two_attributes_with_original_values_that_differ(bench: Bench) -> None:
    bench.set("qos_tx_np", 2)
    found = bench.sweep(attributes=["qos_tx_p", "qos_tx_np"], values=[1, 2], rounds=2)
    assert found.plan.design.settings == ((1, 2), (1, 1), (2, 1), (2, 2))
    assert len(found.runs) == 8
    assert [one.code for one in found.diagnostics] == ["too-few-rounds"]
    unchanged(bench, qos_tx_np=2)


def test_warm_up_does_not_count(bench: Bench) -> None:
    found = bench.sweep(rounds=1, warmup=3)
    assert len(found.runs) == 3
    assert (bench.folder / "count").read_text() == "6\n"


def test_progress_has_a_time_after_the_first_run(bench: Bench) -> None:
    seen: list[SweepProgress] = []
    bench.sweep(rounds=2, keywords={"progress": seen.append})
    seen = [one for one in seen if not one.elapsed]
    assert [one.done for one in seen] == [done for number in range(6) for done in (number, number + 1)]
    assert [one.left is None for one in seen] == [True] + [False] * 11
    assert seen[-1].left == 0


def test_progress_of_a_long_run(bench: Bench) -> None:
    seen: list[SweepProgress] = []
    bench.sweep("[ $n = 2 ] && sleep 1.3", values=[2], rounds=1, keywords={"progress": seen.append})
    (during,) = [one for one in seen if one.elapsed]
    assert (during.done, during.run, 1 <= during.elapsed < 10) == (1, None, True)


@pytest.mark.parametrize(
    ("extra", "code", "ending"),
    [
        ("echo broken >&2; exit 3", "workload-failed", "failed"),
        ("kill -9 $$", "workload-failed", "failed"),
        ("echo nothing; exit 0", "no-metric", "no-metric"),
        ("echo rate=nan; exit 0", "no-metric", "no-metric"),
        ("sleep 60", "workload-failed", "timeout"),
    ],
)
def test_a_first_run_that_fails_ends_the_sweep(bench: Bench, extra: str, code: str, ending: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        bench.sweep(extra, timeout=0.3)
    assert (caught.value.code, caught.value.details["ending"], caught.value.details["restored"]) == (code, ending, True)
    unchanged(bench)
    assert not bench.log.exists()
    assert not bench.output.exists()


def test_later_runs_that_fail_do_not_count(bench: Bench) -> None:
    found = bench.sweep("[ $n = 2 ] && exit 7; [ $n = 3 ] && sleep 60; [ $n = 5 ] && { echo rate=nan; exit 0; }", timeout=0.5, rounds=2)
    assert [run.ending for run in found.runs] == ["done", "failed", "timeout", "done", "no-metric", "done"]
    assert [run.exit for run in found.runs][1:3] == [7, -15]
    assert found.failed == 3
    assert "failed-runs" in [one.code for one in found.diagnostics]
    assert polars.read_parquet(bench.output)[RATE].null_count() == 3
    unchanged(bench)


def test_an_attribute_that_another_program_changes_ends_the_sweep(bench: Bench) -> None:
    with pytest.raises(HardwareError) as caught:
        bench.sweep("[ $n = 3 ] && echo $(((v + 1) % 3)) > $TUNE/qos_tx_p")
    assert (caught.value.code, caught.value.details["restored"], caught.value.details["runs"]) == ("changed-outside", True, 2)
    unchanged(bench)
    assert len(bench.runs()) == 2


def test_an_attribute_that_vanishes_ends_the_sweep(bench: Bench) -> None:
    with pytest.raises(HardwareError) as caught:
        bench.sweep("[ $n = 3 ] && rm $TUNE/qos_tx_p")
    assert (caught.value.code, caught.value.details["cause"]) == ("not-restored", "device-gone")
    assert caught.value.details["state"] == [{"device": "hisi_ptt0_0", "attribute": "qos_tx_p", "was": 1, "holds": None}]
    assert len(bench.runs()) == 2
    # The journal keeps what is to be restored.
    left = recover_tune_attributes(find_machine(bench.tree))
    assert [(one.attribute, one.old, one.new, one.state) for one in left.unfinished.attributes] == [("qos_tx_p", 1, 1, "gone")]
    bench.set("qos_tx_p", 2)
    assert recover_tune_attributes(find_machine(bench.tree), "restore").settled
    unchanged(bench)


def fail_at(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], object]) -> None:
    """Do something instead of the write with a number."""
    calls = itertools.count(1)

    def write(self: FolderFiles, path: str, data: bytes) -> None:
        if next(calls) == number:
            act()
        else:
            WRITE(self, path, data)

    monkeypatch.setattr(FolderFiles, "write", write)


def refuse() -> None:
    raise OSError(22, os.strerror(22))


def test_values_that_cannot_be_restored_at_the_end_cost_no_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []

    def write(self: FolderFiles, path: str, data: bytes) -> None:
        if len(done) == 3:
            raise OSError(110, os.strerror(110))
        WRITE(self, path, data)

    with monkeypatch.context() as patch, pytest.raises(HardwareError) as caught:
        patch.setattr(FolderFiles, "write", write)
        # In its only round, the original value is not the last one.
        bench.sweep(rounds=1, keywords={"progress": lambda one: done.append(1) if one.run is not None else None})
    assert (caught.value.code, caught.value.details["runs"]) == ("not-restored", 3)
    assert caught.value.details["state"][0]["was"] == 1
    assert recover_tune_attributes(find_machine(bench.tree), "restore").settled
    unchanged(bench)
    assert len(bench.sweep(rounds=1, keywords={"resume": bench.log}).runs) == 3


@pytest.mark.parametrize("number", [1, 2, 4, 6])
def test_a_value_that_is_refused(bench: Bench, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    fail_at(monkeypatch, number, refuse)
    with pytest.raises(HardwareError) as caught:
        bench.sweep()
    assert (caught.value.code, caught.value.details["restored"]) == ("refused", True)
    unchanged(bench)
    # Before the first run, each value is written once.
    assert (bench.folder / "count").exists() == (number == 6)


def test_values_that_the_hardware_clamps_are_one_setting(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(self: FolderFiles, path: str, data: bytes) -> None:
        WRITE(self, path, b"1\n" if data == b"2\n" else data)

    monkeypatch.setattr(FolderFiles, "write", write)
    found = bench.sweep()
    assert found.plan.design.settings == ((1,), (0,))
    assert [(one.code, one.details) for one in found.diagnostics] == [("clamped-by-hardware", {"asked": 2, "taken": 1})]
    assert len(found.runs) == 12  # six rounds are enough for one comparison
    unchanged(bench)
    with pytest.raises(UsageError) as caught:
        bench.sweep(values=[2], keywords={"force": True})
    assert caught.value.code == "one-setting"
    unchanged(bench)


def test_values_above_the_largest_are_clamped_as_elsewhere(bench: Bench) -> None:
    found = bench.sweep(values=["2", "7", "99999999999999999999"], rounds=1)
    assert found.plan.design.settings == ((1,), (2,))
    assert [one.code for one in found.diagnostics] == ["clamped-value", "clamped-value", "too-few-rounds"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_signals_restore_and_keep_the_runs(bench: Bench, number: signal.Signals) -> None:
    # The workload tells the process that runs the sweep.
    cut = f"[ $n = 3 ] && kill -{number.name[3:]} {os.getpid()} && sleep 60"
    with pytest.raises(PtttoolError) as caught:
        bench.sweep(cut)
    assert (caught.value.exit_code, caught.value.details["restored"], caught.value.details["runs"]) == (128 + number, True, 2)
    assert caught.value.hint == f"--resume {bench.log} goes on"
    unchanged(bench)
    again = bench.sweep(cut, keywords={"resume": bench.log})
    assert [run.order for run in again.runs] == [*range(1, 22)]


CUT = f"[ $n = 3 ] && kill -INT {os.getpid()} && sleep 60"


def cut(bench: Bench) -> None:
    """Leave the runs of a sweep that was interrupted in its third run."""
    with pytest.raises(PtttoolError):
        bench.sweep(CUT)


def test_resuming_refuses_other_settings(bench: Bench) -> None:
    cut(bench)
    for options in ({"values": [0, 1]}, {"rounds": 9}, {"metrics": ["rate=(.*)"]}, {"seed": 2}, {"attributes": ["qos_tx_np"]}):
        with pytest.raises(InputError) as caught:
            bench.sweep(CUT, keywords={"resume": bench.log}, **options)
        assert caught.value.code == "other-sweep"
    with pytest.raises(InputError):
        bench.sweep("true", keywords={"resume": bench.log})
    bench.set("qos_tx_p", 0)
    with pytest.raises(InputError) as caught:
        bench.sweep(CUT, keywords={"resume": bench.log})
    assert "originals" in caught.value.details["different"]
    assert len(bench.runs()) == 2


def test_a_sweep_that_was_cut_off_before_its_first_run_begins_anew(bench: Bench) -> None:
    bench.log.write_bytes(b"")
    with pytest.raises(InputError) as caught:
        bench.sweep("true", keywords={"resume": bench.log})
    assert caught.value.code == "not-a-sweep"
    bench.sweep("true")
    assert not bench.log.exists()


def test_the_results_are_beside_the_runs_whatever_these_say(bench: Bench) -> None:
    """Who wrote a file of runs does not choose what is written."""
    cut(bench)
    victim = bench.folder / "victim"
    victim.mkdir()
    (victim / "r.parquet").write_text("precious")
    whole = bench.log.read_bytes()
    for there in (victim / "r.parquet", "../r.parquet", "other.parquet"):
        bench.log.write_bytes(whole.replace(b'"output":"r.parquet"', f'"output":"{there}"'.encode()))
        with pytest.raises(InputError) as caught:
            bench.sweep(CUT, output=None, keywords={"resume": bench.log, "force": True})
        assert (caught.value.code, caught.value.details["different"]) == ("other-sweep", ["output"])
    elsewhere = bench.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "r.parquet.runs").write_bytes(whole)
    found = bench.sweep(CUT, output=None, keywords={"resume": elsewhere / "r.parquet.runs"})
    assert (found.output, len(found.runs)) == (elsewhere / "r.parquet", 21)
    assert (victim / "r.parquet").read_text() == "precious"
    bench.log.write_bytes(whole)
    odd = bench.log.rename(bench.folder / "runs")
    with pytest.raises(UsageError) as refused:
        bench.sweep(CUT, output=None, keywords={"resume": odd})
    assert refused.value.code == "no-output"


def test_a_new_sweep_does_not_overwrite_runs(bench: Bench) -> None:
    cut(bench)
    with pytest.raises(OutputError) as caught:
        bench.sweep()
    assert caught.value.code == "exists"
    assert len(bench.runs()) == 2
    assert len(bench.sweep(keywords={"force": True}).runs) == 21
    with pytest.raises(OutputError) as caught:
        bench.sweep()
    assert caught.value.code == "exists"


def test_damaged_files_of_runs(bench: Bench) -> None:
    cut(bench)
    whole = bench.log.read_bytes()
    # The last line was cut off: that run is done again.
    bench.log.write_bytes(whole[:-5])
    found = bench.sweep(CUT, keywords={"resume": bench.log})
    assert len(found.runs) == 21
    bench.output.unlink()
    for damaged in (
        b"",
        b"x\n",
        b"{}\n",
        whole.replace(b'"version":1', b'"version":9'),
        whole.replace(b'"order":1', b'"order":"x"'),
        whole[:40] + whole[60:],
        # What no run has, and no file of results can hold.
        whole.replace(b'"exit":0', b'"exit":4294967296'),
        whole.replace(b'"round":1', b'"round":8'),
        whole.replace(b'"round":1', b'"round":-1'),
        whole.replace(b'"order":1', b'"order":4294967296'),
        re.sub(rb'"setting":\[\d\]', b'"setting":[65536]', whole),
        re.sub(rb'"seconds":[0-9.]+', b'"seconds":Infinity', whole),
        re.sub(rb'"started":"', rb'"started":"\\ud800', whole),
    ):
        assert damaged != whole
        bench.log.write_bytes(damaged)
        with pytest.raises(InputError):
            bench.sweep(CUT, keywords={"resume": bench.log})
        assert bench.log.read_bytes() == damaged
    bench.log.unlink()
    with pytest.raises(InputError):
        bench.sweep(keywords={"resume": bench.log})
    bench.log.symlink_to(bench.folder / "elsewhere")
    with pytest.raises(InputError):
        bench.sweep(keywords={"resume": bench.log})
    with pytest.raises(OutputError):
        bench.sweep()
    unchanged(bench)


def test_a_full_disk_keeps_the_runs_so_far(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    append = RunLog._append

    def full(self: RunLog, record: Any) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = bench.log.stat().st_size
        if record.get("order") == 4:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, hard))
        try:
            append(self, record)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    with monkeypatch.context() as patch, pytest.raises(OutputError) as caught:
        patch.setattr(RunLog, "_append", full)
        bench.sweep()
    assert (caught.value.code, caught.value.details["runs"], caught.value.details["restored"]) == ("file-too-large", 3, True)
    unchanged(bench)
    assert len(bench.runs()) == 3
    assert len(bench.sweep(keywords={"resume": bench.log}).runs) == 21


def test_results_that_cannot_be_written_cost_no_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object, *rest: Any, **__: object) -> None:
        write_results("/dev/full", *rest, force=True)

    with monkeypatch.context() as patch, pytest.raises(OutputError) as caught:
        patch.setattr(sweep_module, "write_results", full)
        bench.sweep()
    assert caught.value.code == "disk-full"
    assert str(caught.value.hint).endswith(f"--resume {bench.log} goes on")
    assert len(bench.runs()) == 21
    count = (bench.folder / "count").read_text()
    assert len(bench.sweep(keywords={"resume": bench.log}).runs) == 21
    assert (bench.folder / "count").read_text() == count
    unchanged(bench)


def test_nobody_else_tunes_meanwhile(bench: Bench) -> None:
    source = bench.device.source
    assert source is not None
    with tuning(source, "a test"), pytest.raises(BusyError), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep_module, "tuning", partial(tuning, wait=0.05))
        bench.sweep()


KILLED = """
import sys
from pathlib import Path
from tests.sweep.test_sweep import Bench
bench = Bench.__new__(Bench)
bench.folder = Path(sys.argv[1]); bench.tree = bench.folder / sys.argv[2]; bench.output = bench.folder / "r.parquet"
bench.tune = bench.tree / "sys/bus/event_source/devices/hisi_ptt0_0/tune"; bench.log = bench.folder / "r.parquet.runs"
bench.sweep('[ $n = 4 ] && kill -9 $(cat $COUNT.pid) && sleep 1')
"""


@pytest.mark.slow
def test_after_sigkill_the_journal_restores_and_the_sweep_goes_on(bench: Bench) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(bench.folder), machines.NEW], cwd=ROOT)
    (bench.folder / "count.pid").write_text(str(process.pid))
    assert process.wait(120) == -signal.SIGKILL
    assert len(bench.runs()) == 3
    machine = find_machine(bench.tree)
    found = recover_tune_attributes(machine)
    # The fourth run is one with another value than the original one, by the seed.
    assert bench.values()["qos_tx_p"] != 1
    assert [(one.attribute, one.old, one.new, one.state) for one in found.unfinished.attributes] == [("qos_tx_p", 1, 1, "between")]
    time.sleep(0.1)
    with pytest.raises(HardwareError) as caught:
        bench.sweep("[ $n = 4 ] && kill -9 $(cat $COUNT.pid) && sleep 1", keywords={"resume": bench.log})
    assert caught.value.code == "half-done"
    assert recover_tune_attributes(machine, "restore").settled
    unchanged(bench)
    again = bench.sweep("[ $n = 4 ] && kill -9 $(cat $COUNT.pid) && sleep 1", keywords={"resume": bench.log})
    assert len(again.runs) == 21
    unchanged(bench)


@pytest.mark.slow
def test_kills_at_every_write(bench: Bench) -> None:
    """Before and after each write: where the value is not the original one, the journal says so, and restores it."""
    command = [sys.executable, "-m", "tests.support.sweep_kills", str(bench.tree), str(bench.output)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT, check=True)
    points = [json.loads(line) for line in done.stdout.splitlines()]
    # Values are tried: 0, 2, 1. Then the settings of one round, by the seed, and the original value again.
    assert len(points) >= 11
    assert [point["killed"] for point in points] == [True] * (len(points) - 1) + [False]
    for point in points:
        assert point["half"] == (point["value"] != 1), point
        assert (point["repaired"], point["after"], point["rest"]) == (True, 1, True), point
    assert {point["value"] for point in points} == {0, 1, 2}
    assert points[-2]["runs"] == 3
    unchanged(bench)


def test_traces_during_runs(bench: Bench) -> None:
    from ptttool.api.capture import build_event, plan_recording

    machine = find_machine(demo=True)
    options = sweep_options(["qos_tx_p"], [0], ["trace:latency.ticks.p99", "trace:summary.records"], ["true"], rounds=2, minimize=True)
    chosen = build_event(machine, root_ports=["nvme0"], direction="both")
    found = sweep_tune_attributes(machine.devices[0], options, bench.output, trace=plan_recording(chosen, duration=1))
    assert {run.metrics["trace:latency.ticks.p99"] for run in found.runs} == {1435.0}
    assert {run.metrics["trace:summary.records"] for run in found.runs} != {None}
    assert found.observer is not None
    assert (found.observer.without, found.observer.traced, found.observer.skipped is None) == ({}, {}, False)
    for metrics, plan in (
        (["run:seconds"], plan_recording(chosen, duration=1)),
        (["trace:latency.a"], None),
        (["trace:latency.a"], plan_recording(chosen, duration=61)),
    ):
        with pytest.raises(UsageError):
            sweep_tune_attributes(
                machine.devices[0], sweep_options(["qos_tx_p"], [0], metrics, ["true"]), bench.folder / "x.parquet", trace=plan
            )
    with pytest.raises(WorkloadError) as caught:
        options = sweep_options(["qos_tx_p"], [0], ["trace:latency.nothing"], ["true"])
        sweep_tune_attributes(machine.devices[0], options, bench.folder / "x.parquet", trace=plan_recording(chosen, duration=1))
    assert caught.value.code == "no-metric"


def test_what_recording_costs_the_workload(bench: Bench) -> None:
    """One run without a trace and one with it, before the rounds, with the original values; they do not count."""
    from ptttool.api.capture import build_event, plan_recording

    machine = find_machine(demo=True)
    plan = plan_recording(build_event(machine, root_ports=["nvme0"], direction="both"), duration=1)
    # The workload counts its own runs.
    counter = bench.folder / "counter"
    command = ["sh", "-c", f"echo x >> {counter}; echo number=$(wc -l < {counter})"]
    metrics = ["regex:number=([0-9]+)", "trace:latency.ticks.p99"]
    options = sweep_options(["qos_tx_p"], [0], metrics, command, rounds=2, warmup=1, minimize=True)
    found = sweep_tune_attributes(machine.devices[0], options, bench.output, trace=plan)
    assert found.observer is not None
    assert (found.observer.without, found.observer.traced, found.observer.skipped) == ({metrics[0]: 2.0}, {metrics[0]: 3.0}, None)
    assert [run.metrics[metrics[0]] for run in found.runs] == [4.0, 5.0, 6.0, 7.0]
    assert to_json(found)["observer"] == {"without": {metrics[0]: 2.0}, "traced": {metrics[0]: 3.0}, "skipped": None}


def test_a_workload_that_fails_while_it_is_compared(bench: Bench) -> None:
    from ptttool.api.capture import build_event, plan_recording

    machine = find_machine(demo=True)
    plan = plan_recording(build_event(machine, root_ports=["nvme0"], direction="both"), duration=1)
    counter = bench.folder / "counter"
    command = ["sh", "-c", f"echo x >> {counter}; test $(wc -l < {counter}) != 2"]
    options = sweep_options(["qos_tx_p"], [0], ["run:seconds", "trace:latency.ticks.p99"], command, rounds=1, minimize=True)
    found = sweep_tune_attributes(machine.devices[0], options, bench.output, trace=plan)
    assert found.observer is not None
    assert (found.observer.without, found.observer.traced, found.observer.skipped is None) == ({}, {}, False)
    assert found.failed == 0


def test_no_trace_costs_nothing(bench: Bench) -> None:
    found = sweep_tune_attributes(
        find_machine(demo=True).devices[0], sweep_options(["qos_tx_p"], [0], ["run:seconds"], ["true"], rounds=1), bench.output
    )
    assert found.observer is None
