"""Each check, in each of its states: on a recorded machine, on a fake one, and on one that passes for the running one."""

from __future__ import annotations

import errno
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ptttool.capture.checks.contract import CHECKS as RECORDING_CHECKS
from ptttool.capture.checks.contract import check as recording_check
from ptttool.capture.checks.host import CAP_IPC_LOCK, CAP_PERFMON, Host, OutputFile, Rights
from ptttool.capture.device.lock import hold_device
from ptttool.capture.device.tracers import Process
from ptttool.capture.perf.tool import PerfTool, names_ptt
from ptttool.capture.perf.tracepoints import GROUPS
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.doctor.checks.host import installation
from ptttool.doctor.contract import CHECKS, NOT_RECORDED, Finding, Status, check, failed, in_order
from ptttool.doctor.examine import Examination, examination_of
from ptttool.doctor.facts import look
from ptttool.errors import DeviceError, ExitCode, HardwareError, PerfError, PtttoolError, UsageError
from ptttool.machine.discovery import open_source
from ptttool.machine.sources.files import MemoryFiles
from ptttool.machine.sources.recorded import RecordedSource
from ptttool.testing import FakeMachine
from ptttool.testing.presets import kunpeng
from tests.support import machines
from tests.support.distributions import make_distribution
from tests.support.machines import BUS, NEW, OLD

ROOT_RIGHTS = Rights(capabilities=(1 << 41) - 1, paranoid=4, mlock_kb=516, memlock=8 << 20, cpus=4)
USER = replace(ROOT_RIGHTS, capabilities=0)
OUTPUT = OutputFile(path="perf.data", folder="/srv", folder_exists=True, folder_writable=True, free=1 << 40)
PERF = PerfTool("/no/such/perf", "7.2.1", "arm64", True)
GOOD = Host(perf=PERF, rights=ROOT_RIGHTS, output=OUTPUT, online=(0, 1, 2, 3))
MEMORY = {"/proc/meminfo": b"MemTotal:       65536000 kB\nMemAvailable:   32768000 kB\n"}
TRACEFS = {f"/sys/kernel/tracing/events/{name.replace(':', '/')}/format": b"" for name in GROUPS["irq"]}
PTT = "/sys/bus/pci/devices/0000:00:08.0"


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "is_compiled", lambda: True)


class Live(RecordedSource):
    """A machine in memory that passes for the running one."""

    live = True
    name: str | None = None


def live(files: Mapping[str, bytes], links: Mapping[str, str]) -> Live:
    return Live(MemoryFiles({**MEMORY, **TRACEFS, **files}, dict(links)), "this machine", Live.name)


def examined(source: RecordedSource, host: Host = GOOD, device: str | None = "hisi_ptt0_0", **options: Any) -> Examination:
    return examination_of(look(source, device, gather_host=lambda *_: host, **options))


def of_tree(name: str = NEW, *, more: Mapping[str, bytes] | None = None, without: tuple[str, ...] = (), **options: Any) -> Examination:
    files, links = machines.contents(name)
    kept = {path: data for path, data in files.items() if not path.startswith(without)} if without else files
    paths = {path: target for path, target in links.items() if not path.startswith(without)} if without else links
    return examined(live({**kept, **(more or {})}, paths), **options)


def of_fake(machine: FakeMachine, more: Mapping[str, bytes] | None = None, **options: Any) -> Examination:
    tree = machine.tree()
    files = {path: attribute.show() for path, attribute in tree.files.items()}
    return examined(live({**files, "/udev.txt": tree.database().encode(), **(more or {})}, tree.links), **options)


def findings(found: Examination, name: str) -> tuple[Finding, ...]:
    return next(answer.findings for answer in found.answers if answer.check == name)


def states(found: Examination) -> dict[str, str]:
    """The answers that are not ok."""
    return {answer.check: answer.findings[0].code for answer in found.answers if answer.status is not Status.OK}


def one(found: Examination, name: str) -> Finding:
    (finding,) = findings(found, name)
    return finding


