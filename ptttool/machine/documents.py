"""Machines as JSON: what ``list --json`` and ``filters --json`` print, and what a recording's sidecar keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document, to_json
from ptttool.machine.model import (
    REQUESTER,
    ROOT_PORT,
    AddressSpace,
    Bar,
    Filter,
    FilterKind,
    FormatTerm,
    Link,
    Machine,
    MemoryRange,
    PciFunction,
    PttDevice,
    Transfers,
    TuneAttribute,
)
from ptttool.pci import PciAddress

T = TypeVar("T")

VERSION: Final = 1
"""Version of a machine's document; a change that an older reader would misunderstand raises it."""


@dataclass(frozen=True)
class FilterDocument:
    """A value of the event term ``filter``.

    Parameters
    ----------
    address : str
        PCI address of the root port or requester.
    value : int
        The value.
    hex : str
        The value as an event string has it.
    computed : bool
        Whether the value was computed from the PCI address.
    """

    address: str
    value: int
    hex: str
    computed: bool

    @classmethod
    def of(cls, one: Filter) -> FilterDocument:
        """Make the document of a filter."""
        return cls(str(one.address), one.value, f"{one.value:#07x}", one.computed)


@dataclass(frozen=True)
class NamedFilterDocument(FilterDocument):
    """A value of the event term ``filter``, with the names of its PCI function.

    Parameters
    ----------
    name : str or None
        Vendor and device of the function.
    kernel_names : list of str or None
        The kernel's names for what is on the function; null where the function is not known.
    """

    name: str | None
    kernel_names: list[str] | None

    @classmethod
    def named(cls, one: Filter, machine: Machine) -> NamedFilterDocument:
        """Make the document of a filter of a machine."""
        function = machine.functions.get(one.address)
        name, names = (None, None) if function is None else (function.name, list(function.kernel_names))
        return cls(str(one.address), one.value, f"{one.value:#07x}", one.computed, name, names)


@dataclass(frozen=True)
class MultiselectDocument:
    """Whether several filters of a kind can be combined; null where that is unknown.

    Parameters
    ----------
    root_ports, requesters : bool or None
        For each kind.
    """

    root_ports: bool | None
    requesters: bool | None

    @classmethod
    def of(cls, device: PttDevice) -> MultiselectDocument:
        """Make the document of a device."""
        return cls(device.multiselect.get(ROOT_PORT), device.multiselect.get(REQUESTER))


@dataclass(frozen=True)
class TermDocument:
    """Bits of an event term.

    Parameters
    ----------
    word : str
        The config word.
    low, high : int
        First and last bit.
    """

    word: str
    low: int
    high: int


@dataclass(frozen=True)
class DeviceDocument:
    """One PTT device.

    Parameters
    ----------
    name : str
        Name of its PMU.
    sicl, core : int or None
        The numbers in its name.
    sysfs : str
        Path of its folder.
    pci : str or None
        Address of its PCI function.
    numa_node : int or None
        Its NUMA node.
    cpus : list of int
        CPUs that can record it.
    offline_cpus : list of int
        CPUs of its NUMA node that could record it and are offline.
    pmu_type : int or None
        Type number of the PMU.
    format : Mapping[str, TermDocument]
        Terms of its event strings, by name.
    root_ports, requesters : list of FilterDocument
        Filters of its events.
    multiselect : MultiselectDocument
        Which filters can be combined.
    ports_known : bool
        False where the kernel does not say which root ports are of this device.
    tune : list of TuneAttribute
        Its tune attributes.
    diagnostics : list of Diagnostic
        What is unknown or was computed, and why.
    """

    name: str
    sicl: int | None
    core: int | None
    sysfs: str
    pci: str | None
    numa_node: int | None
    cpus: list[int]
    offline_cpus: list[int]
    pmu_type: int | None
    format: Mapping[str, TermDocument]
    root_ports: list[FilterDocument]
    requesters: list[FilterDocument]
    multiselect: MultiselectDocument
    ports_known: bool
    tune: list[TuneAttribute]
    diagnostics: list[Diagnostic]

    @classmethod
    def of(cls, device: PttDevice) -> DeviceDocument:
        """Make the document of a device."""
        return cls(
            name=device.name,
            sicl=device.sicl,
            core=device.core,
            sysfs=device.sysfs,
            pci=_text(device.pci),
            numa_node=device.numa_node,
            cpus=list(device.cpus),
            offline_cpus=list(device.offline_cpus),
            pmu_type=device.pmu_type,
            format={name: TermDocument(term.word, term.low, term.high) for name, term in sorted(device.format.items())},
            root_ports=[FilterDocument.of(one) for one in device.root_ports],
            requesters=[FilterDocument.of(one) for one in device.requesters],
            multiselect=MultiselectDocument.of(device),
            ports_known=device.ports_known,
            tune=list(device.tune),
            diagnostics=list(device.diagnostics),
        )


