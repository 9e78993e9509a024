"""From what somebody wants to trace to perf's event string, its config and the perf command. Pure: touches no machine.

The numbers are those of the kernel's document on the device (Documentation/trace/hisi-ptt.rst, "Trace") and of the driver
(drivers/hwtracing/ptt); where they disagree, the document's tables hold, not its example.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ptttool.capture.event.terms import (
    BOTH,
    DIRECTION_VALUES,
    DIRECTIONS,
    FORMATS,
    INBOUND,
    OUTBOUND,
    PATTERN_TERM,
    PATTERNS,
    REQUIRED_TERMS,
    TYPE_WORDS,
    TYPES,
    Flow,
    encode,
    in_order,
    terms_of,
)
from ptttool.errors import DeviceError, UsageError
from ptttool.machine.model import REQUESTER, ROOT_PORT, Filter, FilterKind, FormatTerm, PttDevice
from ptttool.machine.pmu import requester_value, root_port_value
from ptttool.pci import PciAddress
from ptttool.wording import in_words


@dataclass(frozen=True)
class TraceRequest:
    """What somebody wants to trace.

    ``device``: the PMU's name. ``types``: of :data:`TYPES`. ``direction``: inbound, outbound or both. ``completions``: ``a`` or ``b``,
    the inbound completions to trace where not all can be. ``format``: of :data:`FORMATS`. ``pattern``: of :data:`PATTERNS`.
    """

    device: str
    root_ports: tuple[PciAddress, ...] = ()
    requester: PciAddress | None = None
    types: tuple[str, ...] = ("p", "np", "cpl")
    direction: str = INBOUND
    completions: str | None = None
    format: str = "4dw"
    pattern: str | None = None


@dataclass(frozen=True)
class BuiltEvent:
    """An event as perf takes it.

    ``fields``: every term's value, 0 where the string leaves it out. ``flow``: what will be traced. ``warnings``: what may surprise;
    ``notes``: what is good to know. ``checked``: the filter stands in the driver's own list; False where that list is not known.
    """

    event: str
    config: int
    fields: Mapping[str, int]
    flow: Flow
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    checked: bool = False


def build(
    request: TraceRequest,
    terms: Mapping[str, FormatTerm] | None = None,
    device: PttDevice | None = None,
    *,
    force: bool = False,
) -> BuiltEvent:
    """The event for a request.

    ``terms``: bit positions; by default ``device``'s, else mainline's. ``device``: what is known of the PMU: its list of filters then
    decides. ``force``: build what the document forbids and the driver takes (several types outbound), or what cannot be checked.
    Raises UsageError for a request that means nothing, DeviceError for a filter that the driver does not have.
    """
    terms = terms_of(device) if terms is None else terms
    missing = [name for name in REQUIRED_TERMS if name not in terms]
    if missing:
        raise DeviceError(f"{request.device} has no term {in_words(missing)}: not the driver that ptttool knows", code="unknown-format")
    said = _Said()
    types = _types(request)
    direction = _direction(request, types, said, force=force)
    given = {
        "filter": _filter(request, device, said),
        "type": sum(TYPES[name] for name in types),
        "direction": direction,
        "format": FORMATS[request.format],
    }
    if request.pattern is not None:
        known = device is not None and bool(device.format)
        terms = _pattern(request, terms, given, said, known=known, force=force)
    # The filter as sysfs writes it: five hexadecimal digits.
    text = ",".join(f"{name}={given[name]:#07x}" if name == "filter" else f"{name}={given[name]}" for name in in_order(given))
    return BuiltEvent(
        event=f"{request.device}/{text}/",
        config=encode(given, terms),
        fields={name: given.get(name, 0) for name in in_order(terms) if terms[name].word == "config"},
        flow=DIRECTIONS[request.format][direction].of_types(types),
        warnings=tuple(said.warnings),
        notes=tuple(said.notes),
        checked=device is not None and device.ports_known,
    )


@dataclass
class _Said:
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def _one_of(option: str, value: str, allowed: Iterable[str]) -> None:
    allowed = list(allowed)
    if value not in allowed:
        raise UsageError(f"{option} {value!r} is not known", hint=f"choose {in_words(allowed, 'or')}")


def _types(request: TraceRequest) -> tuple[str, ...]:
    """The types, each once, in the order of their bits."""
    for name in request.types:
        _one_of("--type", name, TYPES)
    if not request.types:
        raise UsageError("no TLP type is left to trace", hint=f"choose of {in_words(list(TYPES))}")
    return tuple(name for name in TYPES if name in request.types)


def _direction(request: TraceRequest, types: tuple[str, ...], said: _Said, *, force: bool) -> int:
    """The value of the direction term; refuses what the tables do not hold."""
    layout, direction, completions = request.format, request.direction, request.completions
    _one_of("--format", layout, FORMATS)
    _one_of("--direction", direction, (INBOUND, OUTBOUND, BOTH))
    if completions is not None:
        _one_of("--completions", completions, ("a", "b"))
    if layout == "8dw" and direction == BOTH:
        raise UsageError(
            "8DW cannot hold both directions: none of its direction values traces inbound and outbound TLPs",
            hint="use --format 4dw, or trace one direction at a time",
            code="8dw-both",
        )
    if completions is not None:
        _completions_matter(request, types)
    if direction == OUTBOUND and len(types) > 1:
        if not force:
            raise UsageError(
                f"outbound, one type can be traced at a time, not {in_words(types)}",
                hint="give one with --type; --force builds it all the same: the driver takes it, the kernel's document excludes it",
                code="outbound-types",
            )
        said.warnings.append(
            "several types outbound: the kernel's document allows one; the driver takes it, what the device does is not documented"
        )
    if direction == BOTH and len(types) > 1:
        said.warnings.append(
            "several types with outbound TLPs among them: the kernel's document allows one type outbound; check that each type is there"
        )
    number = DIRECTION_VALUES[layout, direction, completions]
    if direction != OUTBOUND:
        _what_inbound_lacks(request, types, number, said)
    return number


def _completions_matter(request: TraceRequest, types: tuple[str, ...]) -> None:
    """Refuse --completions where it changes nothing."""
    reason = None
    if "cpl" not in types:
        reason = "completions are not among the types to trace"
    elif request.direction == OUTBOUND:
        reason = "it chooses among inbound completions, and only outbound TLPs are traced"
    elif request.format == "4dw" and request.direction == INBOUND:
        reason = "4DW inbound holds all completions, A and B"
    if reason is not None:
        raise UsageError(f"--completions changes nothing here: {reason}", hint="leave it out", code="completions-no-effect")


def _what_inbound_lacks(request: TraceRequest, types: tuple[str, ...], number: int, said: _Said) -> None:
    inbound = DIRECTIONS[request.format][number].of_types(types).inbound
    lost = [TYPE_WORDS[name] for name in types if name != "cpl" and name.upper() not in inbound]
    if lost:
        said.warnings.append(
            f"inbound, only CPL A is traced, no {in_words(lost, 'or')} TLPs: direction={number} of {request.format.upper()} holds none"
        )
    elif "cpl" in types and request.completions is None and "CPL A" not in inbound:
        said.notes.append("of the inbound completions only CPL B is traced; for CPL A give --completions a")


def _pattern(
    request: TraceRequest, terms: Mapping[str, FormatTerm], given: dict[str, int], said: _Said, *, known: bool, force: bool
) -> Mapping[str, FormatTerm]:
    """Put the pattern into ``given`` where the PMU has the term; the terms to encode with."""
    assert request.pattern is not None
    _one_of("--pattern", request.pattern, PATTERNS)
    if "pattern" not in terms:
        if request.pattern == "legacy":  # what a kernel without the term does anyway
            return terms
        if known:  # no force makes perf take a term that the PMU has not
            raise UsageError(
                f"{request.device} has no term 'pattern': its driver knows the legacy layout only",
                hint="leave --pattern out",
                code="no-pattern-term",
            )
        if not force:
            raise UsageError(
                f"--pattern {request.pattern} needs the term 'pattern', and whether {request.device} has it is not known",
                hint="--force takes it for granted",
                code="no-pattern-term",
            )
        said.warnings.append(f"the term 'pattern' is taken for granted, at {PATTERN_TERM}: perf refuses it where the PMU has none")
        terms = {**terms, "pattern": PATTERN_TERM}
    given["pattern"] = PATTERNS[request.pattern]
    return terms


def _found(request: TraceRequest, device: PttDevice | None) -> list[Filter]:
    """The filters asked for, from the device's list where there is one, else computed."""
    if request.requester is not None:
        return [_look_up(request.device, REQUESTER, request.requester, requester_value(request.requester), device)]
    ports = dict.fromkeys(request.root_ports)
    return [_look_up(request.device, ROOT_PORT, address, root_port_value(address), device) for address in ports]