def test_a_machine_on_which_a_trace_would_work() -> None:
    found = of_tree()
    assert states(found) == {"perf-text": "perf-text-unknown"}
    assert (found.works, found.exit_code) == (True, ExitCode.SUCCESS)
    assert found.devices == ("hisi_ptt0_0",)


def test_tracepoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no warning that the kernel does not have some."""
    finding = one(of_tree(), "tracepoints")
    missing = {group: list(names) for group, names in GROUPS.items() if group != "irq"}
    assert (finding.status, finding.details["missing"]) == (Status.OK, missing)
    monkeypatch.setattr(sys.modules[__name__], "TRACEFS", {})
    found = of_tree()
    assert states(found) == {"perf-text": "perf-text-unknown", "tracepoints": "no-tracefs"}
    assert found.works is True


def test_a_recorded_machine_is_never_ok_by_what_it_does_not_hold() -> None:
    files, links = machines.contents(NEW)
    found = examination_of(look(machines.in_memory(files, links)))
    recorded = {"hardware", "kernel-config", "iommu", "driver", "kernel-fixes", "cpus", "event", "counters", "journal", "plug-ins"}
    assert {answer.check for answer in found.answers if answer.findings[0].code == NOT_RECORDED} == set(CHECKS.names()) - recorded
    assert (found.works, found.exit_code) == (None, ExitCode.DIFFERENT)


def test_an_empty_tree() -> None:
    found = examination_of(look(machines.in_memory({"/sys/devices/system/cpu/online": b"0\n"}, {})))
    assert {answer.status for answer in found.answers if answer.check not in ("journal", "plug-ins")} == {Status.UNKNOWN}
    assert one(found, "hardware").code == NOT_RECORDED
    assert one(found, "kernel-fixes").code == NOT_RECORDED


def _fake(**options: Any) -> FakeMachine:
    machine = kunpeng("6.12")
    for name, value in options.items():
        setattr(machine, name, value)
    return machine


HOSTS: list[tuple[Host, str, str, str, str | None, ExitCode]] = [
    (replace(GOOD, perf=PerfError("none", code="perf-missing")), "perf", "failed", "perf-missing", None, ExitCode.PERF),
    (replace(GOOD, perf=replace(PERF, architecture="x86-64")), "perf", "failed", "perf-cannot-record", None, ExitCode.PERF),
    (replace(GOOD, perf=replace(PERF, auxtrace=False)), "perf", "failed", "perf-without-auxtrace", None, ExitCode.PERF),
    (replace(GOOD, perf=replace(PERF, architecture=None)), "perf", "unknown", "perf-unclear", None, ExitCode.DIFFERENT),
    (replace(GOOD, perf=replace(PERF, version="5.10.0")), "perf", "warning", "perf-too-old", None, ExitCode.SUCCESS),
    (
        replace(GOOD, perf=replace(PERF, version="6.12.95")),
        "perf-text",
        "warning",
        "perf-prints-4dw-wrong",
        "ptttool decode perf.data --to perf",
        ExitCode.SUCCESS,
    ),
    (replace(GOOD, perf=replace(PERF, version=None)), "perf-text", "unknown", "perf-version", None, ExitCode.SUCCESS),
    (
        replace(GOOD, rights=USER),
        "rights",
        "failed",
        "perf-not-permitted",
        'sudo "$(command -v ptttool)" doctor',
        ExitCode.NO_PERMISSION,
    ),
    (replace(GOOD, rights=replace(USER, paranoid=None)), "rights", "unknown", "no-paranoid", None, ExitCode.DIFFERENT),
    (
        replace(GOOD, rights=replace(USER, paranoid=0)),
        "locked-memory",
        "failed",
        "mlock-limit",
        "sysctl kernel.perf_event_mlock_kb=16388",
        ExitCode.NO_PERMISSION,
    ),
    (
        replace(GOOD, rights=replace(USER, capabilities=1 << CAP_PERFMON, mlock_kb=None)),
        "locked-memory",
        "unknown",
        "no-mlock-limit",
        None,
        ExitCode.DIFFERENT,
    ),
    (
        replace(GOOD, output=replace(OUTPUT, folder="/srv/it's", folder_exists=False)),
        "output",
        "failed",
        "output-folder-missing",
        "mkdir -p '/srv/it'\"'\"'s'",
        ExitCode.FILE,
    ),
    (replace(GOOD, output=replace(OUTPUT, read_only=True)), "output", "failed", "read-only", None, ExitCode.FILE),
    (replace(GOOD, output=replace(OUTPUT, free=1000)), "output", "failed", "disk-full", None, ExitCode.FILE),
    (replace(GOOD, output=replace(OUTPUT, free=100 << 20)), "free-space", "warning", "little-space", "du -xh", ExitCode.SUCCESS),
    (replace(GOOD, output=replace(OUTPUT, free=None)), "free-space", "unknown", "no-free-space", None, ExitCode.SUCCESS),
    (
        replace(GOOD, processes=(Process(4711, ("perf", "record", "-e", "hisi_ptt0_0/filter=1/"), 0, holds_events=True),)),
        "busy",
        "failed",
        "device-busy",
        "kill -INT 4711",
        ExitCode.PERF,
    ),
    (
        replace(GOOD, processes=(Process(4711, ("prf", "record", "-e", "hisi_ptt0_0/filter=1/"), 65534, holds_events=None),)),
        "busy",
        "warning",
        "maybe-busy",
        None,
        ExitCode.SUCCESS,
    ),
    (replace(GOOD, online=(2, 3)), "cpus", "failed", "cpu-offline", "echo 1 > /sys/devices/system/cpu/cpu0/online", ExitCode.NO_DEVICE),
]


@pytest.mark.parametrize(
    ("host", "name", "status", "code", "fix", "exit_code"), HOSTS, ids=[f"{n}-{row[3]}" for n, row in enumerate(HOSTS)]
)
def test_host(host: Host, name: str, status: str, code: str, fix: str | None, exit_code: ExitCode) -> None:
    found = of_tree(host=host)
    finding = one(found, name)
    assert (finding.status, finding.code) == (status, code)
    assert (finding.fix or "").startswith(fix or "") if fix else finding.fix is None
    assert found.exit_code == exit_code
    assert found.works is {"failed": False, "warning": True}.get(status, found.works)
    assert set(states(found)) <= {name, "perf-text"} | {"rights": {"locked-memory"}, "output": {"free-space"}}.get(name, set())


def test_everything_in_the_way_is_found_at_once_and_the_first_gives_the_exit_code() -> None:
    host = replace(GOOD, perf=PerfError("none", code="perf-missing"), rights=USER, output=replace(OUTPUT, read_only=True))
    found = of_tree(host=host)
    assert {name for name, code in states(found).items() if code != "no-perf"} == {"perf", "rights", "locked-memory", "output"}
    assert found.exit_code == ExitCode.PERF


OS_RELEASE = {
    "openEuler": (b'ID="openEuler"\nVERSION_ID="22.03"\n', "dnf install perf", "grubby --update-kernel=ALL --args=iommu.passthrough=1"),
    "kylin": (b'NAME="Kylin Linux Advanced Server"\nID="kylin"\n', "dnf install perf", "grubby "),
    "debian": (b"PRETTY_NAME=x\nID=debian\n", "apt-get install linux-perf", "mkdir -p /etc/default/grub.d && echo 'GRUB_CMDLINE_LINUX="),
    "ubuntu": (b"ID=ubuntu\nID_LIKE=debian\n", "apt-get install linux-tools-$(uname -r)", "mkdir -p /etc/default/grub.d"),
    "suse": (b'ID="sles"\nID_LIKE="suse"\n', "zypper install perf", "modprobe hisi_ptt; echo identity > "),
    "unknown": (b"ID=strange\n", None, "modprobe hisi_ptt; echo identity > /sys/bus/pci/devices/0000:00:08.0/iommu_group/type && echo "),
}


@pytest.mark.parametrize("name", OS_RELEASE)
def test_commands_are_those_of_the_distribution(name: str) -> None:
    content, perf, iommu = OS_RELEASE[name]
    more = {"/etc/os-release": content}
    found = of_fake(_fake(driver_loaded=False, iommu="DMA-FQ"), more, host=replace(GOOD, perf=PerfError("", code="perf-missing")))
    assert one(found, "perf").fix == perf
    finding = one(found, "iommu")
    assert (finding.status, finding.code) == (Status.FAILED, "iommu-translates")
    assert (finding.fix or "").startswith(iommu)
    assert one(found, "driver").code == "iommu-translates"
    assert found.exit_code == ExitCode.NO_DEVICE


@pytest.mark.parametrize("filler", [b" ", b'"', b"x=", b"ID=", b"\n", b"/hisi_ptt.ko.", b"Debian 1.", b"MemAvailable: 0"])
def test_files_that_are_large_and_strange(filler: bytes) -> None:
    """They are read in little time, and prove nothing."""
    machine = _fake(driver_loaded=False)
    release = machine.kernel.release
    paths = ("/etc/os-release", "/proc/meminfo", "/proc/version", "/proc/version_signature", f"/boot/config-{release}")
    large = b"ID=" + filler * ((1 << 20) // len(filler)) + b"\0"
    started = time.process_time()
    found = of_fake(machine, {**dict.fromkeys(paths, large), f"/lib/modules/{release}/modules.dep": large})
    assert time.process_time() - started < 5
    assert one(found, "kernel-config").code == "not-built"
    assert one(found, "memory").code == "no-meminfo"


def test_no_device() -> None:
    gone = [f"{folder}/0000:00:{number}" for folder in ("/sys/bus/pci/devices", BUS) for number in ("08", "09", "0a")]
    found = of_tree(without=(*gone, "/sys/bus/event_source", "/udev.txt"))
    assert one(found, "hardware").status is Status.FAILED
    assert found.exit_code == ExitCode.NO_DEVICE
    for name in ("iommu", "driver", "cpus", "event", "registers", "busy", "lock"):
        assert (one(found, name).status, one(found, name).code) == (Status.UNKNOWN, "no-device")
    # What does not depend on a device is looked at all the same.
    assert {one(found, name).status for name in ("perf", "rights", "locked-memory", "output", "memory")} == {Status.OK}


@pytest.mark.parametrize(
    ("config", "modules", "status", "code", "fix"),
    [
        (None, None, "unknown", "no-kernel-config", None),
        (b"# CONFIG_HISI_PTT is not set\n", None, "failed", "not-built", None),
        (b"CONFIG_HISI_PTT_OTHER=m\n", None, "failed", "not-built", None),
        (b"CONFIG_HISI_PTT=m\n", None, "ok", "ok", None),
        (b"CONFIG_HISI_PTT=y\n", b"kernel/other.ko:\n", "ok", "ok", None),
        (b"CONFIG_HISI_PTT=m\n", b"kernel/drivers/hwtracing/ptt/hisi_ptt.ko.zst:\n", "ok", "ok", None),
        (
            b"CONFIG_HISI_PTT=m\n",
            b"kernel/x.ko: kernel/hisi_ptt.ko\n",
            "failed",
            "module-missing",
            "apt-get install linux-modules-extra-$(uname -r)",
        ),
    ],
)
@pytest.mark.parametrize("packed", [True, False])
def test_kernel_config(config: bytes | None, modules: bytes | None, status: str, code: str, fix: str | None, packed: bool) -> None:
    machine = _fake(driver_loaded=False)
    release = machine.kernel.release
    more = {"/etc/os-release": b"ID=ubuntu\n"}
    if config is not None:
        more["/proc/config.gz" if packed else f"/boot/config-{release}"] = gzip.compress(config) if packed else config
    if modules is not None:
        more[f"/lib/modules/{release}/modules.dep"] = modules
    finding = one(of_fake(machine, more), "kernel-config")
    assert (finding.status, finding.code, finding.fix) == (status, code, fix)


def test_a_packed_configuration_that_is_a_bomb_or_damaged() -> None:
    machine = _fake(driver_loaded=False)
    bomb = gzip.compress(b"#" * (64 << 20))
    assert one(of_fake(machine, {"/proc/config.gz": bomb}), "kernel-config").code == "not-built"
    assert one(of_fake(machine, {"/proc/config.gz": b"no gzip"}), "kernel-config").code == "no-kernel-config"


def test_driver() -> None:
    found = one(of_fake(_fake(driver_loaded=False)), "driver")
    assert (found.status, found.code, found.fix) == (Status.FAILED, "driver-not-loaded", "modprobe hisi_ptt")
    files, links = machines.contents(NEW)
    files["/sys/module/hisi_ptt/initstate"] = b"live\n"
    gone = {path: data for path, data in files.items() if "/hisi_ptt" not in path or path.startswith("/sys/module")}
    for address in ("08", "09", "0a"):
        links.pop(f"{BUS}/0000:00:{address}.0/driver")
    left = {path: target for path, target in links.items() if "event_source" not in path and "/hisi_ptt" not in path}
    gone.pop("/udev.txt")
    found = one(examined(live(gone, left), device=None), "driver")
    assert (found.status, found.code) == (Status.FAILED, "not-bound")
    assert (found.fix or "").startswith("echo 0000:00:08.0 > /sys/bus/pci/drivers/hisi_ptt/bind")


def test_a_device_that_is_not_bound_beside_others() -> None:
    machine = kunpeng("6.12")
    files = {path: attribute.show() for path, attribute in machine.tree().files.items()}
    links = machine.tree().links
    folder = (
        machine["hisi_ptt0_0"].folder.rpartition("/")[0]
        if machine["hisi_ptt0_0"].folder.endswith("hisi_ptt0_0")
        else machine["hisi_ptt0_0"].folder
    )
    links = {path: target for path, target in links.items() if path != f"{folder}/driver" and not path.endswith("devices/hisi_ptt0_0")}
    files = {path: data for path, data in files.items() if f"{folder}/hisi_ptt0_0/" not in path}
    found = one(examined(live(files, links), device=None), "driver")
    assert (found.status, found.code) == (Status.WARNING, "not-bound")


def test_iommu() -> None:
    assert one(of_fake(_fake(driver_loaded=False, iommu="identity")), "iommu").status is Status.OK
    assert one(of_fake(_fake(driver_loaded=False)), "iommu").code == "no-iommu-type"
    assert one(of_fake(_fake(iommu="DMA")), "iommu").status is Status.OK  # the driver has taken it


@pytest.mark.parametrize("version", ["5.10.0", "6.12.95"])
@pytest.mark.parametrize(("content", "code"), [(b"-" * ((1 << 20) - 3) + b"hisi_ptt", "ok"), (b"hisi_pt", "perf-without-ptt")])
def test_the_binary_tells_whether_perf_knows_ptt_devices(tmp_path: Path, content: bytes, code: str, version: str) -> None:
    """Its version does not: openEuler's perf 5.10 does."""
    Path(tmp_path, "perf").write_bytes(content)
    found = of_fake(_fake(), host=replace(GOOD, perf=replace(PERF, path=str(tmp_path / "perf"), version=version)))
    assert one(found, "perf").code == code


