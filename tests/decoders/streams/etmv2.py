"""Streams of ETMv2 packets, of every shape that the parameters allow."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.decoders.etmv2.encoder import Encoder
from tests.decoders.streams import Stream, Sync

SHIFTS = {"arm": 2, "thumb": 1, "jazelle": 0}
# Of every pattern that the specification reserves.
RESERVED_HEADERS = (0x10, 0x1C, 0xB0, 0x12, 0x3A, 0x42, 0x4E, 0xC6, 0x62, 0x66, 0xE2, 0x72, 0x7E)


def values() -> st.SearchStrategy[int]:
    return st.sampled_from((0, 1, 0xFF, 0x100, 0xFFFF, 0x10000)) | st.integers(0, (1 << 32) - 1)


@st.composite
def packet(draw: st.DrawFn, encoder: Encoder, reserved: list[int]) -> None:
    """Write one packet. ``reserved``: gets its offset where it has the tag that is reserved."""
    far = draw(st.booleans())
    address = draw(st.integers(0, (1 << 32) - 1)) if far else (encoder.last_address or 0) ^ draw(st.integers(0, 1 << 12))
    goes_on = draw(st.booleans())
    what = draw(st.integers(0, 5))
    if what == 0:
        target = (draw(st.integers(0, (1 << 32) - 1)) if far else (encoder.last_branch or 0) << encoder.shift ^ address & 0xFFF) & ~3
        encoder.branch(target)
    elif what == 1:
        encoder.transfer(draw(values()), draw(st.none() | st.just(address)), goes_on=goes_on)
    elif what in (2, 3):
        tag = draw(st.sampled_from((1, 2, 3, 1, 2, 3, 1, 2, 3, 0)))
        if what == 2:
            at = encoder.miss(tag, draw(st.none() | st.just(address)), goes_on=goes_on)
        else:
            at = encoder.miss_data(tag, draw(values()), goes_on=goes_on)
        if tag == 0:
            reserved.append(at)
    elif what == 4:
        encoder.not_traced(goes_on=goes_on)
    else:
        encoder.context(draw(values()), goes_on=goes_on)


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    isa = draw(st.sampled_from(("arm", "thumb", "jazelle", None)))
    encoder = Encoder(draw(st.booleans()), draw(st.booleans()), draw(st.sampled_from((0, 1, 2, 4))), SHIFTS[isa or "arm"])
    reserved: list[int] = []
    syncs: list[int] = []
    bad = False
    for _ in range(draw(st.integers(1, 4))):
        for _ in range(draw(st.integers(0, 12))):
            draw(packet(encoder, reserved))
        ending = draw(st.integers(0, 3))
        if ending == 0:  # a reserved header: lost up to the next place of synchronisation
            reserved.append(len(encoder.data))
            encoder.data.append(draw(st.sampled_from(RESERVED_HEADERS)))
            encoder.data += draw(st.binary(max_size=10))
            bad = True
        elif ending == 1 and draw(st.booleans()):  # a packet whose end never came
            encoder.data += b"\x81\x82"
            bad = True
        syncs.append(len(encoder.data))
        encoder.restart()
    parameters = {
        "data_addr": "yes" if encoder.data_addr else "no", "data_value": "yes" if encoder.data_value else "no",
        "contextid_bytes": str(encoder.contextid_bytes), "sync_at": ",".join(map(hex, syncs)),
    }  # fmt: skip
    if isa:
        parameters["isa"] = isa
    ends = tuple(Sync(place, place) for place in syncs if place < len(encoder.data))
    return Stream(bytes(encoder.data), parameters, ends, tuple(reserved), bad)