@dataclass(frozen=True)
class BarDocument:
    """A Base Address Register.

    Parameters
    ----------
    number : int
        Its number.
    first, last : str
        Its first and its last byte on the link.
    space : str
        ``memory`` or ``io``.
    prefetchable : bool
        Whether reads have no side effects.
    """

    number: int
    first: str
    last: str
    space: str
    prefetchable: bool

    @classmethod
    def of(cls, bar: Bar) -> BarDocument:
        """Make the document of a Base Address Register."""
        return cls(bar.number, hex(bar.first), hex(bar.last), bar.space.value, bar.prefetchable)


@dataclass(frozen=True)
class MemoryRangeDocument:
    """A range of physical addresses.

    Parameters
    ----------
    first, last : str
        Its first and its last byte.
    name : str
        The kernel's name for it.
    """

    first: str
    last: str
    name: str

    @classmethod
    def of(cls, one: MemoryRange) -> MemoryRangeDocument:
        """Make the document of a range."""
        return cls(hex(one.first), hex(one.last), one.name)


@dataclass(frozen=True)
class FunctionDocument:
    """One PCI function.

    Parameters
    ----------
    address : str
        Its PCI address.
    vendor, device, class_ : str or None
        IDs as sysfs writes them, such as ``0x19e5``.
    name : str
        Vendor and device in words.
    kernel_names : list of str
        The kernel's names for what is on the function.
    driver : str or None
        Its driver.
    numa_node : int or None
        Its NUMA node.
    link : Link or None
        State of its link.
    secondary, subordinate : int or None
        First and last bus behind a bridge.
    parent : str or None
        Address of the bridge above.
    bars : list of BarDocument or None
        Its Base Address Registers; null where they were not read.
    transfers : Transfers or None
        Settings of its PCI Express capability; null where they were not read (that needs root).
    iommu : str or None
        Type of its IOMMU group: ``identity``, or ``DMA`` and the like where addresses are translated.
    """

    address: str
    vendor: str | None
    device: str | None
    class_: str | None
    name: str
    kernel_names: list[str]
    driver: str | None
    numa_node: int | None
    link: Link | None
    secondary: int | None
    subordinate: int | None
    parent: str | None
    bars: list[BarDocument] | None = None
    transfers: Transfers | None = None
    iommu: str | None = None

    @classmethod
    def of(cls, function: PciFunction) -> FunctionDocument:
        """Make the document of a PCI function."""
        return cls(
            address=str(function.address),
            vendor=_hexadecimal(function.vendor, 4),
            device=_hexadecimal(function.device, 4),
            class_=_hexadecimal(function.class_code, 6),
            name=function.name,
            kernel_names=list(function.kernel_names),
            driver=function.driver,
            numa_node=function.numa_node,
            link=function.link,
            secondary=function.secondary,
            subordinate=function.subordinate,
            parent=_text(function.parent),
            bars=None if function.bars is None else [BarDocument.of(bar) for bar in function.bars],
            transfers=function.transfers,
            iommu=function.iommu,
        )