def test_the_binary_behind_a_wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian's perf is a script that runs perf_X.Y beside itself."""
    monkeypatch.setattr("platform.release", lambda: "5.99.1-2-arm64")
    Path(tmp_path, "perf").write_text('#!/bin/sh\nexec "perf_$version" "$@"\n')
    perf = replace(PERF, path=str(tmp_path / "perf"), version="5.10.0")
    assert one(of_fake(_fake(), host=replace(GOOD, perf=perf)), "perf").code == "perf-too-old"
    Path(tmp_path, "perf_5.99").write_bytes(b"There may be only one hisi_pttx event")
    assert one(of_fake(_fake(), host=replace(GOOD, perf=perf)), "perf").code == "ok"


def test_a_perf_without_end_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptttool.capture.perf.tool.MAX_PERF_BYTES", 1 << 20)
    Path(tmp_path, "perf").write_bytes(b"-" * (2 << 20) + b"hisi_ptt")
    assert names_ptt(tmp_path / "perf") is None


def test_no_iommu_at_all(tmp_path: Path) -> None:
    from tests.cli.test_trace import LiveTree

    folder = _fake(driver_loaded=False).write_to(tmp_path / "machine")
    Path(folder, "sys/kernel/iommu_groups").mkdir(parents=True)
    found = examination_of(look(LiveTree(folder), gather_host=lambda *_: GOOD))
    assert one(found, "iommu").status is Status.OK


