"""What is read of a machine: fake ones and the recorded ones; changed recordings for what neither can be."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pyfakefs.fake_filesystem import FakeFilesystem

from ptttool.errors import DeviceError
from ptttool.machine.discovery import read_machine
from ptttool.machine.model import FormatTerm, Link, Machine, Multiselect, PttDevice
from ptttool.machine.resolve import resolve_root_port
from ptttool.machine.sources.files import MemoryFiles
from ptttool.machine.sources.recorded import RecordedSource
from ptttool.machine.sources.udev import UdevSource
from ptttool.machine.unusable.without_driver import explain_absence
from ptttool.pci import PciAddress
from ptttool.testing import FakeMachine, kunpeng
from tests.support.machines import BUS, NEW, OLD, contents, in_memory

PTT = f"{BUS}/0000:00:09.0/hisi_ptt0_2"
PORT_14 = f"{BUS}/0000:00:14.0"
FORMAT = {
    "direction": FormatTerm("config", 20, 23),
    "filter": FormatTerm("config", 0, 19),
    "format": FormatTerm("config", 32, 35),
    "type": FormatTerm("config", 24, 31),
}

Change = Callable[[dict[str, bytes], dict[str, str]], None]


def changed(change: Change, name: str = NEW) -> Machine:
    files, links = contents(name)
    change(files, links)
    return read_machine(in_memory(files, links))


@pytest.fixture
def look(mount_ptt_machine: Callable[[FakeMachine], FakeMachine]) -> Callable[[FakeMachine], Machine]:
    """Mounts a fake machine and reads it as the one this runs on."""
    return lambda machine: read_machine(UdevSource()) if mount_ptt_machine(machine) else pytest.fail("not mounted")


Look = Callable[[FakeMachine], Machine]


@pytest.fixture(params=["fake", "recorded"])
def read(request: pytest.FixtureRequest) -> Callable[[str], Machine]:
    """Reads the machine under that kernel: the fake one, the recorded one."""
    if request.param == "recorded":
        return lambda name: changed(lambda files, links: None, name)
    look: Look = request.getfixturevalue("look")
    return lambda name: look(kunpeng(name.removeprefix("kunpeng-")))


Read = Callable[[str], Machine]


def replace_file(fs: FakeFilesystem, path: str, content: bytes) -> None:
    """Let a mounted machine show something else."""
    fs.remove_object(fs.resolve_path(path))
    fs.create_file(path, contents=content)


def device(machine: Machine, name: str = "hisi_ptt0_2") -> PttDevice:
    return next(one for one in machine.devices if one.name == name)


def codes(one: PttDevice) -> list[str]:
    return [diagnostic.code for diagnostic in one.diagnostics]


def details(one: PttDevice, code: str) -> Mapping[str, object]:
    """The details of the device's only diagnostic of that code."""
    (found,) = [diagnostic for diagnostic in one.diagnostics if diagnostic.code == code]
    return found.details


def values(filters: object) -> Mapping[str, int]:
    assert isinstance(filters, tuple)
    return {one.address.short: one.value for one in filters}


