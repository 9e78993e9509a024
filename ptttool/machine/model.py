"""What is known of a machine: PTT devices, their filters and tune attributes, and the PCI functions behind their root ports.

Plain data without behaviour beyond look-ups. :mod:`ptttool.machine.discovery` reads it from sysfs and udev, a recording's sidecar keeps
part of it, and everything that shows names uses it. Each class is its JSON as well: a :class:`Machine` is what ``list --json`` prints.
Nothing here touches the running machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Final

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from ptttool.diagnostics import Diagnostic
from ptttool.documents import Hex, document
from ptttool.machine.budget import MAX_BUSES_ABOVE
from ptttool.machine.driver import Driver
from ptttool.machine.sources.contract import Source
from ptttool.pci import PciAddress
from ptttool.wording import html_table, shortened

VERSION: Final = 1
"""Version of a machine's document; a change that an older reader would misunderstand raises it."""


class Hex16(Hex):
    """An ID of 16 bits, as sysfs writes it: ``0x19e5``."""

    digits = 4


class Hex24(Hex):
    """A class code, as sysfs writes it: ``0x010802``."""

    digits = 6


class FilterKind(StrEnum):
    """What a filter selects: all TLPs of root ports, or those of one requester."""

    ROOT_PORT = "root port"
    REQUESTER = "requester"


ROOT_PORT, REQUESTER = FilterKind.ROOT_PORT, FilterKind.REQUESTER


class FormatTerm(Struct, frozen=True):
    """Bits of an event term.

    In sysfs ``format/NAME`` has them: ``config:0-19``.

    Parameters
    ----------
    word : str
        The config word.
    low, high : int
        First and last bit.
    """

    json_name: ClassVar = "TermDocument"

    word: str
    low: int
    high: int

    def __post_init__(self) -> None:
        """Refuse bits that a config word of 64 bits does not have."""
        if not 0 <= self.low <= self.high < 64:
            raise ValueError(f"not bits of a config word: {shortened(f'{self.low}-{self.high}')}")

    @property
    def maximum(self) -> int:
        """Largest value that fits."""
        return (1 << (self.high - self.low + 1)) - 1

    def __str__(self) -> str:
        """Write the bits as sysfs does."""
        return f"{self.word}:{self.low}" + ("" if self.low == self.high else f"-{self.high}")


class Link(Struct, frozen=True):
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


class Bar(Struct, frozen=True):
    """A Base Address Register.

    Parameters
    ----------
    number : int
        Its number.
    first, last : Hex
        Its first and its last byte on the link.
    space : AddressSpace
        ``memory`` or ``io``.
    prefetchable : bool
        Whether reads have no side effects.
    """

    json_name: ClassVar = "BarDocument"

    number: int
    first: Hex
    last: Hex
    space: str
    prefetchable: bool

    def __post_init__(self) -> None:
        """Refuse a range that ends before it begins, and any other space."""
        _check_range(self.first, self.last)
        force_setattr(self, "space", AddressSpace(self.space))


class PcieLimits(Struct, frozen=True):
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

    json_name: ClassVar = "Transfers"

    max_payload_supported: int | None = None
    max_payload: int | None = None
    max_read_request: int | None = None
    extended_tags: bool | None = None
    ten_bit_tags: bool | None = None
    read_boundary: int | None = None

    @property
    def is_unset(self) -> bool:
        """Whether all bits of the settings are 0, as virtual functions have them (MRRS of others begins with 512)."""
        return (self.max_payload, self.max_read_request) == (128, 128) and not (self.extended_tags or self.ten_bit_tags)

    def without_settings(self) -> PcieLimits:
        """Return the same, where it is not known what is set."""
        return replace(self, max_payload=None, max_read_request=None, extended_tags=None, ten_bit_tags=None)


class MsixTables(Struct, frozen=True):
    """Where a function's interrupts are set up: its MSI-X capability.

    Parameters
    ----------
    vectors : int
        Number of its vectors.
    bar, offset : int
        BAR and offset of the table: 16 bytes for each vector.
    pending_bar, pending_offset : int
        BAR and offset of the bits of pending vectors.
    """

    vectors: int
    bar: int
    offset: int
    pending_bar: int
    pending_offset: int


class MemoryRange(Struct, frozen=True):
    """A range of physical addresses.

    Parameters
    ----------
    first, last : Hex
        Its first and its last byte.
    name : str
        The kernel's name for it.
    """

    json_name: ClassVar = "MemoryRangeDocument"

    first: Hex
    last: Hex
    name: str

    def __post_init__(self) -> None:
        """Refuse a range that ends before it begins."""
        _check_range(self.first, self.last)


