"""What is known of a machine: PTT devices, their filters and knobs, and the PCI functions behind their root ports.

Plain data without behaviour beyond look-ups: ``host`` fills it from sysfs and udev, a recording's sidecar keeps part of it, and
everything that shows names reads it. Nothing here touches the running machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ptttool.pci import PciAddress

ROOT_PORT = "root port"
REQUESTER = "requester"


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
        return f"{self.word}:{self.low}-{self.high}"


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
class TuneEvent:
    """One knob. ``value``: None where it could not be read; ``problem`` then says why."""

    name: str
    value: int | None = None
    problem: str | None = None


@dataclass(frozen=True)
class PttDevice:
    """One PTT device, that is, one PCIe core.

    ``cpus``: the CPUs that may record it. ``multiselect``: by filter kind, whether several may be combined. ``notes``: sentences on
    what is unknown or was computed, and why.
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
    tune: tuple[TuneEvent, ...] = ()
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
