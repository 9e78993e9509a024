"""Describe a fake machine: its kernel, PTT devices, root ports and what is behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ptttool.machine.cpus import parse_cpu_list
from ptttool.machine.model import Link
from ptttool.pci import PciAddress
from ptttool.testing.attribute import FakeTuneAttribute
from ptttool.testing.hardware import HOST_BRIDGE, NIC, NVME, PTT, ROOT_PORT, SWITCH_DOWNSTREAM, SWITCH_UPSTREAM, Hardware
from ptttool.testing.kernel import Kernel

# The files of the driver's folders tune and format.
TUNE_ATTRIBUTES = ("qos_tx_cpl", "qos_tx_np", "qos_tx_p", "rx_alloc_buf_level", "tx_alloc_buf_level")
FORMAT: Mapping[str, str] = {"direction": "config:20-23", "filter": "config:0-19", "format": "config:32-35", "type": "config:24-31"}


@dataclass
class ClassDevice:
    """What the kernel makes of a function: a network device, an NVMe controller, a disk.

    ``folder``: where it lies below the function's folder. ``device``: what its link ``device`` names, relative to that folder too.
    """

    subsystem: str
    name: str
    folder: str
    files: dict[str, str] = field(default_factory=dict)
    device: str = "."


class FakeFunction:
    """One PCI function.

    Parameters
    ----------
    machine
        The machine it is part of.
    address
        Its PCI address.
    hardware
        What it is.
    numa_node
        Its NUMA node; None for one that the firmware does not tell (``-1`` in sysfs).

    Attributes
    ----------
    physical : PciAddress or None
        The physical function below the same port that it is a virtual function of (SR-IOV).
    """

    def __init__(self, machine: MachineDescription, address: PciAddress, hardware: Hardware, *, numa_node: int | None = None) -> None:
        self.physical: PciAddress | None = None
        self.machine = machine
        self.address = address
        self.hardware = hardware
        self.numa_node = numa_node
        self.files: dict[str, str] = {}
        self.class_devices: list[ClassDevice] = []

    @property
    def functions(self) -> Iterator[FakeFunction]:
        """The function and all below it, depth first."""
        yield self

    def add_class_device(self, subsystem: str, name: str, *, folder: str | None = None, **files: str) -> None:
        """Add a device that people call by name.

        Parameters
        ----------
        subsystem
            ``net``, ``nvme``, ``block``, ``infiniband``, ``scsi_host``…
        name
            ``ens2``, ``mlx5_0``…
        folder
            Where it lies below the function's folder; by default ``SUBSYSTEM/NAME``.
        **files
            Its attributes and their text.
        """
        self.class_devices.append(ClassDevice(subsystem, name, folder or f"{subsystem}/{name}", files))


class FakePort(FakeFunction):
    """A root port or a port of a switch.

    Parameters
    ----------
    machine, address, hardware, numa_node
        As for :class:`FakeFunction`.
    bus
        The first bus behind it; by default that of what is behind it, or one that is not used.
    """

    def __init__(
        self, machine: MachineDescription, address: PciAddress, hardware: Hardware, *, bus: int | None = None, numa_node: int | None = None
    ) -> None:
        super().__init__(machine, address, hardware, numa_node=numa_node)
        self.bus = bus
        self.behind: list[FakeFunction] = []

    @property
    def functions(self) -> Iterator[FakeFunction]:
        """The port and all behind it, depth first."""
        yield self
        for function in self.behind:
            yield from function.functions

    def add_endpoint(self, address: str, hardware: Hardware, *, numa_node: int | None = None) -> FakeFunction:
        """Add a function behind the port."""
        function = FakeFunction(self.machine, self.machine.new_address(address), hardware, numa_node=numa_node)
        self.behind.append(function)
        return function

    def add_nvme(self, address: str, name: str, hardware: Hardware = NVME, *, serial: str | None = None) -> FakeFunction:
        """Add an NVMe controller with one disk: ``nvme0`` has ``nvme0n1``."""
        function = self.add_endpoint(address, hardware)
        number = int(name.removeprefix("nvme"))
        controller = {
            "address": str(function.address),
            "firmware_rev": f"{'7.2.22':<8}",
            "model": f"{'QEMU NVMe Ctrl':<40}",
            "serial": f"{serial or f'RIG{number}':<20}",
            "state": "live",
            "uevent": f"MAJOR=237\nMINOR={number}\nDEVNAME={name}\nNVME_TRTYPE=pcie",
        }
        function.add_class_device("nvme", name, **controller)
        disk = f"{name}n1"
        uevent = f"MAJOR=259\nMINOR={number}\nDEVNAME={disk}\nDEVTYPE=disk\nDISKSEQ={number + 2}"
        function.class_devices.append(
            ClassDevice("block", disk, f"nvme/{name}/{disk}", {"size": "1048576", "uevent": uevent}, device=f"nvme/{name}")
        )
        return function

    def add_nic(self, address: str, name: str, hardware: Hardware = NIC, *, mac: str | None = None) -> FakeFunction:
        """Add a network card's function with the network device ``name``."""
        function = self.add_endpoint(address, hardware)
        index = self.machine.new_interface_index()
        function.add_class_device(
            "net",
            name,
            address=mac or f"52:54:00:12:34:{index + 14:02x}",
            ifindex=str(index),
            mtu="1500",
            operstate="up",
            speed="1000",
            uevent=f"INTERFACE={name}\nIFINDEX={index}",
        )
        return function

    def add_switch(self, address: str, hardware: Hardware = SWITCH_UPSTREAM) -> FakePort:
        """Add a switch: its upstream port, behind which downstream ports are added."""
        return self.add_port(address, hardware)

    def add_port(self, address: str, hardware: Hardware = SWITCH_DOWNSTREAM, *, bus: int | None = None) -> FakePort:
        """Add a port behind this one: a downstream port of a switch."""
        port = FakePort(self.machine, self.machine.new_address(address), hardware, bus=bus)
        self.behind.append(port)
        return port