class TestTheWholeMachine:
    def test_filters_of_the_new_kernel(self, read: Read) -> None:
        machine = read(NEW)
        ports = {one.name: values(one.root_ports) for one in machine.devices}
        assert ports == {
            "hisi_ptt0_0": {"00:10.0": 0x80001, "00:11.0": 0x80004, "00:12.0": 0x80010},
            "hisi_ptt0_2": {"00:14.0": 0x80100, "00:15.0": 0x80400},
            "hisi_ptt2_0": {},
        }
        assert values(device(machine).requesters) == {
            "04:00.0": 0x400, "05:00.0": 0x500, "05:01.0": 0x508, "06:00.0": 0x600, "07:00.0": 0x700, "08:00.0": 0x800, "08:00.1": 0x801,
        }  # fmt: skip
        for one in machine.devices:
            assert one.ports_known
            assert one.multiselect == Multiselect(root_ports=True, requesters=False)
            assert one.format == FORMAT
            assert [(event.name, event.value, event.problem) for event in one.tune] == [
                (name, 1, None) for name in ("qos_tx_cpl", "qos_tx_np", "qos_tx_p", "rx_alloc_buf_level", "tx_alloc_buf_level")
            ]
            assert not any(entry.computed for entry in one.filters)
            assert one.diagnostics == ()

    def test_computed_filters_are_those_of_the_driver(self, read: Read) -> None:
        """Every value that the 6.12 driver listed, computed on the recording of 6.1, where the same machine lists none."""
        listed = {entry.address: entry.value for one in read(NEW).devices for entry in one.filters}
        old = read(OLD)
        for one in old.devices:
            assert {entry.address: entry.value for entry in one.filters} == listed
            assert all(entry.computed for entry in one.filters)
            assert not one.ports_known
            assert one.multiselect == Multiselect(root_ports=True, requesters=False)
            assert "filters-computed" in codes(one)

    def test_pci_addresses_of_the_old_kernel(self, read: Read) -> None:
        """By the CPUs of the NUMA node: one device of node 1 and one function; two of each on node 0, which stay unknown."""
        old = read(OLD)
        assert {one.name: one.pci and one.pci.short for one in old.devices} == {
            "hisi_ptt0_0": None,
            "hisi_ptt0_2": None,
            "hisi_ptt2_0": "00:0a.0",
        }
        assert [one.numa_node for one in old.devices] == [0, 0, 1]
        assert details(device(old), "pci-unknown") == {"candidates": ["0000:00:08.0", "0000:00:09.0"]}
        assert details(device(old, "hisi_ptt2_0"), "pci-matched") == {"candidates": ["0000:00:0a.0"]}

    def test_functions(self, read: Read) -> None:
        functions = read(NEW).functions
        nvme = functions[PciAddress.parse("06:00.0")]
        assert (nvme.vendor, nvme.device, nvme.class_code, nvme.driver, nvme.numa_node) == (0x1B36, 0x10, 0x10802, "nvme", None)
        assert nvme.kernel_names == ("nvme1", "nvme1n1")
        assert nvme.parent == PciAddress.parse("05:00.0")
        assert nvme.link == Link("2.5 GT/s PCIe", 1, "2.5 GT/s PCIe", 1)
        assert (nvme.secondary, nvme.subordinate) == (None, None)
        port = functions[PciAddress.parse("00:14.0")]
        assert (port.secondary, port.subordinate, port.parent) == (4, 7, None)
        ptt = functions[PciAddress.parse("00:0a.0")]
        assert (ptt.numa_node, ptt.driver, ptt.link) == (1, "hisi_ptt", None)
        assert functions[PciAddress.parse("08:00.1")].kernel_names == ("ens6f1",)


class TestFormat:
    @pytest.fixture
    def terms(self, look: Look) -> Callable[..., PttDevice]:
        def terms(**added: str) -> PttDevice:
            machine = FakeMachine()
            machine.add_ptt("hisi_ptt0_2", "0000:00:09.0", format={name: str(term) for name, term in FORMAT.items()} | added)
            return device(look(machine))

        return terms

    def test_pattern_and_other_words(self, terms: Callable[..., PttDevice]) -> None:
        found = terms(pattern="config:36-39", later="config1:0-63", one="config2:7")
        assert found.format == {
            **FORMAT,
            "pattern": FormatTerm("config", 36, 39),
            "later": FormatTerm("config1", 0, 63),
            "one": FormatTerm("config2", 7, 7),
        }
        assert found.diagnostics == ()

    @pytest.mark.parametrize("text", ["config:0-7,32-35", "config:9-3", "config:0-64", "attr:1", "", "config:", "config:-1"])
    def test_shapes_that_are_not_understood(self, terms: Callable[..., PttDevice], text: str) -> None:
        found = terms(odd=text)
        assert found.format == FORMAT
        assert details(found, "unknown-format") == {"term": "odd", "text": text}


