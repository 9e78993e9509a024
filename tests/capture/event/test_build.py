"""Events from options: the numbers written out by hand from the tables of the kernel's document."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from ptttool.capture.event.build import BuiltEvent, TraceRequest, build
from ptttool.capture.event.explain import explain
from ptttool.capture.event.parse import parse_event
from ptttool.capture.event.terms import DEFAULT_TERMS, FORMATS, PATTERN_TERM, Flow, Format, encode, fields_of
from ptttool.capture.perf.command import perf_command, size_text
from ptttool.diagnostics import Severity
from ptttool.errors import DeviceError, PtttoolError, UsageError
from ptttool.machine.model import Filter, FormatTerm, Multiselect, PttDevice
from ptttool.pci import PciAddress
from ptttool.testing import FakeMachine

PORT = PciAddress.parse("0000:00:10.0")
P, NP, CPL = ("p",), ("np",), ("cpl",)
ALL = ("p", "np", "cpl")

# Format, direction, --completions, types: the direction term's value, or the code of the refusal.
MATRIX: list[tuple[str, str, str | None, tuple[str, ...], int | str]] = [
    ("4dw", "inbound", None, ALL, 0),
    ("4dw", "inbound", None, CPL, 0),
    ("4dw", "inbound", None, P, 0),
    ("4dw", "inbound", "a", ALL, "completions-no-effect"),
    ("4dw", "inbound", "b", ALL, "completions-no-effect"),
    ("4dw", "inbound", "b", P, "completions-no-effect"),
    ("4dw", "outbound", None, P, 1),
    ("4dw", "outbound", None, NP, 1),
    ("4dw", "outbound", None, CPL, 1),
    ("4dw", "outbound", None, ALL, "outbound-types"),
    ("4dw", "outbound", None, ("np", "cpl"), "outbound-types"),
    ("4dw", "outbound", "a", CPL, "completions-no-effect"),
    ("4dw", "outbound", "b", CPL, "completions-no-effect"),
    ("4dw", "both", None, ALL, 2),
    ("4dw", "both", None, P, 2),
    ("4dw", "both", "b", ("np", "cpl"), 2),
    ("4dw", "both", "a", ("np", "cpl"), 3),
    ("4dw", "both", "a", CPL, 3),
    ("4dw", "both", "a", ("p", "np"), "completions-no-effect"),
    ("4dw", "both", "b", P, "completions-no-effect"),
    ("8dw", "inbound", None, ALL, 2),
    ("8dw", "inbound", None, NP, 2),
    ("8dw", "inbound", "b", ALL, 2),
    ("8dw", "inbound", "a", ALL, 3),
    ("8dw", "inbound", "a", CPL, 3),
    ("8dw", "inbound", "a", ("p", "np"), "completions-no-effect"),
    ("8dw", "inbound", "b", NP, "completions-no-effect"),
    ("8dw", "outbound", None, CPL, 1),
    ("8dw", "outbound", None, ALL, "outbound-types"),
    ("8dw", "outbound", "a", CPL, "completions-no-effect"),
    ("8dw", "outbound", "b", CPL, "completions-no-effect"),
    ("8dw", "both", None, ALL, "8dw-both"),
    ("8dw", "both", "a", CPL, "8dw-both"),
    ("8dw", "both", "b", P, "8dw-both"),
]


def request(**changes: object) -> TraceRequest:
    return structs.replace(TraceRequest(device="hisi_ptt0_0", root_ports=(PORT,)), **changes)


@pytest.mark.parametrize(("layout", "direction", "completions", "types", "expected"), MATRIX)
def test_direction(layout: str, direction: str, completions: str | None, types: tuple[str, ...], expected: int | str) -> None:
    wanted = request(format=layout, direction=direction, completions=completions, types=types)
    if isinstance(expected, str):
        with pytest.raises(UsageError) as refused:
            build(wanted)
        assert refused.value.code == expected
        assert refused.value.hint
    else:
        built = build(wanted)
        assert built.fields["direction"] == expected
        assert f",direction={expected},format={FORMATS[Format(layout)]}/" in built.event


def test_the_matrix_holds_every_combination() -> None:
    assert {row[:3] for row in MATRIX} == {
        (f, d, c) for f in ("4dw", "8dw") for d in ("inbound", "outbound", "both") for c in (None, "a", "b")
    }


# The whole string and config, bit by bit: filter 0-19, direction 20-23, type 24-31, format 32-35.
WHOLE: list[tuple[dict[str, object], str, int]] = [
    ({}, "hisi_ptt0_0/filter=0x80001,type=7,direction=0,format=0/", 0x7080001),
    ({"format": "8dw"}, "hisi_ptt0_0/filter=0x80001,type=7,direction=2,format=1/", 0x107280001),
    ({"types": ("cpl", "np"), "direction": "both"}, "hisi_ptt0_0/filter=0x80001,type=6,direction=2,format=0/", 0x6280001),
    ({"types": P, "direction": "outbound", "format": "8dw"}, "hisi_ptt0_0/filter=0x80001,type=1,direction=1,format=1/", 0x101180001),
    ({"types": CPL, "completions": "a", "format": "8dw"}, "hisi_ptt0_0/filter=0x80001,type=4,direction=3,format=1/", 0x104380001),
    (
        {"root_ports": (PORT, PciAddress.parse("00:11.0"), PciAddress.parse("00:12.0"))},
        "hisi_ptt0_0/filter=0x80015,type=7,direction=0,format=0/",
        0x7080015,
    ),
    (
        {"root_ports": (), "requester": PciAddress.parse("0000:01:00.1")},
        "hisi_ptt0_0/filter=0x00101,type=7,direction=0,format=0/",
        0x7000101,
    ),
    (
        {"root_ports": (), "requester": PciAddress.parse("0001:ff:1f.7")},
        "hisi_ptt0_0/filter=0x0ffff,type=7,direction=0,format=0/",
        0x700FFFF,
    ),
]


@pytest.mark.parametrize(("changes", "event", "config"), WHOLE)
def test_event_and_config(changes: dict[str, object], event: str, config: int) -> None:
    built = build(request(**changes))
    assert (built.event, built.config) == (event, config)


@pytest.mark.parametrize(
    ("port", "value"),
    [
        ("00:10.0", 0x80001), ("00:10.1", 0x80001), ("0000:00:11.0", 0x80004), ("00:12.0", 0x80010), ("00:13.0", 0x80040),
        ("00:14.0", 0x80100), ("00:15.0", 0x80400), ("00:16.0", 0x81000), ("00:17.0", 0x84000), ("0001:40:00.0", 0x80001),
    ],
)  # fmt: skip
def test_root_port_values(port: str, value: int) -> None:
    assert build(request(root_ports=(PciAddress.parse(port),))).fields["filter"] == value


def test_what_flows() -> None:
    assert build(request()).flow == Flow(inbound=("P", "NP", "CPL A", "CPL B"))
    assert build(request(direction="both", types=("np", "cpl"))).flow == Flow(inbound=("NP", "CPL B"), outbound=("NP", "CPL"))
    assert build(request(direction="both", completions="a")).flow == Flow(inbound=("CPL A",), outbound=("P", "NP", "CPL"))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"root_ports": ()}, "no-filter"),
        ({"requester": PciAddress.parse("01:00.0")}, "two-filters"),
        ({"root_ports": (PORT, PciAddress.parse("0001:00:10.0"))}, "two-devices"),
        ({"root_ports": (PORT, PciAddress.parse("40:10.0"))}, "two-devices"),
        ({"types": ()}, "usage"),
        ({"types": ("p", "mem")}, "usage"),
        ({"direction": "up"}, "usage"),
        ({"format": "6dw"}, "usage"),
        ({"completions": "c"}, "usage"),
        ({"pattern": "v2"}, "usage"),
        ({"pattern": "v1"}, "no-pattern-term"),
    ],
)
def test_refused(changes: dict[str, object], code: str) -> None:
    with pytest.raises(UsageError) as refused:
        build(request(**changes))
    assert refused.value.code == code


def codes(built: BuiltEvent, *severities: Severity) -> list[str]:
    """The codes of an event's diagnostics, of all severities or of some."""
    return [one.code for one in built.diagnostics if not severities or one.severity in severities]