COUNTER_FORMAT = {
    "event": "config:0-16",
    "thr_len": "config1:0-3",
    "thr_mode": "config1:4",
    "trig_len": "config1:5-8",
    "trig_mode": "config1:9",
    "len_mode": "config1:10-11",
    "port": "config2:0-15",
    "bdf": "config2:16-31",
}
"""The terms of the events of the ``hisi_pcie`` PMU and their bits."""


class FakePtt(FakeFunction):
    """One PTT device: a function in the root complex, and the PMU that the driver makes of it.

    Parameters
    ----------
    machine, address, numa_node
        As for :class:`FakeFunction`.
    name
        ``hisi_ptt<SICL>_<core>``.
    pmu_type
        The kernel's number of the PMU.
    cpus
        The CPUs that can record it; by default those of the NUMA node.
    format
        The terms of its events and their bits.
    tune
        Names of the tune attributes and the values they hold at first.

    Attributes
    ----------
    root_ports : list of FakePort
        The root ports that it traces.
    tune : dict
        Name to :class:`FakeTuneAttribute`.
    """

    def __init__(
        self,
        machine: MachineDescription,
        name: str,
        address: PciAddress,
        *,
        numa_node: int | None,
        pmu_type: int,
        cpus: str | None,
        format: Mapping[str, str],
        tune: Mapping[str, int],
    ) -> None:
        super().__init__(machine, address, PTT, numa_node=numa_node)
        self.name = name
        self.pmu_type = pmu_type
        self.cpus = cpus
        self.format = dict(format)
        self.root_ports: list[FakePort] = []
        self.tune = {key: FakeTuneAttribute(name, key, value, journal=machine.writes) for key, value in tune.items()}

    def __getitem__(self, attribute: str) -> FakeTuneAttribute:
        """Return the tune attribute of that name. Raises KeyError, which lists the names, for another one."""
        if attribute not in self.tune:
            raise KeyError(f"{self.name} has no tune attribute {attribute!r}, but {', '.join(self.tune) or 'none'}")
        return self.tune[attribute]

    @property
    def folder(self) -> str:
        """The folder of the PMU in sysfs, without links."""
        return self.machine.pmu_folder(self)

    @property
    def path(self) -> str:
        """The folder of the PMU as programs look for it."""
        return f"/sys/bus/event_source/devices/{self.name}"

    def add_root_port(
        self, address: str, *, bus: int | None = None, hardware: Hardware = ROOT_PORT, numa_node: int | None = None
    ) -> FakePort:
        """Add a root port that this device traces."""
        port = self.machine.add_root_port(address, bus=bus, hardware=hardware, numa_node=numa_node)
        self.root_ports.append(port)
        return port

    @property
    def requesters(self) -> Iterator[FakeFunction]:
        """Every function behind its root ports."""
        for port in self.root_ports:
            for function in port.functions:
                if function is not port:
                    yield function

    def hang(self, code: int) -> None:
        """Let every tune attribute fail, reads and writes, with this error number."""
        for attribute in self.tune.values():
            attribute.fail_reads(code)
            attribute.fail_writes(code)