@pytest.mark.parametrize(
    ("release", "more", "codes"),
    [
        ("6.1.0", {}, {"no-early-commit", "task-events-fail"}),
        ("6.1.82-arm64", {}, {"no-early-commit", "task-events-fail"}),
        ("6.1.83", {}, {"no-early-commit"}),
        ("6.6.23", {}, {"no-early-commit"}),
        ("6.8.1", {}, {"task-events-fail"}),
        ("6.8.2", {}, set()),
        ("6.8.0-45-generic", {}, {"task-events-fail-unknown"}),
        ("6.8.0-45-generic", {"/proc/version_signature": b"Ubuntu 6.8.0-45.45-generic 6.8.12\n"}, set()),
        ("6.1.0-56-arm64", {"/proc/version": b"Linux version 6.1.0-56-arm64 (x) #1 SMP Debian 6.1.192-1 (2026)\n"}, {"no-early-commit"}),
        ("5.10.0-216.0.0.115.oe2203sp4.aarch64", {}, {"no-early-commit", "task-events-fail"}),
        ("6.9.0-rc1", {}, set()),
        ("7.1.3", {}, set()),
        ("strange", {}, {"odd-release"}),
    ],
)
def test_kernel_fixes(release: str, more: dict[str, bytes], codes: set[str]) -> None:
    found = of_tree(more={"/proc/sys/kernel/osrelease": release.encode() + b"\n", **more})
    assert {finding.code for finding in findings(found, "kernel-fixes")} - {"ok"} == codes
    assert found.works is True
    for finding in findings(found, "kernel-fixes"):
        assert finding.status in (Status.WARNING, Status.UNKNOWN) or not codes


