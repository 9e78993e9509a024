"""From a request to perf's event string and its config. Touches no machine.

The numbers are those of the kernel documentation on the device (Documentation/trace/hisi-ptt.rst, "Trace") and of the driver
(drivers/hwtracing/ptt). Where they disagree, the document's tables hold, not its example.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import ClassVar, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr

from ptttool.capture.event.terms import (
    DIRECTION_VALUES,
    DIRECTIONS,
    FORMATS,
    PATTERN_TERM,
    PATTERNS,
    REQUIRED_TERMS,
    SEVERAL_TYPES,
    TYPE_WORDS,
    TYPES,
    Completions,
    Direction,
    Flow,
    Format,
    Pattern,
    TlpType,
    encode,
    in_order,
    terms_of,
)
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import DeviceError, UsageError
from ptttool.machine.model import REQUESTER, ROOT_PORT, Filter, FilterKind, FormatTerm, PttDevice
from ptttool.machine.pmu import requester_value, root_port_value
from ptttool.pci import PciAddress
from ptttool.wording import html_table, in_words

W = TypeVar("W")
# What is chosen from a few words.
_CHOICES: Mapping[str, type[StrEnum]] = {"direction": Direction, "completions": Completions, "format": Format, "pattern": Pattern}


class AskedTrace(Struct, Generic[W], frozen=True, kw_only=True):
    """What was asked for.

    Parameters
    ----------
    root_ports : tuple
        PCI addresses of the root ports.
    requester : PciAddress, str or None
        PCI address of the requester.
    types : tuple of TlpType
        Of ``p``, ``np``, ``cpl``.
    direction : Direction
        ``inbound``, ``outbound`` or ``both``.
    completions : Completions or None
        ``a`` or ``b``.
    format : Format
        ``4dw`` or ``8dw``.
    pattern : Pattern or None
        ``legacy`` or ``v1``.
    """

    json_types: ClassVar = {
        "types": tuple[str, ...], "direction": str, "completions": str | None, "format": str, "pattern": str | None,
    }  # fmt: skip

    root_ports: tuple[W, ...] = ()
    requester: W | None = None
    types: tuple[TlpType, ...] = tuple(TlpType)
    direction: Direction = Direction.INBOUND
    completions: Completions | None = None
    format: Format = Format.DW4
    pattern: Pattern | None = None


class TraceRequest(AskedTrace[PciAddress], frozen=True, kw_only=True):
    """What to trace, on one PTT device.

    Enum members can be given by their value: ``direction="both"``. Types are sorted, and each is kept once. Without a pattern the event
    does not have that term.

    Parameters
    ----------
    device : str
        The PMU's name.

    Raises
    ------
    UsageError
        A value is unknown, or there are no types.
    """

    device: str

    def __post_init__(self) -> None:
        types = {_member("--type", TlpType, name) for name in self.types}
        if not types:
            raise UsageError("no type of TLP is left to trace", hint=f"choose from {in_words(TlpType)}")
        force_setattr(self, "types", tuple(one for one in TlpType if one in types))
        for name, kind in _CHOICES.items():
            value = getattr(self, name)
            if value is not None or name not in ("completions", "pattern"):
                force_setattr(self, name, _member(f"--{name}", kind, value))


def _member(option: str, kind: type[StrEnum], value: str) -> StrEnum:
    try:
        return kind(value)
    except ValueError:
        raise UsageError(f"{option}: unknown value {value!r}", hint=f"choose {in_words(kind, 'or')}", value=str(value)) from None


class BuiltEvent(Struct, frozen=True):
    """An event as perf takes it.

    Parameters
    ----------
    event : str
        The event string.
    config : int
        Its 64-bit config.
    fields : Mapping[str, int]
        The value of every term, 0 for one that the string leaves out.
    flow : Flow
        The TLPs that it traces.
    diagnostics : tuple of Diagnostic
        Warnings, and notes (severity ``info``).
    checked : bool
        Whether the filter was found in the driver's own list.
    """

    event: str
    config: int
    fields: Mapping[str, int]
    flow: Flow
    diagnostics: tuple[Diagnostic, ...] = ()
    checked: bool = False

    def __str__(self) -> str:
        return self.event

    def _repr_html_(self) -> str:
        rows = [("config", f"{self.config:#x}"), ("inbound", in_words(self.flow.inbound)), ("outbound", in_words(self.flow.outbound))]
        rows += [(one.severity.value, one.message) for one in self.diagnostics]
        return html_table(("", ""), [row for row in rows if row[1]], caption=self.event)


def build(
    request: TraceRequest,
    terms: Mapping[str, FormatTerm] | None = None,
    device: PttDevice | None = None,
    *,
    force: bool = False,
) -> BuiltEvent:
    """Build the event of a request.

    Parameters
    ----------
    request : TraceRequest
        What to trace.
    terms : Mapping[str, FormatTerm] or None
        Bit positions; by default those of the device, else those of the mainline driver.
    device : PttDevice or None
        What is known of the PMU. Its list of filters then decides.
    force : bool
        Build what the kernel documentation forbids and the driver takes (several types outbound), or what cannot be checked.

    Raises
    ------
    UsageError
        The request cannot be traced.
    DeviceError
        The driver does not have the filter, or the PMU does not have the terms.
    """
    terms = terms_of(device) if terms is None else terms
    missing = [name for name in REQUIRED_TERMS if name not in terms]
    if missing:
        raise DeviceError(f"{request.device} has no term {in_words(missing)}: its driver is not supported", code="unknown-format")
    diagnostics: list[Diagnostic] = []
    direction = _direction(request, force=force)
    diagnostics += _direction_diagnostics(request, direction)
    filters = _filters(request, device)
    diagnostics += _filter_diagnostics(request, filters, device)
    value = 0
    for one in filters:
        value |= one.value
    values = {
        "filter": value,
        "type": sum(TYPES[name] for name in request.types),
        "direction": direction,
        "format": FORMATS[request.format],
    }
    if request.pattern is not None:
        format_known = device is not None and bool(device.format)
        if _pattern_assumed(request, request.pattern, terms, format_known=format_known, force=force):
            message = f"the term 'pattern' is assumed to be at {PATTERN_TERM}: perf refuses it if the PMU does not have it"
            diagnostics.append(Diagnostic(Severity.WARNING, "pattern-assumed", message))
            terms = {**terms, "pattern": PATTERN_TERM}
        if "pattern" in terms:
            values["pattern"] = PATTERNS[request.pattern]
    # The filter as sysfs writes it: five hexadecimal digits.
    text = ",".join(f"{name}={values[name]:#07x}" if name == "filter" else f"{name}={values[name]}" for name in in_order(values))
    return BuiltEvent(
        event=f"{request.device}/{text}/",
        config=encode(values, terms),
        fields={name: values.get(name, 0) for name in in_order(terms) if terms[name].word == "config"},
        flow=DIRECTIONS[request.format][direction].of_types(request.types),
        diagnostics=tuple(diagnostics),
        checked=device is not None and device.ports_known,
    )


def _direction(request: TraceRequest, *, force: bool) -> int:
    """Return the value of the direction term; refuse what the document's tables do not have."""
    layout, direction, completions = request.format, request.direction, request.completions
    if layout is Format.DW8 and direction is Direction.BOTH:
        raise UsageError(
            "8DW cannot hold both directions: none of its direction values traces inbound and outbound TLPs",
            hint="use --format 4dw, or trace one direction at a time",
            code="8dw-both",
        )
    if completions is not None:
        _check_completions(request)
    if direction is Direction.OUTBOUND and len(request.types) > 1 and not force:
        raise UsageError(
            f"outbound, one type can be traced at a time, not {in_words(request.types)}",
            hint="give one with --type, or let 'ptttool trace' record one after another; --force builds the event anyway: the driver takes "
            "it, the kernel documentation excludes it",
            code="outbound-types",
        )
    return DIRECTION_VALUES[layout, direction, completions]