class MachineDescription:
    """What a fake machine consists of.

    Parameters
    ----------
    kernel
        The Linux release: ``6.12``, ``6.1``.
    hostname
        Its name.
    nodes
        NUMA node to its CPUs, as the kernel lists them.
    host_bridge
        The folder of the host bridge below /sys/devices.
    driver_loaded
        False for a machine without the driver ``hisi_ptt``: the functions are there, the PMUs are not.
    iommu
        The type of the IOMMU domain of the PTT functions, such as ``DMA-FQ`` or ``identity``; None for a machine without one.

    Attributes
    ----------
    offline_cpus : set of int
        CPUs of its nodes that are offline.
    writes : list of str
        Every write to a tune attribute in the order in which they came, as ``hisi_ptt0_0/qos_tx_p=2``.
    """

    def __init__(
        self,
        kernel: str = "6.12",
        *,
        hostname: str = "fake",
        nodes: Mapping[int, str] | None = None,
        host_bridge: str | None = None,
        driver_loaded: bool = True,
        iommu: str | None = None,
    ) -> None:
        self.kernel = Kernel(kernel)
        self.hostname = hostname
        self.nodes = dict(nodes) if nodes is not None else {0: "0-1", 1: "2-3"}
        self.host_bridge = host_bridge
        self.driver_loaded = driver_loaded
        self.iommu = iommu
        self.offline_cpus: set[int] = set()
        self.writes: list[str] = []
        self.ptts: dict[str, FakePtt] = {}
        self.functions: list[FakeFunction] = []
        self.pmu_files: dict[str, dict[str, str]] = {}
        self.pmus: dict[str, tuple[int, str]] = {
            name: (number, name) for name, number in (("breakpoint", 5), ("software", 1), ("tracepoint", 2))
        }
        self._addresses: set[PciAddress] = set()
        self._interfaces = 1
        first = self.kernel.first_pmu_type
        self.add_pmu("kprobe", first)
        self.add_pmu("uprobe", first + 1)
        self.add_pmu("armv8_pmuv3", first + 2, "platform/pmu/armv8_pmuv3" if self.kernel.has_pmu_below_function else "armv8_pmuv3")

    def __getitem__(self, name: str) -> FakePtt:
        """Return the PTT device of that name. Raises KeyError, which lists the names, for another one."""
        if name not in self.ptts:
            raise KeyError(f"there is no PTT device {name!r}, but {', '.join(self.ptts) or 'none'}")
        return self.ptts[name]

    def add_ptt(
        self,
        name: str,
        address: str,
        *,
        numa_node: int | None = 0,
        pmu_type: int | None = None,
        cpus: str | None = None,
        format: Mapping[str, str] = FORMAT,
        tune: Mapping[str, int] | None = None,
    ) -> FakePtt:
        """Add a PTT device; the parameters are those of :class:`FakePtt`. By default it has the driver's five attributes, each 1."""
        taken = [number for number, _ in self.pmus.values()] + [ptt.pmu_type for ptt in self.ptts.values()]
        ptt = FakePtt(
            self,
            name,
            self.new_address(address),
            numa_node=numa_node,
            pmu_type=max(taken) + 1 if pmu_type is None else pmu_type,
            cpus=cpus,
            format=format,
            tune=dict.fromkeys(TUNE_ATTRIBUTES, 1) if tune is None else tune,
        )
        self.ptts[name] = ptt
        self.functions.append(ptt)
        return ptt

    def add_root_port(
        self, address: str, *, bus: int | None = None, hardware: Hardware = ROOT_PORT, numa_node: int | None = None
    ) -> FakePort:
        """Add a root port that no PTT device traces."""
        port = FakePort(self, self.new_address(address), hardware, bus=bus, numa_node=numa_node)
        self.functions.append(port)
        return port

    def add_function(self, address: str, hardware: Hardware = HOST_BRIDGE, *, numa_node: int | None = None) -> FakeFunction:
        """Add another function in the root complex."""
        function = FakeFunction(self, self.new_address(address), hardware, numa_node=numa_node)
        self.functions.append(function)
        return function

    def add_pmu(self, name: str, number: int, folder: str | None = None, files: Mapping[str, str] | None = None) -> None:
        """Add a PMU that is not a PTT device: its name, its number, its folder below /sys/devices, its files and their text."""
        self.pmus[name] = (number, folder or name)
        self.pmu_files[name] = dict(files or {})

    def add_counters(self, name: str, *, events: Mapping[str, int] | None = None) -> str:
        """Add the ``hisi_pcie`` PMU that counts the TLPs of a PTT device's core, and return its name.

        Parameters
        ----------
        name
            The PTT device: ``hisi_ptt0_2`` is that of ``hisi_pcie0_core2``.
        events
            Its events and their codes; by default those of the kernel's driver.
        """
        ptt = self[name]
        sicl, core = name.removeprefix("hisi_ptt").split("_")
        pmu = f"hisi_pcie{sicl}_core{core}"
        codes = self.kernel.counter_events if events is None else events
        number = max(number for number, _ in [*self.pmus.values(), *((each.pmu_type, "") for each in self.ptts.values())]) + 1
        files = {f"events/{event}": f"config=0x{code:x}" for event, code in codes.items()}
        files |= {f"format/{term}": bits for term, bits in COUNTER_FORMAT.items()}
        self.add_pmu(pmu, number, files={**files, "cpumask": str(self.online(ptt.numa_node)[0]), "identifier": "0x30", "bus": "0x00"})
        return pmu

    def remove(self, address: str) -> None:
        """Take away a function and all behind it, as hot-plug does. Raises KeyError for an unknown address."""
        gone = {one.address for one in self.function(address).functions}
        for port in [one for one in self.all_functions if isinstance(one, FakePort)]:
            port.behind = [one for one in port.behind if one.address not in gone]
        for ptt in self.ptts.values():
            ptt.root_ports = [one for one in ptt.root_ports if one.address not in gone]
        self.functions = [one for one in self.functions if one.address not in gone]
        self._addresses -= gone
        self.ptts = {name: ptt for name, ptt in self.ptts.items() if ptt in self.functions}

    @property
    def all_functions(self) -> list[FakeFunction]:
        """Every PCI function, by address."""
        return sorted((one for top in self.functions for one in top.functions), key=lambda one: one.address)

    def function(self, address: str) -> FakeFunction:
        """Return the function with that address. Raises KeyError for an unknown one."""
        pci_address = PciAddress.parse(address)
        for one in self.all_functions:
            if one.address == pci_address:
                return one
        raise KeyError(address)

    def new_address(self, text: str) -> PciAddress:
        """Parse an address that is not in use yet. Raises ValueError for one that is."""
        address = PciAddress.parse(text)
        if address in self._addresses:
            raise ValueError(f"the machine already has a function {address}")
        self._addresses.add(address)
        return address

    def new_interface_index(self) -> int:
        """Return the next number of a network device; 1 is the loopback device."""
        self._interfaces += 1
        return self._interfaces

    @cached_property
    def cpus(self) -> tuple[int, ...]:
        """The CPUs of all nodes."""
        return tuple(sorted(cpu for cpus in self.nodes.values() for cpu in parse_cpu_list(cpus)))

    def online(self, node: int | None = None) -> tuple[int, ...]:
        """Return the CPUs that are online: those of a node, or of all nodes."""
        cpus = self.cpus if node is None else parse_cpu_list(self.nodes.get(node, ""))
        return tuple(cpu for cpu in cpus if cpu not in self.offline_cpus)

    def pmu_folder(self, ptt: FakePtt) -> str:
        """Return the folder of the PMU of a PTT device, without links."""
        above = f"{self.bus_folder(ptt.address)}/{ptt.address}" if self.kernel.has_pmu_below_function else "/sys/devices"
        return f"{above}/{ptt.name}"

    def bus_folder(self, address: PciAddress) -> str:
        """Return the folder of the root bus of an address's domain."""
        above = f"/{self.host_bridge}" if self.host_bridge is not None else ""
        return f"/sys/devices{above}/pci{address.domain:04x}:00"


def idle(hardware: Hardware) -> Hardware:
    """Return a port with nothing behind it: its link reports the best values."""
    link = hardware.link
    return hardware if link is None else replace(hardware, link=Link(link.max_speed, link.max_width, link.max_speed, link.max_width))
