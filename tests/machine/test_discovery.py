"""What is read of a machine: the recorded ones, and changed ones for what no recording holds."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping

import pytest

from ptttool.machine.discovery import explain_absence, read_machine
from ptttool.machine.model import FormatTerm, Link, Machine, PttDevice
from ptttool.machine.sources.recorded import MemoryFiles, RecordedSource
from ptttool.pci import PciAddress
from tests.support.machines import BUS, NEW, OLD, contents, in_memory

PTT = f"{BUS}/0000:00:09.0/hisi_ptt0_2"
PORT_14 = f"{BUS}/0000:00:14.0"
FORMAT = {
    "direction": FormatTerm("direction", "config", 20, 23),
    "filter": FormatTerm("filter", "config", 0, 19),
    "format": FormatTerm("format", "config", 32, 35),
    "type": FormatTerm("type", "config", 24, 31),
}

Change = Callable[[dict[str, bytes], dict[str, str]], None]


def changed(change: Change, name: str = NEW) -> Machine:
    files, links = contents(name)
    change(files, links)
    return read_machine(in_memory(files, links))


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


class TestRecordedMachines:
    def test_filters_of_the_new_kernel(self) -> None:
        machine = changed(lambda files, links: None)
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
            assert one.multiselect == {"root port": True, "requester": False}
            assert one.format == FORMAT
            assert [(event.name, event.value, event.problem) for event in one.tune] == [
                (name, 1, None) for name in ("qos_tx_cpl", "qos_tx_np", "qos_tx_p", "rx_alloc_buf_level", "tx_alloc_buf_level")
            ]
            assert not any(entry.computed for entry in one.filters)
            assert one.diagnostics == ()

    def test_computed_filters_are_those_of_the_driver(self) -> None:
        """Every value that the 6.12 driver listed, computed on the recording of 6.1, where the same machine lists none."""
        listed = {entry.address: entry.value for one in changed(lambda files, links: None).devices for entry in one.filters}
        old = changed(lambda files, links: None, OLD)
        for one in old.devices:
            assert {entry.address: entry.value for entry in one.filters} == listed
            assert all(entry.computed for entry in one.filters)
            assert not one.ports_known
            assert one.multiselect == {"root port": True, "requester": False}
            assert "filters-computed" in codes(one)

    def test_pci_addresses_of_the_old_kernel(self) -> None:
        """By the CPUs of the NUMA node: one device of node 1 and one function; two of each on node 0, which stay unknown."""
        old = changed(lambda files, links: None, OLD)
        assert {one.name: one.pci and one.pci.short for one in old.devices} == {
            "hisi_ptt0_0": None,
            "hisi_ptt0_2": None,
            "hisi_ptt2_0": "00:0a.0",
        }
        assert [one.numa_node for one in old.devices] == [0, 0, 1]
        assert details(device(old), "pci-unknown") == {"candidates": ["0000:00:08.0", "0000:00:09.0"]}
        assert details(device(old, "hisi_ptt2_0"), "pci-matched") == {"candidates": ["0000:00:0a.0"]}

    def test_functions(self) -> None:
        functions = changed(lambda files, links: None).functions
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
    def read(self, **terms: str) -> PttDevice:
        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            files.update({f"{PTT}/format/{name}": text.encode() for name, text in terms.items()})

        return device(changed(change))

    def test_pattern_and_other_words(self) -> None:
        found = self.read(pattern="config:36-39\n", later="config1:0-63\n", one="config2:7\n")
        assert found.format == {
            **FORMAT,
            "pattern": FormatTerm("pattern", "config", 36, 39),
            "later": FormatTerm("later", "config1", 0, 63),
            "one": FormatTerm("one", "config2", 7, 7),
        }
        assert found.diagnostics == ()

    @pytest.mark.parametrize("text", ["config:0-7,32-35", "config:9-3", "config:0-64", "attr:1", "", "config:", "config:-1"])
    def test_shapes_that_are_not_understood(self, text: str) -> None:
        found = self.read(odd=text)
        assert found.format == FORMAT
        assert details(found, "unknown-format") == {"term": "odd", "text": text}


class TestOddMachines:
    def test_names_that_tell_nothing(self) -> None:
        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            for path in [path for path in files if path.startswith("/sys/devices/hisi_ptt2_0/")]:
                files[path.replace("hisi_ptt2_0", "hisi_ptt_new")] = files.pop(path)
            links["/sys/bus/event_source/devices/hisi_ptt_new"] = "../../../devices/hisi_ptt_new"
            del links["/sys/bus/event_source/devices/hisi_ptt2_0"]
            files["/udev.txt"] = b""

        machine = changed(change, OLD)
        assert [(one.name, one.sicl, one.core) for one in machine.devices] == [
            ("hisi_ptt0_0", 0, 0), ("hisi_ptt0_2", 0, 2), ("hisi_ptt_new", None, None),
        ]  # fmt: skip
        assert "odd-name" in codes(machine.devices[-1])

    def test_order_is_by_number(self) -> None:
        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            files["/sys/devices/hisi_ptt10_1/type"] = b"20\n"
            links["/sys/bus/event_source/devices/hisi_ptt10_1"] = "../../../devices/hisi_ptt10_1"

        machine = changed(change)
        assert [one.name for one in machine.devices] == ["hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0", "hisi_ptt10_1"]
        bare = machine.devices[-1]
        assert (bare.pci, bare.cpus, bare.format, bare.tune) == (None, (), {}, ())
        assert [one.details for one in bare.diagnostics[:3]] == [{"file": "cpumask"}, {"file": "format"}, {"file": "tune"}]
        assert codes(bare)[:3] == ["unreadable"] * 3

    def test_values_that_are_no_values(self) -> None:
        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            files[f"{PTT}/cpumask"] = b"all of them\n"
            files[f"{PTT}/type"] = b"twelve\n"
            files[f"{PTT}/root_port_filters/0000:00:14.0"] = b"nothing\n"
            files[f"{PTT}/root_port_filters/readme"] = b"\n"
            files[f"{PTT}/tune/qos_tx_p"] = b"high\n"

        found = device(changed(change))
        assert (found.cpus, found.pmu_type) == ((), None)
        assert [(one.value, one.computed) for one in found.root_ports] == [(0x80100, True), (0x80400, False)]
        assert found.tune[2].problem == "not a number: 'high'"
        assert codes(found) == ["bad-cpumask", "bad-filter-value", "bad-filter-name"]
        assert details(found, "bad-filter-name") == {"file": "root_port_filters/readme"}
        assert details(found, "bad-filter-value") == {"file": "root_port_filters/0000:00:14.0", "text": "nothing"}

    def test_root_ports_of_other_domains_and_nodes_are_not_offered(self) -> None:
        """Without filter files: a PTT traces ports of its own PCI domain, and its core lies on one node."""

        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            files[f"{BUS}/0000:00:10.0/numa_node"] = b"1\n"
            files[f"{BUS}/0000:00:11.0/numa_node"] = b"0\n"
            other = "/sys/devices/pci0001:00/0001:00:10.0"
            files.update({f"{other}/{name}": files[f"{BUS}/0000:00:10.0/{name}"] for name in ("vendor", "device", "class")})
            links["/sys/bus/pci/devices/0001:00:10.0"] = "../../../devices/pci0001:00/0001:00:10.0"

        machine = changed(change, OLD)
        assert list(values(device(machine).root_ports)) == ["00:11.0", "00:12.0", "00:14.0", "00:15.0"]
        assert list(values(device(machine, "hisi_ptt2_0").root_ports)) == ["00:10.0", "00:12.0", "00:14.0", "00:15.0"]
        assert PciAddress.parse("01:00.0") not in {one.address for one in device(machine).requesters}
        assert PciAddress(1, 0, 0x10, 0) in machine.functions

    def test_a_host_bridge_below_a_function_starts_anew(self) -> None:
        """Intel's VMD and such: the domain behind it has root ports of its own."""

        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            path = f"{BUS}/0000:00:10.0/pci10000:00/10000:00:02.0"
            files[f"{path}/vendor"] = b"0x8086\n"
            links["/sys/bus/pci/devices/10000:00:02.0"] = f"../../..{path[4:]}"

        machine = changed(change)
        assert machine.functions[PciAddress(0x10000, 0, 2, 0)].parent is None

    def test_bus_numbers_from_the_configuration_space(self) -> None:
        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            del files[f"{PORT_14}/secondary_bus_number"]
            del files[f"{PORT_14}/subordinate_bus_number"]

        port = changed(change).functions[PciAddress.parse("00:14.0")]
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
    def names(self, change: Change, address: str) -> tuple[str, ...]:
        return changed(change).functions[PciAddress.parse(address)].kernel_names

    def test_partitions_are_left_out(self) -> None:
        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            links["/sys/class/block/nvme0n1p1"] = links["/sys/class/block/nvme0n1"] + "/nvme0n1p1"

        assert self.names(change, "01:00.0") == ("nvme0", "nvme0n1")

    def test_multipath_disks_belong_to_every_controller(self) -> None:
        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            subsystem = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0"
            files[f"{subsystem}/nvme2n1/size"] = b"1\n"
            links[f"{subsystem}/nvme0"] = f"../../..{links['/sys/class/nvme/nvme0'][len('../../devices') :]}"
            links[f"{subsystem}/nvme1"] = f"../../..{links['/sys/class/nvme/nvme1'][len('../../devices') :]}"
            links["/sys/class/block/nvme2n1"] = "../../devices/virtual/nvme-subsystem/nvme-subsys0/nvme2n1"
            links["/sys/class/block/nvme2c0n1"] = links["/sys/class/nvme/nvme0"] + "/nvme2c0n1"

        assert self.names(change, "01:00.0") == ("nvme0", "nvme0n1", "nvme2n1")
        assert self.names(change, "06:00.0") == ("nvme1", "nvme1n1", "nvme2n1")

    def test_disks_deep_below_and_other_classes(self) -> None:
        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            below = f"../../devices{BUS[12:]}/0000:00:11.0/0000:02:00.0"
            links["/sys/class/block/sda"] = f"{below}/ata1/host0/target0:0:0/0:0:0:0/block/sda"
            links["/sys/class/scsi_host/host0"] = f"{below}/ata1/host0/scsi_host/host0"
            links["/sys/class/infiniband/mlx5_0"] = f"{below}/infiniband/mlx5_0"

        assert self.names(change, "02:00.0") == ("ens2", "sda", "mlx5_0", "host0")


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

    def test_gone_between_listing_and_reading(self) -> None:
        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            for path in [path for path in files if path.startswith(f"{PTT}/") or "/0000:08:00.1/" in path]:
                del files[path]
            for path in [path for path in links if path.startswith(f"{PTT}/") or "/0000:08:00.1/" in path]:
                del links[path]
            files["/udev.txt"] = b""

        machine = changed(change)
        assert [one.name for one in machine.devices] == ["hisi_ptt0_0", "hisi_ptt2_0"]
        assert PciAddress.parse("08:00.1") not in machine.functions
        assert [(one.code, one.where, one.details) for one in machine.diagnostics] == [
            ("functions-gone", None, {"functions": ["0000:08:00.1"]}),
            ("device-left-out", PTT, {}),
        ]

    def test_a_filter_whose_device_is_gone_already(self) -> None:
        """The driver updates its list later than the bus."""

        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            files[f"{PTT}/requester_filters/0000:09:00.0"] = b"0x00900\n"

        found = device(changed(change))
        assert values(found.requesters)["09:00.0"] == 0x900


