"""Streams of the tests' own protocol, alone and as one source of several in CoreSight frames."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.decoders.coresight.frames import frames
from tests.decoders.streams import Stream, Sync


@st.composite
def alone(draw: st.DrawFn) -> Stream:
    data, syncs, reserved = bytearray(), [], []
    for _ in range(draw(st.integers(0, 20))):
        what = draw(st.integers(0, 5))
        if what == 0:
            start = len(data)
            # Padding is one element a byte: the tenth zero is one for sure.
            data += bytes(12)
            syncs.append(Sync(start, start + 10))
        elif what == 1:
            reserved.append(len(data))
            data.append(draw(st.integers(10, 255)))
        else:
            payload = draw(st.binary(max_size=9))
            data += bytes([len(payload)]) + payload
    return Stream(bytes(data), {"longest": "9"}, tuple(syncs), tuple(reserved))


@st.composite
def behind_frames(draw: st.DrawFn) -> Stream:
    sources = st.tuples(st.sampled_from((0x10, 0x11, 0x6F)), st.lists(st.binary(max_size=9), min_size=1, max_size=3))
    chunks = []
    for source, payloads in draw(st.lists(sources, max_size=8)):
        data = b"".join(bytes([len(payload)]) + payload for payload in payloads)
        cut = draw(st.integers(0, len(data)))
        # Packets go on in other frames, with other sources between; each source has its packets in order.
        chunks += [(source, data[:cut]), (0x12, b"\x01!"), (source, data[cut:])]
    return Stream(frames(chunks, delay=draw(st.booleans())), {"longest": "9", "framing": "coresight-16"})


def streams() -> st.SearchStrategy[Stream]:
    return alone() | behind_frames()