def _look_up(name: str, kind: FilterKind, address: PciAddress, computed: int, device: PttDevice | None) -> Filter:
    if device is not None:
        there = device.root_ports if kind == ROOT_PORT else device.requesters
        for known in there:
            if known.address == address:
                return known
        if device.ports_known:
            listed = in_words([str(known.address) for known in there]) or "none"
            raise DeviceError(
                f"{name} has no {kind} {address}: its driver would refuse the event", hint=f"{kind}s there: {listed}", code="no-such-filter"
            )
    return Filter(kind, address, computed, computed=True)


def one_filter(root_ports: bool, requester: bool) -> None:
    """Refuse root ports and a requester together, and neither."""
    if root_ports and requester:
        raise UsageError("root ports and a requester cannot be traced together", hint="give --rootport or --requester", code="two-filters")
    if not root_ports and not requester:
        raise UsageError("nothing to trace: no root port and no requester", hint="give --rootport or --requester", code="no-filter")


def _filter(request: TraceRequest, device: PttDevice | None, said: _Said) -> int:
    """The value of the filter term: root ports or-ed, or one requester."""
    one_filter(bool(request.root_ports), request.requester is not None)
    buses = {port[:2] for port in request.root_ports}
    if len(buses) > 1:
        raise UsageError(
            f"root ports {in_words([str(port) for port in request.root_ports])} sit on different buses: no PTT device sees them all",
            hint="trace them one device at a time",
            code="two-devices",
        )
    found = _found(request, device)
    if len(found) > 1 and device is not None and not device.multiselect.get(ROOT_PORT, True):
        raise UsageError(f"{request.device} traces one root port at a time", hint="its driver says so (multiselect)", code="no-multiselect")
    if request.requester is None:
        _shared_bits(found, device, said)
    if device is not None and any(one.computed for one in found) and not device.ports_known:
        said.notes.append(f"the filter is computed: this kernel does not say which filters {request.device} has")
    value = 0
    for one in found:
        value |= one.value
    return value


def _shared_bits(found: list[Filter], device: PttDevice | None, said: _Said) -> None:
    """Say which ports are traced besides, or with, each other since they have the same bit."""
    known = {one.address: one for one in (*(device.root_ports if device is not None else ()), *found)}
    for value in dict.fromkeys(one.value for one in found):
        sharing = sorted(address for address, one in known.items() if one.value == value)
        if len(sharing) > 1:
            said.notes.append(f"root ports {in_words([str(address) for address in sharing])} share one bit ({value:#x}): both are traced")
