"""The driver of Linux 6.1 is asked which PTT device has a filter: when, how, and what follows from its answer."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from ptttool.capture.ask_driver import Asking, ask_driver, choose_asking
from ptttool.capture.checks.host import CAP_PERFMON, Rights
from ptttool.capture.device.lock import hold_device
from ptttool.capture.device.open_event import open_event, refusal
from ptttool.capture.device.tracers import Process, holds_perf_events, running_processes
from ptttool.capture.event.choose import EventOptions
from ptttool.capture.event.terms import Format, fields_of
from ptttool.errors import UsageError
from ptttool.machine.discovery import read_machine
from ptttool.machine.model import Filter, Machine
from ptttool.machine.pmu import PORT_FLAG
from ptttool.machine.sources.tree import TreeSource
from ptttool.machine.topology import walk
from ptttool.pci import PciAddress
from tests.standin.driver import Driver
from tests.support.machines import MACHINES, OLD, REPOSITORY, umockdev

ROOT = Rights((1 << 41) - 1)
PORTS = {"0000:00:10.0": "hisi_ptt0_0", "0000:00:11.0": "hisi_ptt0_0", "0000:00:12.0": "hisi_ptt0_0", "0000:00:14.0": "hisi_ptt0_2"}
REQUESTERS = {"nvme0": "hisi_ptt0_0", "ens2": "hisi_ptt0_0", "04:00.0": "hisi_ptt0_2", "nvme1": "hisi_ptt0_2", "08:00.1": "hisi_ptt0_2"}


class LiveTree(TreeSource):
    """A recorded machine that passes for the running one, and counts events as the kernel does."""

    live = True
    references = "0"

    def read(self, path: str) -> str:
        if path != "/sys/module/hisi_ptt/refcnt":
            return super().read(path)
        if self.references == "":
            raise FileNotFoundError(errno.ENOENT, "", path)
        return self.references


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTTTOOL_RUNTIME_DIR", str(tmp_path / "locks"))


@pytest.fixture
def source() -> LiveTree:
    return LiveTree(MACHINES / OLD)


@pytest.fixture
def machine(source: LiveTree) -> Machine:
    return read_machine(source, tune=False)


@pytest.fixture
def driver() -> Driver:
    return Driver()


@pytest.fixture
def asking(source: LiveTree, driver: Driver) -> Asking:
    return Asking(source, ROOT, tuple, driver.refusal)


@pytest.fixture
def live_old(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """``ptttool`` on the machine of Linux 6.1 as if it ran here."""
    (tmp_path / "dump").mkdir()
    prefix = umockdev(OLD, tmp_path / "dump")
    standin = REPOSITORY / "tests" / "standin"

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*prefix, sys.executable, str(standin / "as_root.py"), *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PATH": f"{standin}:{os.environ['PATH']}", "STANDIN_DRIVER": "yes", **more},
            timeout=60,
        )

    return run


def answer(machine: Machine, asking: Asking, **options: Any) -> tuple[str | None, str]:
    wanted = EventOptions(**(options or {"root_ports": ("nvme0",)}))
    device, said = ask_driver(wanted, machine, machine.devices, asking)
    return None if device is None else device.name, said


@pytest.mark.parametrize(("port", "owner"), PORTS.items())
def test_root_ports(port: str, owner: str, machine: Machine, asking: Asking, driver: Driver) -> None:
    chosen = choose_asking(EventOptions(root_ports=(port,)), machine, asking)
    assert chosen.device is not None
    assert (chosen.device.name, [one.code for one in chosen.notes]) == (owner, ["asked-driver"])
    assert owner in chosen.notes[-1].message
    # What is behind a port proves more than its bit. Nothing is open afterwards.
    kinds = [bool(fields_of(config)["filter"] & PORT_FLAG) for _, config, _ in driver.opened]
    assert kinds == ([True] if port.endswith("12.0") else [True, False]) * 3
    assert {cpu for _, _, cpu in driver.opened} == {0, 2}


@pytest.mark.parametrize(("requester", "owner"), REQUESTERS.items())
def test_requesters(requester: str, owner: str, machine: Machine, asking: Asking) -> None:
    chosen = choose_asking(EventOptions(requester=requester, format=Format.DW8), machine, asking)
    assert chosen.device is not None
    assert chosen.device.name == owner


def test_several_root_ports(machine: Machine, asking: Asking) -> None:
    assert answer(machine, asking, root_ports=("00:10.0", "00:11.0"))[0] == "hisi_ptt0_0"
    assert answer(machine, asking, root_ports=("00:10.0", "00:14.0"))[0] is None


def test_an_answer_that_is_not_clear(machine: Machine, asking: Asking) -> None:
    for number in (0, errno.EINVAL, errno.EBUSY, errno.EACCES, errno.ENODEV):
        name, text = answer(machine, structs.replace(asking, refusal=lambda *_, number=number, **__: number))
        assert name is None
        assert (errno.errorcode[number] in text) == (number not in (0, errno.EINVAL)) if number else "accept" in text
    with pytest.raises(UsageError) as caught:
        choose_asking(EventOptions(root_ports=("nvme0",)), machine, structs.replace(asking, refusal=lambda *_, **__: errno.EINVAL))
    assert caught.value.code == "ambiguous-device"
    assert "no device accepts" in str(caught.value.hint)


def test_an_empty_port_whose_bit_another_one_has(machine: Machine, asking: Asking) -> None:
    """Bits repeat every eight device numbers: the driver may mean the other port."""
    other = PciAddress.parse("0000:00:1a.0")
    devices = tuple(
        replace(one, root_ports=(*one.root_ports, Filter(other, one.root_ports[2].value, computed=True))) for one in machine.devices
    )
    changed = replace(machine, devices=devices)
    assert next(walk(changed, PciAddress.parse("00:12.0")), None) is None
    assert answer(changed, asking, root_ports=("00:12.0",))[0] is None
    assert answer(changed, asking, root_ports=("00:10.0",))[0] == "hisi_ptt0_0"


def refused(*_arguments: object, **_more: object) -> int:
    raise AssertionError("the driver must not be asked")


TRACER = Process(4711, ("prf", "record", "-e", "hisi_ptt0_2/filter=0x80100/"), 65534, holds_events=False)
MONITOR = Process(4712, ("node_exporter",), 0, holds_events=True)
HOLDER = structs.replace(TRACER, pid=4714, holds_events=True)
OTHER = Process(4713, ("init",), 0, holds_events=False)


@pytest.mark.parametrize(
    ("references", "processes", "asked"),
    [
        ("0", (OTHER, MONITOR), True),
        ("1", (), False),
        ("1", (OTHER, MONITOR), False),
        ("1", (MONITOR, HOLDER), False),
        ("0", (TRACER,), False),
        # A driver that is built in has no count.
        ("", (OTHER,), True),
        ("", (OTHER, MONITOR), False),
        ("", (OTHER, structs.replace(OTHER, holds_events=None)), False),
    ],
)
def test_who_may_hold_an_event(
    references: str, processes: tuple[Process, ...], asked: bool, source: LiveTree, machine: Machine, asking: Asking
) -> None:
    source.references = references
    asking = structs.replace(asking, processes=lambda: processes)
    if asked:
        assert answer(machine, asking)[0] == "hisi_ptt0_0"
    else:
        name, text = answer(machine, structs.replace(asking, refusal=refused))
        assert name is None
        assert not processes or str(processes[-1].pid) in text
        assert HOLDER not in processes or str(MONITOR.pid) not in text


def test_when_it_is_not_asked(machine: Machine, asking: Asking, source: LiveTree) -> None:
    asking = structs.replace(asking, refusal=refused)
    assert answer(machine, structs.replace(asking, rights=Rights(0)))[0] is None
    with hold_device("hisi_ptt2_0", purpose="trace"):
        assert "hisi_ptt2_0" in answer(machine, asking)[1]
    offline = replace(machine, devices=(*machine.devices[:2], replace(machine.devices[2], cpus=())))
    assert answer(offline, asking)[0] is None
    source.live = False
    assert answer(machine, asking)[0] is None


def test_rights_that_are_enough(machine: Machine, asking: Asking) -> None:
    assert answer(machine, structs.replace(asking, rights=Rights(1 << CAP_PERFMON)))[0] == "hisi_ptt0_0"


def test_the_system_call() -> None:
    """On this machine's own PMUs: type 1 is the software PMU; its config 0 is cpu-clock, 9999 is none of its events."""
    answers = {refusal(1, 0, cpu=0), refusal(1, 9999, cpu=0), refusal(0x7FFFFFF0, 0, cpu=0), refusal(1, 0, cpu=1 << 20)}
    if refusal(1, 0, cpu=0) in (errno.EACCES, errno.EPERM, errno.ENOSYS):
        pytest.skip("this machine refuses perf events")
    assert answers == {0, errno.ENOENT, errno.EINVAL}
    assert refusal(1, 9999, cpu=0) == refusal(0x7FFFFFF0, 0, cpu=0) == errno.ENOENT
    assert refusal(1, 0, cpu=1 << 20) == errno.EINVAL
    assert not any(one.holds_events for one in running_processes(holders=True) if one.arguments[0].startswith("pytest"))
    with pytest.raises(OSError, match=str(errno.ENOENT)):
        open_event(1, 9999, cpu=0)


def test_holders_of_any_event() -> None:
    found: Iterable[Process] = running_processes(holders=True)
    assert {one.holds_events for one in found} <= {True, False, None}
    assert holds_perf_events(1 << 30) is None


def test_trace_asks(live_old: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    """The whole command under umockdev, with a driver that answers as the real one."""
    done = live_old("trace", "--rootport", "00:14.0", "--json", "--", "true")
    body = json.loads(done.stdout)
    assert (done.returncode, body["device"]) == (0, "hisi_ptt0_2"), done.stderr
    kept = json.loads((tmp_path / "perf.data.ptttool.json").read_text(encoding="utf-8"))
    assert "hisi_ptt0_2 accepts" in kept["options"]["asked_driver"]
    # Nothing is opened where nothing is recorded, or without rights.
    for arguments, more in ((["--dry-run"], {}), ([], {"STANDIN_RIGHTS": "user"})):
        refused = live_old("trace", "--rootport", "00:14.0", "--json", *arguments, "--", "true", **more)
        error = json.loads(refused.stdout)["error"]
        assert (error["code"], "without --dry-run" in error["hint"]) == ("ambiguous-device", bool(arguments))
