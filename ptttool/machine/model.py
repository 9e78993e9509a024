"""What is known of a machine: PTT devices, their filters and tune attributes, and the PCI functions behind their root ports.

Plain data without behaviour beyond look-ups. :mod:`ptttool.machine.discovery` reads it from sysfs and udev, a recording's sidecar keeps
part of it, and everything that shows names uses it. Nothing here touches the running machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from ptttool.diagnostics import Diagnostic
from ptttool.machine.budget import MAX_BUSES_ABOVE
from ptttool.machine.sources.contract import Source
from ptttool.pci import PciAddress
from ptttool.wording import html_table


class FilterKind(StrEnum):
    """What a filter selects: all TLPs of root ports, or those of one requester."""

    ROOT_PORT = "root port"
    REQUESTER = "requester"


ROOT_PORT, REQUESTER = FilterKind.ROOT_PORT, FilterKind.REQUESTER


@dataclass(frozen=True)
class FormatTerm:
    """One term of an event string: which bits of which config word it fills (``format/NAME`` in sysfs: ``config:0-19``).

    Parameters
    ----------
    name : str
        The term's name, such as ``filter``.
    word : str
        The config word: ``config``, ``config1``, ``config2``.
    low, high : int
        First and last bit, 0 to 63.
    """

    name: str
    word: str
    low: int
    high: int

    @property
    def maximum(self) -> int:
        """Largest value that fits."""
        return (1 << (self.high - self.low + 1)) - 1

    def __str__(self) -> str:
        """Write the bits as sysfs does."""
        return f"{self.word}:{self.low}" + ("" if self.low == self.high else f"-{self.high}")


@dataclass(frozen=True)
class Link:
    """State of a PCIe link, in the words of sysfs; None for what sysfs does not say.

    Parameters
    ----------
    speed, max_speed : str or None
        Such as ``16.0 GT/s PCIe``: the speed now, and the fastest that the function supports.
    width, max_width : int or None
        Lanes: now, and the most that the function supports.
    """

    speed: str | None
    width: int | None
    max_speed: str | None
    max_width: int | None


class AddressSpace(StrEnum):
    """What a range of addresses is reached by: memory requests or I/O requests."""

    MEMORY = "memory"
    IO = "io"


@dataclass(frozen=True)
class Bar:
    """The range of addresses of one Base Address Register, as it is seen on the link.

    Parameters
    ----------
    number : int
        Number of the register, 0 to 5.
    first, last : int
        Its first and its last byte.
    space : AddressSpace
        Whether memory or I/O requests reach it.
    prefetchable : bool
        Whether reads have no side effects.
    """

    number: int
    first: int
    last: int
    space: AddressSpace
    prefetchable: bool


@dataclass(frozen=True)
class Transfers:
    """What a function's PCI Express capability says of its requests and completions; None for what is not known.

    Parameters
    ----------
    max_payload_supported, max_payload : int or None
        Most bytes of data in a TLP: what the function is able to, and what is set (MPS).
    max_read_request : int or None
        Most bytes that one of its reads asks for, as set (MRRS).
    extended_tags : bool or None
        Whether its requests may have tags of 8 bits.
    ten_bit_tags : bool or None
        Whether its requests may have tags of 10 bits.
    read_boundary : int or None
        Read Completion Boundary in bytes, 64 or 128. That of a root port says where its completions may be split.
    """

    max_payload_supported: int | None = None
    max_payload: int | None = None
    max_read_request: int | None = None
    extended_tags: bool | None = None
    ten_bit_tags: bool | None = None
    read_boundary: int | None = None


@dataclass(frozen=True)
class MemoryRange:
    """A range of the machine's physical addresses, as ``/proc/iomem`` names it.

    Parameters
    ----------
    first, last : int
        Its first and its last byte.
    name : str
        The kernel's name for it, such as ``System RAM``.
    """

    first: int
    last: int
    name: str


@dataclass(frozen=True)
class PciFunction:
    """One PCI function.

    Parameters
    ----------
    address : PciAddress
        Its address.
    vendor, device, class_code : int or None
        IDs from its configuration space: 16, 16 and 24 bits.
    name : str
        Vendor and device in words as lspci prints them, or the numbers.
    kernel_names : tuple of str
        The kernel's names for what is on the function: ``nvme0``, ``nvme0n1``, ``eth1``.
    driver : str or None
        Its driver.
    numa_node : int or None
        Its NUMA node.
    link : Link or None
        Its link; None for a function without one.
    secondary, subordinate : int or None
        First and last bus behind a bridge.
    parent : PciAddress or None
        The bridge above; None for a root port.
    bars : tuple of Bar or None
        Its Base Address Registers; None where they were not read.
    transfers : Transfers or None
        Settings of its PCI Express capability; None where they were not read.
    iommu : str or None
        Type of its IOMMU group: ``identity``, or ``DMA`` and the like where addresses are translated. None where the kernel names none.
    """

    address: PciAddress
    vendor: int | None
    device: int | None
    class_code: int | None
    name: str
    kernel_names: tuple[str, ...] = ()
    driver: str | None = None
    numa_node: int | None = None
    link: Link | None = None
    secondary: int | None = None
    subordinate: int | None = None
    parent: PciAddress | None = None
    bars: tuple[Bar, ...] | None = None
    transfers: Transfers | None = None
    iommu: str | None = None


@dataclass(frozen=True)
class Filter:
    """A value of the event term ``filter``.

    Parameters
    ----------
    kind : FilterKind
        What it selects.
    address : PciAddress
        The root port or the requester.
    value : int
        The value of the term, 20 bits.
    computed : bool
        True for a value that was computed from the PCI address: the kernel has no file of it, or the file cannot be read.
    """

    kind: FilterKind
    address: PciAddress
    value: int
    computed: bool = False


@dataclass(frozen=True)
class TuneAttribute:
    """One tune attribute of a device.

    Parameters
    ----------
    name : str
        Name of its file in the folder ``tune``.
    value : int or None
        Its value, 0 to 2; None for one that was not read.
    problem : str or None
        Why there is no value.
    """

    name: str
    value: int | None = None
    problem: str | None = None


@dataclass(frozen=True)
class PttDevice:
    """One PTT device: one PCIe core.

    Parameters
    ----------
    name : str
        Name of its PMU: ``hisi_ptt<SICL>_<core>``.
    sicl, core : int or None
        The numbers in its name.
    sysfs : str
        Path of its folder, as the kernel spells it.
    pci : PciAddress or None
        Its PCI function. None where the kernel does not link the PMU to it (before 6.5) and more than one fits.
    numa_node : int or None
        Its NUMA node.
    cpus : tuple of int
        CPUs that can record it.
    offline_cpus : tuple of int
        CPUs of its NUMA node that could record it and are offline.
    pmu_type : int or None
        Type number of the PMU, as in ``perf_event_attr.type``.
    format : Mapping[str, FormatTerm]
        Terms of its event strings, by name.
    root_ports, requesters : tuple of Filter
        Filters of its events, in the order of their addresses.
    multiselect : Mapping[FilterKind, bool]
        Whether several filters of a kind can be combined.
    ports_known : bool
        False where the kernel does not say which root ports are of this device: ``root_ports`` and ``requesters`` are then all that
        can be.
    tune : tuple of TuneAttribute
        Its tune attributes, sorted by name.
    diagnostics : tuple of Diagnostic
        What is unknown or was computed, and why.
    source : Source or None
        Where the device was read and where its tune attributes are; None for a device from a file, such as a recording's sidecar.
        It takes no part in comparisons and is not pickled.
    """

    name: str
    sicl: int | None
    core: int | None
    sysfs: str
    pci: PciAddress | None = None
    numa_node: int | None = None
    cpus: tuple[int, ...] = ()
    offline_cpus: tuple[int, ...] = ()
    pmu_type: int | None = None
    format: Mapping[str, FormatTerm] = field(default_factory=dict)
    root_ports: tuple[Filter, ...] = ()
    requesters: tuple[Filter, ...] = ()
    multiselect: Mapping[FilterKind, bool] = field(default_factory=dict)
    ports_known: bool = True
    tune: tuple[TuneAttribute, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    source: Source | None = field(default=None, repr=False, compare=False)

    @property
    def filters(self) -> tuple[Filter, ...]:
        """Root ports, then requesters."""
        return self.root_ports + self.requesters

    def __getstate__(self) -> dict[str, Any]:
        """Leave the source behind: it belongs to this process."""
        return {name: value for name, value in self.__dict__.items() if name != "source"}

    def _repr_html_(self) -> str:
        ports = ", ".join(str(port.address) for port in self.root_ports)
        rows = [
            ("PCI address", self.pci),
            ("NUMA node", self.numa_node),
            ("CPUs", ", ".join(map(str, self.cpus))),
            ("Root ports", ports if self.ports_known else f"any of {ports}"),
            *((attribute.name, attribute.problem if attribute.value is None else attribute.value) for attribute in self.tune),
        ]
        return html_table(("PTT device", self.name), rows)


@dataclass(frozen=True)
class Machine:
    """A machine: its PTT devices and PCI functions.

    Parameters
    ----------
    origin : str
        Where it was read, in words: ``this machine``, a folder, a recording's sidecar.
    devices : tuple of PttDevice
        Its PTT devices, by SICL and core.
    functions : Mapping[PciAddress, PciFunction]
        Its PCI functions by address.
    kernel : str or None
        Release of its kernel.
    hostname : str or None
        Its name.
    diagnostics : tuple of Diagnostic
        What is unknown of the machine as a whole; each device has its own.
    memory : tuple of MemoryRange or None
        Ranges of physical addresses with a name, by address; None where they were not read.
    """

    origin: str
    devices: tuple[PttDevice, ...] = ()
    functions: Mapping[PciAddress, PciFunction] = field(default_factory=dict)
    kernel: str | None = None
    hostname: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    memory: tuple[MemoryRange, ...] | None = None

    def ancestors(self, address: PciAddress) -> Iterator[PciAddress]:
        """Yield the bridges above a function, nearest first; the last one is its root port.

        A recording may have loops, and longer chains than any PCI domain: they end at :data:`~ptttool.machine.budget.MAX_BUSES_ABOVE`.
        """
        seen = {address}
        function = self.functions.get(address)
        while function is not None and function.parent is not None and function.parent not in seen and len(seen) <= MAX_BUSES_ABOVE:
            seen.add(function.parent)
            yield function.parent
            function = self.functions.get(function.parent)

    @cached_property
    def children(self) -> Mapping[PciAddress, list[PciFunction]]:
        """The functions directly below each bridge, by address."""
        children: dict[PciAddress, list[PciFunction]] = {}
        for _, function in sorted(self.functions.items()):
            if function.parent is not None:
                children.setdefault(function.parent, []).append(function)
        return children

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is computed from the functions."""
        return {name: value for name, value in self.__dict__.items() if name != "children"}

    def root_port_of(self, address: PciAddress) -> PciAddress | None:
        """Return the root port above a function; None for one without a bridge above it."""
        last = None
        for last in self.ancestors(address):  # noqa: B007 - the last one is wanted
            pass
        return last

    def _repr_html_(self) -> str:
        rows = [
            (device.name, device.pci, device.numa_node, ", ".join(str(port.address) for port in device.root_ports))
            for device in self.devices
        ]
        return html_table(("PTT device", "PCI address", "NUMA node", "Root ports"), rows, caption=self.origin)