class TestOddMachines:
    def test_names_that_tell_nothing(self, look: Look) -> None:
        fake = FakeMachine("6.1")
        for name, address in (("hisi_ptt_new", "00:0a.0"), ("hisi_ptt0_2", "00:09.0"), ("hisi_ptt0_0", "00:08.0")):
            fake.add_ptt(name, address)
        machine = look(fake)
        assert [(one.name, one.sicl, one.core) for one in machine.devices] == [
            ("hisi_ptt0_0", 0, 0), ("hisi_ptt0_2", 0, 2), ("hisi_ptt_new", None, None),
        ]  # fmt: skip
        assert "odd-name" in codes(machine.devices[-1])

    def test_order_is_by_number(self, look: Look) -> None:
        fake = kunpeng()
        fake.add_pmu("hisi_ptt10_1", 20)
        machine = look(fake)
        assert [one.name for one in machine.devices] == ["hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0", "hisi_ptt10_1"]
        bare = machine.devices[-1]
        assert (bare.pci, bare.cpus, bare.format, bare.tune) == (None, (), {}, ())
        assert [one.details for one in bare.diagnostics[:3]] == [{"file": "cpumask"}, {"file": "format"}, {"file": "tune"}]
        assert codes(bare)[:3] == ["unreadable"] * 3

    def test_values_that_are_no_values(self, ptt_machine: FakeMachine, fs: FakeFilesystem) -> None:
        ptt = ptt_machine["hisi_ptt0_2"]
        replace_file(fs, f"{ptt.folder}/cpumask", b"all of them\n")
        replace_file(fs, f"{ptt.folder}/type", b"twelve\n")
        replace_file(fs, f"{ptt.folder}/root_port_filters/0000:00:14.0", b"nothing\n")
        fs.create_file(f"{ptt.folder}/root_port_filters/readme", contents=b"\n")
        ptt["qos_tx_p"].on_read = lambda _: "high"
        found = device(read_machine(UdevSource()))
        assert (found.cpus, found.pmu_type) == ((), None)
        assert [(one.value, one.computed) for one in found.root_ports] == [(0x80100, True), (0x80400, False)]
        assert found.tune[2].problem == "not a number: 'high'"
        assert codes(found) == ["bad-cpumask", "bad-filter-value", "bad-filter-name"]
        assert details(found, "bad-filter-name") == {"file": "root_port_filters/readme"}
        assert details(found, "bad-filter-value") == {"file": "root_port_filters/0000:00:14.0", "text": "nothing"}

    def test_root_ports_of_other_domains_and_nodes_are_not_offered(self, look: Look) -> None:
        """Without filter files: a PTT traces ports of its own PCI domain, and its core lies on one node."""
        fake = FakeMachine("6.1")
        fake.add_ptt("hisi_ptt0_2", "0000:00:09.0", numa_node=0)
        fake.add_ptt("hisi_ptt2_0", "0000:00:0a.0", numa_node=1)
        fake.add_root_port("0000:00:10.0", numa_node=1).add_nvme("0000:01:00.0", "nvme0")
        fake.add_root_port("0000:00:11.0", numa_node=0)
        fake.add_root_port("0000:00:12.0")
        fake.add_root_port("0001:00:10.0")
        machine = look(fake)
        assert list(values(device(machine).root_ports)) == ["00:11.0", "00:12.0"]
        assert list(values(device(machine, "hisi_ptt2_0").root_ports)) == ["00:10.0", "00:12.0"]
        assert PciAddress.parse("01:00.0") not in {one.address for one in device(machine).requesters}
        assert PciAddress.parse("01:00.0") in {one.address for one in device(machine, "hisi_ptt2_0").requesters}
        assert PciAddress(1, 0, 0x10, 0) in machine.functions

    def test_a_large_machine(self, look: Look) -> None:
        """Four sockets of 96 CPUs, a switch of 24 ports: every requester has its filter, every name its function."""
        fake = FakeMachine(nodes={node: f"{node * 96}-{node * 96 + 95}" for node in range(4)})
        for node in range(4):
            fake.add_ptt(f"hisi_ptt{node * 2}_0", f"000{node}:00:08.0", numa_node=node)
        switch = fake["hisi_ptt6_0"].add_root_port("0003:00:10.0").add_switch("0003:01:00.0")
        for slot in range(24):
            switch.add_port(f"0003:02:{slot:02x}.0").add_nvme(f"0003:{slot + 3:02x}:00.0", f"nvme{slot}")
        machine = look(fake)
        last = device(machine, "hisi_ptt6_0")
        assert last.cpus == tuple(range(288, 384))
        assert len(last.requesters) == 1 + 24 + 24
        assert [machine.functions[one.address].kernel_names for one in last.requesters][-1] == ("nvme23", "nvme23n1")
        assert machine.functions[PciAddress.parse("0003:00:10.0")].subordinate == 26

    def test_a_host_bridge_below_a_function_starts_anew(self) -> None:
        """Intel's VMD and such: the domain behind it has root ports of its own."""

        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            path = f"{BUS}/0000:00:10.0/pci10000:00/10000:00:02.0"
            files[f"{path}/vendor"] = b"0x8086\n"
            links["/sys/bus/pci/devices/10000:00:02.0"] = f"../../..{path[4:]}"

        machine = changed(change)
        assert machine.functions[PciAddress(0x10000, 0, 2, 0)].parent is None

    def test_bus_numbers_from_the_configuration_space(self, ptt_machine: FakeMachine, fs: FakeFilesystem) -> None:
        fs.remove_object(f"{PORT_14}/secondary_bus_number")
        fs.remove_object(f"{PORT_14}/subordinate_bus_number")
        port = read_machine(UdevSource()).functions[PciAddress.parse("00:14.0")]
        assert (port.secondary, port.subordinate) == (4, 7)

    def test_bytes_that_are_no_text(self) -> None:
        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            files[f"{PTT}/format/type"] = b"\xff\xfe"
            links[f"{BUS}/0000:00:10.0/driver"] = "../\udcffdriver"

        machine = changed(change)
        assert details(device(machine), "unknown-format") == {"term": "type", "text": "\ufffd\ufffd"}
        for function in machine.functions.values():
            (function.driver or "").encode()