def test_a_kernel_without_filter_files() -> None:
    found = of_tree(OLD)
    assert "no-filter-files" in {finding.code for finding in findings(found, "kernel-fixes")}


@pytest.mark.parametrize(("kernel", "code"), [("6.1", "wrong-counter-events"), ("6.12", "ok")])
def test_counters(kernel: str, code: str) -> None:
    machine = kunpeng(kernel)
    assert one(of_fake(machine), "counters").status is Status.OK
    machine.add_counters("hisi_ptt0_0")
    finding = one(of_fake(machine), "counters")
    assert finding.code == code
    if kernel == "6.1":
        assert finding.details == {"pmu": "hisi_pcie0_core0", "events": ["rx_mrd_flux", "rx_mrd_time", "tx_mrd_flux", "tx_mrd_time"]}


def test_cpus() -> None:
    machine = kunpeng("6.12")
    machine.offline_cpus |= {1}
    finding = one(of_fake(machine), "cpus")
    assert (finding.status, finding.code, finding.fix) == (
        Status.WARNING,
        "some-cpus-offline",
        "echo 1 > /sys/devices/system/cpu/cpu1/online",
    )
    machine.offline_cpus |= {0}
    finding = one(of_fake(machine), "cpus")
    assert (finding.status, finding.code, finding.fix) == (Status.FAILED, "cpus-offline", "echo 1 > /sys/devices/system/cpu/cpu0/online")
    finding = one(of_tree(more={f"{BUS}/0000:00:08.0/hisi_ptt0_0/cpumask": b"\n"}), "cpus")
    assert (finding.status, finding.code) == (Status.FAILED, "no-cpumask")


