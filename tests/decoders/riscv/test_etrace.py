"""RISC-V E-Trace: against the reference encoder's listings, the specification's examples, a slow reading, and packets made by hand."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.decoders.elements.model import Element, Flags
from ptttool.decoders.parameters import read_file
from ptttool.decoders.riscv.encap.framing import EncapSettings
from ptttool.decoders.stack import stack_of
from tests import ROOT
from tests.decoders.riscv.encap_encoder import normal
from tests.decoders.riscv.etrace import Draw, Layout, compressed, packed, parameters_of, units
from tests.decoders.streams import Stream, elements, stack
from tests.reference.riscv_etrace import Reference, Unit

FIXTURES = ROOT / "fixtures" / "etrace"
VECTORS = ROOT.parent / "shared" / "vectors"
with_vectors = pytest.mark.skipif(not VECTORS.is_dir(), reason="the vectors of others do not come with the project")
# In the listings these are hexadecimal; and their address is the field, not what it adds up to.
HEXADECIMAL = ("address", "tval")
LISTED = {"address": "address_field"}


def framed(*payloads: bytes) -> bytes:
    """Packets behind a header of one byte."""
    return b"".join(bytes([len(payload)]) + payload for payload in payloads)


def decoded(*payloads: bytes | str, **parameters: object) -> list[Element]:
    data = framed(*(bytes.fromhex(payload) if isinstance(payload, str) else payload for payload in payloads))
    return elements("riscv-etrace", Stream(data, {name: str(value) for name, value in parameters.items()}))


def told(found: Sequence[Element], *names: str) -> list[tuple[Any, ...]]:
    return [(each.kind, *(each.fields.get(name) for name in names)) for each in found]


def read_in_full(path: Path) -> list[Element]:
    chosen = stack_of("riscv-etrace", read_file(path.with_suffix(".params")))
    decoder = chosen.decoder()
    found = [*decoder.feed(path.read_bytes(), offset=0).objects(chosen.fields), *decoder.finish().objects(chosen.fields)]
    assert not any(each.flags for each in found)
    return found


def as_listed(found: Sequence[Element]) -> list[dict[str, Any]]:
    """All fields of each packet."""
    packets: dict[int, dict[str, Any]] = {}
    for each in found:
        packets.setdefault(each.index, {}).update(each.fields)
    return list(packets.values())


def hold_against_listing(path: Path) -> int:
    rows = list(csv.DictReader(path.with_suffix(".csv").read_text().splitlines()))
    packets = as_listed(read_in_full(path))
    assert len(packets) == len(rows)
    for number, (packet, row) in enumerate(zip(packets, rows, strict=True)):
        wanted = {name: None if text == "_" else int(text, 16 if name in HEXADECIMAL else 10) for name, text in row.items()}
        assert {name: packet.get(LISTED.get(name, name)) for name in row} == wanted, f"{path.name}: packet {number}"
    return len(rows)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.bin")), ids=lambda path: path.stem)
def test_listings_of_the_reference_encoder(path: Path) -> None:
    assert hold_against_listing(path) > 200


@with_vectors
def test_all_listings_of_the_reference_encoder() -> None:
    paths = sorted((VECTORS / "etrace").glob("*.bin"))
    assert {path.stem for path in FIXTURES.glob("*.bin")} <= {path.stem for path in paths}
    assert sum(map(hold_against_listing, paths)) > 6000


@with_vectors
def test_full_addresses_and_differences_tell_the_same() -> None:
    folder = VECTORS / "etrace"
    for program in ("br_j_asm", "median", "multiply", "towers"):
        ways = [
            [each.fields["address"] for each in read_in_full(folder / f"{program}-{suite}.bin") if each.kind in ("addr", "branch_map")
             and each.fields["format"] in (1, 2) and "address" in each.fields]
            for suite in ("resync", "debug")
        ]  # fmt: skip
        assert ways[0] == ways[1]


# What the examples of the specification's chapter on transport were made with.
EXAMPLES = {"iaddress_width_p": 64, "iaddress_lsb_p": 0, "context_width_p": 32, "nocontext_p": "no", "ecause_width_p": 5}
EXAMPLES |= {"call_counter_size_p": 9, "ioptions": 4}


def test_examples_of_the_specification() -> None:
    found = decoded("1f 04", "05 04 01 00 80 00", "32 04 00 00 02", "77 00 00 00 00 81 88 00 00 20", **EXAMPLES)
    assert told(found, "address", "branches", "branch_map", "ecause", "interrupt", "thaddr", "tval", "privilege", "ioptions") == [
        ("event", None, None, None, None, None, None, None, None, 4),
        ("branch_map", 0x80000104, 1, 0, None, None, None, None, None, None),
        ("addr", 0x8000010C, None, None, None, None, None, None, None, None),
        ("exception", 0x80000222, None, None, 2, 0, 0, 0, 3, None),
    ]
    assert (found[0].fields["ienable"], found[0].fields["qual_status"]) == (1, 0)
    found = decoded("bd aa aa 68 00 00 20", "77 00 00 00 80 33 6c 00 00 20", **EXAMPLES)
    assert told(found, "address", "branches", "branch_map", "ecause", "interrupt", "thaddr", "tval") == [
        ("branch_map", 0x800001A2, 15, 21845, None, None, None, None),
        ("trace_on", None, None, None, None, None, None, None),
        ("exception", 0x800001B0, None, None, 7, 1, 1, None),
    ]
    found = decoded("73 00 00 00 00 91 82 00 10", **EXAMPLES)
    assert told(found, "address", "branch", "privilege", "context") == [
        ("trace_on", None, None, None, None), ("pe_context", None, None, 3, 0), ("addr", 0x20010522, 1, None, None),
    ]  # fmt: skip
    assert not any(each.flags for each in found)


@with_vectors
def test_files_of_the_examples() -> None:
    """With and without a source ID and a type they are the same packets."""
    folder = VECTORS / "etrace-spec13"
    envelope = {"srcid_bits": "6", "type_bits": "2", "payload_type": "2"}
    plain = {name: str(value) for name, value in EXAMPLES.items()}
    for number, channel in ((1, 1), (2, 10), (3, 5)):
        alone = elements("riscv-etrace", Stream((folder / f"atb{number}.bin").read_bytes(), plain))
        carried = elements("riscv-etrace", Stream((folder / f"siemens{number}.bin").read_bytes(), {**plain, **envelope}))
        assert [(each.kind, each.fields) for each in carried] == [(each.kind, each.fields) for each in alone]
        assert {each.channel for each in carried} == {channel}
    (illegal,) = elements("riscv-etrace", Stream((folder / "illegal_br.bin").read_bytes(), plain))
    assert (illegal.kind, illegal.fields["branches"], illegal.flags) == ("branch_map", 0, Flags.LEFTOVER)
    for name in ("start1", "trap1", "trap2", "support", "f1"):
        found = elements("riscv-etrace", Stream((folder / f"{name}.bin").read_bytes(), plain))
        assert found
        assert not any(each.flags for each in found)


@with_vectors
@pytest.mark.parametrize(
    ("name", "packets", "odd"), [("gpios_all", 305, [393, 878, 1064, 1158]), ("hello_culsans", 48, []), ("l1_test", 21, [])]
)
def test_traces_of_hardware(name: str, packets: int, odd: list[int]) -> None:
    """Four packets of one of them have no number of branches, and yet something behind the map of 31: that is told."""
    data = (VECTORS / "etrace-spec13" / f"pulp-{name}.bin").read_bytes()
    found = elements("riscv-etrace", Stream(data, {"iaddress_width_p": "64", "iaddress_lsb_p": "0", "unit": "pulp"}))
    assert len({each.index for each in found}) == packets
    assert [(each.index, each.flags, each.fields["branches"]) for each in found if each.flags] == [(at, Flags.LEFTOVER, 0) for at in odd]
    assert {each.kind for each in found} <= {"event", "trace_on", "pe_context", "addr", "branch_map", "exception", "eo_trace"}


# Held against the slow reading.


def flags_of(element: Element) -> set[str]:
    return set(element.flags.names)


def hold_against_reference(unit: Unit, payloads: Sequence[bytes]) -> None:
    found = elements("riscv-etrace", Stream(framed(*payloads), parameters_of(unit)))
    reference, at, position = Reference(unit), 0, 0
    for payload in payloads:
        packet = reference.read(payload)
        mine = found[position : position + len(packet.elements)]
        assert [(each.kind, dict(each.fields)) for each in mine] == packet.elements, payload.hex()
        assert [each.index for each in mine] == [at] * len(mine)
        assert [each.size for each in mine] == [len(payload) + 1] + [0] * (len(mine) - 1)
        assert set().union(*map(flags_of, mine)) == packet.flags
        assert not any(each.flags for each in mine[1:])
        position += len(mine)
        at += len(payload) + 1
    assert position == len(found)


@given(unit=units(), payloads=st.lists(st.binary(min_size=1, max_size=31), max_size=8))
def test_any_bytes(unit: Unit, payloads: list[bytes]) -> None:
    hold_against_reference(unit, payloads)


@given(unit=units(), data=st.data())
def test_any_packets(unit: Unit, data: st.DataObject) -> None:
    """Packets of all formats, compressed as far as it goes or less far; every field as it was written."""
    draw = Draw(data.draw, unit)
    payloads, layouts = [], []
    for _ in range(data.draw(st.integers(1, 6))):
        layout, odd = draw.any()
        number, bits = packed(layout)
        payload = compressed(number, bits, keep=data.draw(st.sampled_from((1, 1, 31))))
        if len(payload) <= 31 and not odd:
            payloads.append(payload)
            layouts.append(layout)
        else:
            draw.ioptions = next((value for each in reversed(layouts) for name, _, value in each if name == "ioptions"), 0)
    hold_against_reference(unit, payloads)
    found = as_listed(elements("riscv-etrace", Stream(framed(*payloads), parameters_of(unit))))
    for packet, layout in zip(found, layouts, strict=True):
        for name, width, value in layout:
            if width and (name != "branches" or value or "branch_map" in packet):
                assert packet[name] == value, name


# Packets made by hand from the tables.

OLD = {"version": "2019", "context_width_p": 8, "nocontext_p": "no"}


def made(*fields: str) -> bytes:
    """A payload of fields as binary digits, the first field first, padded with the last bit."""
    bits = "".join(reversed(fields))
    bits = bits[0] * (-len(bits) % 8) + bits
    return int(bits, 2).to_bytes(len(bits) // 8, "little")


A31 = "0010000000000000000000001000000"  # 0x10000040: address 0x20000080, without its lowest bit


def test_2019_format_1_has_maps_of_other_sizes() -> None:
    for branches, size in ((1, 1), (2, 9), (9, 9), (10, 17), (17, 17), (18, 25), (25, 25), (26, 31), (31, 31)):
        full = "01" * 16
        found = decoded(made("11", "00", "00000111", "11", "1", A31), made("01", f"{branches:05b}", full[-size:], "1" * 30 + "0"), **OLD)
        assert told(found[2:], "branches", "branch_map", "address") == [
            ("addr", None, None, 0x20000080), ("branch_map", branches, int(full[-size:], 2), 0x2000007C),
        ]  # fmt: skip
        assert not any(each.flags for each in found)


def test_2019_format_1_without_an_address() -> None:
    map31 = "1000000000000000000000000000101"
    found = decoded(made("01", "00000", "0", map31), made("01", "00000", "1", "0000000000010010", "1"), **OLD)
    assert told(found, "branches", "branch_fmt", "branch_map", "branch_count", "no_mispred") == [
        ("branch_map", 0, 0, 0x40000005, None, None), ("custom", None, 1, None, 18, 1),
    ]  # fmt: skip


def test_2019_format_2_ends_with_the_address() -> None:
    (_, _, _, found) = decoded(made("11", "00", "00000111", "11", "1", A31), made("10", "11111000"), **OLD)
    assert found.fields == {"format": 2, "address": 0x20000070, "address_field": 0x7FFFFFF8}


def test_2019_format_3() -> None:
    found = decoded(
        made("11", "00", "10100101", "11", "0", A31),
        made("11", "01", "10100101", "01", "1", A31, "1011", "1", "0" * 24 + "11110000"),
        made("11", "10", "11110000"),
        made("11", "11", "1", "0", "01", "00000"),
        **OLD,
    )
    assert told(found, "context", "privilege", "branch", "address", "ecause", "interrupt", "tval") == [
        ("trace_on", None, None, None, None, None, None, None),
        ("pe_context", 0xA5, 3, None, None, None, None, None),
        ("addr", None, None, 0, 0x20000080, None, None, None),
        ("exception", 0xA5, 1, 1, 0x20000080, 11, 1, 0xF0),
        ("pe_context", 0xF0, None, None, None, None, None, None),
        ("eo_trace", None, None, None, None, None, None, None),
    ]
    assert found[-1].fields == {"format": 3, "subformat": 3, "ienable": 1, "encoder_mode": 0, "qual_status": 1, "ioptions": 0}
    (_, found_without) = decoded(made("11", "01", "10100101", "01", "1", A31, "1011", "1"), notval_p="yes", **OLD)
    assert "tval" not in found_without.fields
    assert not found_without.flags


def test_2019_has_no_format_0() -> None:
    (found,) = decoded("00", **OLD)
    assert (found.kind, found.flags, found.fields) == ("unknown", Flags.RESERVED, {"format": 0})


def test_counts_of_predicted_branches() -> None:
    start = made("11", "00", "1", "11", A31)
    given = {"f0s_width_p": 1, "bpred_size_p": 4, "cache_size_p": 3}
    count = "0" * 27 + "10001"
    found = decoded(
        start,
        made("00", "0", count, "00"),
        made("00", "0", count, "11", "0" * 29 + "11", "0", "0", "0"),
        made("00", "0", count, "01"),
        **given,
    )
    assert told(found[2:], "subformat", "branch_count", "branch_fmt", "address") == [
        ("addr", 0, None, None, 0x20000080), ("custom", 0, 17, 0, None), ("addr", 0, 17, 3, 0x20000086), ("custom", 0, 17, 1, None),
    ]  # fmt: skip
    assert found[-1].flags == Flags.RESERVED


def test_the_jump_target_cache() -> None:
    """irreport means something where it differs from the bit before: of the branch map, or of branches. The address is not known then."""
    start, away = made("11", "00", "1", "11", A31), made("10", "0100")
    given = {"f0s_width_p": 1, "cache_size_p": 3, "call_counter_size_p": 2}
    found = decoded(
        start,
        away,
        made("00", "1", "101", "00010", "101", "0", "11"),
        away,
        made("00", "1", "110", "00000", "0", "00"),
        start,
        away,
        **given,
    )
    names = ("cache_index", "branches", "branch_map", "irreport", "is_irreport", "irdepth", "address")
    assert told(found[3:7], *names) == [
        ("addr", None, None, None, 0, False, 0, 0x20000088),
        ("branch_map", 5, 2, 5, 0, True, 3, None),
        ("addr", None, None, None, 0, False, 0, None),
        ("custom", 6, None, None, 0, False, 0, None),
    ]
    assert [each.fields["address"] for each in found[-2:]] == [0x20000080, 0x20000088]


def test_options_tell_the_subformat() -> None:
    """Where only one kind of format 0 is in use, there is no field for it."""
    support, count, cache = (made("11", "11", "1", "0", "00", bits) for bits in ("00000", "10000", "01000"))
    packet = made("00", "00000", "000000")
    found = decoded(support, packet, count, packet, cache, packet, support, packet, cache_size_p=2)
    assert [each.fields.get("subformat") for each in found if each.fields["format"] == 0] == [1, 0, 1, 1]
    (_, unknown) = decoded(support, packet)
    assert (unknown.kind, unknown.flags) == ("unknown", Flags.RESERVED)


def test_the_bits_behind_the_address() -> None:
    """notify, updiscon and irreport mean something where they differ from the bit before, whatever their own value."""
    for sign in "01":
        other = "10"[int(sign)]
        for digits, wanted in (
            (sign * 3, (False, False, False)), (other * 3, (True, False, False)), (sign + other * 2, (False, True, False)),
            (sign * 2 + other, (False, False, True)), (other + sign + other, (True, True, True)),
        ):  # fmt: skip
            (found,) = decoded(made("10", sign * 31, *digits))
            assert told([found], "is_notify", "is_updiscon", "is_irreport") == [("addr", *wanted)]
            assert told([found], "notify", "updiscon", "irreport") == [("addr", *(int(digit) for digit in digits))]


def test_full_addresses() -> None:
    """From the support packet on that says so, and until one says otherwise; known even if nothing was known before."""
    full, off, away = made("11", "11", "1", "0", "00", "00100"), made("11", "11", "1", "0", "00", "00000"), made("10", "00100")
    found = decoded(away, full, away, away, off, away)
    assert [each.fields.get("address") for each in found] == [None, None, 8, 8, None, 16]
    (first,) = decoded(away, ioptions=4)
    assert first.fields["address"] == 8


def test_addresses_wrap() -> None:
    found = decoded(made("11", "00", "1", "11", "1" * 31), made("10", "00010"))
    assert [each.fields["address"] for each in found if each.kind == "addr"] == [0xFFFFFFFE, 2]


def test_handlers_that_are_not_told() -> None:
    """With implicit exceptions the handler's address is left out: what builds on it is not known."""
    implicit = made("11", "11", "1", "0", "00", "00010")
    start, away = made("11", "00", "1", "11", A31), made("10", "0100")
    trap = made("11", "01", "1", "11", "0101", "0", "1", "0" * 27 + "10001")
    found = decoded(implicit, start, away, trap, away)
    assert told(found[-3:], "address", "tval", "ecause") == [
        ("addr", 0x20000088, None, None), ("exception", None, 17, 5), ("addr", None, None, None),
    ]  # fmt: skip
    assert not any(each.flags for each in found)


