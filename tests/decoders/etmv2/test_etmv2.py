"""ETMv2 against the specification's table, a literal reading of it, and an encoder."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.cli.main import main
from ptttool.decoders.elements.model import Element, Flags
from ptttool.decoders.etmv2.headers import PACKET_OF, PACKETS, PATTERNS
from tests.decoders.etmv2.encoder import Encoder
from tests.decoders.streams import Stream, elements, stack, streams_of
from tests.reference import etmv2 as reference
from tests.support.recordings import build_perfdata

SIZES = (0, 1, 2, 4)
OPTIONS = tuple(product((False, True), (False, True), SIZES))


def decoded(data: bytes, *, data_addr: bool = True, data_value: bool = True, contextid_bytes: int = 4, **more: str) -> list[Element]:
    given = {"data_addr": "yes" if data_addr else "no", "data_value": "yes" if data_value else "no"}
    return elements("etmv2", Stream(data, {**given, "contextid_bytes": str(contextid_bytes), **more}))


def column(found: list[Element], name: str) -> list[Any]:
    return [element.fields.get(name) for element in found]


def test_every_header_fits_one_pattern() -> None:
    for header in range(256):
        name, _ = reference.classify(header)
        assert PACKETS[PACKET_OF[header]] == name
    assert Counter(PACKETS[packet] for packet in PACKET_OF) == {
        "branch": 128, "reserved": 60, "load_miss_data": 32, "data": 16, "load_miss": 16, "value_not_traced": 2, "context_id": 2,
    }  # fmt: skip
    assert len(PATTERNS) == len(reference.TABLE)


@pytest.mark.parametrize(("data_addr", "data_value", "contextid_bytes"), OPTIONS)
def test_every_header_with_every_option(data_addr: bool, data_value: bool, contextid_bytes: int) -> None:
    """Each of the 256 with an address of two bytes where there is one, and a packet behind it: its length shows."""
    for header in range(256):
        name, letters = reference.classify(header)
        has_address = data_addr and name in ("data", "load_miss") and letters["A"] == "1"
        body = b"\x81\x02" if has_address else b""
        if name == "load_miss_data" or (name == "data" and data_value):
            body += b"\x11\x22\x33\x44"[: reference.SIZES[letters["S"]]]
        if name == "context_id":
            body += b"\x55\x66\x77\x88"[:contextid_bytes]
        if name == "branch" and header & 0x80:
            body += b"\x03"
        data = bytes([header]) + body + b"\x6a"
        found = decoded(data, data_addr=data_addr, data_value=data_value, contextid_bytes=contextid_bytes)
        assert found[0].fields["packet"] == name
        assert found[0].kind == {"branch": "addr", "context_id": "pe_context"}.get(name, "custom")
        reserved = name == "reserved" or (name.startswith("load_miss") and letters["T"] == "00")
        assert found[0].flags == (Flags.RESERVED if reserved else Flags(0)), f"{header:02x}"
        assert (found[0].size, found[1].kind) == (1 + len(body), "no_sync" if name == "reserved" else "custom"), f"{header:02x}"


def same(data: bytes, found: list[Element], parameters: dict[str, str]) -> None:
    """What the decoder found is what the literal reading finds."""
    wanted = reference.decode(
        data,
        data_addr=parameters["data_addr"] == "yes",
        data_value=parameters["data_value"] == "yes",
        contextid_bytes=int(parameters["contextid_bytes"]),
        isa=parameters.get("isa"),
        sync_at=[int(each, 16) for each in parameters["sync_at"].split(",")],
    )
    assert [
        {"index": e.index, "size": e.size, "kind": e.kind, "flags": set(e.flags.names), "fields": dict(e.fields)} for e in found
    ] == wanted


@given(data=st.data())
def test_streams_as_the_literal_reading_has_them(data: st.DataObject) -> None:
    stream = data.draw(streams_of("etmv2"))
    cuts = tuple(data.draw(st.lists(st.integers(0, len(stream.data)), max_size=4)))
    same(stream.data, elements("etmv2", stream, cuts), dict(stream.parameters))


@given(
    content=st.binary(max_size=200),
    flags=st.tuples(st.sampled_from(("yes", "no")), st.sampled_from(("yes", "no")), st.sampled_from("0124")),
    isa=st.sampled_from(("arm", "thumb", "jazelle", None)),
    syncs=st.lists(st.integers(0, 220).map(hex), min_size=1, max_size=6),
    cuts=st.lists(st.integers(0, 200), max_size=4).map(tuple),
)
def test_any_bytes_as_the_literal_reading_has_them(
    content: bytes, flags: tuple[str, str, str], isa: str | None, syncs: list[str], cuts: tuple[int, ...]
) -> None:
    parameters = dict(zip(("data_addr", "data_value", "contextid_bytes"), flags, strict=True)) | {"sync_at": ",".join(syncs)}
    if isa:
        parameters["isa"] = isa
    same(content, elements("etmv2", Stream(content, parameters), cuts), parameters)


def test_values_are_little_endian_and_leading_zeros_are_left_out() -> None:
    encoder = Encoder(data_addr=False)
    wanted = [0, 0x7F, 0x1234, 0x010000, 0xDEADBEEF]
    for value in wanted:
        encoder.transfer(value)
    found = decoded(bytes(encoder.data), data_addr=False)
    assert column(found, "data_value") == wanted
    assert [each.size for each in found] == [1, 2, 3, 5, 5]
    assert found[2].raw == b"\x0a\x34\x12"


def test_addresses_replace_low_bits() -> None:
    """They are not added: a byte that does not come is as it was. Branch and data addresses have nothing to do with one another."""
    encoder = Encoder()
    targets = [0x8000_1000, 0x8000_1004, 0x8000_0004, 0xFFFF_FFFC, 0]
    transfers = [0x2000_0000, 0x2000_007F, 0x2000_0000, 0x2000_4000, 0x2000_4001]
    for target, address in zip(targets, transfers, strict=True):
        encoder.transfer(1, address)
        encoder.branch(target)
    found = decoded(bytes(encoder.data), isa="arm")
    assert column(found[1::2], "address") == targets
    assert [each.size for each in found[1::2]] == [5, 1, 2, 5, 5]
    assert column(found[0::2], "data_address") == transfers
    assert [each.size - 2 for each in found[0::2]] == [5, 1, 1, 3, 1]


def test_addresses_are_unknown_until_one_came_whole() -> None:
    found = decoded(b"\x22\x05\x41" + b"\x22\xff\xff\xff\xff\x0f" + b"\x22\x05" + b"\x81\x80\x80\x80\x04" + b"\x43", isa="jazelle")
    assert column(found, "data_address") == [None, None, 0xFFFF_FFFF, 0xFFFF_FF85, None, None]
    assert column(found, "address") == [None, None, None, None, 0x2000_0000, 0x2000_0021]
    assert column(found, "address_bits") == [5, 0x20, None, None, None, None]
    assert column(found, "address_bytes") == [1, 1, None, None, None, None]


@pytest.mark.parametrize(("isa", "shift"), [("arm", 2), ("thumb", 1), ("jazelle", 0)])
def test_branches_by_instruction_set(isa: str, shift: int) -> None:
    encoder = Encoder(shift=shift)
    wanted = [address >> shift << shift for address in (0xFFFF_FFFF, 0x1234_5678, 0x1234_567F)]
    for address in wanted:
        encoder.branch(address)
    assert column(decoded(bytes(encoder.data), isa=isa), "address") == wanted
    bits = decoded(bytes(encoder.data))
    assert column(bits, "address") == [None] * 3
    assert column(bits, "address_bits")[:2] == [address >> shift for address in wanted[:2]]


def test_cycles() -> None:
    """C is 1 in all packets of a cycle but the last; a branch address is the last, and its bit 7 means something else."""
    encoder = Encoder(data_addr=False)
    for goes_on in (True, True, False, False, True):
        encoder.transfer(0, goes_on=goes_on)
    encoder.branch(0x1000)
    encoder.branch(0x2000)
    encoder.not_traced(goes_on=True)
    encoder.context(1, goes_on=True)
    encoder.miss(1)
    found = decoded(bytes(encoder.data), data_addr=False)
    assert column(found, "cycle") == [0, 0, 0, 3, 4, 4, 10, *[found[7].index] * 3]
    given = {"data_addr": "no", "data_value": "yes", "contextid_bytes": "4"}
    for cut in range(len(encoder.data)):
        assert elements("etmv2", Stream(bytes(encoder.data), given), (cut,)) == found


def test_load_misses_and_their_data() -> None:
    """Data come in any order, and belong to the last miss with their tag; once."""
    encoder = Encoder()
    encoder.miss(1, 0x1000)
    second = encoder.miss(2, 0x2000)
    third = encoder.miss(3)
    encoder.miss_data(2, 7)
    encoder.transfer(1, 0x3000)
    encoder.miss_data(3, 8)
    again = encoder.miss(1, 0x1010)
    encoder.miss_data(1, 9)
    encoder.miss_data(1, 10)
    found = decoded(bytes(encoder.data))
    data = [each for each in found if each.fields["packet"] == "load_miss_data"]
    assert column(data, "miss_index") == [second, third, again, None]
    assert column(data, "data_address") == [0x2000, None, 0x1010, None]
    assert column(data, "data_value") == [7, 8, 9, 10]


@pytest.mark.parametrize("header", [0x00, 0x04, 0x08, 0x0C, 0x80, 0x84, 0x88, 0x8C, 0x50, 0x70, 0xD0, 0xF0])
def test_a_tag_of_zero_is_flagged_and_decoded(header: int) -> None:
    found = decoded(bytes([header, 1, 1, 1, 1, 1, 0x6A]))
    assert (found[0].fields["tag"], found[0].flags) == (0, Flags.RESERVED)
    assert found[-1].fields["packet"] == "value_not_traced"
    assert not any(each.kind == "no_sync" for each in found)


def test_nothing_is_in_step_again_by_itself() -> None:
    data = b"\x6a\x10" + b"\x6a" * 50
    found = decoded(data)
    assert [(each.kind, each.index, each.size, each.flags) for each in found] == [
        ("custom", 0, 1, Flags(0)), ("custom", 1, 1, Flags.RESERVED), ("no_sync", 2, 50, Flags(0)),
    ]  # fmt: skip
    found = decoded(data, sync_at="0x20, 40,40")
    assert [(each.index, each.size) for each in found if each.kind == "no_sync"] == [(2, 30)]
    assert [each.index for each in found if Flags.RESYNCED in each.flags] == [32]


def test_places_of_synchronisation_are_indexes_of_the_stream() -> None:
    given = {"data_addr": "yes", "data_value": "yes", "contextid_bytes": "4", "sync_at": "4,1000,1004"}
    found = elements("etmv2", Stream(b"\x10\x11\x12\x13\x6a", given), index=1000)
    assert [(each.index, each.size, each.kind) for each in found] == [(1000, 1, "custom"), (1001, 3, "no_sync"), (1004, 1, "custom")]


def test_a_packet_across_a_place_of_synchronisation_has_no_end() -> None:
    found = decoded(b"\x6a\x6e\x01\x02\x6a\x6a", sync_at="4")
    assert [(each.index, each.size, each.kind, each.flags) for each in found] == [
        (0, 1, "custom", Flags(0)), (1, 3, "unknown", Flags.TRUNCATED), (4, 1, "custom", Flags(0)), (5, 1, "custom", Flags(0)),
    ]  # fmt: skip


def test_where_the_trace_unit_began_anew() -> None:
    """perf's AUX records: boundaries are given before the bytes are fed, and any piece may end anywhere."""
    data = b"\x10\x11\x12\x13\x6a\xea\x6a"
    for cut in range(len(data)):
        decoder = stack("etmv2", {"data_addr": "no", "data_value": "no", "contextid_bytes": "0"}).decoder()
        decoder.boundaries([4, 6])
        batches = [decoder.feed(data[:cut], offset=0), decoder.feed(data[cut:], offset=cut), decoder.finish()]
        found = [element for batch in batches for element in batch.objects(stack_fields())]
        assert [(each.index, each.size) for each in found] == [(0, 1), (1, 3), (4, 1), (5, 1), (6, 1)]
        assert [each.fields.get("cycle") for each in found] == [None, None, 4, 5, 6]