@document("list")
@dataclass(frozen=True)
class MachineDocument:
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
    diagnostics : list of Diagnostic
        What is unknown of the machine as a whole.
    devices : list of DeviceDocument
        Its PTT devices.
    functions : list of FunctionDocument or None
        Its PCI functions, by address; null where none are known.
    memory : list of MemoryRangeDocument or None
        Ranges of physical addresses with a name, from ``/proc/iomem``; null where they were not read (that needs root).
    """

    version: int
    origin: str
    kernel: str | None
    hostname: str | None
    diagnostics: list[Diagnostic]
    devices: list[DeviceDocument]
    functions: list[FunctionDocument] | None
    memory: list[MemoryRangeDocument] | None = None

    @classmethod
    def of(cls, machine: Machine) -> MachineDocument:
        """Make the document of a machine."""
        return cls(
            version=VERSION,
            origin=machine.origin,
            kernel=machine.kernel,
            hostname=machine.hostname,
            diagnostics=list(machine.diagnostics),
            devices=[DeviceDocument.of(device) for device in machine.devices],
            functions=[FunctionDocument.of(function) for _, function in sorted(machine.functions.items())] or None,
            memory=None if machine.memory is None else [MemoryRangeDocument.of(one) for one in machine.memory],
        )


@dataclass(frozen=True)
class DeviceFiltersDocument:
    """What the traces of one PTT device can be restricted to.

    Parameters
    ----------
    name : str
        Name of its PMU.
    ports_known : bool
        False where the kernel does not say which root ports are of this device.
    multiselect : MultiselectDocument
        Which filters can be combined.
    root_ports, requesters : list of NamedFilterDocument
        The filters.
    diagnostics : list of Diagnostic
        What is unknown or was computed, and why.
    """

    name: str
    ports_known: bool
    multiselect: MultiselectDocument
    root_ports: list[NamedFilterDocument]
    requesters: list[NamedFilterDocument]
    diagnostics: list[Diagnostic]


@document("filters")
@dataclass(frozen=True)
class FiltersDocument:
    """What traces can be restricted to.

    Parameters
    ----------
    diagnostics : list of Diagnostic
        What is unknown of the machine as a whole.
    devices : list of DeviceFiltersDocument
        Filters of each PTT device.
    """

    diagnostics: list[Diagnostic]
    devices: list[DeviceFiltersDocument]

    @classmethod
    def of(cls, machine: Machine) -> FiltersDocument:
        """Make the document of a machine."""
        devices = [
            DeviceFiltersDocument(
                name=device.name,
                ports_known=device.ports_known,
                multiselect=MultiselectDocument.of(device),
                root_ports=[NamedFilterDocument.named(one, machine) for one in device.root_ports],
                requesters=[NamedFilterDocument.named(one, machine) for one in device.requesters],
                diagnostics=list(device.diagnostics),
            )
            for device in machine.devices
        ]
        return cls(list(machine.diagnostics), devices)


def as_json(machine: Machine) -> dict[str, Any]:
    """Return a machine's document as :mod:`json` encodes it."""
    encoded: dict[str, Any] = to_json(MachineDocument.of(machine))
    return encoded


def from_json(body: Any) -> Machine:
    """Read a machine's document.

    Parameters
    ----------
    body : object
        What :mod:`json` made of the document.

    Raises
    ------
    ValueError
        It is something else, damaged, or of another version.
    """
    try:
        version = _is(int, body["version"])
        if version != VERSION:
            raise ValueError(f"version {version!r} of a machine's description; this ptttool reads version {VERSION}")
        functions = _optional_list(_function, body["functions"]) or ()
        return Machine(
            origin=_is(str, body["origin"]),
            devices=tuple(_device(one) for one in _is(list, body["devices"])),
            functions={function.address: function for function in functions},
            kernel=_may(str, body["kernel"]),
            hostname=_may(str, body["hostname"]),
            diagnostics=_diagnostics(body.get("diagnostics", [])),
            memory=_optional_list(_memory_range, body.get("memory")),
        )
    except KeyError as error:
        raise ValueError(f"not the description of a machine: the field {error} is missing") from None
    except (TypeError, AttributeError) as error:
        raise ValueError(f"not the description of a machine: {error}") from None


def _device(one: Any) -> PttDevice:
    multiselect = {ROOT_PORT: _may(bool, one["multiselect"]["root_ports"]), REQUESTER: _may(bool, one["multiselect"]["requesters"])}
    return PttDevice(
        name=_is(str, one["name"]),
        sicl=_may(int, one["sicl"]),
        core=_may(int, one["core"]),
        sysfs=_is(str, one["sysfs"]),
        pci=_address(one["pci"]),
        numa_node=_may(int, one["numa_node"]),
        cpus=_all(int, one["cpus"]),
        offline_cpus=_all(int, one.get("offline_cpus", [])),
        pmu_type=_may(int, one["pmu_type"]),
        format={
            name: FormatTerm(name, _is(str, term["word"]), _is(int, term["low"]), _is(int, term["high"]))
            for name, term in _is(dict, one["format"]).items()
        },
        root_ports=tuple(_filter(ROOT_PORT, entry) for entry in _is(list, one["root_ports"])),
        requesters=tuple(_filter(REQUESTER, entry) for entry in _is(list, one["requesters"])),
        multiselect={kind: value for kind, value in multiselect.items() if value is not None},
        ports_known=_is(bool, one["ports_known"]),
        tune=tuple(
            TuneAttribute(_is(str, each["name"]), _may(int, each["value"]), _may(str, each["problem"])) for each in _is(list, one["tune"])
        ),
        diagnostics=_diagnostics(one.get("diagnostics", [])),
    )


