"""RISC-V encapsulation against the examples of the specifications, and what its parameters do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.decoders.contract import PacketDecoder
from ptttool.decoders.elements.arrays import Elements
from ptttool.decoders.elements.model import CUSTOM, KIND_NAMES, Element, Flags
from ptttool.decoders.packets import Packets, field
from ptttool.decoders.riscv.encap.framing import EncapSettings
from ptttool.decoders.riscv.encap.protocol import RiscvEncap
from ptttool.errors import UsageError
from tests import ROOT
from tests.decoders.riscv.encap_encoder import Writer, normal, null, synchronisation
from tests.decoders.streams import Stream, elements, stack
from tests.decoders.streams.riscv_encap import forms, packets, parameters_of

VECTORS = ROOT.parent / "shared" / "vectors"
with_vectors = pytest.mark.skipif(not VECTORS.is_dir(), reason="the vectors of others do not come with the project")


def decoded(data: bytes, **parameters: object) -> list[Element]:
    return elements("riscv-encap", Stream(data, {name: str(value) for name, value in parameters.items()}))


@pytest.mark.parametrize(
    ("text", "source", "payload"),
    [
        ("06 81 32 04 00 00 02", 1, "3204000002"),
        ("08 8A BD AA AA 68 00 00 20", 10, "bdaaaa68000020"),
        ("0A 85 73 00 00 00 00 91 82 00 10", 5, "730000000091820010"),
    ],
)
def test_examples_with_a_source_of_6_bits_and_a_type_of_2(text: str, source: int, payload: str) -> None:
    (found,) = decoded(bytes.fromhex(text), srcid_bits=6, type_bits=2)
    assert (found.channel, found.fields["type"], found.fields["payload"].hex()) == (source, 2, payload)


def test_the_example_without_source_and_type() -> None:
    (found,) = decoded(bytes.fromhex("05 32 04 00 00 02"))
    assert (found.channel, found.timestamp, found.fields["payload"].hex()) == (None, None, "3204000002")


def test_fields_off_the_byte_boundaries() -> None:
    """A source ID of 4 bits moves the timestamp and the payload: CA D3 38 07 … is flow 2, source 3, timestamp 8D."""
    (found,) = decoded(bytes.fromhex("CA D3 38 07 01 02 03 04 05 06 07 08"), srcid_bits=4, ts_bytes=1)
    assert (found.fields["flow"], found.channel, found.timestamp, found.size) == (2, 3, 0x8D, 12)
    assert found.fields["payload"].hex() == "73102030405060708000"


def test_a_timestamp_takes_room_only_where_there_is_one() -> None:
    """05 32 … without extend is six bytes, whatever the timestamps of others have."""
    assert [each.size for each in decoded(bytes.fromhex("05 32 04 00 00 02 81 34 12 7F"), ts_bytes=2)] == [6, 4]


@with_vectors
def test_files_of_the_examples() -> None:
    folder = VECTORS / "etrace-spec13"
    for path in sorted(folder.glob("*.bin")):
        siemens = path.name.startswith("siemens")
        found = decoded(path.read_bytes(), **({"srcid_bits": 6, "type_bits": 2} if siemens else {}))
        assert found
        assert all(each.kind == "custom" and not each.flags for each in found), path.name
        if siemens or path.name.startswith("atb"):
            assert len(found) == 1
    by_number = [
        decoded((folder / f"{name}{number}.bin").read_bytes(), **parameters)[0].fields["payload"]
        for number in (1, 2, 3)
        for name, parameters in (("atb", {}), ("siemens", {"srcid_bits": 6, "type_bits": 2}))
    ]
    assert by_number[0::2] == by_number[1::2]


@with_vectors
def test_traces_of_programs() -> None:
    """As many packets as the reference encoder's listing has."""
    for path in sorted((VECTORS / "etrace").glob("*.bin")):
        rows = path.with_suffix(".csv").read_text().splitlines()
        found = decoded(path.read_bytes())
        assert len(found) == len(rows) - 1
        assert {each.fields["flow"] for each in found} == {2}