def _check_range(first: int, last: int) -> None:
    if not 0 <= first <= last < 1 << 64:
        raise ValueError(f"not a range of addresses: {first:#x} to {last:#x}")


class PciFunction(Struct, frozen=True):
    """One PCI function.

    Parameters
    ----------
    address : PciAddress
        Its PCI address.
    vendor, device, class_code : Hex16, Hex16, Hex24 or None
        IDs as sysfs writes them, such as ``0x19e5``.
    name : str
        Vendor and device in words.
    kernel_names : tuple of str
        The kernel's names for what is on the function.
    driver : str or None
        Its driver.
    numa_node : int or None
        Its NUMA node.
    link : Link or None
        State of its link.
    secondary, subordinate : int or None
        First and last bus behind a bridge.
    parent : PciAddress or None
        Address of the bridge above.
    bars : tuple of Bar or None
        Its Base Address Registers; null where they were not read.
    transfers : PcieLimits or None
        Settings of its PCI Express capability; null where they were not read (that needs root).
    iommu : str or None
        Type of its IOMMU group: ``identity``, or ``DMA`` and the like where addresses are translated.
    physical : PciAddress or None
        Address of the physical function that a virtual function (SR-IOV) belongs to. Its settings hold for the virtual one, and are in
        ``transfers``.
    msix : MsixTables or None
        Where its MSI-X table is; null where it has none, or its capabilities were not read (that needs root).
    """

    json_name: ClassVar = "FunctionDocument"

    address: PciAddress
    vendor: Hex16 | None
    device: Hex16 | None
    class_code: Hex24 | None = field(name="class")
    name: str
    kernel_names: tuple[str, ...] = ()
    driver: str | None = None
    numa_node: int | None = None
    link: Link | None = None
    secondary: int | None = None
    subordinate: int | None = None
    parent: PciAddress | None = None
    bars: tuple[Bar, ...] | None = None
    transfers: PcieLimits | None = None
    iommu: str | None = None
    physical: PciAddress | None = None
    msix: MsixTables | None = None

    @property
    def called(self) -> str:
        """What the kernel calls what is on it, such as ``nvme0``; else what it is in words."""
        return ", ".join(self.kernel_names) or self.name

    @property
    def names(self) -> str:
        """The kernel's names, and what it is in words."""
        return "  ".join(filter(None, (", ".join(self.kernel_names), self.name)))


class Untraceable(Struct, frozen=True):
    """A function that no PTT device can trace.

    Parameters
    ----------
    address : PciAddress
        Its PCI address.
    name : str
        The kernel's names for what is on it, and vendor and device in words.
    driver : str or None
        Its driver.
    reason : str
        Why: ``integrated`` (it is in the root complex, without a link), ``no-root-port`` (no bridge is above it), ``other-root-port`` (no
        PTT device traces the root port above it).
    text : str
        The same in words.
    port : PciAddress or None
        The port above it.
    """

    address: PciAddress
    name: str
    driver: str | None
    reason: str
    text: str
    port: PciAddress | None = None


class PciFunctions(dict[PciAddress, PciFunction]):
    """PCI functions by address; in JSON a list, or null where there are none."""

    json_type: ClassVar[Any] = tuple[PciFunction, ...] | None

    def as_json(self) -> list[PciFunction] | None:
        """Return the functions by address."""
        return [function for _, function in sorted(self.items())] or None

    @classmethod
    def of_json(cls, form: tuple[PciFunction, ...] | None) -> PciFunctions:
        """Take the functions of a list."""
        return cls({function.address: function for function in form or ()})


class Filter(Struct, frozen=True):
    """A value of the event term ``filter``.

    Parameters
    ----------
    address : PciAddress
        PCI address of the root port or requester.
    value : int
        The value.
    hex : str
        The value as an event string has it.
    computed : bool
        Whether the value was computed from the PCI address.
    """

    json_name: ClassVar = "FilterDocument"

    address: PciAddress
    value: int
    hex: str = ""
    computed: bool = False

    def __post_init__(self) -> None:
        """Write the value."""
        force_setattr(self, "hex", f"{self.value:#07x}")


class Multiselect(Struct, frozen=True):
    """Whether several filters of a kind can be combined; null where that is unknown.

    Parameters
    ----------
    root_ports, requesters : bool or None
        For each kind.
    """

    json_name: ClassVar = "MultiselectDocument"

    root_ports: bool | None = None
    requesters: bool | None = None

    def of(self, kind: FilterKind, *, unknown: bool) -> bool:
        """Return whether filters of this kind can be combined, and ``unknown`` where that is not known."""
        several = self.root_ports if kind == ROOT_PORT else self.requesters
        return unknown if several is None else several


