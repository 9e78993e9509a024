"""What is known of a machine: PTT devices, their filters and tune attributes, and the PCI functions behind their root ports.

Plain data without behaviour beyond look-ups: ``host`` fills it from sysfs and udev, a recording's sidecar keeps part of it, and
everything that shows names reads it. Nothing here touches the running machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from ptttool.pci import PciAddress

T = TypeVar("T")

ROOT_PORT = "root port"
REQUESTER = "requester"
# The origin of the machine that comes with ptttool.
DEMO = "the demo machine"


@dataclass(frozen=True)
class FormatTerm:
    """One term of an event string: which bits of which config word it fills (``format/NAME`` in sysfs: ``config:0-19``)."""

    name: str
    word: str
    low: int
    high: int

    @property
    def maximum(self) -> int:
        """Largest value that fits."""
        return (1 << (self.high - self.low + 1)) - 1

    def __str__(self) -> str:
        return f"{self.word}:{self.low}" + ("" if self.low == self.high else f"-{self.high}")


@dataclass(frozen=True)
class Link:
    """A PCIe link's state, in sysfs's own words; None where sysfs does not say."""

    speed: str | None
    width: int | None
    max_speed: str | None
    max_width: int | None


@dataclass(frozen=True)
class PciFunction:
    """One PCI function.

    ``name``: vendor and device in words as lspci prints them, or the numbers; ``kernel_names``: what people call it (``nvme0``,
    ``nvme0n1``, ``eth1``); ``secondary``/``subordinate``: first and last bus behind a bridge; ``parent``: the bridge above.
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


@dataclass(frozen=True)
class Filter:
    """A value of the event's ``filter`` term.

    ``kind``: :data:`ROOT_PORT` or :data:`REQUESTER`. ``computed``: worked out from the PCI address, since the kernel offers no
    file or the file may not be read.
    """

    kind: str
    address: PciAddress
    value: int
    computed: bool = False


@dataclass(frozen=True)
class TuneAttribute:
    """One tune attribute. ``value``: None where it could not be read; ``problem`` then says why."""

    name: str
    value: int | None = None
    problem: str | None = None