@given(st.data())
def test_what_was_encoded_comes_out(data: st.DataObject) -> None:
    form = data.draw(forms())
    room = 248 - form.srcid_bits % 8 - form.type_bits
    bits = data.draw(st.integers(8, room))
    payload = data.draw(st.integers(0, (1 << bits) - 1))
    channel = data.draw(st.integers(0, (1 << form.srcid_bits) - 1))
    timestamp = data.draw(st.none() | st.integers(0, (1 << 8 * form.ts_bytes) - 1)) if form.ts_bytes else None
    kind, flow = data.draw(st.integers(0, (1 << form.type_bits) - 1)), data.draw(st.integers(0, 3))
    writer = Writer(form)
    if form.anywhere:
        writer.synchronise()
    packet = normal(form, payload, bits, flow=flow, channel=channel, timestamp=timestamp, type=kind)
    at = writer.packet(packet)
    found = next(each for each in elements("riscv-encap", Stream(bytes(writer.data), parameters_of(form))) if each.index == at)
    assert (found.size, found.raw, found.timestamp, found.fields["flow"]) == (len(packet), packet, timestamp, flow)
    assert found.channel == (channel if form.srcid_bits else None)
    assert found.fields.get("type") == (kind if form.type_bits else None)
    assert int.from_bytes(found.fields["payload"], "little") == payload


def test_what_does_not_fit_is_not_encoded() -> None:
    for bits in (0, 249):
        with pytest.raises(ValueError, match="bits"):
            normal(EncapSettings(), 0, bits)
    with pytest.raises(ValueError, match="timestamp"):
        normal(EncapSettings(), 0, 8, timestamp=1)
    with pytest.raises(ValueError, match="block"):
        Writer(EncapSettings(block_size=4)).packet(bytes(5))


def test_runs_of_null_packets() -> None:
    found = decoded(null() * 3 + null(alignment=True, flow=1) + b"\x01\x07" + null(flow=3))
    assert [(each.size, each.fields.get("idle"), each.fields.get("alignment")) for each in found] == [(4, 3, 1), (2, None, None), (1, 1, 0)]


@pytest.mark.parametrize(("nulls", "found"), [(31, False), (32, True), (33, True)])
def test_the_shortest_synchronisation(nulls: int, found: bool) -> None:
    """N = 31 null bytes may be part of a packet, one more cannot."""
    data = b"\x9f\x01\x02" + bytes(nulls) + b"\x01\x07"
    last = decoded(data, start="anywhere")[-1]
    assert (last.index == 3 + nulls and Flags.RESYNCED in last.flags) is found


def test_unframed_streams_need_the_alignment() -> None:
    data = b"\x55" + bytes(40) + b"\x01\x07" + synchronisation(EncapSettings()) + b"\x01\x08"
    assert [each.index for each in decoded(data, start="anywhere")] == [0, 41, 43, 75]
    assert [each.index for each in decoded(data, start="anywhere", sync="unframed")] == [0, 75]


def test_blocks() -> None:
    """A packet across the end of a block cannot be: what is there is passed over up to the block's end."""
    data = b"\x01\x01" * 7 + b"\x05\x00" + b"\x01\x02" * 8
    found = decoded(data, block_size=16)
    assert [(each.index, each.size, each.kind) for each in found[6:9]] == [(12, 2, "custom"), (14, 2, "no_sync"), (16, 2, "custom")]
    assert Flags.RESYNCED in found[8].flags


def test_blocks_are_those_of_the_stream() -> None:
    """Not of what is fed: a stream may begin inside a block."""
    found = elements("riscv-encap", Stream(b"\x07\x01\x01\x01" + b"\x01\x02" * 8, {"block_size": "16", "start": "anywhere"}), index=12)
    assert [(each.index, each.size) for each in found[:2]] == [(12, 4), (16, 2)]


def test_a_timestamp_where_there_are_none_is_no_packet() -> None:
    found = decoded(b"\x01\x01\x81\x00" + synchronisation(EncapSettings()) + b"\x01\x02")
    assert [(each.kind, each.index, each.size, each.fields.get("reason")) for each in found[1:]] == [
        ("no_sync", 2, 34, "bad_packet"), ("custom", 36, 2, None),
    ]  # fmt: skip


def test_timestamps_unwrapped() -> None:
    form = EncapSettings(srcid_bits=8, ts_bytes=1)
    times = [(1, 250), (2, 3), (1, 4), (2, 2), (1, None), (1, 4), (1, 3)]
    data = b"".join(normal(form, 1, 8, channel=channel, timestamp=time) for channel, time in times)
    raw = [each.timestamp for each in decoded(data, srcid_bits=8, ts_bytes=1)]
    assert raw == [250, 3, 4, 2, None, 4, 3]
    found = elements("riscv-encap", Stream(data, {"srcid_bits": "8", "ts_bytes": "1", "unwrap": "yes"}), (9, 10, 17))
    assert [each.timestamp for each in found] == [250, 3, 260, 258, None, 260, 515]