def refusal(wanted: TraceRequest, device: PttDevice | None = None, *, force: bool = False) -> str:
    """The code of the error that a request gives."""
    with pytest.raises(PtttoolError) as refused:
        build(wanted, device=device, force=force)
    return refused.value.code


def test_force() -> None:
    built = build(request(direction="outbound"), force=True)
    assert built.config == 0x7180001
    assert codes(built) == ["outbound-types"]
    assert refusal(request(direction="both", format="8dw"), force=True) == "8dw-both"
    taken = build(request(pattern="v1"), force=True)
    assert (taken.event, taken.config) == ("hisi_ptt0_0/filter=0x80001,type=7,direction=0,format=0,pattern=1/", 0x1007080001)
    assert codes(taken) == ["pattern-assumed"]


@pytest.mark.parametrize(
    ("changes", "warnings", "notes"),
    [
        ({}, [], []),
        ({"types": P, "direction": "both"}, [], []),
        ({"types": P, "format": "8dw"}, [], []),
        ({"types": CPL, "direction": "both"}, [], ["no-cpl-a"]),
        ({"format": "8dw"}, [], ["no-cpl-a"]),
        ({"format": "8dw", "completions": "b"}, [], []),
        ({"format": "8dw", "completions": "a"}, ["types-not-inbound"], []),
        ({"format": "8dw", "completions": "a", "types": CPL}, [], []),
        ({"direction": "both", "completions": "b"}, ["outbound-types"], []),
        ({"direction": "both", "completions": "a", "types": ("np", "cpl")}, ["outbound-types", "types-not-inbound"], []),
        ({"root_ports": (PORT, PciAddress.parse("00:10.1"))}, [], ["shared-bit"]),
        ({"root_ports": (PORT, PORT)}, [], []),
    ],
)
def test_warnings_and_notes(changes: dict[str, object], warnings: list[str], notes: list[str]) -> None:
    built = build(request(**changes))
    assert codes(built, Severity.WARNING) == warnings
    assert codes(built, Severity.INFO) == notes