def test_trace_begins_and_ends() -> None:
    start, ended, lost = (
        made("11", "00", "1", "11", A31),
        made("11", "11", "1", "0", "11", "00000"),
        made("11", "11", "1", "0", "10", "00000"),
    )
    found = decoded(start, start, ended, start, lost, made("10", "0100"), start)
    assert [(each.kind, each.fields.get("reason")) for each in found if each.kind not in ("pe_context", "addr")] == [
        ("trace_on", "normal"), ("eo_trace", None), ("trace_on", "normal"), ("no_sync", "overflow"), ("trace_on", "overflow"),
    ]  # fmt: skip
    assert [each.fields.get("address") for each in found if each.kind == "addr"] == [0x20000080] * 3 + [None, 0x20000080]


def test_after_lost_bytes() -> None:
    """Differences mean nothing then, for every source."""
    form = EncapSettings(srcid_bits=8)
    start, away = made("11", "00", "1", "11", A31), made("10", "0100")

    def of(source: int, payload: bytes) -> bytes:
        return normal(form, int.from_bytes(payload, "little"), 8 * len(payload), channel=source)

    chosen = stack("riscv-etrace", {"srcid_bits": "8"})
    decoder = chosen.decoder()
    before = b"".join(of(source, start) for source in (1, 2))
    after = b"".join(of(source, away) + of(source, start) + of(source, away) for source in (1, 2))
    decoder.feed(before, offset=0)
    found = list(decoder.feed(after, offset=1000, discontinuity=True).objects(chosen.fields))
    for source in (1, 2):
        mine = [each for each in found if each.channel == source]
        assert [each.fields.get("address") for each in mine if each.kind == "addr"] == [None, 0x20000080, 0x20000088]
        assert [each.fields.get("reason") for each in mine if each.kind == "trace_on"] == ["discontinuity"]


