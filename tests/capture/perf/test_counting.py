"""Counters beside a trace: with the real perf, which counts an event of software, and with commands that are no perf."""

from __future__ import annotations

import errno
import os
import shutil
import time
from pathlib import Path

import pytest

from ptttool.capture.perf import told as module
from ptttool.capture.perf.counters import CounterPlan, counters_of_trace
from ptttool.capture.perf.counting import NOT_COUNTED, Counting
from ptttool.capture.perf.switch import Switch
from ptttool.capture.perf.tool import PerfTool
from ptttool.machine.discovery import open_source, read_machine
from ptttool.pci import PciAddress
from ptttool.testing import kunpeng
from tests.capture.perf.test_recorder import STANDIN, recorder

PLAN = CounterPlan("hisi_pcie0_core0", ("rx_mwr_cnt", "rx_mrd_cnt", "rx_mrd_latency"), "port=0x1", STANDIN)


class OfSoftware(CounterPlan, frozen=True):
    """The same options, with an event that every machine has."""

    def command_until_told(self, control: str, log: int) -> list[str]:
        words = super().command_until_told(control, log)
        return [*words[: words.index("-e")], "-e", "cpu-clock"]


@pytest.mark.skipif(shutil.which("perf") is None, reason="no perf")
def test_the_real_perf_is_told_and_answers() -> None:
    plan = OfSoftware(PLAN.pmu, PLAN.events, PLAN.filter, "perf")
    with Counting(plan) as counting:
        assert counting.is_ready()
        time.sleep(0.3)
        assert counting.turned(on=True)
        time.sleep(0.1)
        assert counting.turned(on=False)
        time.sleep(0.3)
        counting.ended(1.0, 2.0)
        value, unit, event, ran, *_ = os.pread(counting._printed, 4096, 0).decode().split(";")
    assert event == "cpu-clock"
    assert unit == "msec"
    # Of each CPU, and not of the time before and after.
    assert float(value) > 0
    assert 0.09e9 <= int(ran) / (os.cpu_count() or 1) < 0.3e9


def test_pairs_are_one_group() -> None:
    words = PLAN.command_until_told("fd:3,4", 5)
    events = [words[at + 1] for at, word in enumerate(words) if word == "-e"]
    assert events == [
        "hisi_pcie0_core0/rx_mwr_cnt,port=0x1/",
        "{hisi_pcie0_core0/rx_mrd_latency,port=0x1/,hisi_pcie0_core0/rx_mrd_cnt,port=0x1/}",
    ]


def test_what_is_no_perf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_READY", 0.2)
    monkeypatch.setattr(Counting, "patience", 0.2)
    for program in "/nonexistent/perf", "true", "yes":
        with Counting(CounterPlan(PLAN.pmu, PLAN.events, PLAN.filter, program)) as counting:
            assert not counting.is_ready()
            counted, problem = counting.ended(None, None)
        assert counted is None
        assert problem is not None
        assert (problem.code, problem.details["pmu"]) == (NOT_COUNTED, "hisi_pcie0_core0")


@pytest.mark.parametrize("name", ["pipe", "memfd_create"])
def test_without_descriptors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trace goes on; what was opened is closed."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    calls: list[object] = []
    genuine = getattr(os, name)

    def fails(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) > 1:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return genuine(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, name, fails)
        with Counting(PLAN) as counting:
            assert not counting.is_ready()
            counted, problem = counting.ended(None, None)
    assert counted is None
    assert problem is not None
    assert problem.code == NOT_COUNTED
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_trace_that_ends_before_its_event_is_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The counters are not turned on after that: they would count what is not traced."""
    monkeypatch.setenv("STANDIN_CASE", "late-to-answer")
    with Counting(PLAN) as counting, Switch(counting=counting) as switch:
        switch.off()
        recorder(tmp_path / "x.data", switch).run()
        assert (switch.counting_from, switch.counting_to) == (None, None)


@pytest.mark.parametrize("kernel", ["6.1", "6.12"])
def test_the_events_of_a_kernel(kernel: str, tmp_path: Path) -> None:
    """Those that count what is traced, of those that the kernel has and that count what they say."""
    machine = kunpeng(kernel)
    machine.add_counters("hisi_ptt0_0")
    source = open_source(machine.write_to(tmp_path / "machine"))
    device = read_machine(source).devices[0]
    port, other = PciAddress.parse("0000:00:10.0"), PciAddress.parse("0000:00:11.0")

    def events(inbound: tuple[str, ...], outbound: tuple[str, ...], *ports: PciAddress, of: PciAddress | None = None) -> set[str]:
        from ptttool.capture.event.terms import Flow

        plan = counters_of_trace(source, device, Flow(inbound, outbound), ports, of, PerfTool("perf"))
        return set() if plan is None else set(plan.events)

    new = kernel != "6.1"
    assert events(("P", "NP", "CPL B"), (), port) == {"rx_mwr_cnt", "rx_mrd_cnt", "rx_mrd_latency"} | ({"rx_cpl_flux"} if new else set())
    assert events(("P",), (), PciAddress.parse("0000:80:10.0")) == set()  # not of the bus that the PMU counts
    assert events((), ("NP",), port) == {"tx_mrd_cnt", "tx_mrd_latency"}
    assert events((), ("P",), port) == ({"tx_mwr_flux"} if new else set())
    assert events((), ("P",), port, other) == set()
    assert events(("P",), ("NP",), of=PciAddress.parse("0000:01:00.0")) == ({"rx_mwr_flux", "tx_mrd_flux"} if new else set())