def _check_completions(request: TraceRequest) -> None:
    """Refuse ``--completions`` where it changes nothing."""
    reason = None
    if TlpType.COMPLETION not in request.types:
        reason = "completions are not among the types to trace"
    elif request.direction is Direction.OUTBOUND:
        reason = "it chooses among inbound completions, and only outbound TLPs are traced"
    elif request.format is Format.DW4 and request.direction is Direction.INBOUND:
        reason = "4DW inbound holds all completions, A and B"
    if reason is not None:
        raise UsageError(f"--completions changes nothing here: {reason}", hint="leave it out", code="completions-no-effect")


def _direction_diagnostics(request: TraceRequest, direction: int) -> Iterator[Diagnostic]:
    if request.direction is not Direction.INBOUND and len(request.types) > 1:
        message = SEVERAL_TYPES
        if request.direction is Direction.BOTH:
            message = "several types with outbound TLPs among them: the kernel documentation allows one; check that each type is there"
        yield Diagnostic(Severity.WARNING, "outbound-types", message)
    if request.direction is Direction.OUTBOUND:
        return
    inbound = DIRECTIONS[request.format][direction].of_types(request.types).inbound
    lost = [one for one in request.types if one is not TlpType.COMPLETION and one.upper() not in inbound]
    if lost:
        words = in_words([TYPE_WORDS[one] for one in lost], "or")
        yield Diagnostic(
            Severity.WARNING,
            "types-not-inbound",
            f"inbound, only CPL A is traced, no {words} TLPs: direction={direction} of {request.format.upper()} holds none",
            details={"types": list(lost)},
        )
    elif TlpType.COMPLETION in request.types and request.completions is None and "CPL A" not in inbound:
        yield Diagnostic(Severity.INFO, "no-cpl-a", "of the inbound completions only CPL B is traced; for CPL A give --completions a")