@pytest.mark.parametrize("reported", [True, False])
def test_aux_records_of_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str], reported: bool) -> None:
    """Lost after the reserved header of the first record, in step again with the second; in an own stream for each CPU."""
    first, second = b"\x6a\x10" + bytes(14), b"\x6a" * 16
    events = [(0, 0, 16, 0, 2_000_000_000), (0, 16, 16, 0, 3_000_000_000), (1, 0, 32, 0, 3_000_000_000)]
    path = tmp_path / "perf.data"
    path.write_bytes(
        build_perfdata(
            [(0, 0, first + second), (1, 0, first + second)], aux_events=events if reported else [], auxtrace_type=99, name="etm/event=1/"
        )
    )
    given = ("-p", "data_addr=no", "-p", "data_value=no", "-p", "contextid_bytes=0")
    assert main(["decode", "--protocol", "etmv2", *given, "--json", str(path)]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    lost = [(each["cpu"], each["index"], each["size"]) for each in found if each["kind"] == "no_sync"]
    assert lost == [(0, 2, 14 if reported else 30), (1, 2, 30)]
    assert [(each["cpu"], each["index"]) for each in found if each.get("flags") == "resynced"] == ([(0, 16)] if reported else [])


def stack_fields() -> Any:
    return stack("etmv2", {"data_addr": "no", "data_value": "no", "contextid_bytes": "0"}).fields
