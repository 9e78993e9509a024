"""The checks before a recording: functions of facts; the first failure is the root cause."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from ptttool.capture.checks import host as facts
from ptttool.capture.checks.contract import CHECKS, check, in_order, require
from ptttool.capture.checks.host import CAP_IPC_LOCK, CAP_PERFMON, CAP_SYS_ADMIN, Host, OutputFile, Rights
from ptttool.capture.device.tracers import Process
from ptttool.capture.event.build import TraceRequest, build
from ptttool.capture.event.choose import ChosenEvent
from ptttool.capture.perf.tool import PerfTool
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import AccessError, DeviceError, OutputError, PerfError, PtttoolError, UsageError
from ptttool.machine.model import Machine, PttDevice
from ptttool.pci import PciAddress

DEVICE = PttDevice(name="hisi_ptt0_0", sicl=0, core=0, sysfs="/sys/devices/hisi_ptt0_0", cpus=(0, 1))
REQUEST = TraceRequest(device="hisi_ptt0_0", root_ports=(PciAddress.parse("00:10.0"),))
PLAN = Plan(ChosenEvent(REQUEST, build(REQUEST), DEVICE, Machine(origin="here", devices=(DEVICE,))), 0)
ROOT = Rights(capabilities=(1 << 41) - 1, paranoid=4, mlock_kb=516, memlock=8 << 20, cpus=4)
USER = replace(ROOT, capabilities=0)
OUTPUT = OutputFile(path="perf.data", folder=".", folder_exists=True, folder_writable=True, free=1 << 40)
PERF = PerfTool("/usr/bin/perf", "6.12.95", "arm64", True)
GOOD = Host(perf=PERF, rights=ROOT, output=OUTPUT, online=(0, 1, 2, 3))
BUSY = Process(4711, ("perf", "record", "-C", "1", "-e", "hisi_ptt0_0/filter=0x80001/"), 0, holds_events=True)


def caps(*numbers: int) -> Rights:
    return replace(ROOT, capabilities=sum(1 << number for number in numbers))


def test_nothing_in_the_way() -> None:
    assert require(GOOD, PLAN) == []
    assert require(replace(GOOD, command="/bin/true"), replace(PLAN, command=("true",))) == []


FAILURES: list[tuple[Host, Plan, type[PtttoolError], str]] = [
    (GOOD, replace(PLAN, command=("nonesuch",)), UsageError, "command-missing"),
    (replace(GOOD, perf=PerfError("none", code="perf-missing")), PLAN, PerfError, "perf-missing"),
    (replace(GOOD, perf=replace(PERF, architecture="x86-64")), PLAN, PerfError, "perf-cannot-record"),
    (replace(GOOD, perf=replace(PERF, auxtrace=False)), PLAN, PerfError, "perf-without-auxtrace"),
    (replace(GOOD, rights=USER), PLAN, AccessError, "perf-not-permitted"),
    (replace(GOOD, rights=replace(USER, paranoid=1)), PLAN, AccessError, "perf-not-permitted"),
    (replace(GOOD, rights=replace(USER, paranoid=0)), PLAN, AccessError, "mlock-limit"),
    (replace(GOOD, rights=caps(CAP_PERFMON)), PLAN, AccessError, "mlock-limit"),
    (replace(GOOD, output=replace(OUTPUT, kind="directory")), PLAN, OutputError, "output-is-directory"),
    (replace(GOOD, output=replace(OUTPUT, kind="other")), PLAN, OutputError, "output-not-a-file"),
    (replace(GOOD, output=replace(OUTPUT, folder_exists=False)), PLAN, OutputError, "output-folder-missing"),
    (replace(GOOD, output=replace(OUTPUT, folder_writable=False)), PLAN, AccessError, "output-not-permitted"),
    (replace(GOOD, output=replace(OUTPUT, old_kind="directory")), PLAN, OutputError, "old-is-directory"),
    (replace(GOOD, output=replace(OUTPUT, old_kind="link")), PLAN, OutputError, "old-is-link"),
    (replace(GOOD, output=replace(OUTPUT, kind="link", target="/x")), PLAN, OutputError, "output-is-link"),
    (replace(GOOD, output=replace(OUTPUT, read_only=True, folder_writable=False)), PLAN, OutputError, "read-only"),
    (replace(GOOD, output=replace(OUTPUT, free=1000)), PLAN, OutputError, "disk-full"),
    (replace(GOOD, processes=(Process(1, ("init",)), BUSY)), PLAN, PerfError, "device-busy"),
    (replace(GOOD, online=(2, 3)), PLAN, DeviceError, "cpu-offline"),
]


@pytest.mark.parametrize(("host", "plan", "kind", "code"), FAILURES, ids=[f"{n}-{one[3]}" for n, one in enumerate(FAILURES)])
def test_failure(host: Host, plan: Plan, kind: type[PtttoolError], code: str) -> None:
    with pytest.raises(kind) as caught:
        require(host, plan)
    assert caught.value.code == code
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    "rights",
    [
        caps(CAP_SYS_ADMIN, CAP_IPC_LOCK),
        caps(CAP_PERFMON, CAP_IPC_LOCK),
        replace(USER, paranoid=-1),
        replace(USER, paranoid=0, mlock_kb=64 << 10),
        replace(USER, paranoid=0, memlock=None),
        Rights(capabilities=0),
    ],
)
def test_rights_that_do(rights: Rights) -> None:
    assert require(replace(GOOD, rights=rights), PLAN) == []


def test_root_cause_comes_first() -> None:
    """An x86 perf is reported before the rights that it would need, those before the output and the other perf."""
    host = replace(
        GOOD, perf=replace(PERF, architecture="x86-64"), rights=USER, output=replace(OUTPUT, folder_exists=False), processes=(BUSY,)
    )
    codes = []
    for repaired in ({"perf": PERF}, {"rights": ROOT}, {"output": OUTPUT}, {"processes": ()}):
        with pytest.raises(PtttoolError) as caught:
            require(host, PLAN)
        codes.append(caught.value.code)
        host = replace(host, **repaired)
    assert codes == ["perf-cannot-record", "perf-not-permitted", "output-folder-missing", "device-busy"]
    assert require(host, PLAN) == []


def test_busy_names_the_process() -> None:
    with pytest.raises(PerfError) as caught:
        require(replace(GOOD, processes=(BUSY,)), PLAN)
    assert caught.value.details["pid"] == 4711
    other = replace(BUSY, arguments=("perf", "record", "-e", "hisi_ptt0_2/filter=0x80100/"))
    assert require(replace(GOOD, processes=(other,)), PLAN) == []


def test_arguments_of_others_block_nobody() -> None:
    """Any user can start a process with any arguments."""
    for process in (replace(BUSY, uid=65534), replace(BUSY, uid=65534, holds_events=False), replace(BUSY, holds_events=False)):
        (found,) = require(replace(GOOD, processes=(process,)), PLAN)
        assert (found.severity, found.code, found.details["pid"]) == (Severity.WARNING, "maybe-busy", 4711)
        assert str(process.user) in found.message


def test_warnings() -> None:
    (space,) = require(replace(GOOD, output=replace(OUTPUT, free=100 << 20)), PLAN)
    assert (space.severity, space.code, space.details) == (Severity.WARNING, "little-space", {"free": 100 << 20})


def test_all_checks_are_run() -> None:
    """The doctor runs them one by one, also those after the first failure."""
    host = replace(GOOD, rights=USER, output=replace(OUTPUT, folder_exists=False), processes=(BUSY,))
    found = [(one.name, diagnostic.code) for one in in_order() for diagnostic in one.run(host, PLAN)]
    assert (
        found
        == [
            ("rights", "perf-not-permitted"),
            ("locked-memory", "mlock-limit"),
            ("output", "output-folder-missing"),
            ("busy", "device-busy"),
        ][: len(found)]
    )
    assert {name for name, _ in found} >= {"rights", "output", "busy"}


def test_a_check_is_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "output" in CHECKS.names()
    monkeypatch.setattr(CHECKS, "_things", dict(CHECKS._things))  # the toy goes when the test ends

    @check("toy", order=5, error=DeviceError)
    def toy(host: Host, _plan: Plan) -> list[Diagnostic]:
        return [Diagnostic(Severity.ERROR, "toy-broken", "the toy is broken", "mend it", details={"free": host.output.free})]

    with pytest.raises(DeviceError) as caught:
        require(GOOD, PLAN)
    assert (caught.value.code, caught.value.hint, caught.value.details) == ("toy-broken", "mend it", {"free": 1 << 40})
    assert in_order()[0] is toy


def test_look_at(tmp_path: Path) -> None:
    place = facts.look_at(tmp_path / "perf.data")
    assert (place.kind, place.folder_exists, place.folder_writable) == (None, True, True)
    assert place.free
    (tmp_path / "perf.data").write_bytes(b"x")
    (tmp_path / "perf.data.old").mkdir()
    assert facts.look_at(tmp_path / "perf.data").kind == "file"
    assert facts.look_at(tmp_path / "perf.data").old_kind == "directory"
    assert facts.look_at(tmp_path).kind == "directory"
    assert facts.look_at(Path("/dev/full")).kind == "other"
    assert not facts.look_at(tmp_path / "no" / "perf.data").folder_exists
    assert not facts.look_at(tmp_path / "perf.data" / "x").folder_exists


def test_read_rights() -> None:
    rights = facts.read_rights((0, 1))
    assert rights.cpus == 2
    assert rights.paranoid == int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii"))
    if os.geteuid() != 0:
        assert not rights.can(CAP_SYS_ADMIN)