def test_after_bytes_that_are_no_packets() -> None:
    """A header that cannot be: what comes after the next synchronisation does not build on what was before."""
    away = made("10", "0100")
    data = framed(made("11", "00", "1", "11", A31), away) + b"\x81\x00" + bytes(40) + framed(away)
    found = elements("riscv-etrace", Stream(data))
    assert [each.fields.get("address") for each in found if each.kind == "addr"] == [0x20000080, 0x20000088, None]


def test_too_many_bits() -> None:
    """More than fill up the last byte, or others than of one value: the parameters may be wrong."""
    whole: Layout = [("format", 2, 3), ("subformat", 2, 2), ("privilege", 2, 1)]
    number, _ = packed(whole)
    for payload, flags in (
        (bytes([number]), Flags(0)), (bytes([number | 0xC0]), Flags(0)), (bytes([number | 0x80]), Flags.PADDING_ODD),
        (bytes([number, 0]), Flags.LEFTOVER),
    ):  # fmt: skip
        (found,) = decoded(payload)
        assert found.flags == flags


def test_widths_of_support_packets() -> None:
    data = made("11", "11", "1", "0011", "00", "100110", "1", "0", "11")
    given = {"encoder_mode_bits": 4, "ioptions_bits": 6, "data_trace": "yes", "doptions_bits": 2}
    (found,) = decoded(data, **given)
    assert found.fields == {
        "format": 3, "subformat": 3, "ienable": 1, "encoder_mode": 3, "qual_status": 0, "ioptions": 0x26, "denable": 1, "dloss": 0,
        "doptions": 3,
    }  # fmt: skip


