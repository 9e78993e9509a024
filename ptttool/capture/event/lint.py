"""Where an event contradicts itself, the driver or the machine: one function for each part of it. Touches no machine.

What the driver refuses is read off ``hisi_ptt_trace_valid_*`` (drivers/hwtracing/ptt) and was tried with Linux 6.12.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ptttool.capture.event.decode import Explanation, addresses_of_bit, has_filter, owners_of, requesters_of
from ptttool.capture.event.terms import DIRECTIONS, SEVERAL_TYPES, TYPE_WORDS, Flow, TlpType
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.model import ROOT_PORT, FormatTerm, Machine, PttDevice
from ptttool.machine.pmu import PORT_FLAG, RESERVED_FILTER_BITS, device_numbers
from ptttool.pci import PciAddress
from ptttool.wording import in_words


def lint(event: Explanation, terms: Mapping[str, FormatTerm], machine: Machine | None = None) -> Iterator[Diagnostic]:
    """Yield the contradictions of a decoded event.

    Parameters
    ----------
    event : Explanation
        The event.
    terms : Mapping[str, FormatTerm]
        The bit positions that it was decoded with.
    machine : Machine or None
        The machine that it is for.
    """
    owners = owners_of(event.device, event.filter, machine)
    yield from _device(event, owners, machine)
    yield from (_ports if event.kind == ROOT_PORT else _requester)(event, owners, machine)
    if event.filter & RESERVED_FILTER_BITS:
        message = f"bits 18:16 of the filter are set ({event.filter:#07x}): they are reserved, the driver ignores them"
        yield Diagnostic(Severity.WARNING, "reserved-filter-bits", message)
    yield from _types(event)
    yield from _layout(event)
    yield from _direction(event)
    term_bits = sum(term.maximum << term.low for term in terms.values() if term.word == "config")
    if event.config & ~term_bits:
        message = f"no term has {_bits(event.config & ~term_bits)} of config: a term of a newer driver, or a mistake"
        yield Diagnostic(Severity.WARNING, "unknown-bits", message, details={"bits": event.config & ~term_bits})


def _device(event: Explanation, owners: Sequence[PttDevice], machine: Machine | None) -> Iterator[Diagnostic]:
    """Check that the machine has the device; without a PMU's name, that any device has the filter."""
    if machine is None:
        return
    names = [device.name for device in machine.devices]
    if event.device is None:
        if not owners and event.filter & 0xFFFF:
            message = f"no PTT device of {machine.origin} has the filter {event.filter:#07x}"
            yield Diagnostic(Severity.WARNING, "no-device-has-it", message, f"PTT devices: {in_words(names)}")
    elif not owners:
        if device_numbers(event.device) is not None:
            message = f"there is no PMU {event.device} on {machine.origin}"
            yield Diagnostic(Severity.ERROR, "no-such-device", message, f"PTT devices: {in_words(names)}", details={"devices": names})
    elif not owners[0].ports_known:
        message = f"this kernel does not report the root ports of {event.device}: it has those below, or some of them"
        yield Diagnostic(Severity.INFO, "ports-unknown", message)


def _ports(event: Explanation, owners: Sequence[PttDevice], machine: Machine | None) -> Iterator[Diagnostic]:
    mask = event.filter & 0xFFFF
    if not mask:
        message = f"the port mask is empty ({PORT_FLAG:#x}): the driver takes it, and nothing is traced"
        yield Diagnostic(Severity.WARNING, "empty-mask", message)
    odd = mask & 0xAAAA
    if odd:
        message = f"no root port has {_bits(odd)} of the mask, ports have even bits: the driver refuses the event (EINVAL)"
        yield Diagnostic(Severity.ERROR, "odd-port-bits", message)
    strange = sum(1 << bit for bit in range(0, 16, 2) if mask >> bit & 1 and not addresses_of_bit(bit, owners))
    if owners and strange:
        message = f"{owners[0].name} has no root port with {_bits(strange)}: the driver refuses the event (EINVAL)"
        yield _no_such_filter("no-such-port", message, event.filter, owners, machine)


