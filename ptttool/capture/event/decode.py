"""What an event's config means: terms, names of filtered functions, traced TLPs. Touches no machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from ptttool.capture.event.terms import DIRECTIONS, FORMATS, PATTERNS, TYPES, Flow, Format, Pattern, TlpType, fields_of
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.model import REQUESTER, ROOT_PORT, FilterKind, FormatTerm, Machine, PttDevice
from ptttool.machine.pmu import PORT_FLAG, RESERVED_FILTER_BITS
from ptttool.machine.topology import endpoints_behind, is_empty
from ptttool.pci import PciAddress
from ptttool.wording import html_table, in_words

E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True)
class Named:
    """A function that the filter names.

    Parameters
    ----------
    address : PciAddress or None
        None where only its filter bit is known.
    name : str
        What it is: the function's name, for a root port what is behind it.
    """

    address: PciAddress | None
    name: str


@dataclass(frozen=True)
class Explanation:
    """An event's config, decoded.

    Parameters
    ----------
    device : str or None
        The PMU's name.
    config : int
        The 64-bit config.
    fields : Mapping[str, int]
        The value of each term.
    kind : FilterKind
        The kind of the filter.
    named : tuple of Named
        The root ports, or the requester.
    types : tuple of TlpType
        The types of TLPs.
    format : Format or None
        None where the term has an unknown value.
    pattern : Pattern or None
        None where the term has an unknown value.
    flow : Flow
        The TLPs that are traced.
    fits : tuple of str
        Without a PMU's name: the machine's devices that have the filter.
    diagnostics : tuple of Diagnostic
        Contradictions, the worst first.
    """

    device: str | None
    config: int
    fields: Mapping[str, int]
    kind: FilterKind
    named: tuple[Named, ...]
    types: tuple[TlpType, ...]
    format: Format | None
    pattern: Pattern | None
    flow: Flow
    fits: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def filter(self) -> int:
        """The value of the filter term."""
        return self.fields.get("filter", 0)

    @property
    def refused(self) -> bool:
        """Whether perf or the driver would refuse the event, as far as that is known."""
        return any(one.severity is Severity.ERROR for one in self.diagnostics)

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
    types = tuple(TlpType(name) for name, bit in TYPES.items() if fields.get("type", 0) & bit)
    layout = _named_value(Format, FORMATS, fields.get("format", 0))
    flow = Flow()
    if layout is not None and (kind == REQUESTER or value & 0xFFFF):
        flow = DIRECTIONS[layout].get(fields.get("direction", 0), Flow()).of_types(types)
    return Explanation(
        device=pmu,
        config=config,
        fields=fields,
        kind=kind,
        named=_ports(value, owners, machine) if kind == ROOT_PORT else _requester(value, owners, machine),
        types=types,
        format=layout,
        pattern=_named_value(Pattern, PATTERNS, fields.get("pattern", 0)),
        flow=flow,
        fits=tuple(device.name for device in owners) if pmu is None else (),
    )


def _named_value(kind: type[E], values: Mapping[str, int], value: int) -> E | None:
    return next((kind(name) for name, number in values.items() if number == value), None)


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
    known = requesters_of(value, owners)
    if known or not plain:
        return tuple(Named(address, _function_name(address, machine)) for address in known)
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