def test_empty_payloads() -> None:
    """A type may take all bits that there are."""
    (found,) = elements("riscv-etrace", Stream(b"\x01\xff", {"type_bits": "8"}))
    assert (found.kind, found.flags, found.fields) == ("unknown", Flags.RESERVED, {})


def test_a_trap_before_whose_handler_nothing_was_executed() -> None:
    """Its address is the exception's own, nothing builds on it, and trace has not begun; of an interrupt it means nothing."""
    start, difference = "73 14 00 00 e0", "12"
    for cause, address in (("interrupt", None), ("exception", 0xE)):
        trap = trap_packet(interrupt=cause == "interrupt", thaddr=False, address=7)
        found = decoded(trap, start, difference)
        assert told(found, "address") == [
            ("exception", address), ("trace_on", None), ("pe_context", None), ("addr", 0x8000_0050), ("addr", 0x8000_0058)
        ]  # fmt: skip
        assert told(decoded(start, trap, difference), "address")[-2:] == [("exception", address), ("addr", 0x8000_0058)]


def trap_packet(*, interrupt: bool, thaddr: bool, address: int) -> bytes:
    """With the default parameters."""
    layout = [("format", 2, 3), ("subformat", 2, 1), ("branch", 1, 1), ("privilege", 2, 3), ("ecause", 4, 2), ("interrupt", 1, interrupt),
              ("thaddr", 1, thaddr), ("address", 31, address)]  # fmt: skip
    return compressed(*packed([*layout, *([] if interrupt else [("tval", 32, 0)])]))