@functools.cache
def listed() -> PttDevice:
    """A device with two root ports, as it is found on a machine."""
    machine = FakeMachine()
    ptt = machine.add_ptt("hisi_ptt0_0", "00:08.0")
    ptt.add_root_port("00:10.0").add_nvme("01:00.0", "nvme0")
    ptt.add_root_port("00:11.0")
    return machine.read().devices[0]


def device(**changes: object) -> PttDevice:
    return structs.replace(listed(), **changes)


def test_the_drivers_list_decides() -> None:
    odd = device(root_ports=(Filter(PORT, 0x80040),))
    built = build(request(), device=odd)
    assert (built.fields["filter"], built.checked) == (0x80040, True)
    with pytest.raises(DeviceError) as refused:
        build(request(root_ports=(PciAddress.parse("00:12.0"),)), device=device())
    assert refused.value.code == "no-such-filter"
    assert refused.value.details["listed"] == ["0000:00:10.0", "0000:00:11.0"]
    assert refusal(request(root_ports=(), requester=PORT), device()) == "no-such-filter"
    two_ports = request(root_ports=(PORT, PciAddress.parse("00:11.0")))
    assert refusal(two_ports, device(multiselect=Multiselect(root_ports=False, requesters=False))) == "no-multiselect"


def test_a_port_that_shares_its_bit_is_reported_even_if_not_asked_for() -> None:
    twin = Filter(PciAddress.parse("00:10.1"), 0x80001)
    built = build(request(), device=device(root_ports=(*device().root_ports, twin)))
    (shared,) = built.diagnostics
    assert shared.code == "shared-bit"
    assert shared.details == {"root_ports": ["0000:00:10.0", "0000:00:10.1"], "filter": 0x80001}


def test_where_the_driver_keeps_no_list_filters_are_computed() -> None:
    guessed = device(ports_known=False, root_ports=(), requesters=())
    built = build(request(root_ports=(PciAddress.parse("00:12.0"),)), device=guessed)
    assert (built.fields["filter"], built.checked) == (0x80010, False)
    assert codes(built) == ["filter-computed"]


def test_pattern_where_the_pmu_has_it() -> None:
    new = device(format={**DEFAULT_TERMS, "pattern": PATTERN_TERM})
    built = build(request(pattern="v1"), device=new)
    assert (built.event, built.config) == ("hisi_ptt0_0/filter=0x80001,type=7,direction=0,format=0,pattern=1/", 0x1007080001)
    assert build(request(pattern="legacy"), device=new).event.endswith(",format=0,pattern=0/")
    assert build(request(), device=new).event.endswith(",format=0/")
    assert build(request(pattern="legacy"), device=device()).event.endswith(",format=0/")
    for force in (False, True):
        assert refusal(request(pattern="v1"), device(), force=force) == "no-pattern-term"


