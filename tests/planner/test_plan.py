"""Plans on the recorded machine: events, volumes, counters, limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from ptttool.analyses.link import LinkRate
from ptttool.api.machine import find_machine
from ptttool.api.planning import plan_for
from ptttool.capture.event.terms import Direction, Format, TlpType
from ptttool.cli.main import main
from ptttool.errors import DeviceError
from ptttool.machine.driver import driver_of
from ptttool.machine.measured import Measured, MeasuredClock, keep, key_of
from ptttool.machine.model import FormatTerm, Machine, PciFunctions
from ptttool.machine.sources.tree import TreeSource
from ptttool.pci import PciAddress
from ptttool.planner.counters import advise
from ptttool.planner.runs import Run
from ptttool.planner.volume import LinkFacts, Volume, aux_size_for, link_facts, volume_of
from tests.support.machines import MACHINES, NEW, copy_of

GEN4_X16 = LinkFacts(LinkRate(["0000:00:10.0"], ["16.0 GT/s PCIe x16"], 16e9 / 8 * 128 / 130 * 16, 29e9), 256, 512, True)
WRITES = Run((TlpType.POSTED,))


@pytest.fixture(scope="module")
def machine() -> Machine:
    return find_machine(demo=True)


def codes(plan: object) -> list[str]:
    return [one.code for one in plan.limits]  # type: ignore[attr-defined]


def test_a_plan(machine: Machine, tmp_path: Path) -> None:
    plan = plan_for(machine, "latency", root_ports=["nvme0"], output=tmp_path / "x.data", duration=2.5)
    (planned,) = plan.runs
    assert str(planned.chosen.built) == "hisi_ptt0_0/filter=0x80001,type=6,direction=2,format=0/"
    assert planned.purposes == ("latency",)
    words = "ptttool trace --demo --rootport 0000:00:10.0 --for latency --duration 2.5 -o"
    assert list(plan.command) == [*words.split(), str(tmp_path / "x.data")]
    assert plan.link.rate is not None
    assert plan.link.rate.bytes_per_second == 250e6
    assert plan.link.are_sizes_known
    assert plan.free is not None
    assert {"other-need", "several-types-outbound", "4dw", "ticks", "open-ends", "silent-loss"} == set(codes(plan))


def test_what_the_self_test_has_measured(machine: Machine) -> None:
    source = machine.devices[0].source
    assert source is not None
    key = key_of(source)
    assert key is not None
    clock = MeasuredClock("counter", 11, 4.0, 3.9, 4.1, 61)

    def said(**measured: Any) -> set[str]:
        keep(Measured(key, "2026-11-20T10:00:00+00:00", **measured))
        return set(codes(plan_for(machine, "latency", root_ports=["nvme0"]))) - {"other-need", "4dw", "open-ends", "silent-loss"}

    assert said() == {"several-types-outbound", "ticks"}
    assert said(clocks={"8dw": structs.replace(clock, bits=32)}) == {"several-types-outbound", "ticks"}
    assert said(clocks={"4dw": clock}) == {"several-types-outbound"}
    assert said(clocks={"4dw": clock}, several_types_outbound=True, in_order=True) == set()
    assert said(clocks={"4dw": clock}, several_types_outbound=False, in_order=False) == {"one-type-outbound", "out-of-order"}


def test_a_plan_of_another_machine_is_to_be_run_there(tmp_path: Path) -> None:
    plan = plan_for(find_machine(sysfs=copy_of("kunpeng-6.12", tmp_path)), "latency", root_ports=["nvme0"])
    assert plan.command[:3] == ("ptttool", "trace", "--rootport")


def test_several_runs_say_what_they_are_for(machine: Machine) -> None:
    plan = plan_for(machine, ("io", "errors"), root_ports=["nvme0"])
    assert [planned.purposes for planned in plan.runs] == [("io", "errors"), ("errors",), ("errors",)]
    assert "one-after-another" in codes(plan)


def test_a_requester(machine: Machine) -> None:
    plan = plan_for(machine, "outstanding", requester="enp7s0")
    assert plan.command[3:5] == ("--requester", "0000:07:00.0")
    assert "filtered" in codes(plan)
    assert plan.link.rate is not None
    assert plan.link.rate.ports == ["0000:00:14.0"]


def test_the_published_arithmetic() -> None:
    """A Gen4 x16 link full of writes of 256 bytes: 113 million TLPs a second, 1.8 GB/s of 4DW records, 4 MiB in 2.3 ms."""
    full = volume_of(WRITES, GEN4_X16, 64 << 20).loads[0]
    assert full.tlps_per_second == pytest.approx(112.5e6, rel=0.01)
    assert full.bytes_per_second == pytest.approx(1.8e9, rel=0.01)
    assert full.buffer_seconds == pytest.approx(2.33e-3, rel=0.01)
    whole = volume_of(structs.replace(WRITES, format=Format.DW8), GEN4_X16, 64 << 20).loads[0]
    assert whole.bytes_per_second == pytest.approx(2 * full.bytes_per_second)


def test_volumes() -> None:
    """Two directions produce more than one; reads are few, since their completions fill the other direction."""
    reads = volume_of(Run((TlpType.NON_POSTED,)), GEN4_X16, 64 << 20)
    both = volume_of(Run((TlpType.NON_POSTED, TlpType.COMPLETION), Direction.BOTH), GEN4_X16, 64 << 20)
    writes = volume_of(WRITES, GEN4_X16, 64 << 20, free=1 << 30, write_speed=1e9)
    assert reads.loads[0].tlps_per_second < writes.loads[0].tlps_per_second < both.loads[0].tlps_per_second
    assert writes.most_tlps_per_second is not None
    assert writes.most_tlps_per_second > writes.loads[0].tlps_per_second
    full, tenth, hundredth = writes.loads
    assert full.ends_after == pytest.approx((64 << 20) / (full.bytes_per_second - 1e9))
    assert (tenth.ends_after, hundredth.ends_after) == (None, None)
    assert full.disk_seconds == pytest.approx((1 << 30) / full.bytes_per_second)
    assert full.bytes_per_second == pytest.approx(10 * tenth.bytes_per_second)


@pytest.mark.parametrize("release", ["6.1.0-56-arm64", "5.10.0-216.0.0.115.oe2203sp4.aarch64", "6.8.1", None])
def test_a_driver_that_commits_late(machine: Machine, release: str | None) -> None:
    """The trace ends when the AUX area is full, whatever the disk."""
    plan = plan_for(
        structs.replace(machine, kernel=release, driver=driver_of(release)), "latency", root_ports=["nvme0"], write_speed=10**12
    )
    is_late = release is not None and release < "6.8"
    assert ("late-commit" in codes(plan)) == is_late
    assert [one.ends_after == one.aux_seconds for one in plan.runs[0].volume.loads] == [is_late] * 3


def test_unknown_stays_unknown(machine: Machine) -> None:
    """Without a link there are no numbers, not zeros; sizes that were not read are assumed, and that is said."""
    unknown = structs.replace(GEN4_X16, rate=None)
    assert volume_of(WRITES, unknown, 64 << 20, free=1) == Volume(16, None, ())
    assert aux_size_for([WRITES], unknown) == 64 << 20
    bare = structs.replace(
        machine, functions=PciFunctions({at: structs.replace(one, transfers=None, link=None) for at, one in machine.functions.items()})
    )
    facts = link_facts(bare, [PciAddress.parse("0000:00:10.0")])
    assert (facts.rate, facts.max_payload, facts.are_sizes_known) == (None, 128, False)
    assert volume_of(WRITES, GEN4_X16, 64 << 20).loads[0].disk_seconds is None


@pytest.mark.parametrize(("width", "size"), [(1, 64), (16, 256), (4000, 1024)])
def test_the_aux_area_holds_a_tenth_of_a_second(width: int, size: int) -> None:
    assert GEN4_X16.rate is not None
    link = structs.replace(GEN4_X16, rate=structs.replace(GEN4_X16.rate, bytes_per_second=GEN4_X16.rate.bytes_per_second / 16 * width))
    assert aux_size_for([WRITES], link) == size << 20


def test_counters(machine: Machine) -> None:
    """Pairs count together; the machine of the demo has no such PMU, and other questions have no counter."""
    device = next(one for one in machine.devices if one.name == "hisi_ptt0_0")
    ports = [PciAddress.parse("0000:00:10.0"), PciAddress.parse("0000:00:11.0")]
    latency, traffic = advise(["latency", "io", "traffic"], device, ports, None, 1.5)
    assert (latency.purpose, latency.is_there, latency.pmu) == ("latency", False, "hisi_pcie0_core0")
    group = "{hisi_pcie0_core0/rx_mrd_latency,port=0x5/,hisi_pcie0_core0/rx_mrd_cnt,port=0x5/}"
    assert latency.command == ("perf", "stat", "-a", "-e", group, "--", "sleep", "1.5")
    assert len(traffic.events) == 12
    requester = PciAddress.parse("0000:01:00.0")
    rate, latency = advise(["bandwidth", "mmio"], device, ports[:1], requester, 1)
    assert ("bdf=0x100/" in rate.command_line, "bdf" in latency.command_line, "port=0x1/" in latency.command_line) == (True, False, True)
    assert [one.purpose for one in advise(["bandwidth", "mmio"], device, [], requester, 1)] == ["bandwidth"]
    (sizes,) = advise(["payload"], device, ports[:1], requester, 1)
    groups = [word for word in sizes.command if word.startswith("{")]
    assert [group.count(f"bdf=0x100,thr_len={n:#x}/") for n, group in enumerate(groups, 4)] == [2] * 4


class WithCounters(TreeSource):
    """The recorded machine with a PMU that counts, of an older driver: it has no events of completions."""

    def names(self, path: str) -> list[str]:
        if path == "/sys/bus/event_source/devices/hisi_pcie0_core0/events":
            return ["rx_mrd_latency", "rx_mrd_cnt", "rx_mwr_flux", "rx_mwr_time", "tx_mrd_flux"]
        return super().names(path)


def test_counters_that_are_there(machine: Machine) -> None:
    device = next(one for one in machine.devices if one.name == "hisi_ptt0_0")
    device = device.read_from(WithCounters(MACHINES / NEW))
    latency, traffic, mmio = advise(["latency", "traffic", "mmio"], device, [PciAddress.parse("0000:00:10.0")], None, 1)
    assert [one.is_there for one in (latency, traffic, mmio)] == [True, True, False]
    assert traffic.events == ("rx_mwr_flux", "rx_mwr_time")


def test_tags_of_pcie_6(machine: Machine) -> None:
    device = next(one for one in machine.devices if one.name == "hisi_ptt0_0")
    newer = structs.replace(device, format={**device.format, "pattern": FormatTerm("config", 36, 39)})
    plan = plan_for(structs.replace(machine, devices=(newer,)), "latency", root_ports=["nvme0"])
    assert "pattern" in codes(plan)


def test_what_a_plan_leaves_out_on_purpose_is_no_warning(machine: Machine) -> None:
    assert [one.code for one in plan_for(machine, "mmio", root_ports=["nvme0"]).diagnostics] == ["name-resolved"]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "--demo", "--rootport", "nvme0", "--for", "bandwidth"]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [run["name"] for run in found["runs"]] == ["inbound", "outbound-p", "outbound-np", "outbound-cpl"]
    assert main([*words, "--write-speed", "1M"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == found["command_line"]


@pytest.mark.parametrize(
    ("words", "code", "word"),
    [
        ("--rootport nvme0", 2, "missing-option"),
        ("--for latency", 2, "no-filter"),
        ("--rootport nvme0 --for speed", 2, "unknown-analysis"),
        ("--rootport nvme0 --for elements", 2, "no-tlps"),
        ("--rootport nvme9 --for io", 3, "unknown-function"),
        ("--rootport nvme0 --for io --duration never", 2, "bad-duration"),
        ("--rootport nvme0 --for io --write-speed fast", 2, "bad-size"),
        ("--rootport nvme0 --for io --aux-size 1M", 2, "aux-too-small"),
        ("--rootport nvme0 --requester ens2 --for io", 2, "two-filters"),
    ],
)
def test_refused(words: str, code: int, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--demo", "--json", *words.split()]) == code
    assert json.loads(capsys.readouterr().out)["error"]["code"] == word


def test_names_are_looked_up(machine: Machine) -> None:
    with pytest.raises(DeviceError):
        plan_for(machine, "io", root_ports=["nvme7"])
