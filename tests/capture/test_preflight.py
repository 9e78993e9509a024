"""The checks before a recording: pure over facts, the first failure being the root cause."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from ptttool.capture import preflight
from ptttool.capture.perf.tool import PerfTool
from ptttool.capture.preflight import CAP_IPC_LOCK, CAP_PERFMON, CAP_SYS_ADMIN, Host, Place, Plan, Process, Rights
from ptttool.errors import AccessError, DeviceError, OutputError, PerfError, PtttoolError, UsageError
from ptttool.machine.model import PttDevice

DEVICE = PttDevice(name="hisi_ptt0_0", sicl=0, core=0, sysfs="/sys/devices/hisi_ptt0_0", cpus=(0, 1))
PLAN = Plan(DEVICE, 0, 64 << 20)
ROOT = Rights(capabilities=(1 << 41) - 1, paranoid=4, mlock_kb=516, memlock=8 << 20, cpus=4)
USER = replace(ROOT, capabilities=0)
PLACE = Place(path="perf.data", folder=".", folder_exists=True, folder_writable=True, free=1 << 40)
PERF = PerfTool("/usr/bin/perf", "6.12.95", "arm64", True)
GOOD = Host(perf=PERF, rights=ROOT, place=PLACE, online=(0, 1, 2, 3))
BUSY = Process(4711, ("perf", "record", "-C", "1", "-e", "hisi_ptt0_0/filter=0x80001/"))


def caps(*numbers: int) -> Rights:
    return replace(ROOT, capabilities=sum(1 << number for number in numbers))


def test_nothing_in_the_way() -> None:
    assert preflight.check(GOOD, PLAN) == []
    assert preflight.check(replace(GOOD, command="/bin/true"), replace(PLAN, command=("true",))) == []


FAILURES: list[tuple[Host, Plan, type[PtttoolError], str]] = [
    (GOOD, replace(PLAN, command=("nonesuch",)), UsageError, "command-missing"),
    (replace(GOOD, perf=PerfError("none", code="perf-missing")), PLAN, PerfError, "perf-missing"),
    (replace(GOOD, perf=replace(PERF, architecture="x86-64")), PLAN, PerfError, "perf-cannot-record"),
    (replace(GOOD, perf=replace(PERF, auxtrace=False)), PLAN, PerfError, "perf-without-auxtrace"),
    (replace(GOOD, rights=USER), PLAN, AccessError, "perf-not-permitted"),
    (replace(GOOD, rights=replace(USER, paranoid=1)), PLAN, AccessError, "perf-not-permitted"),
    (replace(GOOD, rights=replace(USER, paranoid=0)), PLAN, AccessError, "mlock-limit"),
    (replace(GOOD, rights=caps(CAP_PERFMON)), PLAN, AccessError, "mlock-limit"),
    (replace(GOOD, place=replace(PLACE, kind="directory")), PLAN, OutputError, "output-is-directory"),
    (replace(GOOD, place=replace(PLACE, kind="other")), PLAN, OutputError, "output-not-a-file"),
    (replace(GOOD, place=replace(PLACE, folder_exists=False)), PLAN, OutputError, "output-folder-missing"),
    (replace(GOOD, place=replace(PLACE, folder_writable=False)), PLAN, AccessError, "output-not-permitted"),
    (replace(GOOD, place=replace(PLACE, old_is_directory=True)), PLAN, OutputError, "old-is-directory"),
    (replace(GOOD, processes=(Process(1, ("init",)), BUSY)), PLAN, PerfError, "device-busy"),
]


@pytest.mark.parametrize(("host", "plan", "kind", "code"), FAILURES, ids=[f"{n}-{one[3]}" for n, one in enumerate(FAILURES)])
def test_failure(host: Host, plan: Plan, kind: type[PtttoolError], code: str) -> None:
    with pytest.raises(kind) as caught:
        preflight.check(host, plan)
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
    assert preflight.check(replace(GOOD, rights=rights), PLAN) == []


def test_root_cause_comes_first() -> None:
    """An x86 perf is told before the rights that it would need, those before the place and the other perf."""
    host = replace(
        GOOD, perf=replace(PERF, architecture="x86-64"), rights=USER, place=replace(PLACE, folder_exists=False), processes=(BUSY,)
    )
    codes = []
    for repaired in ({"perf": PERF}, {"rights": ROOT}, {"place": PLACE}, {"processes": ()}):
        with pytest.raises(PtttoolError) as caught:
            preflight.check(host, PLAN)
        codes.append(caught.value.code)
        host = replace(host, **repaired)
    assert codes == ["perf-cannot-record", "perf-not-permitted", "output-folder-missing", "device-busy"]
    assert preflight.check(host, PLAN) == []


def test_busy_names_the_process() -> None:
    with pytest.raises(PerfError) as caught:
        preflight.check(replace(GOOD, processes=(BUSY,)), PLAN)
    assert "4711" in caught.value.message
    assert caught.value.details["pid"] == 4711
    other = replace(BUSY, arguments=("perf", "record", "-e", "hisi_ptt0_2/filter=0x80100/"))
    assert preflight.check(replace(GOOD, processes=(other,)), PLAN) == []


def test_warnings() -> None:
    assert "room for 100 MiB" in preflight.check(replace(GOOD, place=replace(PLACE, free=100 << 20)), PLAN)[0]
    assert "offline" in preflight.check(replace(GOOD, online=(2, 3)), PLAN)[0]


@pytest.mark.parametrize(("size", "code"), [(0, "aux-too-small"), (8 << 20, "aux-too-small"), (48 << 20, "aux-no-power-of-two")])
def test_aux_size(size: int, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        preflight.check_aux_size(size)
    assert caught.value.code == code
    preflight.check_aux_size(16 << 20)


def test_choose_cpu() -> None:
    assert preflight.choose_cpu(DEVICE, None, (0, 1)) == 0
    assert preflight.choose_cpu(DEVICE, None, (1, 2)) == 1
    assert preflight.choose_cpu(DEVICE, None, None) == 0
    assert preflight.choose_cpu(DEVICE, None, (2,)) == 0
    assert preflight.choose_cpu(DEVICE, 1, (0, 1)) == 1
    assert preflight.choose_cpu(replace(DEVICE, cpus=()), 3, None) == 3
    for wanted, online, code in ((2, None, "cpu-not-in-cpumask"), (1, (0,), "cpu-offline")):
        with pytest.raises(UsageError) as caught:
            preflight.choose_cpu(DEVICE, wanted, online)
        assert caught.value.code == code
    with pytest.raises(DeviceError):
        preflight.choose_cpu(replace(DEVICE, cpus=()), None, None)


def test_look_at(tmp_path: Path) -> None:
    place = preflight.look_at(tmp_path / "perf.data")
    assert (place.kind, place.folder_exists, place.folder_writable) == (None, True, True)
    assert place.free
    (tmp_path / "perf.data").write_bytes(b"x")
    (tmp_path / "perf.data.old").mkdir()
    assert preflight.look_at(tmp_path / "perf.data").kind == "file"
    assert preflight.look_at(tmp_path / "perf.data").old_is_directory
    assert preflight.look_at(tmp_path).kind == "directory"
    assert preflight.look_at(Path("/dev/full")).kind == "other"
    assert not preflight.look_at(tmp_path / "no" / "perf.data").folder_exists
    assert not preflight.look_at(tmp_path / "perf.data" / "x").folder_exists


def test_read_rights() -> None:
    rights = preflight.read_rights((0, 1))
    assert rights.cpus == 2
    assert rights.paranoid == int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii"))
    if os.geteuid() != 0:
        assert not rights.can(CAP_SYS_ADMIN)