class TestKernelNames:
    def names(self, address: str) -> tuple[str, ...]:
        return read_machine(UdevSource()).functions[PciAddress.parse(address)].kernel_names

    def test_partitions_are_left_out(self, ptt_machine: FakeMachine) -> None:
        ptt_machine.function("01:00.0").add_class_device("block", "nvme0n1p1", folder="nvme/nvme0/nvme0n1/nvme0n1p1", size="2048")
        ptt_machine.refresh()
        assert self.names("01:00.0") == ("nvme0", "nvme0n1")

    def test_multipath_disks_belong_to_every_controller(self, ptt_machine: FakeMachine, fs: FakeFilesystem) -> None:
        ptt_machine.function("01:00.0").add_class_device("block", "nvme2c0n1", folder="nvme/nvme0/nvme2c0n1")
        ptt_machine.refresh()
        subsystem = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0"
        fs.create_file(f"{subsystem}/nvme2n1/size", contents="1\n")
        for name in ("nvme0", "nvme1"):
            fs.create_symlink(f"{subsystem}/{name}", os.path.realpath(f"/sys/class/nvme/{name}"))
        fs.create_symlink("/sys/class/block/nvme2n1", f"{subsystem}/nvme2n1")
        assert self.names("01:00.0") == ("nvme0", "nvme0n1", "nvme2n1")
        assert self.names("06:00.0") == ("nvme1", "nvme1n1", "nvme2n1")

    def test_disks_deep_below_and_other_classes(self, ptt_machine: FakeMachine) -> None:
        function = ptt_machine.function("02:00.0")
        function.add_class_device("block", "sda", folder="ata1/host0/target0:0:0/0:0:0:0/block/sda")
        function.add_class_device("scsi_host", "host0", folder="ata1/host0/scsi_host/host0")
        function.add_class_device("infiniband", "mlx5_0")
        ptt_machine.refresh()
        assert self.names("02:00.0") == ("ens2", "sda", "mlx5_0", "host0")


class Failing(MemoryFiles):
    """Files of which those that ``is_hit`` names fail from the ``after``-th call on."""

    def __init__(self, files: dict[str, bytes], links: dict[str, str], after: int, code: int, is_hit: Callable[[str], bool]) -> None:
        super().__init__(files, links)
        self.calls = 0
        self.after, self.code, self.is_hit = after, code, is_hit

    def _fails(self, path: str) -> bool:
        self.calls += 1
        return self.calls > self.after and self.is_hit(path)

    def _check_hit(self, path: str) -> None:
        if self._fails(path):
            raise OSError(self.code, os.strerror(self.code), path)

    def link(self, path: str) -> str | None:
        return None if self._fails(path) else super().link(path)

    def exists(self, path: str) -> bool:
        return not self._fails(path) and super().exists(path)

    def names(self, path: str) -> list[str]:
        self._check_hit(path)
        return super().names(path)

    def read(self, path: str, limit: int) -> bytes:
        self._check_hit(path)
        return super().read(path, limit)


