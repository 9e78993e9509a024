"""Which CPU records."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from ptttool.capture.cpu import MAX_INTERRUPTS, Occupied, choose_cpu, occupied_on
from ptttool.errors import DeviceError, UsageError
from ptttool.machine.discovery import read_machine
from ptttool.machine.model import Machine, PttDevice
from ptttool.machine.sources.files import MemoryFiles
from ptttool.machine.sources.recorded import RecordedSource
from ptttool.pci import PciAddress
from ptttool.testing import FakeMachine

DEVICE = PttDevice(name="hisi_ptt0_0", sicl=0, core=0, sysfs="/sys/devices/hisi_ptt0_0", cpus=(0, 1))
PORT, DRIVE, OTHER = (PciAddress.parse(text) for text in ("0000:00:10.0", "0000:01:00.0", "0000:00:11.0"))


def test_choose_cpu() -> None:
    assert choose_cpu(DEVICE, None, (0, 1))[0] == 1
    assert choose_cpu(DEVICE, None, (1, 2))[0] == 1
    assert choose_cpu(DEVICE, None, None)[0] == 1
    assert choose_cpu(DEVICE, None, (2,))[0] == 0
    assert choose_cpu(DEVICE, 1, (0, 1))[0] == 1
    assert choose_cpu(replace(DEVICE, cpus=()), 3, None)[0] == 3
    for wanted, online, code in ((2, None, "cpu-not-in-cpumask"), (1, (0,), "cpu-offline")):
        with pytest.raises(UsageError) as caught:
            choose_cpu(DEVICE, wanted, online)
        assert caught.value.code == code
    with pytest.raises(DeviceError):
        choose_cpu(replace(DEVICE, cpus=()), None, None)


def test_offline_cpus_are_named() -> None:
    """The driver's cpumask has only CPUs that are online, so such a CPU looks like one of another node."""
    one = replace(DEVICE, cpus=(0,), offline_cpus=(1,), numa_node=0)
    assert choose_cpu(one, None, (0, 2, 3))[0] == 0
    with pytest.raises(UsageError) as caught:
        choose_cpu(one, 1, (0, 2, 3))
    assert (caught.value.code, caught.value.details["cpu"]) == ("cpu-offline", 1)
    assert "cpu1/online" in str(caught.value.hint)
    with pytest.raises(UsageError) as caught:
        choose_cpu(one, 2, (0, 2, 3))
    assert caught.value.code == "cpu-not-in-cpumask"
    for wanted in (None, 0, 2):
        with pytest.raises(DeviceError) as failed:
            choose_cpu(replace(one, cpus=(), offline_cpus=(0, 1)), wanted, (2, 3))
        assert (failed.value.code, failed.value.details["cpus"]) == ("cpus-offline", [0, 1])
        assert "NUMA node 0" in failed.value.message


def read(interrupts: Mapping[str, Mapping[int, str]], affinity: Mapping[int, str], name: str = "effective_affinity_list") -> Machine:
    """Read a machine with two drives on eight CPUs.

    ``interrupts``: function to its interrupts, ``affinity``: interrupt to the CPUs that handle it.
    """
    machine = FakeMachine(nodes={0: "0-7"})
    ptt = machine.add_ptt("hisi_ptt0_0", "0000:00:08.0")
    ptt.add_root_port(str(PORT)).add_nvme(str(DRIVE), "nvme0")
    ptt.add_root_port(str(OTHER)).add_nvme("0000:02:00.0", "nvme1")
    for address, numbers in interrupts.items():
        machine.function(address).files.update({f"msi_irqs/{number}": kind for number, kind in numbers.items()})
    tree = machine.tree()
    files = {path: attribute.show() for path, attribute in tree.files.items()} | {"/udev.txt": tree.database().encode()}
    files |= {f"/proc/irq/{number}/{name}": f"{cpus}\n".encode() for number, cpus in affinity.items()}
    return read_machine(RecordedSource(MemoryFiles(files, tree.links), "a machine"))


def choice(machine: Machine, *addresses: PciAddress) -> tuple[int, Mapping[str, object]]:
    (device,) = machine.devices
    cpu, why = choose_cpu(device, None, None, occupied_on(machine, device, addresses, None))
    assert why is not None
    assert (why.code, why.details["cpu"]) == ("cpu-chosen", cpu)
    return cpu, why.details


