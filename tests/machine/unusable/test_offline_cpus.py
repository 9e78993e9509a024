"""CPUs of PTT devices that are offline: the driver does not name them, the NUMA node does."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ptttool.api.capture import build_event, plan_recording
from ptttool.api.machine import find_machine
from ptttool.cli.main import main
from ptttool.errors import DeviceError
from ptttool.machine.discovery import read_machine
from ptttool.machine.model import Machine
from ptttool.machine.sources.udev import UdevSource
from ptttool.testing import FakeMachine
from ptttool.testing.presets import kunpeng
from tests.support import machines
from tests.support.machines import NEW, OLD


def with_offline(*cpus: int, kernel: str = "6.12") -> FakeMachine:
    machine = kunpeng(kernel)
    machine.offline_cpus |= set(cpus)
    return machine


def offline(machine: Machine) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    return {one.name: (one.cpus, one.offline_cpus) for one in machine.devices}


def codes(machine: Machine) -> dict[str, list[str]]:
    return {one.name: [found.code for found in one.diagnostics if found.code == "cpus-offline"] for one in machine.devices}


def test_one_cpu() -> None:
    found = with_offline(1).read()
    assert offline(found) == {"hisi_ptt0_0": ((0,), (1,)), "hisi_ptt0_2": ((0,), (1,)), "hisi_ptt2_0": ((2, 3), ())}
    assert not any(codes(found).values())
    assert offline(kunpeng("6.12").read())["hisi_ptt0_0"] == ((0, 1), ())


@pytest.mark.parametrize("kernel", ["6.12", "6.1"])
def test_all_cpus_of_a_node(kernel: str) -> None:
    """On 6.1 the node of a device is known by its CPUs, so it is not known here."""
    found = with_offline(0, 1, kernel=kernel).read()
    assert offline(found)["hisi_ptt0_2"] == ((), (0, 1))
    assert offline(found)["hisi_ptt2_0"] == ((2, 3), ())
    assert codes(found) == {"hisi_ptt0_0": ["cpus-offline"], "hisi_ptt0_2": ["cpus-offline"], "hisi_ptt2_0": []}


def test_a_copy_without_the_links_of_a_node() -> None:
    """As recorded machines are: then only a device without any CPU has them."""
    files, links = machines.contents(NEW)
    files["/sys/devices/system/cpu/online"] = b"0,2-3\n"
    assert offline(read_machine(machines.in_memory(files, links)))["hisi_ptt0_0"] == ((0, 1), ())
    for path in [path for path in files if path.endswith("hisi_ptt0_0/cpumask")]:
        files[path] = b"\n"
    assert offline(read_machine(machines.in_memory(files, links)))["hisi_ptt0_0"] == ((), (1,))


@pytest.mark.parametrize("name", ["online", "present"])
@pytest.mark.parametrize("content", [None, b"many\n", b""])
def test_lists_that_cannot_be_read(name: str, content: bytes | None) -> None:
    files, links = machines.contents(OLD)
    path = f"/sys/devices/system/cpu/{name}"
    if content is None:
        del files[path]
    else:
        files[path] = content
    assert all(not one.offline_cpus or name == "online" for one in read_machine(machines.in_memory(files, links)).devices)


def test_commands_name_them(mount_ptt_machine: Callable[[FakeMachine], FakeMachine], capsys: pytest.CaptureFixture[str]) -> None:
    machine = mount_ptt_machine(with_offline(0, 1))
    assert main(["list"]) == 0
    assert "0-1 (offline)" in capsys.readouterr().out
    with pytest.raises(DeviceError) as caught:
        plan_recording(build_event(find_machine(), root_ports=["00:14.0"]), output="x")
    assert caught.value.code == "cpus-offline"
    machine.offline_cpus -= {0}
    machine.refresh()
    assert main(["event", "--rootport", "00:14.0", "--cpu", "1", "--json"]) == 2
    assert '"cpu-offline"' in capsys.readouterr().out
    assert offline(read_machine(UdevSource()))["hisi_ptt0_2"] == ((0,), (1,))


def test_as_real_files(tmp_path: Path) -> None:
    folder = with_offline(0, 1).write_to(tmp_path / "machine")
    done: subprocess.CompletedProcess[str] = machines.run(["list", "--sysfs", folder, "--json"])
    devices = {one["name"]: one for one in machines.document(done)["devices"]}
    assert devices["hisi_ptt0_0"]["offline_cpus"] == [0, 1]