def test_more_type_than_there_is_room_is_flagged() -> None:
    (found,) = decoded(b"\x01\xff", type_bits=9)
    assert found.flags == Flags.RESERVED
    assert (found.fields["type"], found.fields["payload"]) == (0xFF, b"")


class Seen(PacketDecoder):
    """A decoder of packets that keeps what it is given."""

    def __init__(self) -> None:
        self.packets: list[Packets] = []

    def decode(self, packets: Packets) -> Elements:
        self.packets.append(packets)
        return packets.elements("seen", kind=0)

    def lost(self, reason: str) -> None:
        self.packets.clear()


@given(data=st.data())
def test_bits_of_payloads(data: st.DataObject) -> None:
    """Any field of any payload, behind its end the sign of its last byte."""
    form = data.draw(forms().filter(lambda form: not form.anywhere and not form.block_size and form.type_behind is None))
    written = [data.draw(packets(form)) for _ in range(data.draw(st.integers(1, 5)))]
    seen = Seen()
    RiscvEncap(form, lambda _channel: seen).feed(b"".join(written), offset=0)
    position, width = data.draw(st.integers(0, 250)), data.draw(st.integers(0, 64))
    position = min(position, 256 - width)
    given_packets = [raw for each in seen.packets for raw in (each.raw()[row] for row in range(len(each)))]
    values = [int(value) for each in seen.packets for value in (field(each.words(), position, width))]
    assert len(given_packets) == len(written)
    for raw, value in zip(given_packets, values, strict=True):
        assert raw is not None
        before = 8 + form.srcid_bits + 8 * form.ts_bytes * (raw[0] >> 7) + form.type_bits
        number, held = int.from_bytes(raw, "little") >> before, 8 * len(raw) - before
        if held > 0 and raw[-1] & 0x80:
            number |= -1 << held
        assert value == number >> position & ((1 << width) - 1)


def settings_of(**parameters: str) -> EncapSettings:
    chosen = stack("riscv-encap", parameters).settings
    assert isinstance(chosen, EncapSettings)
    return chosen


def test_one_bit_of_type_is_0_for_instruction_trace() -> None:
    form = settings_of(type_bits="1")
    seen = Seen()
    found = RiscvEncap(form, lambda _channel: seen).feed(bytes.fromhex("0104 0105 0106"), offset=0)
    assert [each.index.tolist() for each in seen.packets] == [[0, 4]]
    assert found.index[found.kind == CUSTOM].tolist()[-1:] == [2]


@pytest.mark.parametrize("given", [{"payload_type": "0"}, {"payload_type": "4", "type_bits": "2"}])
def test_a_payload_type_that_cannot_be(given: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="payload_type=") as caught:
        stack("riscv-encap", given).decoder()
    assert caught.value.code == "bad-parameter"


def test_a_stream_that_begins_with_a_block_has_lost_nothing() -> None:
    found = decoded(b"\x01\x01" * 8, block_size=16, start="anywhere")
    assert {(each.kind, each.flags) for each in found} == {("custom", Flags(0))}


def test_null_packets_of_an_unframed_stream_have_a_flow() -> None:
    found = decoded(b"\x55" + bytes(31) + b"\xa0" + b"\x01\x07", start="anywhere", sync="unframed")
    assert [(each.kind, each.index, each.size) for each in found] == [("no_sync", 0, 33), ("custom", 33, 2)]


def test_each_source_has_a_decoder_of_its_own() -> None:
    form = EncapSettings(srcid_bits=4)
    seen: dict[int, Seen] = {}

    def make(channel: int) -> Seen:
        return seen.setdefault(channel, Seen())

    decoder = RiscvEncap(form, make)
    data = b"".join(normal(form, number, 12, channel=channel) for number, channel in enumerate((1, 2, 1, 9)))
    batch = decoder.feed(data, offset=0)
    assert {channel: sum(map(len, each.packets)) for channel, each in seen.items()} == {1: 2, 2: 1, 9: 1}
    assert batch.channel.tolist() == [1, 2, 1, 9]
    assert batch.index.tolist() == [0, 3, 6, 9]
    decoder.feed(data, offset=100)
    assert all(len(each.packets) == 1 for each in seen.values()), "what came before the gap is forgotten"


def test_packets_of_another_type_stay_raw() -> None:
    form = EncapSettings(type_bits=1, payload_type=0)
    seen = Seen()
    data = b"".join(normal(form, number, 7, type=number % 2) for number in range(6))
    batch = RiscvEncap(form, lambda _channel: seen).feed(data, offset=0)
    assert [len(each) for each in seen.packets] == [3]
    assert [KIND_NAMES[kind] for kind in batch.kind] == ["unknown", "custom"] * 3