class TestHungDevice:
    def test_one_second_not_five(self) -> None:
        """A device that does not answer is asked once; what is known without it stays."""
        files, links = contents(NEW)
        asked: list[str] = []

        def is_hit(path: str) -> bool:
            hit = path.startswith(f"{PTT}/tune/")
            if hit:
                asked.append(path)
            return hit and len(asked) > 0

        class Hung(MemoryFiles):
            def read(self, path: str, limit: int) -> bytes:
                if is_hit(path):
                    raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT), path)
                return super().read(path, limit)

        machine = read_machine(RecordedSource(Hung(files, links), "a machine"))
        assert len(asked) == 1
        found = device(machine)
        assert [event.value for event in found.tune] == [None] * 5
        assert found.tune[0].problem == "the device did not answer within a second (ETIMEDOUT)"
        assert {event.problem for event in found.tune[1:]} == {"not read, since the device did not answer for qos_tx_cpl"}
        assert [event.value for event in device(machine, "hisi_ptt0_0").tune] == [1] * 5

    def test_attributes_are_left_alone_where_nobody_asks(self) -> None:
        files, links = contents(NEW)
        machine = read_machine(in_memory(files, links), tune=False)
        assert {(event.value, event.problem) for event in device(machine).tune} == {(None, "not read")}