def test_full_addresses_behind_a_gap_may_be_differences() -> None:
    """What told that they are no longer full may be lost; format 3 is sure."""
    support, difference, start = "1f 04", "12", "73 14 00 00 e0"
    before, after = framed(bytes.fromhex(support), bytes.fromhex(difference)), framed(bytes.fromhex(difference), bytes.fromhex(start))
    decoder, fields = stack("riscv-etrace", {}).decoder(), stack_of("riscv-etrace", {}).fields
    found = list(decoder.feed(before, offset=0).objects(fields))
    assert told(found, "address") == [("event", None), ("addr", 8)]
    found = list(decoder.feed(after + framed(bytes.fromhex(difference)), offset=99, discontinuity=True).objects(fields))
    assert told([each for each in found if each.kind == "addr"], "address") == [("addr", None), ("addr", 0x8000_0050), ("addr", 8)]


def test_a_support_packet_without_options_changes_none() -> None:
    found = decoded("12", "1f", "12", ioptions=4, ioptions_bits=0)
    assert told(found, "address") == [("addr", 8), ("event", None), ("addr", 8)]


def test_parameters_of_encoders_are_known() -> None:
    paths = list(FIXTURES.glob("*.params"))
    assert paths
    for path in paths:
        chosen = stack_of("riscv-etrace", read_file(path))
        assert chosen.values["iaddress_width_p"] == 64
        assert chosen.values["nocontext_p"] is False
