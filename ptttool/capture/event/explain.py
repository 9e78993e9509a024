"""What an event's config means, in words, and every way in which it contradicts itself, the driver or the machine. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ptttool.capture.event.parse import NOTE, REFUSED, WARNING, Oddity, is_device_name
from ptttool.capture.event.terms import DEFAULT_TERMS, DIRECTIONS, FORMATS, PATTERN_TERM, PATTERNS, TYPE_WORDS, TYPES, Flow, fields_of
from ptttool.machine.model import REQUESTER, ROOT_PORT, FormatTerm, Machine, PttDevice
from ptttool.machine.pmu import PORT_FLAG, RESERVED_FILTER_BITS
from ptttool.machine.topology import endpoints_behind
from ptttool.pci import PciAddress
from ptttool.wording import in_words


@dataclass(frozen=True)
class Named:
    """A function that the filter names. ``address``: None where only its filter bit is known. ``name``: what it is, in words."""

    address: PciAddress | None
    name: str


@dataclass(frozen=True)
class Explanation:
    """A config, taken apart.

    ``kind``: of the filter, :data:`ROOT_PORT` or :data:`REQUESTER`. ``named``: the ports or the requester. ``types``: of
    :data:`TYPES`. ``format``, ``pattern``: their names, None where the value has none. ``flow``: what is traced. ``fits``: where the
    event names no device, the machine's devices that have the filter. ``oddities``: errors, warnings, notes.
    """

    device: str | None
    config: int
    fields: Mapping[str, int]
    kind: str
    named: tuple[Named, ...]
    types: tuple[str, ...]
    format: str | None
    pattern: str | None
    flow: Flow
    fits: tuple[str, ...] = ()
    oddities: tuple[Oddity, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether perf or the driver would refuse the event, as far as that is known."""
        return any(oddity.severity == REFUSED for oddity in self.oddities)


@dataclass
class _Found:
    oddities: list[Oddity] = field(default_factory=list)

    def refused(self, code: str, text: str) -> None:
        self.oddities.append(Oddity(REFUSED, code, text))

    def warn(self, code: str, text: str) -> None:
        self.oddities.append(Oddity(WARNING, code, text))

    def note(self, code: str, text: str) -> None:
        self.oddities.append(Oddity(NOTE, code, text))


def explain(
    config: int,
    *,
    pmu: str | None = None,
    machine: Machine | None = None,
    terms: Mapping[str, FormatTerm] | None = None,
    oddities: Iterable[Oddity] = (),
) -> Explanation:
    """Explain a config.

    ``pmu``: the PMU's name. ``machine``: where to look for names and the driver's filters. ``terms``: bit positions; by default
    :func:`terms_for`. ``oddities``: those already known from the event's text.
    """
    terms = terms_for(pmu, machine) if terms is None else terms
    fields = fields_of(config, terms)
    value = fields.get("filter", 0)
    found = _Found(list(oddities))
    owners = _owners(pmu, value, machine, found)
    kind = ROOT_PORT if value & PORT_FLAG else REQUESTER
    named = _ports(value, owners, machine, found) if kind == ROOT_PORT else _requester(value, owners, machine, found)
    if value & RESERVED_FILTER_BITS:
        found.warn("reserved-filter-bits", f"bits 18:16 of the filter are set ({value:#07x}): they are reserved, the driver ignores them")
    types = _types(fields.get("type", 0), found)
    layout = next((name for name, number in FORMATS.items() if number == fields.get("format", 0)), None)
    if layout is None:
        found.refused("format", f"format={fields['format']}: there are 0 (4DW) and 1 (8DW); the driver refuses others (EINVAL)")
    pattern = next((name for name, number in PATTERNS.items() if number == fields.get("pattern", 0)), None)
    if pattern is None:
        found.warn("pattern", f"pattern={fields['pattern']}: known are 0 (legacy) and 1 (v1)")
    flow = _flow(layout, fields.get("direction", 0), types, found)
    if kind == ROOT_PORT and not value & 0xFFFF:
        flow = Flow()
    known = sum(term.maximum << term.low for term in terms.values() if term.word == "config")
    if config & ~known:
        found.warn("unknown-bits", f"no term holds {_bits(config & ~known)} of config: a newer driver's term, or a mistake")
    fits = tuple(device.name for device in owners) if pmu is None else ()
    return Explanation(pmu, config, fields, kind, named, types, layout, pattern, flow, fits, tuple(sorted(found.oddities, key=_severity)))