def _filter(kind: FilterKind, one: Any) -> Filter:
    return Filter(kind, _present(one["address"]), _is(int, one["value"]), _is(bool, one["computed"]))


def _function(one: Any) -> PciFunction:
    return PciFunction(
        address=_present(one["address"]),
        vendor=_number(one["vendor"]),
        device=_number(one["device"]),
        class_code=_number(one["class"]),
        name=_is(str, one["name"]),
        kernel_names=_all(str, one["kernel_names"]),
        driver=_may(str, one["driver"]),
        numa_node=_may(int, one["numa_node"]),
        link=_link(one["link"]),
        secondary=_may(int, one["secondary"]),
        subordinate=_may(int, one["subordinate"]),
        parent=_address(one["parent"]),
        # Documents of older versions do not have these.
        bars=_optional_list(_bar, one.get("bars")),
        transfers=_transfers(one.get("transfers")),
        iommu=_may(str, one.get("iommu")),
    )


def _bar(one: Any) -> Bar:
    first, last = _range(one)
    return Bar(_is(int, one["number"]), first, last, AddressSpace(_is(str, one["space"])), _is(bool, one["prefetchable"]))


def _memory_range(one: Any) -> MemoryRange:
    return MemoryRange(*_range(one), _is(str, one["name"]))


def _range(one: Any) -> tuple[int, int]:
    first, last = int(_is(str, one["first"]), 16), int(_is(str, one["last"]), 16)
    if not 0 <= first <= last < 1 << 64:
        raise ValueError(f"not a range of addresses: {first:#x} to {last:#x}")
    return first, last


def _transfers(one: Any) -> Transfers | None:
    if one is None:
        return None
    return Transfers(
        max_payload_supported=_may(int, one["max_payload_supported"]),
        max_payload=_may(int, one["max_payload"]),
        max_read_request=_may(int, one["max_read_request"]),
        extended_tags=_may(bool, one["extended_tags"]),
        ten_bit_tags=_may(bool, one["ten_bit_tags"]),
        read_boundary=_may(int, one["read_boundary"]),
    )


def _link(one: Any) -> Link | None:
    if one is None:
        return None
    return Link(_may(str, one["speed"]), _may(int, one["width"]), _may(str, one["max_speed"]), _may(int, one["max_width"]))


def _diagnostics(values: Any) -> tuple[Diagnostic, ...]:
    return tuple(
        Diagnostic(
            Severity(_is(str, one["severity"])),
            _is(str, one["code"]),
            _is(str, one["message"]),
            _may(str, one["hint"]),
            _may(str, one["where"]),
            _is(dict, one["details"]),
        )
        for one in _is(list, values)
    )


def _is(kind: type[T], value: Any) -> T:
    """Return the value if it is of that kind. True and False are not numbers."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{value!r} is not of type {kind.__name__}")
    return value


def _may(kind: type[T], value: Any) -> T | None:
    return None if value is None else _is(kind, value)


def _all(kind: type[T], values: Any) -> tuple[T, ...]:
    return tuple(_is(kind, value) for value in _is(list, values))


def _optional_list(read: Callable[[Any], T], values: Any) -> tuple[T, ...] | None:
    return None if values is None else tuple(read(value) for value in _is(list, values))


def _text(address: PciAddress | None) -> str | None:
    return None if address is None else str(address)


def _hexadecimal(number: int | None, digits: int) -> str | None:
    return None if number is None else f"0x{number:0{digits}x}"


def _number(text: Any) -> int | None:
    return None if text is None else int(_is(str, text), 16)


def _address(text: Any) -> PciAddress | None:
    return None if text is None else _present(text)


def _present(text: Any) -> PciAddress:
    found = PciAddress.try_parse(_is(str, text))
    if found is None:
        raise ValueError(f"not a PCI address: {text!r}")
    return found