class TuneAttribute(Struct, frozen=True):
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


class PttDevice(Struct, frozen=True, dict=True):
    """One PTT device.

    It is one PCIe core.

    Parameters
    ----------
    name : str
        Name of its PMU.
    sicl, core : int or None
        The numbers in its name.
    sysfs : str
        Path of its folder.
    pci : PciAddress or None
        Address of its PCI function.
    numa_node : int or None
        Its NUMA node.
    cpus : tuple of int
        CPUs that can record it.
    offline_cpus : tuple of int
        CPUs of its NUMA node that could record it and are offline.
    pmu_type : int or None
        Type number of the PMU.
    format : Mapping[str, FormatTerm]
        Terms of its event strings, by name.
    root_ports, requesters : tuple of Filter
        Filters of its events.
    multiselect : Multiselect
        Which filters can be combined.
    ports_known : bool
        False where the kernel does not say which root ports are of this device.
    tune : tuple of TuneAttribute
        Its tune attributes.
    diagnostics : tuple of Diagnostic
        What is unknown or was computed, and why.
    """

    json_name: ClassVar = "DeviceDocument"

    name: str
    sicl: int | None
    core: int | None
    sysfs: str
    pci: PciAddress | None = None
    numa_node: int | None = None
    cpus: tuple[int, ...] = ()
    offline_cpus: tuple[int, ...] = ()
    pmu_type: int | None = None
    format: Mapping[str, FormatTerm] = {}
    root_ports: tuple[Filter, ...] = ()
    requesters: tuple[Filter, ...] = ()
    multiselect: Multiselect = Multiselect()
    ports_known: bool = True
    tune: tuple[TuneAttribute, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def source(self) -> Source | None:
        """Where the device was read and where its tune attributes are; None for a device from a file, such as a recording's sidecar.

        It is no part of the document and of comparisons, it is not pickled, and a changed copy does not have it: see :meth:`read_from`.
        """
        return self.__dict__.get("source")

    def read_from(self, source: Source) -> PttDevice:
        """Return the same device with its source."""
        device = replace(self)
        device.__dict__["source"] = source
        return device

    @property
    def filters(self) -> tuple[Filter, ...]:
        """Root ports, then requesters."""
        return self.root_ports + self.requesters

    def filters_of(self, kind: FilterKind) -> tuple[Filter, ...]:
        """Its filters of a kind."""
        return self.root_ports if kind == ROOT_PORT else self.requesters

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


@document("list")
class Machine(Struct, frozen=True, dict=True, kw_only=True):
    """A machine with its PTT devices and PCI functions.

    Parameters
    ----------
    version : int
        Version of this document, 1.
    origin : str
        Where the machine was read.
    kernel : str or None
        Release of its kernel.
    hostname : str or None
        Its name.
    driver : Driver or None
        The driver of its PTT devices; null where there are none, and in documents of older versions.
    diagnostics : tuple of Diagnostic
        What is unknown of the machine as a whole.
    devices : tuple of PttDevice
        Its PTT devices.
    functions : PciFunctions
        Its PCI functions, by address; null where none are known.
    memory : tuple of MemoryRange or None
        Ranges of physical addresses with a name, from ``/proc/iomem``; null where they were not read (that needs root).
    untraceable : tuple of Untraceable
        The functions that no PTT device can trace; no key where they were not asked for.
    """

    json_omits_none: ClassVar = ("untraceable",)

    version: int = VERSION
    origin: str
    kernel: str | None = None
    hostname: str | None = None
    driver: Driver | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    devices: tuple[PttDevice, ...] = ()
    functions: PciFunctions = field(default_factory=PciFunctions)
    memory: tuple[MemoryRange, ...] | None = None
    untraceable: tuple[Untraceable, ...] | None = None

    def ancestors(self, address: PciAddress) -> Iterator[PciAddress]:
        """Yield the bridges above a function, nearest first; the last one is its root port.

        A recording may have loops, and longer chains than any PCI domain: they end at :data:`~ptttool.machine.budget.MAX_BUSES_ABOVE`.
        """
        chain = {address}
        function = self.functions.get(address)
        while function is not None and function.parent is not None and function.parent not in chain and len(chain) <= MAX_BUSES_ABOVE:
            chain.add(function.parent)
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