def _severity(oddity: Oddity) -> int:
    return (REFUSED, WARNING, NOTE).index(oddity.severity)


def terms_for(pmu: str | None, machine: Machine | None) -> Mapping[str, FormatTerm]:
    """The bit positions to read an event with: the PMU's own, else those of any PTT device of the machine, else every known one."""
    devices = machine.devices if machine is not None else ()
    for device in (*(one for one in devices if one.name == pmu), *devices):
        if device.format:
            return device.format
    return {**DEFAULT_TERMS, "pattern": PATTERN_TERM}


def _owners(pmu: str | None, value: int, machine: Machine | None, found: _Found) -> tuple[PttDevice, ...]:
    """The device whose filters count; where none is named, all that have this filter."""
    if machine is None:
        return ()
    names = in_words([device.name for device in machine.devices])
    if pmu is None:
        fitting = tuple(device for device in machine.devices if _has(device, value))
        if not fitting and value & 0xFFFF:
            found.warn("no-device-has-it", f"no PTT device of {machine.origin} has the filter {value:#07x}; there is {names}")
        return fitting
    named = tuple(device for device in machine.devices if device.name == pmu)
    if not named:
        if is_device_name(pmu):
            found.refused("no-such-device", f"there is no PMU {pmu} on {machine.origin}; there is {names}")
    elif not named[0].ports_known:
        found.note("ports-unknown", f"this kernel does not tell which root ports are {pmu}'s: it has those below, or some of them")
    return named


def _has(device: PttDevice, value: int) -> bool:
    """Whether the driver of the device would take the filter."""
    plain = value & ~RESERVED_FILTER_BITS
    if not plain & PORT_FLAG:
        return any(one.value == plain for one in device.requesters)
    managed = 0
    for one in device.root_ports:
        managed |= one.value
    return plain != PORT_FLAG and not plain & ~managed


def _ports(value: int, owners: Sequence[PttDevice], machine: Machine | None, found: _Found) -> tuple[Named, ...]:
    """The root ports of a mask."""
    mask = value & 0xFFFF
    if not mask:
        found.warn("empty-mask", f"the port mask is empty ({PORT_FLAG:#x}): the driver takes it, and nothing is traced")
    odd = mask & 0xAAAA
    if odd:
        found.refused(
            "odd-port-bits",
            f"no root port has {_bits(odd)} of the mask, ports have even bits: the driver refuses the event (EINVAL)",
        )
    named: list[Named] = []
    strange = 0
    for bit in (bit for bit in range(0, 16, 2) if mask >> bit & 1):
        here = sorted({one.address for device in owners for one in device.root_ports if one.value & 1 << bit})
        named += [Named(address, port_in_words(address, machine)) for address in here]
        if not here:
            named.append(Named(None, f"bit {bit}: {_slots(bit)}"))
            strange |= 1 << bit
    if owners and strange:
        why = _elsewhere(value, owners, machine)
        found.refused(
            "no-such-port", f"{owners[0].name} has no root port with {_bits(strange)}: the driver refuses the event (EINVAL){why}"
        )
    return tuple(named)


def _elsewhere(value: int, owners: Sequence[PttDevice], machine: Machine | None) -> str:
    """Which other devices have the filter, to end a sentence with."""
    others = [device.name for device in (machine.devices if machine is not None else ()) if device not in owners and _has(device, value)]
    return f"; it would fit {in_words(others)}" if others else ""


def _slots(bit: int) -> str:
    """The root ports that may have a bit: PCI device numbers repeat every eight."""
    return f"a root port with PCI device number {in_words([f'{bit // 2 + eight:02x}' for eight in (0, 8, 16, 24)], 'or')}"


def _requester(value: int, owners: Sequence[PttDevice], machine: Machine | None, found: _Found) -> tuple[Named, ...]:
    """The function, or, on several domains, functions of a requester filter."""
    plain = value & 0xFFFF
    if not plain:
        found.refused("requester-zero", "the filter is 0, requester 00:00.0: a filter is needed, the driver refuses the event (EINVAL)")
    here = sorted({one.address for device in owners for one in device.requesters if one.value == plain})
    if here or not plain:
        return tuple(Named(address, function_in_words(address, machine)) for address in here)
    text = PciAddress.from_id(plain).short
    if owners:
        port = next((one for one in owners[0].root_ports if one.address.routing_id == plain), None)
        why = f"; it is a root port, its filter is {port.value:#07x}" if port is not None else _elsewhere(value, owners, machine)
        found.refused("no-such-requester", f"{owners[0].name} has no requester {text}: the driver refuses the event (EINVAL){why}")
    return (Named(None, text),)