def _requester(event: Explanation, owners: Sequence[PttDevice], machine: Machine | None) -> Iterator[Diagnostic]:
    plain = event.filter & 0xFFFF
    if not plain:
        message = "the filter is 0, requester 00:00.0: a filter is needed, the driver refuses the event (EINVAL)"
        yield Diagnostic(Severity.ERROR, "requester-zero", message)
    elif owners and not requesters_of(event.filter, owners):
        message = f"{owners[0].name} has no requester {PciAddress.from_id(plain).short}: the driver refuses the event (EINVAL)"
        port = next((one for one in owners[0].root_ports if one.address.routing_id == plain), None)
        if port is not None:
            hint = f"it is a root port, its filter is {port.value:#07x}"
            yield Diagnostic(Severity.ERROR, "no-such-requester", message, hint, details={"filter": port.value})
        else:
            yield _no_such_filter("no-such-requester", message, event.filter, owners, machine)


def _no_such_filter(code: str, message: str, value: int, owners: Sequence[PttDevice], machine: Machine | None) -> Diagnostic:
    """Report a filter that the device does not have, and name the devices that have it."""
    devices = () if machine is None else machine.devices
    others = [device.name for device in devices if device not in owners and has_filter(device, value)]
    return Diagnostic(Severity.ERROR, code, message, f"it would fit {in_words(others)}" if others else None, details={"fits": others})


def _types(event: Explanation) -> Iterator[Diagnostic]:
    value = event.fields.get("type", 0)
    if not value:
        yield Diagnostic(Severity.ERROR, "no-type", "type=0: at least one type of TLP is needed, the driver refuses the event (EINVAL)")
    elif value & ~7:
        message = f"type={value:#x}: bits above 2 are reserved, the driver refuses the event (EINVAL)"
        yield Diagnostic(Severity.ERROR, "reserved-type-bits", message)


def _layout(event: Explanation) -> Iterator[Diagnostic]:
    if event.format is None:
        message = f"format={event.fields['format']}: the formats are 0 (4DW) and 1 (8DW); the driver refuses others (EINVAL)"
        yield Diagnostic(Severity.ERROR, "format", message)
    if event.pattern is None:
        yield Diagnostic(Severity.WARNING, "pattern", f"pattern={event.fields['pattern']}: known are 0 (legacy) and 1 (v1)")


def _direction(event: Explanation) -> Iterator[Diagnostic]:
    """Check that the direction holds what the types ask for."""
    direction = event.fields.get("direction", 0)
    if direction > 3:
        message = f"direction={direction}: the directions are 0 to 3, the driver refuses others (EINVAL)"
        yield Diagnostic(Severity.ERROR, "direction", message)
        return
    if event.format is None:
        return
    whole = DIRECTIONS[event.format][direction]
    name = f"direction={direction} of {event.format.upper()}"
    if not whole:
        message = f"{name} is reserved: the driver takes it, what the device then does is not documented; inbound is 2 (CPL A: 3)"
        yield Diagnostic(Severity.WARNING, "reserved-direction", message)
    elif event.types and not whole.of_types(event.types):
        message = f"{name} holds {in_words(whole.inbound or whole.outbound)} only, none of which is among the types: nothing is traced"
        yield Diagnostic(Severity.WARNING, "nothing-traced", message)
    elif event.types:
        yield from _inbound(event.types, whole, name)
    if whole.outbound and len(event.types) > 1:
        yield Diagnostic(Severity.WARNING, "outbound-types", SEVERAL_TYPES)


def _inbound(types: Sequence[TlpType], whole: Flow, name: str) -> Iterator[Diagnostic]:
    """Report types that are not traced inbound, although the direction holds inbound TLPs."""
    if not whole.inbound:
        return
    inbound = Flow(inbound=whole.inbound).of_types(types)
    lost = [one for one in types if not inbound.of_types([one])]
    held = f"{name} holds {in_words(whole.inbound)} of the inbound TLPs"
    if not inbound:
        message = f"{held}, and completions are not among the types: none is traced"
        yield Diagnostic(Severity.WARNING, "no-inbound", message)
    elif lost:
        message = f"{held}: no inbound {in_words([TYPE_WORDS[one] for one in lost], 'or')} TLP is traced"
        yield Diagnostic(Severity.WARNING, "types-not-inbound", message, details={"types": list(lost)})
    if TlpType.COMPLETION in types and "CPL A" not in inbound.inbound:
        message = f"of the inbound completions, {name} holds CPL B only; CPL A is direction=3"
        yield Diagnostic(Severity.INFO, "no-cpl-a", message)


def _bits(value: int) -> str:
    """Name the bits of a value: ``bit 3``, ``bits 3 and 5``."""
    bits = [str(bit) for bit in range(value.bit_length()) if value >> bit & 1]
    return f"bit{'s' if len(bits) > 1 else ''} {in_words(bits)}"