def test_no_cpu_that_handles_interrupts_of_what_is_traced() -> None:
    """The drive's interrupts are on CPUs 1 and 2; those of another port do not count, and CPU 0 is taken last."""
    interrupts = {str(DRIVE): {40: "msix", 41: "msix"}, "0000:02:00.0": {50: "msix"}}
    machine = read(interrupts, {40: "1", 41: "2", 50: "3"})
    cpu, details = choice(machine, PORT)
    assert (cpu, details["interrupts"], details["own_interrupts"], details["able"]) == (3, "1-2", 0, "0-7")
    assert choice(machine, DRIVE)[0] == 3
    assert choice(machine, OTHER)[0] == 1
    assert choice(machine, PORT, OTHER)[0] == 4


def test_cpu_0_rather_than_one_with_interrupts_and_the_fewest_where_all_have_some() -> None:
    machine = read({str(DRIVE): dict.fromkeys(range(40, 48), "msix")}, {number: str(number - 39) for number in range(40, 48)})
    assert choice(machine, PORT)[0] == 0
    numbers = dict.fromkeys(range(40, 52), "msix")
    machine = read({str(DRIVE): numbers}, {number: str((number - 40) % 8) for number in numbers})
    cpu, details = choice(machine, PORT)
    assert (cpu, details["own_interrupts"]) == (4, 1)


def test_where_interrupts_end_up_or_may_go_to() -> None:
    assert choice(read({str(DRIVE): {40: "msix"}}, {40: "1-3"}, "smp_affinity_list"), PORT)[0] == 4
    assert choice(read({str(DRIVE): {40: "msix"}}, {40: "no list"}), PORT)[0] == 1
    # A function without MSI has one interrupt, whose number is in its file irq.
    machine = FakeMachine(nodes={0: "0-3"})
    machine.add_ptt("hisi_ptt0_0", "0000:00:08.0").add_root_port(str(PORT)).add_nvme(str(DRIVE), "nvme0").files["irq"] = "33"
    tree = machine.tree()
    files = {path: attribute.show() for path, attribute in tree.files.items()} | {"/proc/irq/33/effective_affinity_list": b"1\n"}
    assert choice(read_machine(RecordedSource(MemoryFiles(files, tree.links), "a machine")), PORT)[0] == 2


def test_it_is_said_that_nothing_is_known_of_interrupts() -> None:
    machine = read({}, {})
    cpu, details = choice(machine, PORT)
    assert (cpu, details["interrupts"], details["own_interrupts"]) == (1, None, None)
    assert choose_cpu(machine.devices[0], 2, None) == (2, None)


def test_looking_at_interrupts_is_bounded() -> None:
    numbers = dict.fromkeys(range(1, MAX_INTERRUPTS + 2), "msix")
    machine = read({str(DRIVE): numbers}, dict.fromkeys(numbers, "1"))
    occupied = occupied_on(machine, machine.devices[0], [PORT], None)
    assert occupied.interrupts == {1: MAX_INTERRUPTS}


def test_a_list_that_no_interrupt_has_is_not_read() -> None:
    machine = read({str(DRIVE): {1: "msix", 2: "msix"}}, {1: ",".join(["1"] * 2000), 2: "3"})
    occupied = occupied_on(machine, machine.devices[0], [PORT], None)
    assert occupied.interrupts == {3: 1}


def test_not_where_the_workload_is_bound_to() -> None:
    device = replace(DEVICE, cpus=(0, 1, 2, 3))
    cpu, why = choose_cpu(device, None, range(8), Occupied({3: 1}, frozenset({1, 2})))
    assert why is not None
    assert (cpu, why.details["workload"]) == (0, "1-2")
    assert choose_cpu(device, None, range(8), Occupied({}, frozenset({0, 1, 2, 3})))[0] == 1


def test_the_workload_is_bound_as_this_process_is(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = read({}, {})
    device = machine.devices[0]
    assert device.source is not None
    monkeypatch.setattr(type(device.source), "live", True)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1})
    assert occupied_on(machine, device, [PORT], (0, 1, 2)).workload == {1}
    assert occupied_on(machine, device, [PORT], (1,)).workload == frozenset()