MOVED = {
    "format": FormatTerm("config", 0, 3),
    "direction": FormatTerm("config", 4, 5),
    "type": FormatTerm("config", 8, 10),
    "pattern": FormatTerm("config", 11, 11),
    "filter": FormatTerm("config", 40, 63),
}


def test_bit_positions_are_the_devices() -> None:
    built = build(request(format="8dw", pattern="v1"), device=device(format=MOVED))
    assert built.config == 0x080001_0000000000 | 1 << 11 | 7 << 8 | 2 << 4 | 1
    assert built.event == "hisi_ptt0_0/filter=0x80001,type=7,direction=2,format=1,pattern=1/"


@pytest.mark.parametrize(
    ("terms", "kind", "code"),
    [
        ({name: DEFAULT_TERMS[name] for name in ("filter", "type")}, DeviceError, "unknown-format"),
        ({**DEFAULT_TERMS, "filter": FormatTerm("config", 0, 15)}, UsageError, "value-too-big"),
        ({**DEFAULT_TERMS, "format": FormatTerm("config1", 0, 3)}, DeviceError, "unknown-format"),
    ],
)
def test_terms_that_cannot_be_used(terms: Mapping[str, FormatTerm], kind: type[PtttoolError], code: str) -> None:
    with pytest.raises(kind) as refused:
        build(request(), terms=terms)
    assert refused.value.code == code


ports = st.builds(PciAddress, st.just(0), st.just(0), st.integers(0, 31), st.integers(0, 7))
functions = st.builds(PciAddress, st.integers(0, 0xFFFF), st.integers(0, 255), st.integers(0, 31), st.integers(0, 7))
filters = st.one_of(st.tuples(st.lists(ports, min_size=1, max_size=4).map(tuple), st.none()), st.tuples(st.just(()), functions))
requests = st.builds(
    lambda where, **rest: TraceRequest(device="hisi_ptt0_0", root_ports=where[0], requester=where[1], **rest),
    filters,
    types=st.lists(st.sampled_from(ALL), min_size=1, max_size=3).map(tuple),
    direction=st.sampled_from(["inbound", "outbound", "both"]),
    completions=st.sampled_from([None, "a", "b"]),
    format=st.sampled_from(["4dw", "8dw"]),
    pattern=st.sampled_from([None, "legacy", "v1"]),
)


def attempt(wanted: TraceRequest, terms: Mapping[str, FormatTerm]) -> BuiltEvent | None:
    try:
        return build(wanted, terms, force=True)
    except PtttoolError:
        return None


@given(requests, st.sampled_from([DEFAULT_TERMS, MOVED]))
def test_fields_string_and_config_agree(wanted: TraceRequest, terms: Mapping[str, FormatTerm]) -> None:
    built = attempt(wanted, terms)
    if built is None:
        return
    if "pattern" not in terms and wanted.pattern == "v1":
        terms = {**terms, "pattern": PATTERN_TERM}
    assert fields_of(built.config, terms) == built.fields
    assert encode(built.fields, terms) == built.config
    parsed = parse_event(built.event, terms)
    assert (parsed.pmu, parsed.config, parsed.diagnostics) == (wanted.device, built.config, ())
    told = explain(built.config, pmu=wanted.device, terms=terms)
    assert told.flow == built.flow
    assert bool(told.flow)
    # A requester 00:00.0 is all that can still be wrong without a machine to look at.
    assert told.refused == (built.fields["filter"] == 0)


def test_perf_command() -> None:
    event = "hisi_ptt0_0/filter=0x80001,type=7,direction=0,format=0/"
    assert perf_command(event, cpu=3) == ["perf", "record", "-e", event, "-C", "3", "-m", ",64M", "-o", "perf.data"]
    assert perf_command(event, output="a b", aux_size=16 << 20, command=["dd", "-x"]) == [
        "perf", "record", "-e", event, "-a", "-m", ",16M", "-o", "a b", "--", "dd", "-x",
    ]  # fmt: skip
    assert [size_text(size) for size in (64 << 20, 1 << 30, 128 << 10, 5)] == ["64M", "1G", "128K", "5B"]