def test_event() -> None:
    folder = f"{BUS}/0000:00:08.0/hisi_ptt0_0"
    assert one(of_tree(without=(f"{folder}/format/filter",)), "event").code == "unknown-format"
    assert one(of_tree(more={f"{folder}/type": b"x\n"}), "event").code == "no-pmu-type"
    finding = one(of_tree(device="hisi_ptt2_0"), "event")
    assert (finding.status, finding.code) == (Status.WARNING, "no-filters")


@pytest.mark.parametrize(
    ("available", "status", "code"),
    [(32 << 20, "failed", "no-memory"), (100 << 20, "warning", "little-memory"), (1 << 30, "ok", "ok"), (None, "unknown", "no-meminfo")],
)
def test_memory(available: int | None, status: str, code: str) -> None:
    text = b"MemTotal: 1 kB\n" if available is None else f"MemAvailable:   {available >> 10} kB\n".encode()
    found = of_tree(more={"/proc/meminfo": text})
    assert (one(found, "memory").status, one(found, "memory").code) == (status, code)
    assert found.works is {"failed": False, "unknown": None}.get(status, True)


def test_a_larger_aux_area_needs_more() -> None:
    more = {"/proc/meminfo": b"MemAvailable:   1000000 kB\n"}
    assert one(of_tree(more=more), "memory").status is Status.OK
    assert one(of_tree(more=more, aux_size=1 << 30), "memory").status is Status.FAILED
    with pytest.raises(UsageError):
        of_tree(aux_size=1 << 20)


