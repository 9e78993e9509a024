"""What an event's config means: terms, names of filtered functions, traced TLPs. Touches no machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import force_setattr

from ptttool.capture.event.terms import DIRECTIONS, FORMATS, PATTERNS, TYPES, Flow, Format, Pattern, TlpType, fields_of
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.model import REQUESTER, ROOT_PORT, FilterKind, FormatTerm, Machine, PttDevice
from ptttool.machine.pmu import PORT_FLAG, RESERVED_FILTER_BITS
from ptttool.machine.topology import endpoints_behind, is_empty
from ptttool.pci import PciAddress
from ptttool.wording import html_table, in_words


class Named(Struct, frozen=True):
    """A function that a filter names.

    Parameters
    ----------
    address : PciAddress or None
        Its PCI address; null where only its filter bit is known.
    name : str
        Its name; for a root port, what is behind it.
    """

    json_name: ClassVar = "FunctionBody"

    address: PciAddress | None
    name: str


class EventFilter(Struct, frozen=True):
    """The filter of an event.

    Parameters
    ----------
    kind : FilterKind
        ``root port`` or ``requester``.
    value : int
        The value of the term.
    hex : str
        The same in hexadecimal, as sysfs writes it.
    functions : tuple of Named
        The functions that it names.
    """

    json_name: ClassVar = "FilterBody"
    json_types: ClassVar = {"kind": str}

    kind: FilterKind
    value: int
    hex: str = ""
    functions: tuple[Named, ...] = ()

    def __post_init__(self) -> None:
        """Write the value."""
        force_setattr(self, "hex", f"{self.value:#07x}")


class Explanation(Struct, frozen=True, kw_only=True):
    """An event in words.

    Parameters
    ----------
    device : str or None
        The PMU's name.
    config : int
        The 64-bit config.
    config_hex : str
        The same in hexadecimal.
    fields : Mapping[str, int]
        The value of every term.
    filtered : EventFilter
        The filter.
    types : tuple of TlpType
        Of ``p``, ``np``, ``cpl``.
    refused : bool
        Whether perf or the driver would refuse the event.
    flow : Flow
        The TLPs that are traced.
    format, pattern : Format, Pattern or None
        Null for an unknown value.
    fits : tuple of str
        Where the event names no device: the devices that have its filter.
    diagnostics : tuple of Diagnostic
        Contradictions, the worst first.
    """

    json_name: ClassVar = "ExplanationBody"
    json_merges: ClassVar = ("flow",)
    json_types: ClassVar = {"types": tuple[str, ...], "format": str | None, "pattern": str | None}

    device: str | None
    config: int
    config_hex: str = ""
    fields: Mapping[str, int]
    filtered: EventFilter = field(name="filter")
    types: tuple[TlpType, ...]
    refused: bool = False
    flow: Flow
    format: Format | None
    pattern: Pattern | None
    fits: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = field(name="problems", default=())

    def __post_init__(self) -> None:
        """Write the config, and look whether the event would be refused."""
        force_setattr(self, "config_hex", f"{self.config:#x}")
        force_setattr(self, "refused", any(one.severity is Severity.ERROR for one in self.diagnostics))

    @property
    def filter(self) -> int:
        """The value of the filter term."""
        return self.filtered.value

    @property
    def kind(self) -> FilterKind:
        """The kind of the filter."""
        return self.filtered.kind

    @property
    def named(self) -> tuple[Named, ...]:
        """The root ports, or the requester."""
        return self.filtered.functions

    def _repr_html_(self) -> str:
        rows = [
            ("config", f"{self.config:#x}"),
            (self.kind, in_words([f"{one.address or ''} {one.name}".strip() for one in self.named])),
            ("inbound", in_words(self.flow.inbound)),
            ("outbound", in_words(self.flow.outbound)),
            *((one.severity.value, one.message) for one in self.diagnostics),
        ]
        return html_table(("", ""), [row for row in rows if row[1]], caption=self.device or "PTT event")


def decode(config: int, terms: Mapping[str, FormatTerm], *, pmu: str | None = None, machine: Machine | None = None) -> Explanation:
    """Decode a config, without a look for contradictions.

    Parameters
    ----------
    config : int
        The 64-bit config.
    terms : Mapping[str, FormatTerm]
        Bit positions.
    pmu : str or None
        The PMU's name.
    machine : Machine or None
        Where names come from.
    """
    fields = fields_of(config, terms)
    value = fields.get("filter", 0)
    owners = owners_of(pmu, value, machine)
    kind = ROOT_PORT if value & PORT_FLAG else REQUESTER
    types = tuple(name for name, bit in TYPES.items() if fields.get("type", 0) & bit)
    layout = next((name for name, number in FORMATS.items() if number == fields.get("format", 0)), None)
    flow = Flow()
    if layout is not None and (kind == REQUESTER or value & 0xFFFF):
        flow = DIRECTIONS[layout].get(fields.get("direction", 0), Flow()).of_types(types)
    return Explanation(
        device=pmu,
        config=config,
        fields=fields,
        filtered=EventFilter(kind, value, functions=(_ports if kind == ROOT_PORT else _requester)(value, owners, machine)),
        types=types,
        format=layout,
        pattern=next((name for name, number in PATTERNS.items() if number == fields.get("pattern", 0)), None),
        flow=flow,
        fits=tuple(device.name for device in owners) if pmu is None else (),
    )


def owners_of(pmu: str | None, value: int, machine: Machine | None) -> tuple[PttDevice, ...]:
    """Return the devices to look a filter up in: that of the PMU; without a PMU, all that have the filter."""
    devices = () if machine is None else machine.devices
    return tuple(device for device in devices if (has_filter(device, value) if pmu is None else device.name == pmu))


def has_filter(device: PttDevice, value: int) -> bool:
    """Tell whether the driver of a device takes a filter."""
    plain = value & ~RESERVED_FILTER_BITS
    if not plain & PORT_FLAG:
        return any(one.value == plain for one in device.requesters)
    managed = 0
    for one in device.root_ports:
        managed |= one.value
    return plain != PORT_FLAG and not plain & ~managed


def addresses_of_bit(bit: int, owners: Sequence[PttDevice]) -> list[PciAddress]:
    """Return the root ports that have a bit of the port mask."""
    return sorted({one.address for device in owners for one in device.root_ports if one.value & 1 << bit})


def requesters_of(value: int, owners: Sequence[PttDevice]) -> list[PciAddress]:
    """Return the functions with a requester filter: several, where there are several PCI domains."""
    plain = value & 0xFFFF
    return sorted({one.address for device in owners for one in device.requesters if one.value == plain})


def _ports(value: int, owners: Sequence[PttDevice], machine: Machine | None) -> tuple[Named, ...]:
    """Return the root ports of a mask; ports have even bits."""
    named: list[Named] = []
    for bit in (bit for bit in range(0, 16, 2) if value >> bit & 1):
        ports = addresses_of_bit(bit, owners)
        named += [Named(address, _behind_port(address, machine)) for address in ports] or [Named(None, f"bit {bit}: {_slots(bit)}")]
    return tuple(named)


def _slots(bit: int) -> str:
    """Say which root ports may have a bit: PCI device numbers repeat every eight."""
    return f"root port {in_words([f'{bit // 2 + eight:02x}' for eight in (0, 8, 16, 24)], 'or')} (the value does not say which)"


def _requester(value: int, owners: Sequence[PttDevice], machine: Machine | None) -> tuple[Named, ...]:
    plain = value & 0xFFFF
    addresses = requesters_of(value, owners)
    if addresses or not plain:
        return tuple(Named(address, _function_name(address, machine)) for address in addresses)
    return (Named(None, PciAddress.from_id(plain).short),)


def _function_name(address: PciAddress, machine: Machine | None) -> str:
    """Return a function's name as lspci has it, with the kernel's names: ``QEMU NVM Express Controller (nvme0)``."""
    function = machine.functions.get(address) if machine is not None else None
    if function is None:
        return ""
    return f"{function.name} ({', '.join(function.kernel_names)})" if function.kernel_names else function.name


def _behind_port(address: PciAddress, machine: Machine | None) -> str:
    """Return what is behind a root port: ``01:00.0 QEMU NVM Express Controller (nvme0)``, or ``nothing``; empty where unknown."""
    behind = endpoints_behind(machine, address) if machine is not None else []
    if not behind:
        return "nothing" if machine is not None and is_empty(machine, address) else ""
    return "; ".join(f"{one.address.short} {_function_name(one.address, machine)}" for one in behind)