@dataclass(frozen=True)
class PttDevice:
    """One PTT device, that is, one PCIe core.

    ``cpus``: the CPUs that may record it. ``multiselect``: by filter kind, whether several may be combined. ``ports_known``: False
    where the kernel does not tell which root ports are this device's, so that ``root_ports`` and ``requesters`` are all that may be.
    ``notes``: sentences on what is unknown or was computed, and why.
    """

    name: str
    sicl: int | None
    core: int | None
    sysfs: str
    pci: PciAddress | None = None
    numa_node: int | None = None
    cpus: tuple[int, ...] = ()
    pmu_type: int | None = None
    format: Mapping[str, FormatTerm] = field(default_factory=dict)
    root_ports: tuple[Filter, ...] = ()
    requesters: tuple[Filter, ...] = ()
    multiselect: Mapping[str, bool] = field(default_factory=dict)
    ports_known: bool = True
    tune: tuple[TuneAttribute, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def filters(self) -> tuple[Filter, ...]:
        """Root ports, then requesters."""
        return self.root_ports + self.requesters


@dataclass(frozen=True)
class Machine:
    """All of it. ``origin``: in words, where this was read (``this machine``, a folder, a recording's sidecar)."""

    origin: str
    devices: tuple[PttDevice, ...] = ()
    functions: Mapping[PciAddress, PciFunction] = field(default_factory=dict)
    kernel: str | None = None
    hostname: str | None = None
    notes: tuple[str, ...] = ()

    def children(self, address: PciAddress) -> list[PciFunction]:
        """The functions right below a bridge, in address order."""
        return [f for _, f in sorted(self.functions.items()) if f.parent == address]

    def ancestors(self, address: PciAddress) -> Iterator[PciAddress]:
        """The bridges above a function, nearest first; the last one is its root port."""
        seen = {address}
        function = self.functions.get(address)
        while function is not None and function.parent is not None and function.parent not in seen:
            seen.add(function.parent)
            yield function.parent
            function = self.functions.get(function.parent)

    def root_port_of(self, address: PciAddress) -> PciAddress | None:
        """The root port above a function; None for one that has no bridge above it."""
        last = None
        for last in self.ancestors(address):  # noqa: B007 - the last one is wanted
            pass
        return last

    def by_id(self, routing_id: int, domain: int = 0) -> PciFunction | None:
        """The function with that Requester or Completer ID."""
        return self.functions.get(PciAddress.from_id(routing_id, domain))


# The version of the JSON below; a change that an older reader would misunderstand raises it.
JSON_VERSION = 1


def as_json(machine: Machine) -> dict[str, Any]:
    """The machine as a JSON document.

    ``version``; ``origin``, ``kernel``, ``hostname``, ``notes`` (texts); ``devices``: per PTT device ``name``, ``sicl``, ``core``,
    ``sysfs``, ``pci`` (``"0000:00:08.0"``), ``numa_node``, ``cpus`` (numbers), ``pmu_type``, ``format`` (term to ``word``, ``low``,
    ``high``), ``root_ports`` and ``requesters`` (each ``address``, ``value``, ``hex``, ``computed``), ``multiselect``
    (``root_ports``, ``requesters``), ``ports_known``, ``tune`` (each ``name``, ``value``, ``problem``), ``notes``; ``functions``: per
    PCI function ``address``, ``vendor``, ``device``, ``class`` (as sysfs writes them: ``"0x19e5"``), ``name``, ``kernel_names``,
    ``driver``, ``numa_node``, ``link`` (``speed``, ``width``, ``max_speed``, ``max_width``, or null), ``secondary``,
    ``subordinate``, ``parent``. What is unknown is null.
    """
    return {
        "version": JSON_VERSION,
        "origin": machine.origin,
        "kernel": machine.kernel,
        "hostname": machine.hostname,
        "notes": list(machine.notes),
        "devices": [_device_as_json(device) for device in machine.devices],
        "functions": [_function_as_json(function) for _, function in sorted(machine.functions.items())],
    }


def filter_as_json(one: Filter) -> dict[str, Any]:
    """One filter: ``address``, ``value`` (a number), ``hex`` (as an event string has it), ``computed``."""
    return {"address": str(one.address), "value": one.value, "hex": f"{one.value:#07x}", "computed": one.computed}


def _device_as_json(device: PttDevice) -> dict[str, Any]:
    return {
        "name": device.name,
        "sicl": device.sicl,
        "core": device.core,
        "sysfs": device.sysfs,
        "pci": _text(device.pci),
        "numa_node": device.numa_node,
        "cpus": list(device.cpus),
        "pmu_type": device.pmu_type,
        "format": {name: {"word": term.word, "low": term.low, "high": term.high} for name, term in sorted(device.format.items())},
        "root_ports": [filter_as_json(one) for one in device.root_ports],
        "requesters": [filter_as_json(one) for one in device.requesters],
        "multiselect": {"root_ports": device.multiselect.get(ROOT_PORT), "requesters": device.multiselect.get(REQUESTER)},
        "ports_known": device.ports_known,
        "tune": [asdict(event) for event in device.tune],
        "notes": list(device.notes),
    }


def _function_as_json(function: PciFunction) -> dict[str, Any]:
    return {
        "address": str(function.address),
        "vendor": _hexadecimal(function.vendor, 4),
        "device": _hexadecimal(function.device, 4),
        "class": _hexadecimal(function.class_code, 6),
        "name": function.name,
        "kernel_names": list(function.kernel_names),
        "driver": function.driver,
        "numa_node": function.numa_node,
        "link": None if function.link is None else asdict(function.link),
        "secondary": function.secondary,
        "subordinate": function.subordinate,
        "parent": _text(function.parent),
    }


def from_json(document: Any) -> Machine:
    """The machine of a document that :func:`as_json` made. Raises ValueError for anything else, a newer version too."""
    try:
        version = _is(int, document["version"])
        if version != JSON_VERSION:
            raise ValueError(f"version {version!r} of a machine's description; this ptttool reads version {JSON_VERSION}")
        functions = [_function_from_json(one) for one in _is(list, document["functions"])]
        return Machine(
            origin=_is(str, document["origin"]),
            devices=tuple(_device_from_json(one) for one in _is(list, document["devices"])),
            functions={function.address: function for function in functions},
            kernel=_may(str, document["kernel"]),
            hostname=_may(str, document["hostname"]),
            notes=_all(str, document["notes"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no description of a machine: {type(error).__name__}: {error}") from None


def _device_from_json(one: Any) -> PttDevice:
    multiselect = {ROOT_PORT: _may(bool, one["multiselect"]["root_ports"]), REQUESTER: _may(bool, one["multiselect"]["requesters"])}
    return PttDevice(
        name=_is(str, one["name"]),
        sicl=_may(int, one["sicl"]),
        core=_may(int, one["core"]),
        sysfs=_is(str, one["sysfs"]),
        pci=_address(one["pci"]),
        numa_node=_may(int, one["numa_node"]),
        cpus=_all(int, one["cpus"]),
        pmu_type=_may(int, one["pmu_type"]),
        format={
            name: FormatTerm(name, _is(str, term["word"]), _is(int, term["low"]), _is(int, term["high"]))
            for name, term in _is(dict, one["format"]).items()
        },
        root_ports=tuple(_filter_from_json(ROOT_PORT, entry) for entry in _is(list, one["root_ports"])),
        requesters=tuple(_filter_from_json(REQUESTER, entry) for entry in _is(list, one["requesters"])),
        multiselect={kind: value for kind, value in multiselect.items() if value is not None},
        ports_known=_is(bool, one["ports_known"]),
        tune=tuple(
            TuneAttribute(_is(str, event["name"]), _may(int, event["value"]), _may(str, event["problem"]))
            for event in _is(list, one["tune"])
        ),
        notes=_all(str, one["notes"]),
    )


def _filter_from_json(kind: str, one: Any) -> Filter:
    return Filter(kind, _present(one["address"]), _is(int, one["value"]), _is(bool, one["computed"]))


def _function_from_json(one: Any) -> PciFunction:
    return PciFunction(
        address=_present(one["address"]),
        vendor=_number(one["vendor"]),
        device=_number(one["device"]),
        class_code=_number(one["class"]),
        name=_is(str, one["name"]),
        kernel_names=_all(str, one["kernel_names"]),
        driver=_may(str, one["driver"]),
        numa_node=_may(int, one["numa_node"]),
        link=_link_from_json(one["link"]),
        secondary=_may(int, one["secondary"]),
        subordinate=_may(int, one["subordinate"]),
        parent=_address(one["parent"]),
    )


def _link_from_json(one: Any) -> Link | None:
    if one is None:
        return None
    return Link(_may(str, one["speed"]), _may(int, one["width"]), _may(str, one["max_speed"]), _may(int, one["max_width"]))


def _is(kind: type[T], value: Any) -> T:
    """The value, which is of that kind. True and False are no numbers."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


def _may(kind: type[T], value: Any) -> T | None:
    return None if value is None else _is(kind, value)


def _all(kind: type[T], values: Any) -> tuple[T, ...]:
    return tuple(_is(kind, value) for value in _is(list, values))


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
        raise ValueError(f"no PCI address: {text!r}")
    return found