def test_a_device_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(device: object, name: str) -> int:
        raise HardwareError("no answer", code="no-answer")

    monkeypatch.setattr("ptttool.doctor.checks.device.registers.read_value", hang)
    found = of_tree()
    assert (one(found, "registers").status, one(found, "registers").code) == (Status.WARNING, "no-answer")
    assert found.works is True


def test_another_run_of_ptttool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PTTTOOL_RUNTIME_DIR", str(tmp_path / "locks"))
    assert one(of_tree(), "lock").status is Status.OK
    with hold_device("hisi_ptt0_0", purpose="trace -o x.data"):
        found = of_tree()
        assert (one(found, "lock").code, one(found, "lock").fix) == ("locked", f"kill -INT {os.getpid()}")
        assert one(found, "lock").details["purpose"] == "trace -o x.data"
        assert found.exit_code == ExitCode.BUSY
        assert one(of_tree(device="hisi_ptt0_2"), "lock").status is Status.OK
    assert one(of_tree(), "lock").status is Status.OK
    # A holder that was killed: its text is still there.
    code = "from ptttool.capture.device.lock import hold_device as hold\nwith hold('hisi_ptt0_0', purpose='x'): __import__('os').abort()"
    assert subprocess.run([sys.executable, "-c", code]).returncode == -6
    assert one(of_tree(), "lock").status is Status.OK


