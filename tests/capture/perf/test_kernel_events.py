"""The kernel's events: with the real perf and this machine's tracepoints, and with commands that are no perf."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path

import pytest

from ptttool.capture.perf.kernel_events import NOT_RECORDED, EventRecording
from ptttool.capture.perf.recorder import is_complete
from ptttool.capture.perf.switch import Switch
from ptttool.capture.perf.tracepoints import GROUPS, Tracepoint, TracepointPlan, find_tracepoints, parse_groups, tracefs_of
from ptttool.diagnostics import Diagnostic
from ptttool.errors import UsageError
from ptttool.machine.discovery import open_source, read_machine
from ptttool.machine.sources.tree import TreeSource
from ptttool.pci import PciAddress
from ptttool.testing import kunpeng
from tests.capture.perf.test_recorder import recorder

PORT = PciAddress.parse("0000:00:10.0")


@cache
def without_tracepoints() -> str | None:
    """Why the real perf cannot record a tracepoint here; it mounts the tracefs itself where it may."""
    if shutil.which("perf") is None:
        return "no perf"
    words = ["perf", "record", "-a", "-B", "-e", "irq:irq_handler_entry", "-o", "/dev/null", "true"]
    done = subprocess.run(words, capture_output=True, text=True)
    return None if done.returncode == 0 else next(iter(done.stderr.splitlines()), "perf fails")


def needs_tracepoints() -> None:
    if (why := without_tracepoints()) is not None:
        pytest.skip(why)


def test_the_real_perf_records_them(tmp_path: Path) -> None:
    """Of all CPUs, only while they are on, filtered, with stacks where they are asked for."""
    needs_tracepoints()
    output = tmp_path / "x.data"
    output.touch()
    mine = f"common_pid == {os.getpid()}"
    plan = TracepointPlan((Tracepoint("sched:sched_process_fork", mine, stacks=True), Tracepoint("irq:irq_handler_exit", "irq < 0")))
    with EventRecording(plan, output) as events:
        assert events.is_ready()
        subprocess.run(["true"], check=True)
        assert events.turned(on=True)
        for _ in range(3):
            subprocess.run(["true"], check=True)
        assert events.turned(on=False)
        subprocess.run(["true"], check=True)
        lasted, problem = events.ended(time.monotonic())
    assert (lasted, problem, is_complete(output)) == (True, None, True)
    said = subprocess.run(["perf", "script", "-i", output, "-F", "event,ip,sym"], capture_output=True, text=True, check=True).stdout
    assert len(re.findall(r"^sched:sched_process_fork:", said, re.MULTILINE)) == 3
    assert "irq_handler_exit" not in said
    assert len(re.findall(r"^\s+[0-9a-f]{8,16} ", said, re.MULTILINE)) >= 3


def test_the_clock_of_both_is_one(tmp_path: Path) -> None:
    """Neither perf is given a clock: an event of each lies in the order of the calls that caused them."""
    needs_tracepoints()
    times = []
    for name in "first", "second":
        output = tmp_path / name
        output.touch()
        with EventRecording(TracepointPlan((Tracepoint("sched:sched_process_fork", f"common_pid == {os.getpid()}"),)), output) as events:
            assert events.is_ready()
            assert events.turned(on=True)
            subprocess.run(["true"], check=True)
            assert events.turned(on=False)
            assert events.ended(1.0) == (True, None)
        words = ["perf", "script", "--ns", "-i", str(output), "-F", "time"]
        times += subprocess.run(words, capture_output=True, text=True, check=True).stdout.replace(":", "").split()
    before, after = map(float, times)
    assert 0 < after - before < 60


def test_the_kernel_takes_all_filters(tmp_path: Path) -> None:
    needs_tracepoints()
    output = tmp_path / "x.data"
    output.touch()
    wanted = (
        Tracepoint("block:block_rq_issue", "dev == 271581185 || dev == 8388608"),
        Tracepoint("irq:irq_handler_entry", "(irq >= 33 && irq <= 35) || irq == 40"),
        Tracepoint("napi:napi_poll", 'dev_name == "ens2" || dev_name == "enP1p2s0f0np1.100"'),
        Tracepoint("net:netif_receive_skb", 'name == "ens2"'),
        Tracepoint("net:net_dev_xmit", 'name == "ens2"'),
    )
    there = tracefs_of(open_source())
    assert isinstance(there, str)
    events = tuple(one for one in wanted if Path(there, "events", one.event.replace(":", "/")).is_dir())
    assert events
    with EventRecording(TracepointPlan(events), output) as recording:
        assert recording.is_ready()
        assert recording.turned(on=True)
        assert recording.ended(1.0) == (True, None)


def test_what_the_real_perf_refuses(tmp_path: Path) -> None:
    needs_tracepoints()
    for wrong in Tracepoint("nvme:no_such_event"), Tracepoint("irq:irq_handler_exit", "nonsense == 3"):
        output = tmp_path / "x.data"
        output.touch()
        with EventRecording(TracepointPlan((wrong,)), output) as recording:
            assert not recording.is_ready()
            lasted, problem = recording.ended(None)
        assert problem is not None
        assert (lasted, problem.code) == (False, NOT_RECORDED)
        assert wrong.event in problem.message


@pytest.mark.parametrize("program", ["nonexistent", "true", "yes"])
def test_what_is_no_perf(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptttool.capture.perf.told._READY", 0.2)
    monkeypatch.setattr(EventRecording, "patience", 0.2)
    monkeypatch.setattr(EventRecording, "_command", lambda *_: [program])
    before = len(list(Path("/proc/self/fd").iterdir()))
    with EventRecording(TracepointPlan((Tracepoint("irq:irq_handler_exit"),)), tmp_path / "x.data") as recording:
        assert not recording.is_ready()
        _, problem = recording.ended(None)
    assert problem is not None
    assert problem.code == NOT_RECORDED
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_on_before_the_trace_and_off_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    switched = Switch._noting

    class Heard(EventRecording):
        def is_ready(self) -> bool:
            return True

        def turned(self, *, on: bool) -> bool:
            noted(f"around {'on' if on else 'off'}")
            return True

    def noted(what: str) -> None:
        with (tmp_path / "told").open("a") as file:  # by the process that speaks with perf
            file.write(f"{what}\n")

    def noting(switch: Switch, what: str, at: float | None = None) -> None:
        noted(what)
        switched(switch, what, at)

    monkeypatch.setattr(Switch, "_noting", noting)
    monkeypatch.setattr(Heard, "_command", lambda *_: ["sleep", "9"])
    monkeypatch.setattr(Heard, "patience", 0.2)
    with Heard(TracepointPlan(), tmp_path / "k") as around, Switch(around=around) as switch:
        outcome = recorder(tmp_path / "x.data", switch, seconds=0.2).run()
        assert outcome.begun
        assert switch.around_from is not None
        assert switch.enabled is not None
        assert switch.around_from <= switch.enabled
        deadline = time.monotonic() + 5
        while len(told) < 7 and time.monotonic() < deadline:
            told = (tmp_path / "told").read_text().splitlines()
    assert told == ["around on", "around_from", "enabling", "enabled", "disabling", "disabled", "around off"]


# ---- which events


class Running(TreeSource):
    """A machine in a folder that passes for the running one."""

    live = True


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    machine = kunpeng()
    folder = Path(machine.write_to(tmp_path / "machine"))
    for names in GROUPS.values():
        for name in names:
            (folder / "sys/kernel/debug/tracing/events" / name.replace(":", "/")).mkdir(parents=True)
    return folder


def filters(tree: Path, groups: str, *, live: bool = True, address: PciAddress = PORT) -> dict[str, str]:
    source = Running(tree) if live else TreeSource(tree)
    plan = find_tracepoints(source, read_machine(source), [address], parse_groups(groups.split(",")))
    return {one.event.partition(":")[2]: one.filter for one in plan.events}


def test_of_a_machine(tree: Path) -> None:
    assert filters(tree, "nvme") == dict.fromkeys(("nvme_setup_cmd", "nvme_complete_rq", "nvme_sq"), "ctrl_id == 0")
    assert filters(tree, "mmio-stacks") == {"rwmmio_read": "", "rwmmio_write": ""}
    card = PciAddress.parse("0000:00:15.0")
    two = 'name == "ens6f0" || name == "ens6f1"'
    assert filters(tree, "net", address=card) == {
        "napi_poll": two.replace("name", "dev_name"),
        "netif_receive_skb": two,
        "net_dev_xmit": two,
    }
    # What is traced has none: not those of other devices instead.
    assert filters(tree, "net") == filters(tree, "nvme,block,irq", address=card) == {}
    # A recorded machine does not hold the numbers of interrupts and disks.
    names = ("block_rq_issue", "block_rq_complete", "irq_handler_entry", "irq_handler_exit")
    assert filters(tree, "irq,block", live=False) == dict.fromkeys(names, "")


def test_a_filter_that_the_kernel_does_not_take(tree: Path) -> None:
    """It has one page for it: then all are recorded."""
    function = next(tree.glob("sys/devices/platform/*/pci0000:00/0000:00:10.0/0000:01:00.0"))
    (function / "msi_irqs").mkdir()
    for number in range(100, 2100, 2):
        (function / "msi_irqs" / str(number)).write_text("msix\n")
    assert filters(tree, "irq") == {"irq_handler_entry": "", "irq_handler_exit": ""}


def test_a_disk_with_several_paths(tree: Path) -> None:
    function = next(tree.glob("sys/devices/platform/*/pci0000:00/0000:00:10.0/0000:01:00.0"))
    disk = function / "nvme/nvme0/nvme0n1"
    (disk / "dev").write_text("259:3\n")
    assert filters(tree, "block") == dict.fromkeys(("block_rq_issue", "block_rq_complete"), f"dev == {259 << 20 | 3}")
    (disk / "dev").write_text("259:x\n")
    assert filters(tree, "block") == {}


def test_no_tracefs(tmp_path: Path) -> None:
    found = tracefs_of(Running(kunpeng().write_to(tmp_path / "machine")))
    assert isinstance(found, Diagnostic)
    assert found.code == "no-tracefs"


def test_groups() -> None:
    assert parse_groups([" IRQ", "nvme"]) == ("nvme", "irq")
    assert parse_groups(()) == ()
    for wrong in (["nvme", ""], ["all"]):
        with pytest.raises(UsageError):
            parse_groups(wrong)