class TestHotplug:
    """Devices that go away while they are read, at every moment there is."""

    @pytest.mark.parametrize("code", [errno.ENOENT, errno.ENODEV])
    @pytest.mark.parametrize("gone", ["hisi_ptt0_2", "0000:08:00.1", "0000:00:14.0"])
    def test_vanishing(self, gone: str, code: int) -> None:
        files, links = contents(NEW)
        files["/udev.txt"] = b""  # the database loses a device at once

        def read(after: int) -> tuple[Machine, int]:
            failing = Failing(files, links, after, code, lambda path: gone in path)
            return read_machine(RecordedSource(failing, "a machine")), failing.calls

        whole, calls = read(1 << 60)
        assert calls > 1000
        seen = set()
        for after in range(0, calls, calls // 25):
            machine, _ = read(after)
            seen.add((len(machine.devices), len(machine.functions)))
            assert device(machine, "hisi_ptt0_0") == device(whole, "hisi_ptt0_0")
        assert len(seen) > 1, "nothing ever vanished"

    def test_gone_between_listing_and_reading(self, ptt_machine: FakeMachine, fs: FakeFilesystem) -> None:
        """The folders are gone, the links of the buses are not yet."""
        fs.remove_object(PTT)
        fs.remove_object(f"{BUS}/0000:00:15.0/0000:08:00.1")
        machine = read_machine(UdevSource())
        assert [one.name for one in machine.devices] == ["hisi_ptt0_0", "hisi_ptt2_0"]
        assert PciAddress.parse("08:00.1") not in machine.functions
        assert [(one.code, one.where, one.details) for one in machine.diagnostics] == [
            ("functions-gone", None, {"functions": ["0000:08:00.1"]}),
            ("device-left-out", PTT, {}),
        ]

    def test_removed(self, ptt_machine: FakeMachine) -> None:
        ptt_machine.remove("0000:04:00.0")
        machine = read_machine(UdevSource())
        assert machine.diagnostics == ()
        assert list(values(device(machine).requesters)) == ["08:00.0", "08:00.1"]
        assert len(machine.functions) == 13
        ptt_machine.remove("0000:00:09.0")
        assert [one.name for one in read_machine(UdevSource()).devices] == ["hisi_ptt0_0", "hisi_ptt2_0"]

    def test_a_filter_whose_device_is_gone_already(self, ptt_machine: FakeMachine, fs: FakeFilesystem) -> None:
        """The driver updates its list later than the bus."""
        fs.create_file(f"{PTT}/requester_filters/0000:09:00.0", contents="0x00900\n")
        found = device(read_machine(UdevSource()))
        assert values(found.requesters)["09:00.0"] == 0x900


class TestPermissions:
    def test_filters_of_files_that_may_not_be_read(self, ptt_machine: FakeMachine) -> None:
        """Their names give the values; what only root reads is said."""
        whole = device(read_machine(UdevSource()))
        with ptt_machine.as_user():
            found = device(read_machine(UdevSource()))
        assert values(found.requesters) == values(whole.requesters)
        assert values(found.root_ports) == values(whole.root_ports)
        assert all(one.computed for one in found.filters)
        assert found.multiselect == whole.multiselect
        assert (found.cpus, found.format) == (whole.cpus, whole.format)
        assert [one.value for one in found.tune] == [None] * 5


class TestHungDevice:
    def test_one_second_not_five(self, ptt_machine: FakeMachine) -> None:
        """A device that does not answer is asked once; what is known without it stays."""
        ptt_machine["hisi_ptt0_2"].hang(errno.ETIMEDOUT)
        machine = read_machine(UdevSource())
        assert sum(attribute.reads for attribute in ptt_machine["hisi_ptt0_2"].tune.values()) == 1
        found = device(machine)
        assert [event.value for event in found.tune] == [None] * 5
        assert found.tune[0].problem == "the device did not answer within a second (ETIMEDOUT)"
        assert {event.problem for event in found.tune[1:]} == {"not read, since the device did not answer for qos_tx_cpl"}
        assert [event.value for event in device(machine, "hisi_ptt0_0").tune] == [1] * 5

    def test_attributes_are_left_alone_where_nobody_asks(self, ptt_machine: FakeMachine) -> None:
        machine = read_machine(UdevSource(), tune=False)
        assert {(event.value, event.problem) for event in device(machine).tune} == {(None, "not read")}
        assert sum(attribute.reads for ptt in ptt_machine.ptts.values() for attribute in ptt.tune.values()) == 0


class TestAbsence:
    @pytest.fixture
    def why(self, look: Look) -> Callable[..., tuple[str, str, str]]:
        def why(**options: Any) -> tuple[str, str, str]:
            fake = FakeMachine(driver_loaded=False, **options)
            fake.add_root_port("0000:00:10.0")
            for address in ("00:08.0", "00:09.0", "00:0a.0"):
                fake.add_ptt(f"hisi_ptt0_{address[4]}", address)
            machine = look(fake)
            assert machine.devices == ()
            error = explain_absence(UdevSource(), machine)
            assert error.exit_code == 3
            return error.code, error.message, str(error.hint)

        return why

    def test_driver_not_loaded(self, why: Callable[..., tuple[str, str, str]]) -> None:
        code, message, hint = why()
        assert code == "driver-not-loaded"
        assert "0000:00:08.0, 0000:00:09.0 and 0000:00:0a.0 are there" in message
        assert "modprobe hisi_ptt" in hint
        assert "iommu.passthrough=1" in hint

    def test_iommu_translates(self, why: Callable[..., tuple[str, str, str]]) -> None:
        code, message, hint = why(iommu="DMA-FQ")
        assert code == "iommu-translates"
        assert "requires direct DMA mappings" in message
        assert "iommu.passthrough=1" in hint

    def test_iommu_passes_through(self, why: Callable[..., tuple[str, str, str]]) -> None:
        assert why(iommu="identity")[0] == "driver-not-loaded"

    @pytest.mark.parametrize(("files", "code"), [({"/sys/module/hisi_ptt/refcnt": b"0"}, "not-bound"), ({}, "no-driver")])
    def test_driver_without_devices(self, files: dict[str, bytes], code: str) -> None:
        """The driver is there and drives none; and a copy of a machine that says nothing about modules."""
        fake = FakeMachine(driver_loaded=False)
        fake.add_ptt("hisi_ptt0_0", "00:08.0")
        tree = fake.tree()
        shown = {path: attribute.show() for path, attribute in tree.files.items() if not path.startswith("/sys/module")}
        source = RecordedSource(MemoryFiles(shown | files, tree.links), "a machine")
        error = explain_absence(source, read_machine(source))
        assert (error.code, error.details["functions"]) == (code, ["0000:00:08.0"])
        assert "0000:00:08.0 is there" in error.message

    def test_one_of_several_is_not_bound(self) -> None:
        """Its root ports are then nobody's, and the message names it."""
        files, links = contents(NEW)
        gone = f"{BUS}/0000:00:08.0"
        files = {path: content for path, content in files.items() if "hisi_ptt0_0" not in path and path != "/udev.txt"}
        links = {path: to for path, to in links.items() if "hisi_ptt0_0" not in path and path != f"{gone}/driver"}
        machine = read_machine(in_memory(files, links))
        assert [one.name for one in machine.devices] == ["hisi_ptt0_2", "hisi_ptt2_0"]
        assert [one.code for one in machine.diagnostics] == ["not-bound"]
        with pytest.raises(DeviceError) as caught:
            resolve_root_port(machine, "00:10.0")
        assert (caught.value.code, caught.value.details["without_driver"]) == ("not-traced", ["0000:00:08.0"])
        assert "0000:00:08.0" in str(caught.value.hint)

    def test_no_such_hardware(self, look: Look) -> None:
        fake = FakeMachine()
        fake.add_root_port("0000:00:10.0").add_nvme("0000:01:00.0", "nvme0")
        machine = look(fake)
        error = explain_absence(UdevSource(), machine)
        assert (machine.devices, error.code, error.exit_code) == ((), "no-device", 3)
        assert "19e5:a12e" in error.message