def _pattern_assumed(request: TraceRequest, pattern: Pattern, terms: Mapping[str, FormatTerm], *, format_known: bool, force: bool) -> bool:
    """Tell whether the PMU's term ``pattern`` has to be assumed; refuse a pattern that the PMU cannot have."""
    if "pattern" in terms or pattern is Pattern.LEGACY:  # without the term, the kernel uses the legacy layout anyway
        return False
    if format_known:  # perf refuses a term that the PMU does not have, so --force cannot help
        raise UsageError(
            f"{request.device} has no term 'pattern': its driver has the legacy layout only",
            hint="leave --pattern out",
            code="no-pattern-term",
        )
    if not force:
        raise UsageError(
            f"--pattern {pattern} needs the term 'pattern', and it is not known whether {request.device} has it",
            hint="--force assumes that it does",
            code="no-pattern-term",
        )
    return True


def check_one_filter(root_ports: bool, requester: bool) -> None:
    """Refuse root ports together with a requester, and neither of them."""
    if root_ports and requester:
        raise UsageError("root ports and a requester cannot be traced together", hint="give --rootport or --requester", code="two-filters")
    if not root_ports and not requester:
        raise UsageError(
            "nothing to trace: no root port and no requester",
            hint="give --rootport or --requester: 'ptttool filters' lists them",
            code="no-filter",
        )


def _filters(request: TraceRequest, device: PttDevice | None) -> list[Filter]:
    """Return the filters of a request, from the device's list where there is one, else computed."""
    check_one_filter(bool(request.root_ports), request.requester is not None)
    if request.requester is not None:
        return [_look_up(request.device, REQUESTER, request.requester, requester_value(request.requester), device)]
    if len({port[:2] for port in request.root_ports}) > 1:
        raise UsageError(
            f"root ports {in_words(request.root_ports)} are on different buses: no PTT device traces them all",
            hint="trace them one device at a time",
            code="two-devices",
        )
    ports = dict.fromkeys(request.root_ports)
    filters = [_look_up(request.device, ROOT_PORT, address, root_port_value(address), device) for address in ports]
    if len(filters) > 1 and device is not None and device.multiselect.root_ports is False:
        raise UsageError(f"{request.device} traces one root port at a time", hint="its driver says so (multiselect)", code="no-multiselect")
    return filters


def _look_up(name: str, kind: FilterKind, address: PciAddress, computed: int, device: PttDevice | None) -> Filter:
    if device is not None:
        listed = device.root_ports if kind == ROOT_PORT else device.requesters
        for entry in listed:
            if entry.address == address:
                return entry
        if device.ports_known:
            addresses = [str(entry.address) for entry in listed]
            raise DeviceError(
                f"{name} has no {kind} {address}: its driver would refuse the event",
                hint=f"{kind}s there: {in_words(addresses) or 'none'}",
                code="no-such-filter",
                listed=addresses,
            )
    return Filter(address, computed, computed=True)


def _filter_diagnostics(request: TraceRequest, filters: Sequence[Filter], device: PttDevice | None) -> Iterator[Diagnostic]:
    if request.requester is None:
        # Root ports that have the same bit: each is traced with the others.
        ports = {one.address: one for one in (*(device.root_ports if device is not None else ()), *filters)}
        for value in dict.fromkeys(one.value for one in filters):
            sharing = [str(address) for address in sorted(address for address, one in ports.items() if one.value == value)]
            if len(sharing) > 1:
                message = f"root ports {in_words(sharing)} share one bit ({value:#x}): all of them are traced"
                yield Diagnostic(Severity.INFO, "shared-bit", message, details={"root_ports": sharing, "filter": value})
    if device is not None and not device.ports_known and any(one.computed for one in filters):
        message = f"the filter is computed: this kernel does not list the filters of {request.device}"
        yield Diagnostic(Severity.INFO, "filter-computed", message)