class TestAbsence:
    def why(self, change: Change) -> tuple[str, str, str]:
        files, links = contents(NEW)
        for path in [path for path in links if path.startswith("/sys/bus/event_source/")]:
            del links[path]
        files["/udev.txt"] = b""
        change(files, links)
        source = in_memory(files, links)
        machine = read_machine(source)
        assert machine.devices == ()
        error = explain_absence(source, machine)
        assert error.exit_code == 3
        return error.code, error.message, str(error.hint)

    def test_driver_not_loaded(self) -> None:
        code, message, hint = self.why(lambda files, links: None)
        assert code == "no-driver"
        assert "0000:00:08.0, 0000:00:09.0, 0000:00:0a.0" in message
        assert "modprobe hisi_ptt" in hint
        assert "iommu.passthrough=1" in hint

    def test_iommu_translates(self) -> None:
        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            files[f"{BUS}/0000:00:08.0/iommu_group/type"] = b"DMA-FQ\n"

        code, message, hint = self.why(change)
        assert code == "iommu-translates"
        assert "requires direct DMA mappings" in message
        assert "iommu.passthrough=1" in hint

    def test_iommu_passes_through(self) -> None:
        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            files[f"{BUS}/0000:00:08.0/iommu_group/type"] = b"identity\n"

        assert self.why(change)[0] == "no-driver"

    def test_no_such_hardware(self) -> None:
        def change(files: dict[str, bytes], links: dict[str, str]) -> None:
            for slot in ("08", "09", "0a"):
                files[f"{BUS}/0000:00:{slot}.0/device"] = b"0xa12d\n"

        code, message, _ = self.why(change)
        assert code == "no-device"
        assert "19e5:a12e" in message