def test_half_done_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PTTTOOL_STATE_DIR", str(tmp_path / "state"))
    folder = tmp_path / "state" / "journal" / "m"
    monkeypatch.setattr(Live, "name", "m")
    assert one(of_tree(), "journal").status is Status.OK
    folder.mkdir(parents=True, mode=0o700)
    (tmp_path / "state").chmod(0o700)
    (folder / "00000001.open").write_bytes(b"00000000 {}\n")
    found = of_tree()
    assert one(found, "journal").status is Status.WARNING
    assert (one(found, "journal").fix or "").startswith("ptttool tune recover")
    assert found.works is True


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Checks that a test registers go when it ends."""
    CHECKS.names(), RECORDING_CHECKS.names()
    for registry in (CHECKS, RECORDING_CHECKS):
        monkeypatch.setattr(registry, "_things", dict(registry._things))
    yield


def test_a_check_is_one_function(scratch: None) -> None:
    @check("toy", order=1)
    def toy(facts: object) -> list[Finding]:
        return [failed("toy-broken", "the toy is broken", "it fell down", "mend-toy", error=PerfError)]

    assert in_order()[0] is toy
    found = of_tree()
    assert (one(found, "toy").fix, found.works, found.exit_code) == ("mend-toy", False, ExitCode.PERF)


def test_checks_of_other_packages_before_a_recording_are_run_too(scratch: None) -> None:
    @recording_check("toy", order=5, error=DeviceError)
    def toy(host: Host, plan: object) -> list[Diagnostic]:
        return [Diagnostic(Severity.ERROR, "toy-broken", "the toy is broken", "mend it")]

    found = of_tree()
    assert (one(found, "plug-ins").status, one(found, "plug-ins").code) == (Status.FAILED, "toy-broken")
    files, links = machines.contents(NEW)
    assert one(examination_of(look(machines.in_memory(files, links))), "plug-ins").code == NOT_RECORDED


def test_a_check_file_is_found_beside_its_siblings(tmp_path: Path) -> None:
    """One new file, no other change."""
    import shutil

    import ptttool

    shutil.copytree(Path(ptttool.__file__).parent, tmp_path / "ptttool", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "ptttool" / "doctor" / "checks" / "toy.py").write_text(
        "from ptttool.doctor.contract import check, failed\n\n\n"
        "@check('toy', order=1)\ndef toy(facts):\n    yield failed('toy-broken', 'the toy is broken')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "ptttool", "doctor", "--demo"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.split()[:2]) == (ExitCode.NO_DEVICE, ["failed", "toy"])


def test_checks_of_an_installed_package(tmp_path: Path) -> None:
    good = (
        "from ptttool.doctor.contract import check, ok\n\n\n@check('good', order=2)\ndef good(facts):\n    yield ok(facts.machine.kernel)\n"
    )
    points = {"ptttool.doctor": {"good": "my_good", "broken": "my_broken"}}
    make_distribution(tmp_path, "my-checks", {"my_good": good, "my_broken": "import nothing_of_that_name\n"}, points)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{machines.REPOSITORY}", "PTTTOOL_PLUGINS": "1"}
    done = subprocess.run([sys.executable, "-m", "ptttool", "doctor", "--demo", "--json"], env=environment, capture_output=True, text=True)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert (checks["good"]["status"], checks["good"]["findings"][0]["message"]) == ("ok", "6.12.95+deb12-arm64")
    assert checks["plug-ins"]["findings"][0]["code"] == "bad-plug-in"


def test_a_check_that_fails_itself(scratch: None) -> None:
    @check("toy", order=1)
    def toy(facts: object) -> Iterator[Finding]:
        raise PerfError("perf has gone", code="perf-gone")
        yield

    found = of_tree()
    assert (one(found, "toy").status, one(found, "toy").code, found.works) == (Status.UNKNOWN, "perf-gone", None)
    assert one(found, "perf").status is Status.OK


def test_loops_that_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "is_compiled", lambda: False)
    found = of_tree()
    (answer,) = (one for one in found.answers if one.check == "installation")
    assert [(one.status, one.code) for one in answer.findings] == [(Status.WARNING, "loops-not-compiled")]
    assert found.works


def test_an_unknown_device() -> None:
    with pytest.raises(PtttoolError) as caught:
        of_tree(device="hisi_ptt9_9")
    assert caught.value.exit_code == ExitCode.NO_DEVICE


def test_what_may_lock_has_no_limit() -> None:
    rights = replace(USER, capabilities=1 << CAP_PERFMON | 1 << CAP_IPC_LOCK)
    assert one(of_tree(host=replace(GOOD, rights=rights)), "locked-memory").status is Status.OK


def mounted(device: str | None = None) -> Examination:
    """Of the machine that pyfakefs shows as the running one, through (a fake) libudev."""
    return examination_of(look(open_source(), device, gather_host=lambda *_: GOOD))


def test_mounted(mount_ptt_machine: Callable[[FakeMachine], FakeMachine]) -> None:
    machine = mount_ptt_machine(kunpeng("6.12"))
    found = mounted("hisi_ptt0_0")
    assert {one(found, name).status for name in ("hardware", "driver", "cpus", "event", "registers")} == {Status.OK}
    machine["hisi_ptt0_0"].hang(errno.ETIMEDOUT)
    assert (one(mounted(), "registers").device, one(mounted(), "registers").code) == ("hisi_ptt0_0", "timeout")
    with machine.as_user():
        assert {finding.status for finding in findings(mounted(), "registers")} == {Status.UNKNOWN}


def test_mounted_without_driver(mount_ptt_machine: Callable[[FakeMachine], FakeMachine]) -> None:
    mount_ptt_machine(_fake(driver_loaded=False, iommu="DMA-FQ"))
    found = mounted()
    assert {one(found, name).code for name in ("iommu", "driver")} == {"iommu-translates"}
    mount_ptt_machine(_fake(driver_loaded=False, iommu="identity"))
    found = mounted()
    assert (one(found, "iommu").status, one(found, "driver").code) == (Status.OK, "driver-not-loaded")
    assert found.exit_code == ExitCode.NO_DEVICE