def function_in_words(address: PciAddress, machine: Machine | None) -> str:
    """A function's name as lspci has it, and what the kernel calls it: ``QEMU NVM Express Controller (nvme0)``."""
    function = machine.functions.get(address) if machine is not None else None
    if function is None:
        return ""
    return f"{function.name} ({', '.join(function.kernel_names)})" if function.kernel_names else function.name


def port_in_words(address: PciAddress, machine: Machine | None) -> str:
    """A root port by what sits behind it: ``01:00.0 QEMU NVM Express Controller (nvme0)``, or its own name or ``nothing``;
    empty where that is not known."""
    behind = endpoints_behind(machine, address) if machine is not None else []
    if not behind:
        return "nothing" if machine is not None and address in machine.functions else ""
    return "; ".join(f"{one.address.short} {function_in_words(one.address, machine)}" for one in behind)


def _types(value: int, found: _Found) -> tuple[str, ...]:
    types = tuple(name for name, bit in TYPES.items() if value & bit)
    if not value:
        found.refused("no-type", "type=0: at least one type of TLP is needed, the driver refuses the event (EINVAL)")
    elif value & ~7:
        found.refused("reserved-type-bits", f"type={value:#x}: bits above 2 are reserved, the driver refuses the event (EINVAL)")
    return types


def _flow(layout: str | None, direction: int, types: Sequence[str], found: _Found) -> Flow:
    """What is traced; says what one would miss."""
    if direction > 3:
        found.refused("direction", f"direction={direction}: there are 0 to 3, the driver refuses others (EINVAL)")
        return Flow()
    if layout is None:
        return Flow()
    whole = DIRECTIONS[layout][direction]
    flow = whole.of_types(types)
    name = f"direction={direction} of {layout.upper()}"
    if not whole:
        found.warn(
            "reserved-direction",
            f"{name} is reserved: the driver takes it, what the device then does is not documented; inbound is 2 (CPL A: 3)",
        )
        return flow
    if not types:
        return flow
    if not flow:
        found.warn(
            "nothing-traced",
            f"{name} holds {in_words(whole.inbound or whole.outbound)} only, none of which is among the types: nothing is traced",
        )
    elif whole.inbound:
        lost = [TYPE_WORDS[one] for one in types if not Flow(inbound=flow.inbound).of_types([one])]
        if not flow.inbound:
            found.warn(
                "no-inbound",
                f"{name} holds {in_words(whole.inbound)} of the inbound TLPs, and completions are not among the types: none is traced",
            )
        elif lost:
            found.warn(
                "types-not-inbound",
                f"{name} holds {in_words(whole.inbound)} of the inbound TLPs: no inbound {in_words(lost, 'or')} TLP is traced",
            )
        if "cpl" in types and "CPL A" not in flow.inbound:
            found.note("no-cpl-a", f"of the inbound completions, {name} holds CPL B only; CPL A is direction=3")
    if whole.outbound and len(types) > 1:
        found.warn(
            "outbound-types",
            "several types, outbound: the kernel's document allows one; the driver takes it, what the device does is not documented",
        )
    return flow


def _bits(value: int) -> str:
    """``bit 3``, ``bits 3 and 5``."""
    bits = [str(bit) for bit in range(value.bit_length()) if value >> bit & 1]
    return f"bit{'s' if len(bits) > 1 else ''} {in_words(bits)}"


def as_json(explanation: Explanation) -> dict[str, Any]:
    """The explanation as a JSON document; numbers are integers, ``*_hex`` the same as text."""
    one = explanation
    value = one.fields.get("filter", 0)
    return {
        "device": one.device,
        "config": one.config,
        "config_hex": f"{one.config:#x}",
        "fields": dict(one.fields),
        "filter": {
            "kind": one.kind,
            "value": value,
            "hex": f"{value:#07x}",
            "functions": [{"address": None if n.address is None else str(n.address), "name": n.name} for n in one.named],
        },
        "types": list(one.types),
        "refused": one.refused,
        "inbound": list(one.flow.inbound),
        "outbound": list(one.flow.outbound),
        "format": one.format,
        "pattern": one.pattern,
        "fits": list(one.fits),
        "problems": [{"severity": oddity.severity, "code": oddity.code, "text": oddity.text} for oddity in one.oddities],
    }
